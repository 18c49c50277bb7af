"""Condorcet SAVAGE: all pairs meet equally often, and an arm is removed once a rival confidently beats it.

In each sweep, every remaining pair meets once, in random order. The paper plays the pair with the fewest duels and
breaks ties at random, which gives the same order.

The confidence radius after n duels of a pair is sqrt(ln(eta / delta) / (2 n)), with eta = K (K - 1) T. To minimise
regret, delta is 1 / T. With another delta, an arm that remains after step T is the Condorcet winner with probability 1
- delta.

Urvoy, Clerot, Feraud, Naamane. Generic Exploration and K-armed Voting Bandits. ICML 2013, with the Condorcet test. The
listing in Wolfenfeld's survey contains errors, and is not used.
"""

from __future__ import annotations

from math import log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.hooks import NEVER
from ltr_duel.bandits.policy import register
from ltr_duel.bandits.state import Registers, registers
from ltr_duel.core import IntMatrix, IntVector, kernel, random_below, vector


class Params(NamedTuple):
    delta: float = 0.0  # probability of a wrong answer; 0 for 1 / T


class Now:
    n_pairs: int  # number of remaining pairs
    n_left: int  # number of these pairs that have not met in this sweep
    sweeps: int  # number of finished sweeps
    log_delta: float  # ln(eta / delta)


class State(NamedTuple):
    wins: IntMatrix  # (K, K) wins[i, j]: duels that arm i won against arm j
    victories: IntVector  # (K,) duels that each arm won; -1 for removed arms
    pairs: IntVector  # (K (K - 1) / 2,) the first n_pairs entries: remaining pairs i < j as i K + j, unmet pairs first
    now: Registers[Now]


def init(n_arms: int, horizon: int, params: Params) -> State:
    i, j = np.triu_indices(n_arms, 1)
    certainty = -log(params.delta) if params.delta > 0 else log(horizon)
    log_delta = log(n_arms * max(n_arms - 1, 1)) + (log(horizon) + certainty)  # a sum, to avoid overflow
    now = registers(Now, n_pairs=i.size, n_left=i.size, log_delta=log_delta)
    wins, victories = np.zeros((n_arms, n_arms), np.int64), np.zeros(n_arms, np.int64)
    return State(wins, victories, i * n_arms + j, now)


def select(state: State, params: Params, t: int, rng: Generator) -> tuple[int, int]:
    now = state.now[0]
    if now.n_pairs == 0:
        winner = vector.first_most(state.victories)
        return winner, winner
    place = random_below(now.n_left, rng)
    last = now.n_left - 1
    pair = state.pairs[place]
    state.pairs[place] = state.pairs[last]
    state.pairs[last] = pair
    now.n_left = last
    n_arms = state.victories.shape[0]
    return pair // n_arms, pair % n_arms


def update(state: State, params: Params, t: int, first: int, second: int, outcome: int, rng: Generator) -> None:
    if outcome == 0:
        return
    now = state.now[0]
    winner, loser = (first, second) if outcome > 0 else (second, first)
    state.wins[winner, loser] += 1
    state.victories[winner] += 1
    n = now.sweeps + 1
    if state.wins[loser, winner] / n + sqrt(now.log_delta / (2.0 * n)) < 0.5:
        drop(state, loser)
    if now.n_left == 0:
        now.n_left = now.n_pairs
        now.sweeps += 1


@kernel
def drop(state: State, arm: int) -> None:
    now, n_arms = state.now[0], state.victories.shape[0]
    state.victories[arm] = -1
    n_pairs, n_left = 0, 0
    for place in range(now.n_pairs):
        pair = state.pairs[place]
        if pair // n_arms != arm and pair % n_arms != arm:
            state.pairs[n_pairs] = pair
            n_pairs += 1
            n_left += place < now.n_left
    now.n_pairs, now.n_left = n_pairs, n_left


def recommend(state: State, params: Params) -> int:
    return vector.first_most(state.victories)


def idle_until(state: State, params: Params, t: int) -> int:
    return NEVER  # the last arm is played to the end


register(
    __name__,
    needs_horizon=True,
    limits={"delta": (0.0, 0.999999)},
    identifies="the Condorcet winner",
    assumes="a Condorcet winner",
    regret="O(K^2 log T)",
    cost="O(1) amortised",
    cite="urvoy2013generic",
    where="Condorcet SAVAGE",
)
