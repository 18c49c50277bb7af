"""Who answers a comparison. From a matrix here; from simulated users in `live`.

An oracle is a NamedTuple of arrays with an implementation of `duel` and `multiduel`; a simulation asks its
`OracleSource` for a fresh one for each run, because scratch space is not shared between threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from ltr_duel.core import FloatMatrix, IntVector, SignMatrix, Streams, dispatched, implement
from ltr_duel.preferences import PreferenceMatrix


@dispatched
def duel(oracle: Any, first: int, second: int, streams: Streams) -> int:
    """Compare two different arms once: +1 if ``first`` won, else -1. Ties are broken by a fair coin."""
    raise TypeError("not a registered oracle")


@dispatched
def multiduel(oracle: Any, slate: IntVector, size: int, won: SignMatrix, streams: Streams) -> None:
    """Compare ``slate[:size]`` at once: for positions a < b, set ``won[a, b]`` to +1 if ``slate[a]`` won, else -1."""
    raise TypeError("not a registered oracle")


class OracleSource(Protocol):
    """What a simulation needs to know of an oracle."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the arms."""

    @property
    def provenance(self) -> dict[str, Any]:
        """Everything that determines the law of the answers, as JSON."""

    def open(self) -> Any:
        """Return a NamedTuple for the kernels, with scratch of its own."""


class MatrixOracle(NamedTuple):
    """Each comparison of a pair is an independent coin."""

    p: FloatMatrix  # (K, K) p[i, j] = Pr(arm i beats arm j)


def _duel(oracle: MatrixOracle, first: int, second: int, streams: Streams) -> int:
    return 1 if streams.feedback.random() < oracle.p[first, second] else -1


def _multiduel(oracle: MatrixOracle, slate: IntVector, size: int, won: SignMatrix, streams: Streams) -> None:
    for a in range(size):
        for b in range(a + 1, size):
            won[a, b] = 1 if streams.feedback.random() < oracle.p[slate[a], slate[b]] else -1


implement(duel, MatrixOracle, _duel)
implement(multiduel, MatrixOracle, _multiduel)


class FromMatrix:
    """The oracle that tosses the coins of a preference matrix.

    Parameters
    ----------
    matrix : PreferenceMatrix
    in_sweeps : bool
        Whether policies take whole sweeps at once (`ltr_duel.bandits.policy.Sweeps`), for horizons that single steps
        do not reach. Runs have the same law, but not the same numbers: they are other runs, under other names.
    """

    def __init__(self, matrix: PreferenceMatrix, *, in_sweeps: bool = False) -> None:
        self._p = np.ascontiguousarray(matrix.p, dtype=np.float64)
        self.names = matrix.names
        self.in_sweeps = in_sweeps
        self.provenance = {"oracle": "matrix in sweeps" if in_sweeps else "matrix", "matrix": matrix.digest}

    def open(self) -> MatrixOracle:
        """Share the matrix: nothing is written to it."""
        return MatrixOracle(self._p)
