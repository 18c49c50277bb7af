"""MergeRUCB: RUCB within small batches of arms. Beaten arms are removed, and batches are merged.

In each step, one batch plays (see `batches`). The first arm is a random arm of the batch, and the second arm has the
largest upper confidence bound against the first. The bound contains ln(t + C), with C = ((4 alpha - 1) K^2 / ((2 alpha
- 1) delta))^(1 / (2 alpha - 1)). For a hundred arms, ln(t + C) starts near 15, so the bounds are large.

As in the authors' program (Lerot), each arm starts with one win against every other arm, and batches of one arm are
skipped. A stage ends when at most K / 2^stage + 1 arms remain.

Zoghi, Whiteson, de Rijke. MergeRUCB: A Method for Large-Scale Online Ranker Evaluation. WSDM 2015.
"""

from __future__ import annotations

from math import log, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.batches import (
    Batches,
    arms_left,
    batch_of_step,
    drop_beaten,
    merge_when_due,
    most_victorious_left,
    new_batches,
)
from ltr_duel.bandits.hooks import NEVER
from ltr_duel.bandits.policy import register
from ltr_duel.bandits.statistics import record_win
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, kernel, random_below, shuffle


class Params(NamedTuple):
    alpha: float = 1.01  # exploration
    batch: int = 4  # initial number of arms in a batch
    delta: float = 0.01  # probability that the bounds fail after C steps


class State(NamedTuple):
    wins: IntMatrix  # (K, K) wins[i, j]: duels that arm i won against arm j, plus one
    crossings: FloatMatrix  # (K, K) crossings[i, j]: u_ij >= 1/2 while alpha ln(t + C) >= crossings[i, j]
    batches: Batches
    head_start: FloatVector  # (1,) C


def init(n_arms: int, horizon: int, params: Params) -> State:
    odds = (4 * params.alpha - 1) * n_arms**2 / ((2 * params.alpha - 1) * params.delta)
    head_start = odds ** (1 / (2 * params.alpha - 1))
    wins, crossings = np.ones((n_arms, n_arms), np.int64), np.zeros((n_arms, n_arms))
    return State(wins, crossings, new_batches(n_arms, params.batch), np.array([head_start]))


def select(state: State, params: Params, t: int, rng: Generator) -> tuple[int, int]:
    batches = state.batches
    if t == 1:
        shuffle(batches.arms, rng)
    m = batch_of_step(batches, t)
    bonus = params.alpha * log(t + state.head_start[0])
    drop_beaten(batches, state.crossings, m, bonus)
    arms = batches.arms[batches.ends[m] : batches.ends[m + 1]]
    champion = arms[random_below(arms.shape[0], rng)]
    if arms.shape[0] == 1:
        return champion, champion
    return champion, strongest_rival(state.wins, arms, champion, bonus, rng)


@kernel
def strongest_rival(wins: IntMatrix, arms: IntVector, champion: int, bonus: float, rng: Generator) -> int:
    """Return the arm with the largest bound against the champion. Ties are broken at random."""
    best, ties, rival = -1.0, 0, champion
    for j in arms:
        u = bound_against(wins, j, champion, bonus)
        if u > best:
            best, ties, rival = u, 1, j
        elif u == best:
            ties += 1
    if ties == 1:
        return rival
    n = random_below(ties, rng)
    for j in arms:
        n -= bound_against(wins, j, champion, bonus) == best
        if n < 0:
            return j
    return champion


@kernel
def bound_against(wins: IntMatrix, j: int, champion: int, bonus: float) -> float:
    """Return the upper confidence bound of arm j against the champion, or -2 if j is the champion."""
    if j == champion:
        return -2.0
    n = wins[j, champion] + wins[champion, j]
    return wins[j, champion] / n + sqrt(bonus / n)


def update(state: State, params: Params, t: int, first: int, second: int, outcome: int, rng: Generator) -> None:
    if outcome != 0:
        winner, loser = (first, second) if outcome > 0 else (second, first)
        record_win(state.wins, state.crossings, winner, loser)
    merge_when_due(state.batches, params.batch, t, rng)


def recommend(state: Any, params: Any) -> int:
    return most_victorious_left(state.wins, state.batches)


def idle_until(state: Any, params: Any, t: int) -> int:
    return NEVER if arms_left(state.batches) == 1 else t  # the last arm is played to the end


register(
    __name__,
    limits={"alpha": (0.6, None), "batch": (2, None), "delta": (1e-12, 1.0)},
    assumes="a Condorcet winner, few ties between arms",
    regret="O(K log T)",
    cost="O(1) in K, O(batch^2)",
    cite="zoghi2015mergerucb",
)
