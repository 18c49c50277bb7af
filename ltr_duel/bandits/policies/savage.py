"""Condorcet SAVAGE: all pairs meet equally often; an arm that one rival confidently beats leaves with all its pairs.

Urvoy, Clerot, Feraud, Naamane. Generic Exploration and K-armed Voting Bandits. ICML 2013, with the Condorcet test.
Assumes a Condorcet winner and a known horizon T; regret O(K^2 log T). The confidence radius is sqrt(ln(K (K - 1) T^2)
/ (2 n)), that is delta = 1 / T and eta = K (K - 1) T. (The box of Wolfenfeld's survey is garbled, and not followed.)

"The pair with the fewest duels, ties broken at random" means sweeps over the remaining pairs in random order, so all
pairs met equally often when a sweep ends, and one radius serves a whole sweep. A step costs O(1) amortised.
"""

from __future__ import annotations

from math import log, sqrt
from typing import NamedTuple

import numpy as np

from ltr_duel.bandits.policy import NEVER, register
from ltr_duel.core import FloatVector, IntMatrix, IntVector, kernel, random_below


class Params(NamedTuple):
    """SAVAGE has no parameters but the horizon."""


class State(NamedTuple):
    """What SAVAGE knows about K arms."""

    wins: IntMatrix  # (K, K) wins[i, j]: duels that arm i won against arm j
    victories: IntVector  # (K,) duels that each arm won
    active: IntVector  # (K,) 1 while the arm may be the winner, else 0
    pairs: (
        IntVector  # (K (K - 1) / 2,) remaining pairs i < j as i K + j: those left in this sweep, the others, whatever
    )
    clock: IntVector  # (3,) see the constants below
    log_delta: FloatVector  # (1,) ln(eta / delta)


REMAINING, LEFT, SWEEPS = 0, 1, 2  # in `clock`: remaining pairs; how many of them this sweep has left; finished sweeps


def init(n_arms: int, horizon: int, params: Params) -> State:
    """All arms, all pairs. The logarithm is taken factor by factor: the product overflows."""
    i, j = np.triu_indices(n_arms, 1)
    level = log(n_arms * max(n_arms - 1, 1)) + 2 * log(horizon)
    return State(
        np.zeros((n_arms, n_arms), np.int64),
        np.zeros(n_arms, np.int64),
        np.ones(n_arms, np.int64),
        i * n_arms + j,
        np.array([i.size, i.size, 0]),
        np.array([level]),
    )


def select(state: State, params: Params, t: int, rng: np.random.Generator) -> tuple[int, int]:
    """A random pair among those that met least often; the last arm alone when no pair is left."""
    if state.clock[REMAINING] == 0:
        last = most_victories(state)
        return last, last
    place = random_below(state.clock[LEFT], rng)
    state.clock[LEFT] -= 1
    left = state.clock[LEFT]
    pair = state.pairs[place]
    state.pairs[place] = state.pairs[left]
    state.pairs[left] = pair
    n_arms = state.active.shape[0]
    return pair // n_arms, pair % n_arms


def update(
    state: State, params: Params, t: int, first: int, second: int, outcome: int, rng: np.random.Generator
) -> None:
    """Count, and drop an arm that its rival confidently beats."""
    if outcome == 0:
        return
    winner, loser = (first, second) if outcome > 0 else (second, first)
    state.wins[winner, loser] += 1
    state.victories[winner] += 1
    n = state.clock[SWEEPS] + 1
    if state.wins[loser, winner] / n + sqrt(state.log_delta[0] / (2.0 * n)) < 0.5:
        drop(state, loser)
    if state.clock[LEFT] == 0:
        state.clock[LEFT] = state.clock[REMAINING]
        state.clock[SWEEPS] += 1


@kernel
def drop(state: State, arm: int) -> None:
    """Remove an arm and all its pairs."""
    n_arms = state.active.shape[0]
    state.active[arm] = 0
    remaining, left = 0, 0
    for place in range(state.clock[REMAINING]):
        pair = state.pairs[place]
        if pair // n_arms != arm and pair % n_arms != arm:
            state.pairs[remaining] = pair
            remaining += 1
            left += place < state.clock[LEFT]
    state.clock[REMAINING] = remaining
    state.clock[LEFT] = left


@kernel
def most_victories(state: State) -> int:
    """Return the remaining arm that won the most duels."""
    best = -1
    for k in range(state.active.shape[0]):
        if state.active[k] and (best < 0 or state.victories[k] > state.victories[best]):
            best = k
    return best


def recommend(state: State, params: Params) -> int:
    """The remaining arm that won the most duels."""
    return most_victories(state)


def idle_until(state: State, params: Params, t: int) -> int:
    """The last arm is played to the end."""
    return NEVER


register(
    __name__,
    needs_horizon=True,
    assumes="a Condorcet winner",
    regret="O(K^2 log T)",
    cost="O(1) amortised",
    cite="urvoy2013generic",
    where="Condorcet SAVAGE",
)
