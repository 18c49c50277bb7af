"""Oracles: the sources of outcomes, for example a matrix of probabilities or simulated users.

An oracle is a NamedTuple of arrays that implements `duel` and `multiduel`, which the simulation loop calls.

Simulations number the arms in a random order (see `relabelled`). Policies break some ties in favour of the smaller
number, for example in recommendations. Without the random order, an arm could profit from its place in the matrix.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np

from ltr_duel.core import (
    FloatMatrix,
    IntVector,
    SignMatrix,
    Streams,
    call_pair,
    call_slate,
    dispatched,
    implement,
    kernel,
    uniform,
    value_at,
)

Kind = TypeVar("Kind")


@dispatched
def duel(oracle: Any, first: int, second: int, streams: Streams) -> int:
    """Compare two different arms once. Return +1 if ``first`` won, else -1. A fair coin breaks ties."""
    raise TypeError("not a registered oracle")


@dispatched
def multiduel(oracle: Any, slate: IntVector, size: int, won: SignMatrix, streams: Streams) -> None:
    """Compare the arms of ``slate[:size]``, and write the outcome of positions a < b into ``won[a, b]``.

    The outcome is +1 if ``slate[a]`` won, and -1 if ``slate[b]`` won. If the oracle does not break ties, a tie is 0.
    """
    raise TypeError("not a registered oracle")


class MatrixOracle(NamedTuple):
    """An oracle that draws each outcome independently, with the probability from a matrix."""

    p: FloatMatrix  # (K, K) p[i, j] = Pr(arm i beats arm j)


def _duel(oracle: MatrixOracle, first: int, second: int, streams: Streams) -> int:
    return 1 if uniform(streams.feedback) < oracle.p[first, second] else -1


def _multiduel(oracle: MatrixOracle, slate: IntVector, size: int, won: SignMatrix, streams: Streams) -> None:
    for a in range(size):
        for b in range(a + 1, size):
            won[a, b] = 1 if uniform(streams.feedback) < oracle.p[slate[a], slate[b]] else -1


implement(duel, MatrixOracle, _duel)
implement(multiduel, MatrixOracle, _multiduel)


class Relabelled(NamedTuple):
    """An oracle whose arms are renumbered for the policy."""

    oracle: Any
    order: IntVector  # (K,) the oracle's arm for each arm of the policy
    slate: IntVector  # (K,) scratch


def _relabelled_duel(oracle: Relabelled, first: int, second: int, streams: Streams) -> int:
    return duel(oracle.oracle, oracle.order[first], oracle.order[second], streams)


def _relabelled_multiduel(oracle: Relabelled, slate: IntVector, size: int, won: SignMatrix, streams: Streams) -> None:
    for a in range(size):
        oracle.slate[a] = oracle.order[slate[a]]
    multiduel(oracle.oracle, oracle.slate, size, won, streams)


implement(duel, Relabelled, _relabelled_duel)
implement(multiduel, Relabelled, _relabelled_multiduel)


class Pairs(NamedTuple):
    """Let the loop for late outcomes compare pairs. This loop calls `multiduel`, but not `duel`."""

    oracle: Any


def _pairs_multiduel(oracle: Pairs, slate: IntVector, size: int, won: SignMatrix, streams: Streams) -> None:
    won[0, 1] = duel(oracle.oracle, slate[0], slate[1], streams)


implement(multiduel, Pairs, _pairs_multiduel)


class SeparateOracle(NamedTuple):
    """An oracle whose comparisons are compiled once. The loops of all policies call the same code by its address."""

    code: IntVector  # (1,) address of the compiled `answer_pair`, or of `answer_slate` for loops of sets
    words: IntVector  # the oracle, see `ltr_duel.core.words_of`


def _separate_duel(oracle: SeparateOracle, first: int, second: int, streams: Streams) -> int:
    return call_pair(oracle.code[0], oracle.words, first, second, streams)


def _separate_multiduel(oracle: SeparateOracle, slate: IntVector, size: int, won: SignMatrix, streams: Streams) -> None:
    call_slate(oracle.code[0], oracle.words, slate, size, won, streams)


implement(duel, SeparateOracle, _separate_duel)
implement(multiduel, SeparateOracle, _separate_multiduel)


@kernel
def answer_pair(words: int, first: int, second: int, streams: Streams) -> int:
    """Compare two arms with the oracle whose memory address is ``words``."""
    return int(duel(value_at(words), first, second, streams))


@kernel
def answer_slate(words: int, slate: IntVector, size: int, won: SignMatrix, streams: Streams) -> int:
    """Compare the arms of a slate with the oracle whose memory address is ``words``."""
    multiduel(value_at(words), slate, size, won, streams)
    return 0


def separate(kind: type[Kind]) -> type[Kind]:
    """Mark a class of oracles with slow comparisons. These comparisons are compiled once, apart from the loops."""
    kind.separate = True  # type: ignore[attr-defined]  # read by `is_separate`
    return kind


def is_separate(oracle: Any) -> bool:
    """Return whether the comparisons of an oracle are compiled once, apart from the loops."""
    return hasattr(oracle, "separate") or (hasattr(oracle, "oracle") and is_separate(oracle.oracle))


def random_order(n_arms: int, rng: np.random.Generator) -> IntVector:
    """Return the arms in a random order."""
    return np.argsort(rng.random(n_arms), kind="stable")


def relabelled(oracle: Any, order: IntVector) -> Relabelled:
    """Return an oracle whose arm k is arm ``order[k]`` of the given oracle."""
    return Relabelled(oracle, order, np.zeros(len(order), np.int64))
