"""Oracles: the functions that the loop calls for outcomes, and the oracle that samples them from a matrix.

An oracle is a NamedTuple of arrays with an implementation of `duel` and `multiduel`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ltr_duel.core import FloatMatrix, IntVector, SignMatrix, Streams, dispatched, implement, uniform


@dispatched
def duel(oracle: Any, first: int, second: int, streams: Streams) -> int:
    """Compare two different arms once; return +1 if ``first`` won, else -1. A fair coin breaks ties."""
    raise TypeError("not a registered oracle")


@dispatched
def multiduel(oracle: Any, slate: IntVector, size: int, won: SignMatrix, streams: Streams) -> None:
    """Compare ``slate[:size]`` at once: for positions a < b, set ``won[a, b]`` to +1 if ``slate[a]`` won, else -1."""
    raise TypeError("not a registered oracle")


class MatrixOracle(NamedTuple):
    """Each comparison of a pair is an independent coin."""

    p: FloatMatrix  # (K, K) p[i, j] = Pr(arm i beats arm j)


def _duel(oracle: MatrixOracle, first: int, second: int, streams: Streams) -> int:
    return 1 if uniform(streams.feedback) < oracle.p[first, second] else -1


def _multiduel(oracle: MatrixOracle, slate: IntVector, size: int, won: SignMatrix, streams: Streams) -> None:
    for a in range(size):
        for b in range(a + 1, size):
            won[a, b] = 1 if uniform(streams.feedback) < oracle.p[slate[a], slate[b]] else -1


implement(duel, MatrixOracle, _duel)
implement(multiduel, MatrixOracle, _multiduel)
