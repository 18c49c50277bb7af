"""Beat the Mean: each arm plays against random remaining arms, and an arm that is clearly the worst is removed.

`beat_the_mean` explores until one arm remains, and then plays this arm. `beat_the_mean_pac` selects an arm after O(K
gamma^6 / epsilon^2 log(K / (epsilon delta))) duels. With probability 1 - delta, the selected arm is at most epsilon
worse than the best arm. Gamma says how much the preferences may violate stochastic transitivity.

An arm may also meet itself. A coin flip then decides the duel, and the result is counted. When an arm is removed, all
duels against the removed arm are subtracted from the counts of the remaining arms.

Yue, Joachims. Beat the Mean Bandit. ICML 2011, Algorithms 1 to 3. Comments cite the line numbers of Algorithm 1.
"""

from __future__ import annotations

from math import ceil, inf, log, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.hooks import NEVER
from ltr_duel.bandits.policy import register
from ltr_duel.bandits.state import Registers, registers
from ltr_duel.core import FloatVector, IntMatrix, IntVector, coin, kernel, random_below


class Params(NamedTuple):
    gamma: float = 1.0  # allowed violation of stochastic transitivity, 1 for none


class PacParams(NamedTuple):
    gamma: float = 1.0  # allowed violation of stochastic transitivity, 1 for none
    epsilon: float = 0.1  # the selected arm is at most this much worse than the best arm
    delta: float = 0.1  # ... except with this probability


class Now:
    n_active: int  # number of remaining arms
    n_waiting: int
    fewest: int  # n*, the fewest duels
    enough: int  # N
    best: int  # the arm of line 23, or -1
    low: float  # lower bound of all means
    high: float  # upper bound of all means
    radius: float  # c*
    factor: float  # c(n) = factor sqrt(level / n)
    level: float


class State(NamedTuple):
    duels: IntMatrix  # (K, 2 K) duels[b, 2 x]: duels that b recorded against x; duels[b, 2 x + 1]: of these, b won
    n: IntVector  # (K,) duels recorded by each arm
    wins: IntVector  # (K,) recorded duels that the arm won
    mean: FloatVector  # (K,) wins / n, 1/2 before the first duel
    active: IntVector  # (K,) the first n_active entries: remaining arms, ascending
    waiting: IntVector  # (K,) the first n_waiting entries: remaining arms with the fewest duels
    now: Registers[Now]


class PacState(State):
    """A copy of the class `State`, because each policy needs a class of its own."""


def init(n_arms: int, horizon: int, params: Params) -> State:
    factor = 1.0 if params.gamma == 1.0 else 3.0 * params.gamma**2  # equations (9) and (4)
    return State(*_arrays(n_arms, factor, log(2.0 * horizon * n_arms), NEVER))


def pac_init(n_arms: int, horizon: int, params: PacParams) -> PacState:
    enough, before, level = 1, 0, 0.0
    while enough != before:  # the least N of equation (8), with level = ln(K^3 N / delta)
        before = enough
        level = 3 * log(n_arms) + log(before) - log(params.delta)
        enough = max(1, ceil(36 * params.gamma**6 / params.epsilon**2 * level))
    return PacState(*_arrays(n_arms, 3.0 * params.gamma**2, level, enough))  # equation (7)


def _arrays(n_arms: int, factor: float, level: float, enough: int) -> tuple[Any, ...]:
    n, wins, active, waiting = np.zeros((4, n_arms), np.int64)
    active[:] = waiting[:] = np.arange(n_arms)
    bounds: dict[str, float] = {"low": 0.5, "high": 0.5, "radius": 1.0, "factor": factor, "level": level}
    best = 0 if n_arms == 1 else -1
    now = registers(Now, n_active=n_arms, n_waiting=n_arms, best=best, enough=enough, **bounds)
    return np.zeros((n_arms, 2 * n_arms), np.int64), n, wins, np.full(n_arms, 0.5), active, waiting, now


def select(state: State, params: Params, t: int, rng: Generator) -> tuple[int, int]:
    now = state.now[0]
    if now.best >= 0:
        return now.best, now.best
    place = random_below(now.n_waiting, rng)  # line 11
    first = state.waiting[place]
    now.n_waiting -= 1
    state.waiting[place] = state.waiting[now.n_waiting]
    return first, state.active[random_below(now.n_active, rng)]  # line 12


def update(state: State, params: Params, t: int, first: int, second: int, outcome: int, rng: Generator) -> None:
    """Lines 13 to 21."""
    now = state.now[0]
    if now.best >= 0:
        return
    if outcome == 0:
        outcome = coin(rng)
    won = outcome > 0
    state.duels[first, 2 * second] += 1
    state.duels[first, 2 * second + 1] += won
    state.wins[first] += won  # line 13
    state.n[first] += 1  # line 14
    mean = state.wins[first] / state.n[first]
    state.mean[first] = mean
    now.low = min(now.low, mean)
    now.high = max(now.high, mean)
    if now.n_waiting == 0:
        find_fewest(state)
    if now.low + now.radius <= now.high - now.radius:  # otherwise no arm can be removed
        find_range(state)
        if now.low + now.radius <= now.high - now.radius:  # line 16
            remove_worst(state, rng)
    if now.n_active == 1 or now.fewest >= now.enough:  # line 10
        now.best = best_mean(state)


@kernel
def find_fewest(state: State) -> None:
    """Find the arms with the fewest duels, and update the confidence radius (lines 7 and 8)."""
    now = state.now[0]
    active, fewest, waiting = state.active[: now.n_active], state.n[state.active[0]], 0
    for arm in active:
        fewest = min(fewest, state.n[arm])
    for arm in active:
        if state.n[arm] == fewest:
            state.waiting[waiting] = arm
            waiting += 1
    now.fewest, now.n_waiting = fewest, waiting
    now.radius = now.factor * sqrt(now.level / fewest) if fewest > 0 else 1.0


@kernel
def find_range(state: State) -> None:
    """Set ``low`` and ``high`` to the smallest and the largest mean."""
    now, low, high = state.now[0], inf, -inf
    for arm in state.active[: now.n_active]:
        low = min(low, state.mean[arm])
        high = max(high, state.mean[arm])
    now.low, now.high = low, high


@kernel
def remove_worst(state: State, rng: Generator) -> None:
    """Remove the arm with the smallest mean, and the duels against this arm (lines 17 to 19)."""
    now, ties = state.now[0], 0
    for arm in state.active[: now.n_active]:
        ties += state.mean[arm] == now.low
    skip, place = random_below(ties, rng), -1
    while skip >= 0:
        place += 1
        skip -= state.mean[state.active[place]] == now.low
    worst = state.active[place]  # line 17
    left = now.n_active - 1
    for k in range(place, left):  # line 19
        state.active[k] = state.active[k + 1]
    now.n_active = left
    for arm in state.active[:left]:  # line 18
        state.n[arm] -= state.duels[arm, 2 * worst]
        state.wins[arm] -= state.duels[arm, 2 * worst + 1]
        state.mean[arm] = state.wins[arm] / state.n[arm] if state.n[arm] > 0 else 0.5  # line 6
    find_fewest(state)
    find_range(state)


@kernel
def best_mean(state: State) -> int:
    best = state.active[0]
    for arm in state.active[: state.now[0].n_active]:
        if state.mean[arm] > state.mean[best]:
            best = arm
    return best


def recommend(state: State, params: Params) -> int:
    return best_mean(state)


def idle_until(state: State, params: Params, t: int) -> int:
    return NEVER if state.now[0].best >= 0 else t


_FACTS: dict[str, Any] = {
    "assumes": "a total order with relaxed stochastic transitivity and the triangle inequality",
    "cost": "O(1) amortised",
    "cite": "yue2011beat",
}
register(
    __name__,
    needs_horizon=True,
    limits={"gamma": (1.0, None)},
    regret="O(gamma^7 K log T / gap)",
    identifies="the best arm",
    where="Algorithm 2",
    **_FACTS,
)
register(
    __name__,
    name="beat_the_mean_pac",
    prefix="pac",
    limits={"gamma": (1.0, None), "epsilon": (1e-6, 0.5), "delta": (1e-12, 1.0)},
    regret="none: identifies an arm within epsilon of the best with probability 1 - delta",
    identifies="an arm within epsilon of the best",
    where="Algorithm 3",
    **_FACTS,
)
