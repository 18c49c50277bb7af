"""Interleaved Filter: one candidate meets all remaining rivals in turn, until one of them is confidently better.

Yue, Broder, Kleinberg, Joachims. The K-armed Dueling Bandits Problem. JCSS 2012; Algorithm 1 of Wolfenfeld's survey,
whose lines the comments give. Assumes a total order with strong stochastic transitivity and the triangle inequality,
and a known horizon T. Regret O(K log T / gap) in expectation.

With ``prune`` a candidate that is replaced takes all rivals with it that lost to it on average (Interleaved Filter 2 of
the JCSS paper); without, only those that lost confidently (Interleaved Filter 1, and the survey's box). The confidence
radius is ``radius_scale * sqrt(ln(1/delta) / n)`` with delta = 1 / (T K^2).

The survey asks for "q - c < 1/2" before pruning; q - c > 1/2 is meant. A step costs O(1), a sweep O(K) more.
"""

from __future__ import annotations

from math import log, sqrt
from typing import NamedTuple

import numpy as np

from ltr_duel.bandits.policy import NEVER, register
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, binomial_draw, kernel, random_below, shuffle


class Params(NamedTuple):
    """Parameters of Interleaved Filter."""

    prune: bool = True  # a fallen candidate takes the rivals it was beating with it
    radius_scale: float = 1.0  # 1 as in the journal version, 2 as in the conference version


class State(NamedTuple):
    """What Interleaved Filter knows about K arms."""

    rivals: IntVector  # (K,) the arms that the candidate still has to face, in the order of a sweep
    wins: IntVector  # (K,) wins[x]: duels that the candidate won against rival x
    clock: IntVector  # (4,) see the constants below
    log_delta: FloatVector  # (1,) ln(1 / delta)


CANDIDATE, RIVALS, NEXT, SWEEPS = 0, 1, 2, 3  # in `clock`: the candidate; how many rivals; place of the next one
# in the sweep; sweeps of this candidate


def init(n_arms: int, horizon: int, params: Params) -> State:
    """Everybody is a rival."""
    rivals, wins = np.arange(n_arms), np.zeros(n_arms, np.int64)
    return State(rivals, wins, np.zeros(4, np.int64), np.array([log(horizon) + 2 * log(n_arms)]))


def select(state: State, params: Params, t: int, rng: np.random.Generator) -> tuple[int, int]:
    """The candidate against the next rival; alone when none is left."""
    if t == 1:
        choose_first(state, rng)
    candidate = state.clock[CANDIDATE]
    if state.clock[RIVALS] == 0:
        return candidate, candidate
    return candidate, state.rivals[state.clock[NEXT]]  # lines 5 and 6


@kernel
def choose_first(state: State, rng: np.random.Generator) -> None:
    """Lines 2 and 3."""
    shuffle(state.rivals, rng)
    state.clock[RIVALS] = state.rivals.shape[0] - 1
    state.clock[CANDIDATE] = state.rivals[state.clock[RIVALS]]


def update(
    state: State, params: Params, t: int, first: int, second: int, outcome: int, rng: np.random.Generator
) -> None:
    """Count; after a sweep, see who falls."""
    if outcome == 0:
        return
    state.wins[second] += outcome > 0  # line 7
    state.clock[NEXT] += 1
    if state.clock[NEXT] == state.clock[RIVALS]:
        end_sweep(state, params.radius_scale, params.prune, rng)


@kernel
def end_sweep(state: State, radius_scale: float, prune: bool, rng: np.random.Generator) -> None:
    """Lines 8 to 13, with n duels of the candidate against each rival."""
    state.clock[NEXT] = 0
    state.clock[SWEEPS] += 1
    n = state.clock[SWEEPS]
    radius = radius_scale * sqrt(state.log_delta[0] / n)
    keep_rivals(state, n * (0.5 + radius))  # lines 8 and 9
    better = 0
    for place in range(state.clock[RIVALS]):
        better += state.wins[state.rivals[place]] < n * (0.5 - radius)
    if better == 0:
        return
    skip = random_below(better, rng)
    chosen = -1
    for place in range(state.clock[RIVALS]):  # line 10
        if state.wins[state.rivals[place]] < n * (0.5 - radius):
            if skip == 0:
                chosen = state.rivals[place]
            skip -= 1
    if prune:
        keep_rivals(state, n * 0.5)
    state.clock[CANDIDATE] = chosen  # line 11
    state.wins[chosen] = n + 1  # line 12: it is no rival of its own
    keep_rivals(state, n + 0.5)
    for x in range(state.wins.shape[0]):  # line 13
        state.wins[x] = 0
    state.clock[SWEEPS] = 0


@kernel
def keep_rivals(state: State, limit: float) -> None:
    """Keep the rivals against whom the candidate won at most ``limit`` times."""
    left = 0
    for place in range(state.clock[RIVALS]):
        x = state.rivals[place]
        if state.wins[x] <= limit:
            state.rivals[left] = x
            left += 1
    state.clock[RIVALS] = left


def recommend(state: State, params: Params) -> int:
    """The candidate."""
    return state.clock[CANDIDATE]


def idle_until(state: State, params: Params, t: int) -> int:
    """A candidate without rivals is played to the end."""
    return NEVER


def sweep(
    state: State, params: Params, p: FloatMatrix, t: int, until: int, met: IntMatrix, rng: np.random.Generator
) -> int:
    """Take as many sweeps at once as can end without anybody falling, else one."""
    decisions = 0
    while t <= until:
        if t == 1:
            choose_first(state, rng)
        candidate, rivals, place = state.clock[CANDIDATE], state.clock[RIVALS], state.clock[NEXT]
        decisions += 1
        if rivals == 0:
            met[candidate, candidate] += until + 1 - t
            return decisions
        sweeps = 0
        if place == 0:
            sweeps = min(harmless_sweeps(state, params.radius_scale), (until + 1 - t) // rivals)
        last = rivals if sweeps > 0 else min(rivals, place + until + 1 - t)
        for k in range(place, last):
            x = state.rivals[k]
            met[candidate, x] += max(1, sweeps)
            state.wins[x] += binomial_draw(max(1, sweeps), p[candidate, x], rng)
        t += max(1, sweeps) * (last - place)
        if sweeps > 0:
            state.clock[SWEEPS] += sweeps
        else:
            state.clock[NEXT] = last
            if last == rivals:
                end_sweep(state, params.radius_scale, params.prune, rng)
    return decisions


@kernel
def harmless_sweeps(state: State, radius_scale: float) -> int:
    """Count the sweeps to come in which nobody falls, whatever the outcomes.

    After n sweeps a rival falls, or is better, only if less than ``n / 2 - r sqrt(n)`` duels against it were lost, or
    won, with r = ``radius_scale * sqrt(ln(1/delta))``. Both counts can only grow, and that bound is below 0 until it
    grows too: so as long as it stays below the smallest count of today nobody falls. One sweep less, for rounding.
    """
    n, fewest = state.clock[SWEEPS], state.clock[SWEEPS]
    for place in range(state.clock[RIVALS]):
        wins = state.wins[state.rivals[place]]
        fewest = min(fewest, wins, n - wins)
    r = radius_scale * sqrt(state.log_delta[0])
    return max(0, int((r + sqrt(r * r + 2.0 * fewest)) ** 2) - 1 - n)


register(
    __name__,
    needs_horizon=True,
    limits={"radius_scale": (1e-3, None)},
    assumes="a total order with strong stochastic transitivity and the triangle inequality",
    regret="O(K log T / gap)",
    cost="O(1)",
    cite="yue2012karmed",
    where="Interleaved Filter",
)
