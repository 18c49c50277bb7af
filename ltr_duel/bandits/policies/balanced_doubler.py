"""Balanced Doubler: Doubler that keeps what it learned, by averaging over epochs in which every arm was played.

An epoch's mean rewards share one opponent, so averages of epoch means are comparable between arms, as long as each arm
has its plays in each epoch (the "hot start": m = K / Delta plays of each arm).

Wolfenfeld, Dueling Bandits, Algorithm 11. Assumes utilities behind the preferences with a linear link, and that the gap
Delta between the two best utilities is known: an oracle's knowledge. Needs no horizon. Regret O(log T) is claimed.
A step costs O(K).

The paper leaves open how hot starts fit into short epochs. Here they are the first m K steps of their epoch, and epochs
shorter than 2 m K are those of plain Doubler; the averages run over the epochs after that. Hot-start plays are not part
of the multiset that the left player draws from.
"""

from __future__ import annotations

from math import ceil, log, sqrt
from typing import NamedTuple

import numpy as np

from ltr_duel.bandits.cardinal import UNPLAYED, ucb_advance
from ltr_duel.bandits.multiset import random_member, replace_members, starts_epoch
from ltr_duel.bandits.policies.doubler import most_frequent
from ltr_duel.bandits.policies.sparring import right_won
from ltr_duel.bandits.policy import register
from ltr_duel.core import FloatVector, IntVector, random_highest


class Params(NamedTuple):
    """Parameters of Balanced Doubler."""

    gap: float = 0.1  # Delta, the gap between the two best utilities
    alpha: float = 0.25  # exploration


class State(NamedTuple):
    """What Balanced Doubler knows about K arms."""

    mean: FloatVector  # (K,) average over the epochs of the mean reward in the epoch
    width: FloatVector  # (K,) sqrt(sum over epochs of 1 / plays) / epochs
    past_mean: FloatVector  # (K,) sum over finished balanced epochs of the mean reward
    past_width: FloatVector  # (K,) sum over finished balanced epochs of 1 / plays
    won: IntVector  # (K,) duels won on the right in this epoch
    plays: IntVector  # (K,) plays on the right in this epoch
    cumulative: IntVector  # (K,) running sum of the multiset's histogram
    chosen: IntVector  # (K,) right arms of this epoch, without the hot start
    clock: IntVector  # (4,) see the constants below


EPOCHS, START, HOT_START, FIRST = 0, 1, 2, 3  # in `clock`: balanced epochs, this one included (0 in a plain
# epoch); the step that opened this epoch; length m K of a hot start; the first step of the first balanced epoch


def init(n_arms: int, horizon: int, params: Params) -> State:
    """Nothing has been played."""
    mean, width, past_mean, past_width = np.zeros((4, n_arms))
    won, plays, cumulative, chosen = np.zeros((4, n_arms), np.int64)
    hot_start = ceil(n_arms / params.gap) * n_arms
    first = 1 << (2 * hot_start - 1).bit_length()  # the first power of two that is at least 2 m K
    clock = np.array([0, 1, hot_start, first])
    return State(mean, width, past_mean, past_width, won, plays, cumulative, chosen, clock)


def select(state: State, params: Params, t: int, rng: np.random.Generator) -> tuple[int, int]:
    """The opponent draws; the right player plays its hot start, or the largest index."""
    n_arms = state.mean.shape[0]
    if starts_epoch(t):
        replace_members(state.cumulative, state.chosen, rng)
        for k in range(n_arms):
            if state.clock[EPOCHS] > 0:
                state.past_mean[k] += state.won[k] / state.plays[k]
                state.past_width[k] += 1.0 / state.plays[k]
            state.won[k] = 0
            state.plays[k] = 0
            state.mean[k] = UNPLAYED
            state.width[k] = 0.0
        state.clock[EPOCHS] += t >= state.clock[FIRST]
        state.clock[START] = t
    left = random_member(state.cumulative, rng)
    since = t - state.clock[START]
    if state.clock[EPOCHS] == 0:
        return left, ucb_advance(state.mean, state.width, since, 0.5, rng)
    if since < state.clock[HOT_START]:
        return left, since % n_arms
    return left, random_highest(state.mean, state.width, sqrt(params.alpha * log(t)), rng)


def update(
    state: State, params: Params, t: int, first: int, second: int, outcome: int, rng: np.random.Generator
) -> None:
    """Average over the balanced epochs, or within the plain one."""
    won = right_won(outcome, rng)
    state.won[second] += won
    state.plays[second] += 1
    epochs, n = max(state.clock[EPOCHS], 1), state.plays[second]
    state.mean[second] = (state.past_mean[second] + state.won[second] / n) / epochs
    state.width[second] = sqrt(state.past_width[second] + 1.0 / n) / epochs
    if state.clock[EPOCHS] == 0 or t - state.clock[START] >= state.clock[HOT_START]:
        state.chosen[second] += 1


def recommend(state: State, params: Params) -> int:
    """The most frequent arm of the last full epoch (the paper names none)."""
    return most_frequent(state.cumulative)


register(
    __name__,
    limits={"gap": (1e-6, 1.0), "alpha": (0.0, None)},
    assumes="utilities behind the preferences, linear link, and that the gap of the best two is known",
    regret="O(log T) claimed",
    cost="O(K)",
    cite="wolfenfeld_dueling",
    where="Algorithm 11",
)
