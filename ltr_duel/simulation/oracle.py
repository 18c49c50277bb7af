"""Who answers the comparisons of a simulation. From a matrix here; from simulated users in `live`.

A simulation asks its `OracleSource` for a fresh oracle (`ltr_duel.bandits.oracle`) for each run, because scratch space
is not shared between threads.
"""

from __future__ import annotations

from typing import Any, Protocol

from ltr_duel.bandits import MatrixOracle
from ltr_duel.core import InputError, as_writable, shown
from ltr_duel.preferences import PreferenceMatrix


class OracleSource(Protocol):
    """What a simulation needs to know of an oracle.

    Examples
    --------
    >>> from ltr_duel.simulation import NormalScores
    >>> source: OracleSource = NormalScores([1.0, 0.5])
    >>> source.names
    ('0', '1')
    """

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the arms."""

    @property
    def provenance(self) -> dict[str, Any]:
        """Everything that determines the law of the answers, as JSON."""

    def open(self) -> Any:
        """Return a NamedTuple for the kernels, with scratch of its own."""


class FromMatrix:
    """The oracle that tosses the coins of a preference matrix.

    Parameters
    ----------
    matrix : PreferenceMatrix
    in_sweeps : bool
        Whether policies take whole sweeps at once (`ltr_duel.bandits.policy.Sweeps`), for horizons that single steps
        do not reach. Runs have the same law, but not the same numbers: they are other runs, under other names.

    Examples
    --------
    >>> from ltr_duel.preferences import PreferenceMatrix
    >>> source = FromMatrix(PreferenceMatrix([[0.5, 0.9], [0.1, 0.5]]), in_sweeps=True)
    >>> source.names, source.provenance["oracle"]
    (('0', '1'), 'matrix in sweeps')
    """

    def __init__(self, matrix: PreferenceMatrix, *, in_sweeps: bool = False) -> None:
        if not isinstance(matrix, PreferenceMatrix):
            raise InputError(f"an oracle of coins needs a PreferenceMatrix, not {shown(matrix)}")
        self._p = as_writable(matrix.p)  # nobody writes to it
        self.names = matrix.names
        self.in_sweeps = in_sweeps
        self.provenance = {"oracle": "matrix in sweeps" if in_sweeps else "matrix", "matrix": matrix.digest}

    def open(self) -> MatrixOracle:
        """Share the matrix: nothing is written to it."""
        return MatrixOracle(self._p)
