"""A race: all candidates get a few runs, and possible winners get further runs.

A world consists of the rankers and one click model (`ltr_duel.advice.world`). The score of a candidate is its mean loss
in its worst world; the lowest score is the best. There are two tests. The strict test is part of the reported results:
a candidate is *dropped* if it is shown to be worse than another one (`Proof`). The probability that the best candidate
is ever dropped is at most the ``error`` of the race. The loose test only allocates runs: the leader gets the maximum
number of runs, and so do the rivals whose loss may still be clearly lower (`_rivals`). A candidate without further runs
is not called worse, and gets runs again if the leader turns out to be worse than expected. This can happen because bad
runs are rare and costly, and most small samples contain none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ltr_duel.advice.bounds import lower_mean, share, upper_mean
from ltr_duel.core import FloatVector, MarkVector, statistics

SLACK = 0.1  # rivals get no further runs if their loss is lower by at most this fraction of the leader's loss
_BLUNT = 0.05  # one-sided error of the loose test
_MOST_RIVALS = 3  # maximum number of candidates with further runs, leader included; early on: 1/2, 1/4, ... of all


class Shots(NamedTuple):
    """Runs of a candidate in one world."""

    loss: FloatVector  # (runs,)
    right: MarkVector  # (runs,) 1 if a right ranker was named

    def and_more(self, others: Shots) -> Shots:
        """Return these runs together with the ``others``."""
        return Shots(np.concatenate([self.loss, others.loss]), np.concatenate([self.right, others.right]))


Pairs = list[tuple[int, int]]  # candidates and worlds
Shoot = Callable[[Pairs, int, int], list[Shots]]


class Round(NamedTuple):
    """The state after a round."""

    runs: int  # total number of runs of each candidate in ``tried``, in each world with new runs
    tried: tuple[int, ...]  # candidates with new runs in this round
    left: tuple[int, ...]  # candidates that remain after this round
    dropped: tuple[int, ...]  # candidates that were dropped in this round


class Finish(NamedTuple):
    """The result of a race."""

    left: list[int]  # the first one is the winner
    behind: list[int]  # the dropped candidates, the last dropped first
    shots: list[list[Shots]]  # runs of each candidate in each world
    rounds: list[Round]


class Proof(NamedTuple):
    """The test whether one candidate is worse than another.

    Candidate A is worse than candidate B if, in some world, the lower bound on the loss of A is above the upper bounds
    of B in all worlds. A candidate is in doubt if it is shown to miss the confidence in some world; a candidate that is
    not in doubt is never called worse than a candidate in doubt.

    Each bound is tested once for each number of runs. The best candidate can be dropped only if one of three kinds of
    bounds is wrong: a lower bound of the best candidate, the upper bound of another candidate in that candidate's
    worst world, or a bound on a share of right runs. Each kind has a third of the error, divided equally among
    the bounds; upper bounds allow for rare high losses (`upper_mean`).
    """

    surprise: float  # excess of the loss of a wrong run over the mean loss
    confidence: float  # required share of runs that name a right ranker
    error: float  # maximum probability that the best candidate is dropped
    looks: int  # maximum number of tests of a bound
    candidates: int  # number of candidates
    worlds: int  # number of worlds

    def worse(self, left: Sequence[int], shots: Sequence[Sequence[Shots]]) -> list[int]:
        """Return the candidates in ``left`` that are shown to be worse than another candidate in ``left``."""
        error = self.error / (3 * self.looks)
        low = [max(lower_mean(one.loss, error / self.worlds) for one in shots[k]) for k in left]
        high = np.array(
            [
                max(
                    upper_mean(one.loss, float(one.loss.mean()) + self.surprise, error / self.candidates)
                    for one in shots[k]
                )
                for k in left
            ]
        )
        each = error / (self.candidates * self.worlds)
        doubt = np.array([in_doubt(shots[k], self.confidence, each) for k in left])
        return [k for i, k in enumerate(left) if ((low[i] > high) & (~doubt | doubt[i])).any()]


def race(shoot: Shoot, sizes: Sequence[int], proof: Proof, *, floor: float = 0.0, sure_first: bool = False) -> Finish:
    """Run a race of candidates, and return the result.

    shoot: function that simulates the runs ``begin`` to ``end`` (exclusive) of each (candidate, world) pair, and
        returns the results in the same order.
    sizes: total number of runs of a candidate in a world after one try, two tries, ...; each at least 2.
    floor: a negligible difference in loss.
    sure_first: whether candidates that are not in doubt are ordered before candidates in doubt.
    """
    nothing = Shots(np.zeros(0), np.zeros(0, np.uint8))
    shots = [[nothing] * proof.worlds for _ in range(proof.candidates)]
    tries = np.zeros((proof.candidates, proof.worlds), np.int64)
    left, rounds = list(range(proof.candidates)), []
    behind: list[int] = []
    pairs = [(k, m) for k in left for m in range(proof.worlds)]
    while pairs:
        step = tries[pairs[0]]
        begin, end = (sizes[step - 1] if step else 0), sizes[step]
        for (k, m), more in zip(pairs, shoot(pairs, begin, end), strict=True):
            shots[k][m] = shots[k][m].and_more(more)
            tries[k, m] += 1
        dropped = proof.worse(left, shots)
        doubt = {k: sure_first and in_doubt(shots[k], proof.confidence, _BLUNT) for k in left}
        left = sorted((k for k in left if k not in dropped), key=lambda k: (doubt[k], score(shots[k]), k))
        behind = sorted(dropped, key=lambda k: score(shots[k])) + behind
        rounds.append(Round(int(end), tuple(dict.fromkeys(k for k, _ in pairs)), tuple(left), tuple(dropped)))
        pairs = _next(left, shots, tries, len(sizes), proof, floor, sure_first)
    return Finish(left, behind, shots, rounds)


def _next(
    left: list[int],
    shots: list[list[Shots]],
    tries: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
    most: int,
    proof: Proof,
    floor: float,
    sure_first: bool,
) -> Pairs:
    """Return the (candidate, world) pairs to run next: among the leader and its rivals, the pairs with fewest tries."""
    leader, *_ = left
    worst = _worst_worlds(shots[leader])
    pairs = [(leader, m) for m in range(proof.worlds) if m in worst or tries[leader, m] < most - 1]
    for place, k in enumerate(_rivals(left, shots, proof, floor, sure_first)):
        pairs += [
            (k, m)
            for m in _worst_worlds(shots[k])
            if place < max(_MOST_RIVALS, proof.candidates >> int(tries[k, m])) - 1
        ]
    pairs = [pair for pair in pairs if tries[pair] < most]
    least = min((tries[pair] for pair in pairs), default=0)
    return [pair for pair in pairs if tries[pair] == least]


def _rivals(left: list[int], shots: list[list[Shots]], proof: Proof, floor: float, sure_first: bool) -> list[int]:
    """Return the candidates whose loss may be lower than the leader's by more than `SLACK` and the floor."""
    leader, *others = left
    worst = _worst(shots[leader])
    doubt = {k: sure_first and in_doubt(shots[k], proof.confidence, _BLUNT) for k in left}
    slack = SLACK * abs(worst.mean()) + floor
    found = []
    for k in others:
        rival = _worst(shots[k])
        noise = np.sqrt(worst.var(ddof=1) / len(worst) + rival.var(ddof=1) / len(rival))
        reach = float(statistics.student_quantile(1 - _BLUNT, min(len(worst), len(rival)) - 1)) * noise
        if doubt[k] <= doubt[leader] and rival.mean() - worst.mean() - reach < -slack:
            found.append(k)
    return found


def _worst_worlds(worlds: Sequence[Shots]) -> list[int]:
    """Return the worlds in which the candidate's loss may be highest."""
    low = max(lower_mean(one.loss, _BLUNT) for one in worlds)
    return [m for m, one in enumerate(worlds) if 2 * one.loss.mean() - lower_mean(one.loss, _BLUNT) >= low]


def in_doubt(worlds: Sequence[Shots], confidence: float, level: float = _BLUNT) -> bool:
    """Return whether a candidate is shown to miss the confidence in some world; each world has the error ``level``."""
    return any(share(int(one.right.sum()), len(one.right), 1 - 2 * level).high < confidence for one in worlds)


def score(worlds: Sequence[Shots]) -> float:
    """Return the mean loss in the worst world."""
    return float(_worst(worlds).mean())


def _worst(worlds: Sequence[Shots]) -> FloatVector:
    return max((one.loss for one in worlds), key=lambda loss: float(loss.mean()))
