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
from numpy.random import Generator

from ltr_duel.bandits.batches import (
    Batches,
    arms_left,
    batch_size,
    drop_beaten,
    merge_when_due,
    most_victorious_left,
    new_batches,
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
    batches: Batches
    score: IntVector  # (K,) scratch: duels of the tournament that each arm of a batch won


def init(n_arms: int, horizon: int, params: Params) -> State:
    """Every arm has won once against every other."""
    wins, doubts = np.ones((n_arms, n_arms), np.int64), np.zeros((n_arms, n_arms))
    batches, score = new_batches(n_arms, params.batch), np.zeros(n_arms, np.int64)
    return State(wins, doubts, *posterior_rows(n_arms), batches, score)


def select(state: State, params: Params, t: int, rng: Generator) -> tuple[int, int]:
    """The winner of a sampled tournament, and its likely loser."""
    batches, now = state.batches, state.batches.now[0]
    if t == 1:
        shuffle(batches.arms, rng)
    m = (t - 1) % now.count
    drop_beaten(batches, state.doubts, m, params.alpha * log(t - now.since + params.head_start))
    if batch_size(batches, m) == 1 and now.count > 1:
        m = join_next(batches, m)
    if arms_left(batches) == 1:
        return batches.arms[0], batches.arms[0]
    arms = batches.arms[batches.ends[m] : batches.ends[m + 1]]
    first = tournament_winner(state.prefer, state.score, arms, rng)
    return first, likely_loser(state.wins, arms, first, rng)


@kernel
def join_next(batches: Batches, m: int) -> int:
    """Join batch m with the next (the last one with the one before it); return the new batch."""
    now = batches.now[0]
    m = min(m, now.count - 2)
    for k in range(m + 1, now.count):
        batches.ends[k] = batches.ends[k + 1]
    now.count -= 1
    return m


@kernel
def tournament_winner(prefer: FloatMatrix, score: IntVector, arms: IntVector, rng: Generator) -> int:
    """Sample theta_ij for all pairs of these arms; return the arm with the most of them above 1/2."""
    score = score[: arms.shape[0]]
    for a in range(arms.shape[0]):
        score[a] = 0
    for a in range(arms.shape[0]):
        for b in range(a + 1, arms.shape[0]):
            if beats(prefer, arms[a], arms[b], rng):
                score[a] += 1
            else:
                score[b] += 1
    return arms[random_most(score, rng)]


@kernel
def likely_loser(wins: IntMatrix, arms: IntVector, first: int, rng: Generator) -> int:
    """Return the arm i, not ``first``, with the smallest fresh sample theta_i,first."""
    least, loser = 2.0, first
    for i in arms:
        if i != first:
            theta = beta_draw(float(wins[i, first]), float(wins[first, i]), rng)
            if theta < least:
                least, loser = theta, i
    return loser


def update(state: State, params: Params, t: int, first: int, second: int, outcome: int, rng: Generator) -> None:
    """Count, and end the stage when it is due."""
    if outcome != 0:
        winner, loser = (first, second) if outcome > 0 else (second, first)
        record_win(state.wins, state.doubts, winner, loser)
        won = state.wins[winner, loser] - 1
        duels = won + state.wins[loser, winner] - 1
        record_posterior(state.prefer, state.log_mass, winner, loser, won, duels)
    merge_when_due(state.batches, params.batch, t, rng)


def recommend(state: State, params: Params) -> int:
    """The remaining arm that beats the most arms."""
    return most_victorious_left(state.wins, state.batches)


def idle_until(state: State, params: Params, t: int) -> int:
    """The last remaining arm is played to the end."""
    return NEVER if arms_left(state.batches) == 1 else t


register(
    __name__,
    limits={"alpha": (0.0, None), "batch": (2, None), "head_start": (1.0, None)},
    assumes="a Condorcet winner, few ties between arms",
    regret="O(K log T) for alpha > 1/2",
    cost="O(1) in K, O(batch^2) coins, O(batch) Beta draws",
    cite="li2020mergedts",
    where="Algorithm 1",
)
