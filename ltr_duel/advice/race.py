"""A race: candidates are tried in rounds, and those that are shown to be worse than another are dropped.

The score of a candidate is its mean loss in the world where that is largest. After each round each mean has a lower
and an upper bound, and so has the probability of being right. A candidate is in doubt once it is shown that it does not
reach the confidence in some world. It is dropped where its lower bound in some world is above the upper bounds of
another one in all worlds, unless that one is in doubt and it is not.

The error probability is shared out evenly over rounds, candidates, worlds and bounds. So the chance that the best
candidate is ever dropped is at most ``error``, as far as Student's bounds hold; `upper_mean` says what is done about
losses that are rare and high.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ltr_duel.advice.bounds import lower_mean, share, upper_mean
from ltr_duel.core import FloatVector, MarkVector


class Shots(NamedTuple):
    """Some runs of a candidate in one world."""

    loss: FloatVector  # (runs,)
    right: MarkVector  # (runs,) 1 where a right ranker was named

    def and_more(self, others: Shots) -> Shots:
        """Add runs."""
        return Shots(np.concatenate([self.loss, others.loss]), np.concatenate([self.right, others.right]))


Shoot = Callable[[int, list[int], int, int], list[list[Shots]]]


class Round(NamedTuple):
    """What is known after a round."""

    runs: int  # of each candidate that was left, in each world, up to now
    left: tuple[int, ...]  # candidates that are left after it
    dropped: tuple[int, ...]  # those that were dropped by it


class Finish(NamedTuple):
    """How a race ended."""

    left: list[int]  # by their score
    behind: list[int]  # the dropped, the last dropped first
    scores: FloatVector  # (candidates,) mean loss in the worst world
    shots: list[list[Shots]]  # of each candidate in each world
    rounds: list[Round]


def race(n: int, shoot: Shoot, sizes: Sequence[int], *, surprise: float, confidence: float, error: float) -> Finish:
    """Let n candidates race.

    Parameters
    ----------
    n : int
    shoot : callable
        ``shoot(round, candidates, begin, end)`` returns for each candidate and each world its runs numbered ``begin``
        to ``end``.
    sizes : sequence of int
        Runs of a candidate in each world after each round, at least 2.
    surprise : float
        How much higher than its mean the loss of a run may be that goes wrong.
    confidence : float
        How often a right ranker is to be named.
    error : float
        The chance, at most, that the best candidate is dropped.
    """
    shots: list[list[Shots]] = [[] for _ in range(n)]
    left, rounds, begin = list(range(n)), [], 0
    behind: list[int] = []
    for number, end in enumerate(sizes):
        for k, more in zip(left, shoot(number, left, begin, end), strict=True):
            shots[k] = [one.and_more(other) for one, other in zip(shots[k], more, strict=True)] if shots[k] else more
        level = error / (3 * len(sizes) * n * len(shots[left[0]]))
        low, high = bounds_of([shots[k] for k in left], surprise, level)
        doubt = np.array([in_doubt(shots[k], confidence, level) for k in left])
        dropped = [k for i, k in enumerate(left) if ((low[i] > high) & (~doubt | doubt[i])).any()]
        left = [k for k in left if k not in dropped]
        behind = sorted(dropped, key=lambda k: score(shots[k])) + behind
        rounds.append(Round(end, tuple(left), tuple(dropped)))
        begin = end
        if len(left) == 1:
            break
    scores = np.array([score(one) for one in shots])
    return Finish(sorted(left, key=lambda k: (scores[k], k)), behind, scores, shots, rounds)


def bounds_of(candidates: Sequence[Sequence[Shots]], surprise: float, level: float) -> tuple[FloatVector, FloatVector]:
    """Return the lower and the upper bound of each candidate's largest mean loss."""
    low = [max(lower_mean(one.loss, level) for one in worlds) for worlds in candidates]
    high = [
        max(upper_mean(one.loss, float(one.loss.mean()) + surprise, level) for one in worlds) for worlds in candidates
    ]
    return np.array(low), np.array(high)


def in_doubt(worlds: Sequence[Shots], confidence: float, level: float) -> bool:
    """Say whether a candidate is shown not to reach the confidence in some world, with the error ``level`` in each."""
    return any(share(int(one.right.sum()), len(one.right), 1 - 2 * level).high < confidence for one in worlds)


def score(worlds: Sequence[Shots]) -> float:
    """Return the mean loss in the worst world."""
    return max(float(one.loss.mean()) for one in worlds)
