"""MergeDTS: double Thompson sampling within small batches of arms, which are thinned out and merged.

Li, Markov, de Rijke, Zoghi. MergeDTS: A Method for Effective Large-Scale Online Ranker Evaluation. ACM TOIS 2020 (arXiv
1812.04412). Assumes a Condorcet winner and that few pairs tie; needs no horizon. Regret O(K log T) for alpha > 1/2;
the paper's experiments found alpha = 0.8^6, C = 400,000 and batches of 16 to be best, which the theory does not
cover.

The first arm wins the most duels in a tournament sampled from the posterior (coins, see `posterior`); the second is
the one that loses to it most surely in a second sample, so that it is eliminated soon. A batch of one arm joins the
next. Time for the confidence bounds, ln(t + C), starts anew in each stage. A step costs O(batch^2) coins and O(batch)
Beta draws.
"""

from __future__ import annotations

from math import log
from typing import NamedTuple

import numpy as np

from ltr_duel.bandits.batches import (
    BATCHES,
    SINCE,
    batch_rows,
    batch_size,
    drop_beaten,
    is_decided,
    merge_when_due,
    most_victorious_left,
)
from ltr_duel.bandits.policy import NEVER, register
from ltr_duel.bandits.posterior import beats, posterior_rows, record_posterior
from ltr_duel.bandits.statistics import record_win
from ltr_duel.core import FloatMatrix, IntMatrix, IntVector, beta_draw, kernel, random_most, shuffle


class Params(NamedTuple):
    """Parameters of MergeDTS."""

    alpha: float = 0.262144  # exploration, 0.8^6; the bound asks for alpha > 1/2
    batch: int = 16  # arms in a batch, at first
    head_start: float = 400_000.0  # C


class State(NamedTuple):
    """What MergeDTS knows after some duels among K arms."""

    wins: IntMatrix  # (K, K) wins[i, j]: duels that arm i won against arm j, and one
    doubts: FloatMatrix  # (K, K) doubts[i, j]: u_ij >= 1/2 while alpha ln(t + C) >= doubts[i, j]
    prefer: FloatMatrix  # (K, K) prefer[i, j] = Pr(theta_ij > 1/2), see `posterior`
    log_mass: FloatMatrix  # (K, K) see `posterior`
    arms: IntVector  # (K,) the next four: see `batches`
    ends: IntVector  # (K + 1,)
    clock: IntVector  # (3,)
    scratch: IntMatrix  # (3, K + 1)
    score: IntVector  # (K,) scratch: duels of the tournament that the arm in this place won; -1 outside the batch


def init(n_arms: int, horizon: int, params: Params) -> State:
    """Every arm has won once against every other."""
    square = (n_arms, n_arms)
    posterior = posterior_rows(n_arms)
    rows = batch_rows(n_arms, params.batch)
    return State(np.ones(square, np.int64), np.zeros(square), *posterior, *rows, np.full(n_arms, -1))


def select(state: State, params: Params, t: int, rng: np.random.Generator) -> tuple[int, int]:
    """The winner of a sampled tournament, and its likely loser."""
    if t == 1:
        shuffle(state.arms, rng)
    if is_decided(state):
        return state.arms[0], state.arms[0]
    m = (t - 1) % state.clock[BATCHES]
    drop_beaten(state, m, params.alpha * log(t - state.clock[SINCE] + params.head_start))
    if batch_size(state.ends, m) == 1 and state.clock[BATCHES] > 1:
        m = join_next(state, m)
    if is_decided(state):
        return state.arms[0], state.arms[0]
    first = tournament_winner(state, m, rng)
    return first, likely_loser(state, m, first, rng)


@kernel
def join_next(state: State, m: int) -> int:
    """Join batch m with the next (the last one with the one before it); return the new batch."""
    m = min(m, state.clock[BATCHES] - 2)
    for k in range(m + 1, state.clock[BATCHES]):
        state.ends[k] = state.ends[k + 1]
    state.clock[BATCHES] -= 1
    return m


@kernel
def tournament_winner(state: State, m: int, rng: np.random.Generator) -> int:
    """Sample theta_ij for all pairs of the batch; return the arm with the most of them above 1/2."""
    start, end = state.ends[m], state.ends[m + 1]
    for place in range(start, end):
        state.score[place] = 0
    for i in range(start, end):
        for j in range(i + 1, end):
            if beats(state.prefer, state.arms[i], state.arms[j], rng):
                state.score[i] += 1
            else:
                state.score[j] += 1
    return state.arms[start + random_most(state.score[start:end], rng)]


@kernel
def likely_loser(state: State, m: int, first: int, rng: np.random.Generator) -> int:
    """Return the arm i of the batch, not ``first``, with the smallest fresh sample theta_i,first."""
    least, loser = 2.0, first
    for place in range(state.ends[m], state.ends[m + 1]):
        i = state.arms[place]
        if i != first:
            theta = beta_draw(float(state.wins[i, first]), float(state.wins[first, i]), rng)
            if theta < least:
                least, loser = theta, i
    return loser


def update(
    state: State, params: Params, t: int, first: int, second: int, outcome: int, rng: np.random.Generator
) -> None:
    """Count, and end the stage when it is due."""
    if outcome != 0:
        winner, loser = (first, second) if outcome > 0 else (second, first)
        record_win(state.wins, state.doubts, winner, loser)
        won = state.wins[winner, loser] - 1
        duels = won + state.wins[loser, winner] - 1
        record_posterior(state.prefer, state.log_mass, winner, loser, won, duels)
    merge_when_due(state, params.batch, t, rng)


def recommend(state: State, params: Params) -> int:
    """The remaining arm that beats the most arms."""
    return most_victorious_left(state.wins, state)


def idle_until(state: State, params: Params, t: int) -> int:
    """The last arm is played for ever."""
    return NEVER if is_decided(state) else t


register(
    __name__,
    limits={"alpha": (0.0, None), "batch": (2, None), "head_start": (1.0, None)},
    assumes="a Condorcet winner, few ties between arms",
    regret="O(K log T) for alpha > 1/2",
    cost="O(1) in K, O(batch^2) coins, O(batch) Beta draws",
    cite="li2020mergedts",
    where="Algorithm 1",
)
