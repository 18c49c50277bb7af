"""Balanced Doubler: a Doubler that keeps old rewards, as averages over the epochs in which every arm played.

The module `doubler` explains epochs. In an epoch, all arms on the right play against the same opponent. If each arm
plays in each epoch, its mean rewards can be averaged over the epochs, and compared with the averages of other arms. For
this purpose, an epoch begins with a *hot start*, in which each arm plays m = K / Delta times. Delta is the gap between
the two best utilities, which is rarely known.

The paper (Wolfenfeld's survey) does not say what happens if an epoch is too short for a hot start. Here, epochs of less
than 2 m K steps are epochs of `doubler` with its default exploration. All longer epochs are called *balanced*. They
begin with a hot start. Only balanced epochs count in the averages. The left player draws only from arms that were
chosen after the hot start. ``alpha`` is the exploration constant in Algorithm 11.

In Wolfenfeld's program, hot starts have another length, and begin with the first epoch that is long enough. The left
player of the program changes only after an epoch with a better score than all earlier epochs.
"""

from __future__ import annotations

from math import ceil, log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.cardinal import UNPLAYED
from ltr_duel.bandits.policies.doubler import (
    Opponent,
    most_frequent,
    new_opponent,
    random_member,
    replace_members,
    starts_epoch,
)
from ltr_duel.bandits.policies.sparring import right_won
from ltr_duel.bandits.policy import register
from ltr_duel.bandits.state import Registers, registers
from ltr_duel.core import FloatVector, IntVector, kernel, vector


class Params(NamedTuple):
    gap: float = 0.1  # Delta, the gap between the two best utilities
    alpha: float = 0.25  # exploration


class Now:
    epochs: int  # number of balanced epochs, this epoch included; 0 in a plain epoch
    start: int  # first step of this epoch
    hot_start: int  # m K, the length of a hot start
    first: int  # first step of the first balanced epoch


class State(NamedTuple):
    mean: FloatVector  # (K,) the arm's mean reward in an epoch, averaged over the balanced epochs
    width: FloatVector  # (K,) sqrt(1 / plays, summed over the balanced epochs) / epochs
    past_mean: FloatVector  # (K,) the arm's mean reward in an epoch, summed over finished balanced epochs
    past_width: FloatVector  # (K,) 1 / plays in an epoch, summed over finished balanced epochs
    won: IntVector  # (K,) duels won on the right in this epoch
    plays: IntVector  # (K,) plays on the right in this epoch
    opponent: Opponent  # does not count the right arms of hot starts
    now: Registers[Now]


def init(n_arms: int, horizon: int, params: Params) -> State:
    hot_start = ceil(n_arms / params.gap) * n_arms
    first = 1 << (2 * hot_start - 1).bit_length()  # the first power of two that is at least 2 m K
    now = registers(Now, start=1, hot_start=hot_start, first=first)
    mean, width, past_mean, past_width = np.zeros((4, n_arms))
    won, plays = np.zeros((2, n_arms), np.int64)
    return State(mean, width, past_mean, past_width, won, plays, new_opponent(n_arms), now)


def select(state: State, params: Params, t: int, rng: Generator) -> tuple[int, int]:
    now, n_arms = state.now[0], state.mean.shape[0]
    if starts_epoch(t):
        replace_members(state.opponent, rng)
        begin_epoch(state, t)
    left = random_member(state.opponent, rng)
    since = t - now.start
    if now.epochs == 0:  # the UCB1 bandit of plain Doubler
        return left, vector.random_highest(state.mean, state.width, sqrt(0.5 * log(max(since, 1))), rng)
    if since < now.hot_start:
        return left, since % n_arms
    return left, vector.random_highest(state.mean, state.width, sqrt(params.alpha * log(t)), rng)


@kernel
def begin_epoch(state: State, t: int) -> None:
    """Add the results of a balanced epoch to the sums, and begin the next epoch."""
    now = state.now[0]
    for k in range(state.mean.shape[0]):
        if now.epochs > 0:
            state.past_mean[k] += state.won[k] / state.plays[k]
            state.past_width[k] += 1.0 / state.plays[k]
        state.won[k] = 0
        state.plays[k] = 0
        state.mean[k] = UNPLAYED
        state.width[k] = 0.0
    now.epochs += t >= now.first
    now.start = t


def update(state: State, params: Params, t: int, first: int, second: int, outcome: int, rng: Generator) -> None:
    now = state.now[0]
    state.won[second] += right_won(outcome, rng)
    state.plays[second] += 1
    epochs, n = max(now.epochs, 1), state.plays[second]
    state.mean[second] = (state.past_mean[second] + state.won[second] / n) / epochs
    state.width[second] = sqrt(state.past_width[second] + 1.0 / n) / epochs
    if now.epochs == 0 or t - now.start >= now.hot_start:
        state.opponent.chosen[second] += 1


def recommend(state: State, params: Params) -> int:
    return most_frequent(state.opponent)  # the paper defines no recommendation


register(
    __name__,
    limits={"gap": (1e-6, 1.0), "alpha": (0.0, None)},
    assumes="utilities behind the preferences, a linear link, a known gap between the best two",
    regret="O(log T) claimed",
    cost="O(K)",
    cite="wolfenfeld_dueling",
    where="Algorithm 11",
)
