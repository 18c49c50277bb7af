"""D-TS: Double Thompson Sampling, for Copeland winners.

Of the arms that may, optimistically, beat the most others, the first is the one that does so in a sample from the
posterior; the second is the arm that does best against the first in a fresh sample, among those not yet known to lose
to it.

Wu, Liu. Double Thompson Sampling for Dueling Bandits. NIPS 2016 (arXiv 1604.07101), Algorithm 1; comments give its
phases. Needs no Condorcet winner and no horizon. Regret O(K^2 log T), with a Condorcet winner O(K log T + K^2 log log
T).

`double_thompson` breaks ties of the first phase at random; `double_thompson_plus` (D-TS+) by the estimated regret
that an arm will cost. The first phase of D-TS asks only on which side of 1/2 each sample falls, and only in the rows
of the candidates: coins do (see `tournament`). A step costs O(|candidates| K) coins and O(K) Beta draws; with one
candidate there is nothing to toss. D-TS+ tosses a coin for each of the K (K - 1) / 2 pairs unless there is one
candidate; the samples themselves it needs, and draws on the side of 1/2 that fell, in the rows of tied candidates
alone.
"""

from __future__ import annotations

from math import log
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.bandits.copeland import STALE, refresh_scores, score_rows
from ltr_duel.bandits.divergence import coin_divergence
from ltr_duel.bandits.policy import register
from ltr_duel.bandits.posterior import draw_above, posterior_rows, record_posterior
from ltr_duel.bandits.statistics import most_victorious, record_win
from ltr_duel.bandits.tournament import (
    LaneVector,
    OddsMatrix,
    ScoreVector,
    WordVector,
    play_tournament,
    set_odds,
    tournament_rows,
)
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, beta_draw, kernel, random_below, random_most


class Params(NamedTuple):
    """Parameters of double Thompson sampling."""

    alpha: float = 0.51  # exploration; the bound asks for alpha > 1/2


class State(NamedTuple):
    """What D-TS knows after some duels among K arms."""

    wins: IntMatrix  # (K, K) wins[i, j]: duels that arm i won against arm j
    doubts: FloatMatrix  # (K, K) doubts[i, j]: u_ij >= 1/2 while alpha ln t >= doubts[i, j]
    blocked: IntVector  # (K,) see `copeland`
    release: FloatVector  # (K,) see `copeland`
    prefer: FloatMatrix  # (K, K) prefer[i, j] = Pr(theta_ij > 1/2), see `posterior`
    log_mass: FloatMatrix  # (K, K) see `posterior`
    odds: OddsMatrix  # (K, K) the next four: see `tournament`
    lane: LaneVector  # (K / 4,)
    unmet: WordVector  # (K,)
    score: ScoreVector  # (K,) wins of each candidate in the sample, -1 for the others


class PlusState(NamedTuple):
    """What D-TS+ knows after some duels among K arms."""

    wins: IntMatrix  # (K, K) these six as in D-TS
    doubts: FloatMatrix  # (K, K)
    blocked: IntVector  # (K,)
    release: FloatVector  # (K,)
    prefer: FloatMatrix  # (K, K)
    log_mass: FloatMatrix  # (K, K)
    ahead: IntMatrix  # (K, K) scratch: 1 where theta_ij > 1/2 in the first sample
    score: IntVector  # (K,) scratch: wins of each arm in it
    theta: FloatMatrix  # (K, K) scratch: the samples drawn in the rows of tied candidates, before them 1/2


def init(n_arms: int, horizon: int, params: Params) -> State:
    """Nobody has met anybody."""
    wins, doubts = np.zeros((n_arms, n_arms), np.int64), np.zeros((n_arms, n_arms))
    return State(wins, doubts, *score_rows(n_arms), *posterior_rows(n_arms), *tournament_rows(n_arms))


def plus_init(n_arms: int, horizon: int, params: Params) -> PlusState:
    """Nobody has met anybody."""
    (wins, ahead), score = np.zeros((2, n_arms, n_arms), np.int64), np.zeros(n_arms, np.int64)
    doubts, theta = np.zeros((n_arms, n_arms)), np.full((n_arms, n_arms), 0.5)
    return PlusState(wins, doubts, *score_rows(n_arms), *posterior_rows(n_arms), ahead, score, theta)


def select(state: State, params: Params, t: int, rng: np.random.Generator) -> tuple[int, int]:
    """Phase 1 and phase 2."""
    bonus = params.alpha * log(t)
    refresh_scores(state, bonus)
    count, first = candidates(state.blocked)
    if count > 1:
        play_tournament(state, state.blocked[first], rng)
        first = random_most(state.score, rng)
    return first, second_of_fresh_sample(state, first, bonus, rng)


@kernel
def second_of_fresh_sample(state: Any, first: int, bonus: float, rng: np.random.Generator) -> int:
    """Phase 2: the largest fresh theta_i,first among the arms with l_i,first <= 1/2; 1/2 for the first arm itself.

    Only what exceeds the largest sample so far is drawn.
    """
    best, second = 0.5, first
    for i in range(state.blocked.shape[0]):
        if i != first and state.doubts[first, i] <= bonus:
            won, lost = state.wins[i, first], state.wins[first, i]
            theta = draw_above(best, won, lost, state.log_mass[first, i], rng)
            if theta > best:
                best, second = theta, i
    return second


@kernel
def candidates(blocked: IntVector) -> tuple[int, int]:
    """Return how many arms have the largest optimistic Copeland score, and the first of them."""
    least, count, first = blocked[0], 0, 0
    for k in range(blocked.shape[0]):
        least = min(least, blocked[k])
    for k in range(blocked.shape[0] - 1, -1, -1):
        if blocked[k] == least:
            count += 1
            first = k
    return count, first


def update(
    state: State, params: Params, t: int, first: int, second: int, outcome: int, rng: np.random.Generator
) -> None:
    """Count."""
    if outcome == 0:
        return
    winner, loser = (first, second) if outcome > 0 else (second, first)
    record_duel(state, winner, loser)
    set_odds(state.odds, winner, loser, state.prefer[winner, loser])
    set_odds(state.odds, loser, winner, state.prefer[loser, winner])


@kernel
def record_duel(state: Any, winner: int, loser: int) -> None:
    """Count a duel, and bring what is known of the pair up to date."""
    record_win(state.wins, state.doubts, winner, loser)
    state.release[winner] = STALE
    state.release[loser] = STALE
    won = state.wins[winner, loser]
    record_posterior(state.prefer, state.log_mass, winner, loser, won, won + state.wins[loser, winner])


def plus_select(state: PlusState, params: Params, t: int, rng: np.random.Generator) -> tuple[int, int]:
    """Phase 1 with the regret rule, and phase 2."""
    bonus = params.alpha * log(t)
    refresh_scores(state, bonus)
    count, first = candidates(state.blocked)
    if count > 1:
        toss_all(state, rng)
        first = cheapest_candidate(state, state.blocked[first], rng)
    return first, second_of_fresh_sample(state, first, bonus, rng)


@kernel
def toss_all(state: PlusState, rng: np.random.Generator) -> None:
    """Toss on which side of 1/2 the sample of each pair falls, and count the wins of all arms."""
    n_arms = state.blocked.shape[0]
    for k in range(n_arms):
        state.score[k] = 0
    for i in range(n_arms):
        for j in range(i + 1, n_arms):
            wins = int(rng.random() < state.prefer[i, j])
            state.ahead[i, j] = wins
            state.ahead[j, i] = 1 - wins
            state.score[i] += wins
            state.score[j] += 1 - wins


@kernel
def cheapest_candidate(state: PlusState, least: int, rng: np.random.Generator) -> int:
    """Return the candidate with the most wins in the sample; of several the one with the least regret estimate."""
    n_arms = state.blocked.shape[0]
    top, most, ties, chosen = 0, -1, 0, 0
    for k in range(n_arms):
        top = max(top, state.score[k])
        if state.blocked[k] == least:
            if state.score[k] > most:
                most, ties, chosen = state.score[k], 0, k
            ties += state.score[k] == most
    if ties == 1:
        return chosen
    for k in range(chosen, n_arms):
        if state.blocked[k] == least and state.score[k] == most:
            draw_row(state, k, least, most, rng)
    lowest = np.inf
    for k in range(chosen, n_arms):
        if state.blocked[k] == least and state.score[k] == most:
            cost = regret_estimate(state, k, top)
            if cost < lowest:
                lowest, ties, chosen = cost, 1, k
            elif cost == lowest:
                ties += 1
    if ties == 1:
        return chosen
    skip = random_below(ties, rng)
    for k in range(chosen, n_arms):
        if state.blocked[k] == least and state.score[k] == most and regret_estimate(state, k, top) == lowest:
            if skip == 0:
                return k
            skip -= 1
    return chosen


@kernel
def draw_row(state: PlusState, i: int, least: int, most: int, rng: np.random.Generator) -> None:
    """Draw the samples of a tied candidate, each on its side of 1/2; those with an earlier one are there already.

    Drawing again until the side is right takes two draws on average, since the side was tossed by its probability.
    """
    for j in range(state.blocked.shape[0]):
        if j == i or (j < i and state.blocked[j] == least and state.score[j] == most):
            continue
        theta = beta_draw(state.wins[i, j] + 1.0, state.wins[j, i] + 1.0, rng)
        while (theta > 0.5) != (state.ahead[i, j] == 1):
            theta = beta_draw(state.wins[i, j] + 1.0, state.wins[j, i] + 1.0, rng)
        state.theta[i, j] = theta
        state.theta[j, i] = 1.0 - theta


@kernel
def regret_estimate(state: PlusState, i: int, top: int) -> float:
    """R_i = sum over j of (zeta_max - (zeta_i + zeta_j) / 2) / d(theta_ij, 1/2), with normalised scores zeta."""
    n_arms, total = state.blocked.shape[0], 0.0
    for j in range(n_arms):
        divergence = coin_divergence(state.theta[i, j])
        if j != i and divergence > 0.0:
            total += (top - 0.5 * (state.score[i] + state.score[j])) / ((n_arms - 1) * divergence)
    return total


def plus_update(
    state: PlusState, params: Params, t: int, first: int, second: int, outcome: int, rng: np.random.Generator
) -> None:
    """Count."""
    if outcome == 0:
        return
    winner, loser = (first, second) if outcome > 0 else (second, first)
    record_duel(state, winner, loser)


def recommend(state: Any, params: Params) -> int:
    """The arm that beats the most arms (the paper names none)."""
    return most_victorious(state.wins)


register(
    __name__,
    limits={"alpha": (0.5, None)},
    assumes="nothing: Copeland winners",
    regret="O(K^2 log T); with a Condorcet winner O(K log T + K^2 log log T)",
    cost="O(|candidates| K) coins, K Beta draws",
    cite="wu2016double",
    where="D-TS",
)
register(
    __name__,
    name="double_thompson_plus",
    prefix="plus",
    limits={"alpha": (0.5, None)},
    assumes="nothing: Copeland winners",
    regret="O(K^2 log T); with a Condorcet winner O(K log T + K^2 log log T)",
    cost="O(K^2) coins, O(K) Beta draws for each tie",
    cite="wu2016double",
    where="D-TS+",
)
