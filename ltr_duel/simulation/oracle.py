"""Who answers the comparisons of a simulation. From a matrix here; from simulated users in `live`.

A simulation asks its `OracleSource` for a fresh oracle (`ltr_duel.bandits.oracle`) for each run, because scratch space
is not shared between threads.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from ltr_duel.bandits import MatrixOracle
from ltr_duel.core import InputError, as_writable, shown
from ltr_duel.preferences import PreferenceMatrix


@runtime_checkable
class OracleSource(Protocol):
    """What a simulation needs to know of an oracle. A class that inherits from it has the defaults.

    Attributes
    ----------
    names : tuple of str
        Of the arms.
    provenance : dict
        Everything that determines the law of the answers, as JSON.
    in_sweeps : bool
        Whether policies take whole sweeps at once; then ``open`` returns a `MatrixOracle`. False by default.
    leaves_ties : bool
        Whether a pair of a slate may be left tied, 0, instead of a coin's +1 or -1. False by default.
    compiled : bool
        Whether kernels can use what ``open`` returns; if not, runs are plain Python. True by default.

    Examples
    --------
    >>> from ltr_duel.simulation import NormalScores
    >>> source: OracleSource = NormalScores([1.0, 0.5])
    >>> source.names
    ('0', '1')
    """

    names: tuple[str, ...]
    provenance: dict[str, Any]
    in_sweeps: bool = False
    leaves_ties: bool = False
    compiled: bool = True

    def open(self) -> Any:
        """Return a NamedTuple for the kernels, with scratch of its own."""


class FromMatrix(OracleSource):
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
