"""A race: all candidates are tried a little, and those that may be the best are tried again and again.

The score of a candidate is its mean loss in the world where that is largest; the least is the best. Two tests look at
it. The sharp one is part of the claims: a candidate is *dropped* when it is shown to be worse than another one
(`Proof`), and the chance that the best one is ever dropped is at most the ``error`` of the race. The blunt one only
says where runs are well spent: the leader is tried as often as anything may be, and beside it those that may yet lose
clearly less (`_rivals`). Whoever is passed over so is not called worse, and comes back when the leader turns out to be
worse than it looked: a run that goes wrong is rare and dear, and small samples mostly hold none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ltr_duel.advice.bounds import lower_mean, share, upper_mean
from ltr_duel.core import FloatVector, MarkVector, statistics

SLACK = 0.1  # of its loss: so much more may the leader lose than a candidate that is not tried again
_BLUNT = 0.05  # one-sided error of the blunt test
_MOST_RIVALS = 3  # tried beside the leader, or 1/2, 1/4, ... of all in earlier rounds


class Shots(NamedTuple):
    """Some runs of a candidate in one world."""

    loss: FloatVector  # (runs,)
    right: MarkVector  # (runs,) 1 where a right ranker was named

    def and_more(self, others: Shots) -> Shots:
        """Add runs."""
        return Shots(np.concatenate([self.loss, others.loss]), np.concatenate([self.right, others.right]))


class Wish(NamedTuple):
    """Runs to be done: those numbered ``begin`` to ``end`` of a candidate in a world."""

    candidate: int
    world: int
    begin: int
    end: int


Shoot = Callable[[list[Wish]], list[Shots]]


class Round(NamedTuple):
    """What is known after a round."""

    runs: int  # of each candidate that was tried in it, in each world that matters for it, up to now
    tried: tuple[int, ...]
    left: tuple[int, ...]  # candidates that are left after it
    dropped: tuple[int, ...]  # those that were dropped by it


class Finish(NamedTuple):
    """How a race ended."""

    left: list[int]  # the first of them won
    behind: list[int]  # the dropped, the last dropped first
    shots: list[list[Shots]]  # of each candidate in each world
    rounds: list[Round]


class Proof(NamedTuple):
    """How one candidate is shown to be worse than another.

    Worse is whose lower bound in some world is above the upper bounds of the other one in all worlds. A candidate is in
    doubt once it is shown that it does not reach the confidence in some world; one that is not in doubt is not worse
    than one that is.

    Each bound is looked at once for each number of runs. The best candidate can only be dropped when one of its own
    lower bounds fails, or another's upper bound in the world that is worst for that one, or a share. A third of the
    error is for each, in even parts; upper bounds know of losses that are rare and high (`upper_mean`).
    """

    surprise: float  # how much higher than its mean the loss of a run may be that goes wrong
    confidence: float  # how often a right ranker is to be named
    error: float  # the chance, at most, that the best candidate is dropped
    looks: int
    candidates: int
    worlds: int

    def worse(self, left: Sequence[int], shots: Sequence[Sequence[Shots]]) -> list[int]:
        """Return which of the candidates ``left`` are shown to be worse than another of them."""
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
    """Let candidates race.

    shoot: simulates the runs of a list of wishes, and returns them in the same order.
    sizes: how many runs a candidate has in a world after being tried once, twice, ...; at least 2.
    proof: for so many candidates and worlds.
    floor: a loss that is too small to matter.
    sure_first: candidates that are not in doubt lead before those that are.
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
        for (k, m), more in zip(pairs, shoot([Wish(k, m, begin, end) for k, m in pairs]), strict=True):
            shots[k][m] = shots[k][m].and_more(more)
            tries[k, m] += 1
        dropped = proof.worse(left, shots)
        left = sorted((k for k in left if k not in dropped), key=lambda k: _place(k, shots, proof, sure_first))
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
) -> list[tuple[int, int]]:
    """Return what to try next: of the leader and its rivals those that were tried least often."""
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
    """Return those that may lose less than the leader, by more than a tenth and the floor."""
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
    """Return the worlds in which the loss of a candidate may be largest."""
    low = max(lower_mean(one.loss, _BLUNT) for one in worlds)
    return [m for m, one in enumerate(worlds) if 2 * one.loss.mean() - lower_mean(one.loss, _BLUNT) >= low]


def _place(k: int, shots: list[list[Shots]], proof: Proof, sure_first: bool) -> tuple[bool, float, int]:
    return sure_first and in_doubt(shots[k], proof.confidence, _BLUNT), score(shots[k]), k


def in_doubt(worlds: Sequence[Shots], confidence: float, level: float = _BLUNT) -> bool:
    """Say whether a candidate is shown not to reach the confidence in some world, with the error ``level`` in each."""
    return any(share(int(one.right.sum()), len(one.right), 1 - 2 * level).high < confidence for one in worlds)


def score(worlds: Sequence[Shots]) -> float:
    """Return the mean loss in the worst world."""
    return float(_worst(worlds).mean())


def _worst(worlds: Sequence[Shots]) -> FloatVector:
    return max((one.loss for one in worlds), key=lambda loss: float(loss.mean()))
