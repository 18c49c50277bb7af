"""Interleaved Filter: one candidate meets all remaining rivals in turn, until a rival is confidently better.

The better rival is the next candidate. Rivals that the candidate confidently beats are removed. If ``prune`` is True,
the policy is Interleaved Filter 2 of the JCSS paper. When the candidate is replaced, Interleaved Filter 2 also removes
all rivals that the old candidate beat on average. If ``prune`` is False, the policy is Interleaved Filter 1.

The confidence radius is ``radius_scale * sqrt(ln(1/delta) / n)`` with delta = 1 / (T K^2), as in the JCSS paper. A
rival is removed if q - c > 1/2, where q is the candidate's share of wins against the rival, and c is the radius.
Wolfenfeld's survey prints this condition with the wrong sign.

Yue, Broder, Kleinberg, Joachims. The K-armed Dueling Bandits Problem. JCSS 2012; Algorithm 1 of Wolfenfeld's survey.
Comments cite the line numbers of Algorithm 1.
"""

from __future__ import annotations

from math import log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.hooks import NEVER
from ltr_duel.bandits.policy import register
from ltr_duel.bandits.state import Registers, registers
from ltr_duel.core import IntVector, kernel, random_below, shuffle


class Params(NamedTuple):
    prune: bool = True  # whether a replaced candidate's rivals are removed if it beat them on average
    radius_scale: float = 1.0  # 1 in the journal version, 2 in the conference version


class Now:
    candidate: int
    n_rivals: int
    next: int  # position of the next rival in the sweep
    sweeps: int  # number of sweeps of this candidate
    log_delta: float  # ln(1 / delta)


class State(NamedTuple):
    rivals: IntVector  # (K,) the first n_rivals entries: remaining rivals of the candidate, in the order of a sweep
    wins: IntVector  # (K,) wins[x]: duels that the candidate won against rival x
    now: Registers[Now]


def init(n_arms: int, horizon: int, params: Params) -> State:
    log_delta = log(horizon) + 2 * log(n_arms)
    return State(np.arange(n_arms), np.zeros(n_arms, np.int64), registers(Now, log_delta=log_delta))


def select(state: State, params: Params, t: int, rng: Generator) -> tuple[int, int]:
    if t == 1:
        choose_first(state, rng)
    now = state.now[0]
    if now.n_rivals == 0:
        return now.candidate, now.candidate
    return now.candidate, state.rivals[now.next]  # lines 5 and 6


@kernel
def choose_first(state: State, rng: Generator) -> None:
    """Lines 2 and 3."""
    now = state.now[0]
    shuffle(state.rivals, rng)
    now.n_rivals = state.rivals.shape[0] - 1
    now.candidate = state.rivals[now.n_rivals]


def update(state: State, params: Params, t: int, first: int, second: int, outcome: int, rng: Generator) -> None:
    if outcome == 0:
        return
    now = state.now[0]
    state.wins[second] += outcome > 0  # line 7
    now.next += 1
    if now.next == now.n_rivals:
        end_sweep(state, params.radius_scale, params.prune, rng)


@kernel
def end_sweep(state: State, radius_scale: float, prune: bool, rng: Generator) -> None:
    """Lines 8 to 13. The candidate has met each rival n times."""
    now = state.now[0]
    now.next = 0
    now.sweeps += 1
    n = now.sweeps
    radius = radius_scale * sqrt(now.log_delta / n)
    keep_rivals(state, n * (0.5 + radius))  # lines 8 and 9
    better = 0
    for place in range(now.n_rivals):
        better += state.wins[state.rivals[place]] < n * (0.5 - radius)
    if better == 0:
        return
    skip, chosen, place = random_below(better, rng), -1, -1
    while skip >= 0:  # line 10
        place += 1
        chosen = state.rivals[place]
        skip -= state.wins[chosen] < n * (0.5 - radius)
    if prune:
        keep_rivals(state, n * 0.5)
    now.candidate = chosen  # line 11
    state.wins[chosen] = n + 1  # line 12: the new candidate is not its own rival
    keep_rivals(state, n + 0.5)
    for x in range(state.wins.shape[0]):  # line 13
        state.wins[x] = 0
    now.sweeps = 0


@kernel
def keep_rivals(state: State, limit: float) -> None:
    """Keep the rivals against which the candidate won at most ``limit`` times."""
    now, left = state.now[0], 0
    for place in range(now.n_rivals):
        x = state.rivals[place]
        if state.wins[x] <= limit:
            state.rivals[left] = x
            left += 1
    now.n_rivals = left


def recommend(state: State, params: Params) -> int:
    return state.now[0].candidate


def idle_until(state: State, params: Params, t: int) -> int:
    return NEVER  # a candidate without rivals is played to the end


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
