"""Sources of the outcomes of a simulation: a matrix in this module, simulated users in `simulated_users`.

For each run, a simulation opens a new oracle (`ltr_duel.bandits.oracle`) from its `OracleSource`, because threads must
not share scratch memory.
"""

from __future__ import annotations

from typing import Any, Final, Protocol, runtime_checkable

from ltr_duel.bandits import MatrixOracle
from ltr_duel.core import InputError, IntVector, arguments, as_writable, errors
from ltr_duel.preferences import PreferenceMatrix

INDEPENDENT_COINS: Final = "independent_coins"  # value of ``sets`` that lets policies compare sets on a matrix
COINS_NOTE: Final = (
    "Sets of arms were compared by independent coins: m (m - 1) / 2 coins a step for m arms, which give more"
    " information than one list of documents. Regret with simulated users may be many times as high."
)
COINS_LABEL: Final = "sets: independent coins, m (m - 1) / 2 a step"
MATRIX: Final = "matrix"  # the oracle in the provenance of `FromMatrix`


@runtime_checkable
class OracleSource(Protocol):
    """The interface of the objects from which simulations open oracles. Subclasses inherit the default attributes.

    Attributes
    ----------
    names : tuple of str
        Names of the arms.
    provenance : dict
        Everything that determines the distribution of the outcomes; the values can be JSON.
    leaves_ties : bool
        Whether the outcome of a tied pair of a slate may be 0, instead of a coin's +1 or -1. False by default.
    compiled : bool
        Whether compiled kernels accept the result of ``open``; if not, runs are plain Python. True by default.
    refuses_sets : bool
        Whether policies that compare sets are refused, because the joint distribution of the outcomes of a set is
        unknown. False by default.
    changes : tuple of int
        Steps after which the oracle changes (see `ltr_duel.simulation.FromSchedule`). None by default.

    Examples
    --------
    >>> from ltr_duel.simulation import FromUtilities
    >>> source: OracleSource = FromUtilities([1.0, 0.5])
    >>> source.names
    ('0', '1')
    """

    names: tuple[str, ...]
    provenance: dict[str, Any]
    leaves_ties: bool = False
    compiled: bool = True
    refuses_sets: bool = False
    changes: tuple[int, ...] = ()

    def open(self) -> Any:
        """Return a NamedTuple for the kernels, with separate scratch memory."""

    def enter(self, stage: int, opened: Any) -> IntVector:
        """Change an opened oracle for the steps after ``changes[stage - 1]``; return the rank of each arm in them."""
        raise InputError("an oracle with changes must define `enter`")


class FromMatrix(OracleSource):
    """The oracle that samples outcomes with the probabilities of a preference matrix.

    Parameters
    ----------
    matrix : PreferenceMatrix
    sets : {"", "independent_coins"}
        How sets of arms are compared. If one list compares a whole set, the outcomes of its pairs have a joint
        distribution, which a matrix does not determine. Policies that compare sets are therefore refused unless
        ``"independent_coins"`` is passed, which means m (m - 1) / 2 coins a step for m arms. For policies that
        compare pairs, both values give the same runs, with the same digests.

    Raises
    ------
    InputError
        If ``matrix`` is not a PreferenceMatrix, or ``sets`` is not one of the two values.

    Examples
    --------
    >>> from ltr_duel.preferences import PreferenceMatrix
    >>> source = FromMatrix(PreferenceMatrix([[0.5, 0.9], [0.1, 0.5]]))
    >>> source.names, source.provenance["oracle"]
    (('0', '1'), 'matrix')
    """

    def __init__(self, matrix: PreferenceMatrix, *, sets: str = "") -> None:
        arguments.require_type("the matrix of an oracle", matrix, PreferenceMatrix)
        errors.require_one_of("way to compare sets on a matrix", sets, ("", INDEPENDENT_COINS))
        self.matrix = matrix
        self.refuses_sets = not sets
        self.names = matrix.names
        self.provenance = {"oracle": MATRIX, "matrix": matrix.digest}

    def open(self) -> MatrixOracle:
        """Return an oracle that shares the matrix, which kernels do not change."""
        return MatrixOracle(as_writable(self.matrix.p))
