"""MergeDTS: double Thompson sampling within small batches of arms. Beaten arms are removed, and batches are merged.

In each step, one batch plays. The result of each pair in the batch is sampled from the posterior, and the first arm is
the arm with the most wins in this sample. The win rates of the first arm are then sampled anew. The second arm is the
arm against which the first arm has the largest sample. This choice soon eliminates beaten arms.

A batch of one arm joins the next batch. The confidence bounds contain ln(t + C), where t counts the steps of the
current stage (see `batches`). In the paper's experiments, alpha = 0.8^6, C = 400,000 and batches of 16 were best. The
theory does not cover this alpha.

Li, Markov, de Rijke, Zoghi. MergeDTS: A Method for Effective Large-Scale Online Ranker Evaluation. ACM TOIS 2020 (arXiv
1812.04412).
"""

from __future__ import annotations

from math import log
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits import thompson
from ltr_duel.bandits.batches import (
    Batches,
    arms_left,
    batch_size,
    drop_beaten,
    largest_batch,
    merge_when_due,
    new_batches,
)
from ltr_duel.bandits.policies.merge_rucb import idle_until, recommend
from ltr_duel.bandits.policy import register
from ltr_duel.bandits.state import Registers, registers
from ltr_duel.bandits.statistics import record_win
from ltr_duel.bandits.tournament import Tournament, WordVector, fair_bits, most_wins, new_tournament, seat, set_bits
from ltr_duel.core import FloatMatrix, IntMatrix, IntVector, kernel, shuffle


class Params(NamedTuple):
    alpha: float = 0.262144  # exploration, 0.8^6; the bound needs alpha > 1/2
    batch: int = 16  # initial number of arms in a batch
    head_start: float = 400_000.0  # C


class Turn:
    """The batch whose turn it is."""

    batch: int
    bonus: float  # alpha ln(t + C)


class State(NamedTuple):
    wins: IntMatrix  # (K, K) wins[i, j]: duels that arm i won against arm j, plus one
    crossings: FloatMatrix  # (K, K) crossings[i, j]: u_ij >= 1/2 while alpha ln(t + C) >= crossings[i, j]
    prefer: FloatMatrix  # (K, K) prefer[i, j] = Pr(theta_ij > 1/2), see `thompson`
    log_mass: FloatMatrix  # (K, K) see `thompson`
    levels: thompson.Levels  # row c: samples of arm c against the other arms of its batch
    batches: Batches
    tournament: Tournament
    row: WordVector  # (padded K,) scratch: bits of the arms of a batch
    place: IntVector  # (K,) the seat of each arm in its batch, see `seat`
    last: IntVector  # (K,) for each batch: the winner of its last tournament, as a position within the batch
    stale: IntVector  # (K,) 1 if the batch changed or may contain a beaten arm; only these batches are searched
    turn: Registers[Turn]


def init(n_arms: int, horizon: int, params: Params) -> State:
    tournament = new_tournament(n_arms, largest_batch(n_arms, params.batch))
    wins, crossings = np.ones((n_arms, n_arms), np.int64), np.zeros((n_arms, n_arms))
    levels, batches = thompson.new_levels(n_arms, n_arms), new_batches(n_arms, params.batch)
    levels.patience[:] = -1  # negative: each row's level is set on first use, for its whole batch
    last, stale, turn = np.zeros(n_arms, np.int64), np.ones(n_arms, np.int64), registers(Turn)
    row, place = np.zeros_like(fair_bits(1, n_arms)[0]), np.arange(n_arms)
    return State(
        wins, crossings, *thompson.posterior_rows(n_arms), levels, batches, tournament, row, place, last, stale, turn
    )


def select(state: State, params: Params, t: int, rng: Generator) -> tuple[int, int]:
    batches, now = state.batches, state.batches.now[0]
    if t == 1:
        shuffle(batches.arms, rng)
    m = (t - 1) % now.count
    bonus = params.alpha * log(t - now.since + params.head_start)
    if state.stale[m] == 1:
        drop_beaten(batches, state.crossings, m, bonus)
        seat(state.tournament.bits, state.place, state.prefer, batches.arms[batches.ends[m] : batches.ends[m + 1]])
        state.stale[m] = 0
    if batch_size(batches, m) == 1 and now.count > 1:
        m = join_next(batches, m)
        look_again(state)
        seat(state.tournament.bits, state.place, state.prefer, batches.arms[batches.ends[m] : batches.ends[m + 1]])
    if arms_left(batches) == 1:
        return batches.arms[0], batches.arms[0]
    state.turn[0].batch, state.turn[0].bonus = m, bonus
    arms = batches.arms[batches.ends[m] : batches.ends[m + 1]]
    favourite = min(state.last[m], arms.shape[0] - 1)
    rank = state.levels.zeros  # equal, so that all arms may win
    state.last[m] = most_wins(state.tournament, state.prefer, arms, rank, 0, favourite, rng)
    first = arms[state.last[m]]
    return first, likely_loser(state, arms, first, rng)


@kernel
def join_next(batches: Batches, m: int) -> int:
    """Join batch m with the next batch, or with the previous batch if m is the last. Return the joined batch."""
    now = batches.now[0]
    m = min(m, now.count - 2)
    for k in range(m + 1, now.count):
        batches.ends[k] = batches.ends[k + 1]
    now.count -= 1
    return m


@kernel
def likely_loser(state: State, arms: IntVector, first: int, rng: Generator) -> int:
    """Sample the probability that ``first`` beats each other arm. Return the arm with the largest sample."""
    levels, row = state.levels, state.row
    known = thompson.Posteriors(state.wins[first], state.wins[:, first], state.log_mass[first], 1)
    field = thompson.Field(arms, row, first, levels.zeros, 0.0)
    thompson.renew_level(levels, first, known, field, 1e-6)
    for k in range(arms.shape[0]):
        row[k] = levels.bits[first, arms[k]]
    return thompson.draw_largest(levels, first, known, field, -1.0, rng)


def update(state: State, params: Params, t: int, first: int, second: int, outcome: int, rng: Generator) -> None:
    if outcome != 0:
        winner, loser = (first, second) if outcome > 0 else (second, first)
        record_win(state.wins, state.crossings, winner, loser)
        won, lost = state.wins[winner, loser] - 1, state.wins[loser, winner] - 1
        if state.crossings[loser, winner] > state.turn[0].bonus:
            state.stale[state.turn[0].batch] = 1
        thompson.record_posterior(state.prefer, state.log_mass, winner, loser, won, won + lost)
        place = state.place
        set_bits(state.tournament.bits, state.prefer, winner, loser, place[winner], place[loser])
        thompson.record_sample(state.levels, winner, loser, True, won, lost, state.log_mass[winner, loser])
        thompson.record_sample(state.levels, loser, winner, False, lost, won, state.log_mass[winner, loser])
    now = state.batches.now[0]
    stage = now.stage
    merge_when_due(state.batches, params.batch, t, rng)
    if now.stage != stage:
        look_again(state)


@kernel
def look_again(state: State) -> None:
    state.stale[:] = 1
    state.levels.patience[:] = -1


register(
    __name__,
    recommend=recommend,
    idle_until=idle_until,
    limits={"alpha": (0.0, None), "batch": (2, None), "head_start": (1.0, None)},
    assumes="a Condorcet winner, few ties between arms",
    regret="O(K log T) for alpha > 1/2",
    cost="O(1) in K, O(batch^2) coin flips, a few Beta draws",
    cite="li2020mergedts",
    where="Algorithm 1",
)
