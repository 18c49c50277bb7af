"""Sources of the outcomes of a simulation: their interface, and a source that draws outcomes from a matrix.

The object that the compiled code asks for outcomes is called an oracle. A source opens a new oracle for each run, so
that runs on different threads write to different memory.
"""

from __future__ import annotations

from typing import Any, Final, Protocol, runtime_checkable

from ltr_duel.bandits import MatrixOracle
from ltr_duel.core import InputError, IntVector, arguments, as_writable, errors
from ltr_duel.preferences import PreferenceMatrix

INDEPENDENT_COINS: Final = "independent_coins"  # the value of ``sets`` with which policies may compare sets on a matrix
COINS_NOTE: Final = (
    "Sets of arms were compared by independent coins: m (m - 1) / 2 coins a step for m arms, which give more"
    " information than one list of documents. Regret with simulated users may be many times as high."
)
COINS_LABEL: Final = "sets: independent coins, m (m - 1) / 2 a step"
MATRIX: Final = "matrix"  # the name of `FromMatrix` in its provenance


@runtime_checkable
class OracleSource(Protocol):
    """The interface of a source of outcomes. Inherit from this class to write your own source.

    Attributes
    ----------
    names : tuple of str
        The names of the arms.
    provenance : dict
        Everything that determines the distribution of the outcomes, in a form that can be written as JSON.
    leaves_ties : bool
        Whether comparisons of sets may leave pairs tied, with the outcome 0. By default, a coin decides ties.
    compiled : bool
        Whether compiled code can use the result of ``open``. If False, runs are plain Python. The default is True.
    refuses_sets : bool
        Whether policies that compare sets are refused with an error. The default is False.
    changes : tuple of int
        The steps after which the probabilities of the outcomes change (see `ltr_duel.simulation.FromSchedule`). By
        default, they never change.

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
        """Return the oracle of one run: a NamedTuple for the compiled code, which no other run changes."""

    def enter(self, stage: int, opened: Any) -> IntVector:
        """Prepare an oracle for the steps after ``changes[stage - 1]``. Return the rank of each arm in these steps."""
        raise InputError("an oracle with changes must define `enter`")


class FromMatrix(OracleSource):
    """A source that draws outcomes with the probabilities of a preference matrix.

    Parameters
    ----------
    matrix : PreferenceMatrix
    sets : {"", "independent_coins"}
        The rule for policies that compare sets of arms. By default, such policies cause an error, because a matrix does
        not say how the outcomes of one list depend on each other. With ``"independent_coins"``, the outcome of each
        pair of the set is drawn independently. A policy then learns more from a set than it would learn from one list.

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
        """Return the oracle of one run. All runs share the matrix, because no run changes it."""
        return MatrixOracle(as_writable(self.matrix.p))
