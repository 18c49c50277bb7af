"""Beat the Mean: every arm plays the average of the remaining arms; the confidently worst one leaves.

Yue, Joachims. Beat the Mean Bandit. ICML 2011, Algorithms 1 to 3; comments give the lines of Algorithm 1. Assumes a
total order with relaxed stochastic transitivity (factor gamma >= 1) and the triangle inequality.

`beat_the_mean` (Algorithm 2) needs the horizon T, explores, then plays the survivor: regret O(gamma^7 K log T / gap).
`beat_the_mean_pac` (Algorithm 3) needs none: it stops after O(K gamma^6 / epsilon^2 log(K / (epsilon delta))) duels
with an arm that is within epsilon of the best with probability 1 - delta, and plays that arm from then on.

An arm meets the mean of all remaining arms, itself included (equation 3): a duel with itself is a coin, and counted.
When an arm leaves, all duels recorded against it are taken back, so each pair's duels are kept. A step costs O(1)
amortised: the arms of fewest duels wait in a list, and the test of line 16 looks at all arms only when bounds on the
largest and the smallest mean allow it to succeed.
"""

from __future__ import annotations

from math import ceil, inf, log, sqrt
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.bandits.policies.beat_the_mean_sweeps import PacSweepState, SweepState, sweep, sweep_arrays
from ltr_duel.bandits.policies.beat_the_mean_sweeps import recommend as recommend_in_sweeps
from ltr_duel.bandits.policy import NEVER, Sweeps, register
from ltr_duel.core import FloatVector, IntMatrix, IntVector, coin, kernel, random_below


class Params(NamedTuple):
    """Parameters of Beat the Mean with a horizon."""

    gamma: float = 1.0  # how far stochastic transitivity may be violated


class PacParams(NamedTuple):
    """Parameters of Beat the Mean as a PAC algorithm."""

    gamma: float = 1.0  # how far stochastic transitivity may be violated
    epsilon: float = 0.1  # the answer may be this much worse than the best arm
    delta: float = 0.1  # ... except with this probability


class State(NamedTuple):
    """What Beat the Mean knows about K arms."""

    duels: IntMatrix  # (K, 2 K) duels[b, 2 x]: recorded by b against x; duels[b, 2 x + 1]: those of them that b won
    n: IntVector  # (K,) duels recorded by each arm
    wins: IntVector  # (K,) those it won
    mean: FloatVector  # (K,) wins / n, 1/2 before the first
    active: IntVector  # (K,) the remaining arms, ascending, then whatever
    waiting: IntVector  # (K,) remaining arms with the fewest duels that were not chosen since
    clock: IntVector  # (5,) see the constants below
    bounds: FloatVector  # (5,) see the constants below


class PacState(State):
    """The same, for the PAC algorithm."""


ACTIVE, WAITING, FEWEST, ENOUGH, BEST = 0, 1, 2, 3, 4  # in `clock`: remaining arms; waiting arms; n*, the fewest duels;
# N; the arm returned in line 23, or -1
LOW, HIGH, RADIUS, FACTOR, LOG = 0, 1, 2, 3, 4  # in `bounds`: no mean is lower; no mean is higher; c*;
# c(n) = FACTOR sqrt(LOG / n)


def init(n_arms: int, horizon: int, params: Params) -> State:
    """Algorithm 2."""
    return State(*_arrays(n_arms, *_terms(n_arms, horizon, params)))


def sweep_init(n_arms: int, horizon: int, params: Params) -> SweepState:
    """Algorithm 2, in whole sweeps."""
    return SweepState(*sweep_arrays(n_arms, *_terms(n_arms, horizon, params)))


def _terms(n_arms: int, horizon: int, params: Params) -> tuple[int, float, float]:
    """Return N, infinite; FACTOR and LOG of the radius of equation (4), or (9) if gamma = 1; delta = 1 / (2 T K)."""
    return NEVER, 1.0 if params.gamma == 1.0 else 3.0 * params.gamma**2, log(2.0 * horizon * n_arms)


def pac_init(n_arms: int, horizon: int, params: PacParams) -> PacState:
    """Algorithm 3: T infinite."""
    return PacState(*_arrays(n_arms, *_pac_terms(n_arms, params)))


def pac_sweep_init(n_arms: int, horizon: int, params: PacParams) -> PacSweepState:
    """Algorithm 3, in whole sweeps."""
    return PacSweepState(*sweep_arrays(n_arms, *_pac_terms(n_arms, params)))


def _pac_terms(n_arms: int, params: PacParams) -> tuple[int, float, float]:
    """Return N; FACTOR and LOG of the radius of equation (7)."""
    enough, level = pac_duels(n_arms, params.gamma, params.epsilon, params.delta)
    return enough, 3.0 * params.gamma**2, level


def pac_duels(n_arms: int, gamma: float, epsilon: float, delta: float) -> tuple[int, float]:
    """Solve equation (8): N = ceil(36 gamma^6 / epsilon^2 ln(K^3 N / delta)), the least; return N and the logarithm."""
    enough, before = 1, 0
    level = 0.0
    while enough != before:
        before = enough
        level = 3 * log(n_arms) + log(before) - log(delta)
        enough = max(1, ceil(36 * gamma**6 / epsilon**2 * level))
    return enough, level


def _arrays(n_arms: int, enough: int, factor: float, level: float) -> tuple[Any, ...]:
    n, wins, active, waiting = np.zeros((4, n_arms), np.int64)
    active[:] = waiting[:] = np.arange(n_arms)
    clock = np.array([n_arms, n_arms, 0, enough, 0 if n_arms == 1 else -1])
    bounds = np.array([0.5, 0.5, 1.0, factor, level])
    return np.zeros((n_arms, 2 * n_arms), np.int64), n, wins, np.full(n_arms, 0.5), active, waiting, clock, bounds


def select(state: State, params: Params, t: int, rng: np.random.Generator) -> tuple[int, int]:
    """Lines 11 and 12, or the arm of line 23 for ever."""
    if state.clock[BEST] >= 0:
        return state.clock[BEST], state.clock[BEST]
    place = random_below(state.clock[WAITING], rng)  # line 11
    first = state.waiting[place]
    state.clock[WAITING] -= 1
    state.waiting[place] = state.waiting[state.clock[WAITING]]
    return first, state.active[random_below(state.clock[ACTIVE], rng)]  # line 12


def update(
    state: State, params: Params, t: int, first: int, second: int, outcome: int, rng: np.random.Generator
) -> None:
    """Lines 13 to 21."""
    if state.clock[BEST] >= 0:
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
    state.bounds[LOW] = min(state.bounds[LOW], mean)
    state.bounds[HIGH] = max(state.bounds[HIGH], mean)
    if state.clock[WAITING] == 0:
        find_fewest(state)
    radius = state.bounds[RADIUS]
    if state.bounds[LOW] + radius <= state.bounds[HIGH] - radius:
        find_range(state)
        if state.bounds[LOW] + radius <= state.bounds[HIGH] - radius:  # line 16
            remove_worst(state, rng)
    if state.clock[ACTIVE] == 1 or state.clock[FEWEST] >= state.clock[ENOUGH]:  # line 10
        state.clock[BEST] = best_mean(state)


@kernel
def find_fewest(state: State) -> None:
    """Lines 7 and 8: bring n*, the arms that have so few duels, and c* up to date."""
    fewest = state.n[state.active[0]]
    for place in range(state.clock[ACTIVE]):
        fewest = min(fewest, state.n[state.active[place]])
    waiting = 0
    for place in range(state.clock[ACTIVE]):
        if state.n[state.active[place]] == fewest:
            state.waiting[waiting] = state.active[place]
            waiting += 1
    state.clock[WAITING] = waiting
    state.clock[FEWEST] = fewest
    state.bounds[RADIUS] = state.bounds[FACTOR] * sqrt(state.bounds[LOG] / fewest) if fewest > 0 else 1.0


@kernel
def find_range(state: State) -> None:
    """Look up the smallest and the largest mean."""
    low, high = inf, -inf
    for place in range(state.clock[ACTIVE]):
        low = min(low, state.mean[state.active[place]])
        high = max(high, state.mean[state.active[place]])
    state.bounds[LOW] = low
    state.bounds[HIGH] = high


@kernel
def remove_worst(state: State, rng: np.random.Generator) -> None:
    """Lines 17 to 19, and what follows from them. LOW is exact here."""
    ties = 0
    for place in range(state.clock[ACTIVE]):
        ties += state.mean[state.active[place]] == state.bounds[LOW]
    skip = random_below(ties, rng)
    worst, left = -1, 0
    for place in range(state.clock[ACTIVE]):
        arm = state.active[place]
        if state.mean[arm] == state.bounds[LOW]:
            skip -= 1
            if skip == -1:
                worst = arm  # line 17
                continue
        state.active[left] = arm  # line 19
        left += 1
    state.clock[ACTIVE] = left
    for place in range(left):  # line 18
        arm = state.active[place]
        state.n[arm] -= state.duels[arm, 2 * worst]
        state.wins[arm] -= state.duels[arm, 2 * worst + 1]
        state.mean[arm] = state.wins[arm] / state.n[arm] if state.n[arm] > 0 else 0.5  # line 6
    find_fewest(state)
    find_range(state)


@kernel
def best_mean(state: State) -> int:
    """Line 23."""
    best = state.active[0]
    for place in range(state.clock[ACTIVE]):
        if state.mean[state.active[place]] > state.mean[best]:
            best = state.active[place]
    return best


def recommend(state: State, params: Params) -> int:
    """Line 23."""
    return best_mean(state)


def idle_until(state: State, params: Params, t: int) -> int:
    """The arm of line 23 is played to the end; an arm that merely met itself as a part of the mean is not."""
    return NEVER if state.clock[BEST] >= 0 else t


register(
    __name__,
    sweeps=Sweeps(SweepState, sweep_init, sweep, recommend_in_sweeps),
    needs_horizon=True,
    limits={"gamma": (1.0, None)},
    assumes="a total order with relaxed stochastic transitivity and the triangle inequality",
    regret="O(gamma^7 K log T / gap)",
    cost="O(1) amortised",
    cite="yue2011beat",
    where="Algorithm 2",
)
register(
    __name__,
    name="beat_the_mean_pac",
    prefix="pac",
    sweeps=Sweeps(PacSweepState, pac_sweep_init, sweep, recommend_in_sweeps),
    limits={"gamma": (1.0, None), "epsilon": (1e-6, 0.5), "delta": (1e-12, 1.0)},
    assumes="a total order with relaxed stochastic transitivity and the triangle inequality",
    regret="none: identifies an arm within epsilon of the best with probability 1 - delta",
    cost="O(1) amortised",
    cite="yue2011beat",
    where="Algorithm 3",
)
