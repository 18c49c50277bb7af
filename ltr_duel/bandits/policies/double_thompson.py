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

from math import inf, log
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.policy import register
from ltr_duel.bandits.posterior import draw_above, posterior_rows, record_posterior
from ltr_duel.bandits.statistics import coin_divergence, fewest, most_victorious, record_win
from ltr_duel.bandits.tournament import Tournament, new_tournament, play_tournament, set_odds
from ltr_duel.core import (
    FloatMatrix,
    FloatVector,
    IntMatrix,
    IntVector,
    beta_draw,
    count_up_to,
    kernel,
    random_most,
    random_up_to,
    smallest,
)


class Params(NamedTuple):
    """Parameters of double Thompson sampling."""

    alpha: float = 0.51  # exploration; the bound asks for alpha > 1/2


class Known(NamedTuple):
    """What is known of all pairs, and the optimistic Copeland scores.

    Arm i is blocked by arm j while u_ij < 1/2, that is while its doubt (see `statistics`) exceeds alpha ln t. A duel
    changes two doubts; as time passes, blocked entries come free, the lowest doubt of a row first. So a row is read
    again only when one of its pairs met, or when time has reached its `release`.
    """

    wins: IntMatrix  # (K, K) wins[i, j]: duels that arm i won against arm j
    doubts: FloatMatrix  # (K, K) doubts[i, j]: u_ij >= 1/2 while alpha ln t >= doubts[i, j]
    prefer: FloatMatrix  # (K, K) prefer[i, j] = Pr(theta_ij > 1/2), see `posterior`
    log_mass: FloatMatrix  # (K, K) see `posterior`
    blocked: IntVector  # (K,) arms that block arm i: K - 1 less its optimistic Copeland score
    release: FloatVector  # (K,) the least doubt of the row that blocks; -1 where the row must be read again


class State(NamedTuple):
    """What D-TS knows after some duels among K arms."""

    known: Known
    tournament: Tournament


class Sample(NamedTuple):
    """Scratch of D-TS+: what is drawn of the first sample in a step."""

    ahead: IntMatrix  # (K, K) 1 where theta_ij > 1/2
    score: IntVector  # (K,) wins of each arm
    theta: FloatMatrix  # (K, K) the samples in the rows of tied candidates; 1/2 where there was none
    cost: FloatVector  # (K,) estimated regret of tied candidates, infinity for the others


class PlusState(NamedTuple):
    """What D-TS+ knows after some duels among K arms."""

    known: Known
    sample: Sample


def init(n_arms: int, horizon: int, params: Params) -> State:
    """No duel has been played."""
    return State(nothing_known(n_arms), new_tournament(n_arms))


def plus_init(n_arms: int, horizon: int, params: Params) -> PlusState:
    """No duel has been played."""
    ahead, score = np.zeros((n_arms, n_arms), np.int64), np.zeros(n_arms, np.int64)
    sample = Sample(ahead, score, np.full((n_arms, n_arms), 0.5), np.zeros(n_arms))
    return PlusState(nothing_known(n_arms), sample)


def nothing_known(n_arms: int) -> Known:
    """Make what is known of arms that have not met."""
    wins, doubts = np.zeros((n_arms, n_arms), np.int64), np.zeros((n_arms, n_arms))
    return Known(wins, doubts, *posterior_rows(n_arms), np.zeros(n_arms, np.int64), np.full(n_arms, inf))


def select(state: State, params: Params, t: int, rng: Generator) -> tuple[int, int]:
    """Phase 1 and phase 2."""
    known, bonus = state.known, params.alpha * log(t)
    refresh_scores(known, bonus)
    count, first = candidates(known.blocked)
    if count > 1:
        play_tournament(state.tournament, known.prefer, known.blocked, known.blocked[first], rng)
        first = random_most(state.tournament.score, rng)
    return first, second_of_fresh_sample(known, first, bonus, rng)


@kernel
def refresh_scores(known: Known, bonus: float) -> None:
    """Bring ``blocked[i] = #{j: u_ij < 1/2}`` up to date."""
    if smallest(known.release) >= bonus:
        return
    for i in range(known.release.shape[0]):
        if known.release[i] < bonus:
            count, least = 0, inf
            for doubt in known.doubts[i]:
                if doubt > bonus:
                    count += 1
                    least = min(least, doubt)
            known.blocked[i] = count
            known.release[i] = least


@kernel
def candidates(blocked: IntVector) -> tuple[int, int]:
    """Return how many arms have the largest optimistic Copeland score, and the first of them."""
    least, count, first = fewest(blocked), 0, 0
    for k in range(blocked.shape[0] - 1, -1, -1):
        if blocked[k] == least:
            count += 1
            first = k
    return count, first


@kernel
def second_of_fresh_sample(known: Known, first: int, bonus: float, rng: Generator) -> int:
    """Phase 2: the largest fresh theta_i,first among the arms with l_i,first <= 1/2; 1/2 for the first arm itself.

    Only what exceeds the largest sample so far is drawn.
    """
    best, second = 0.5, first
    for i in range(known.blocked.shape[0]):
        if i != first and known.doubts[first, i] <= bonus:
            won, lost = known.wins[i, first], known.wins[first, i]
            theta = draw_above(best, won, lost, known.log_mass[first, i], rng)
            if theta > best:
                best, second = theta, i
    return second


def update(state: State, params: Params, t: int, first: int, second: int, outcome: int, rng: Generator) -> None:
    """Count."""
    if outcome == 0:
        return
    winner, loser = (first, second) if outcome > 0 else (second, first)
    record_duel(state.known, winner, loser)
    set_odds(state.tournament.odds, winner, loser, state.known.prefer[winner, loser])
    set_odds(state.tournament.odds, loser, winner, state.known.prefer[loser, winner])


@kernel
def record_duel(known: Known, winner: int, loser: int) -> None:
    """Count a duel, and bring what is known of the pair up to date."""
    record_win(known.wins, known.doubts, winner, loser)
    known.release[winner] = -1.0
    known.release[loser] = -1.0
    won = known.wins[winner, loser]
    record_posterior(known.prefer, known.log_mass, winner, loser, won, won + known.wins[loser, winner])


def plus_select(state: PlusState, params: Params, t: int, rng: Generator) -> tuple[int, int]:
    """Phase 1 with the regret rule, and phase 2."""
    known, bonus = state.known, params.alpha * log(t)
    refresh_scores(known, bonus)
    count, first = candidates(known.blocked)
    if count > 1:
        toss_all(known.prefer, state.sample, rng)
        first = cheapest_candidate(known.wins, known.blocked, state.sample, known.blocked[first], rng)
    return first, second_of_fresh_sample(known, first, bonus, rng)


@kernel
def toss_all(prefer: FloatMatrix, sample: Sample, rng: Generator) -> None:
    """Toss on which side of 1/2 the sample of each pair falls, and count the wins of all arms."""
    n_arms = prefer.shape[0]
    sample.score[:] = 0
    for i in range(n_arms):
        won = 0
        for j in range(i + 1, n_arms):
            wins = int(rng.random() < prefer[i, j])
            won += wins
            sample.ahead[i, j] = wins
            sample.ahead[j, i] = 1 - wins
            sample.score[j] += 1 - wins
        sample.score[i] += won


@kernel
def cheapest_candidate(wins: IntMatrix, blocked: IntVector, sample: Sample, least: int, rng: Generator) -> int:
    """Return the candidate with the most wins in the sample; of several the one with the least regret estimate."""
    n_arms, score = blocked.shape[0], sample.score
    top, most, ties, chosen = 0, -1, 0, 0
    for k in range(n_arms):
        top = max(top, score[k])
        if blocked[k] == least:
            if score[k] > most:
                most, ties, chosen = score[k], 0, k
            ties += score[k] == most
    if ties == 1:
        return chosen
    for k in range(n_arms):
        if blocked[k] == least and score[k] == most:
            draw_row(wins, blocked, sample, k, least, most, rng)
    for k in range(n_arms):
        tied = blocked[k] == least and score[k] == most
        sample.cost[k] = regret_estimate(score, sample.theta, k, top) if tied else inf
    lowest = smallest(sample.cost)
    return random_up_to(sample.cost, lowest, count_up_to(sample.cost, lowest), rng)


@kernel
def draw_row(
    wins: IntMatrix, blocked: IntVector, sample: Sample, i: int, least: int, most: int, rng: Generator
) -> None:
    """Draw the samples of a tied candidate, each on its side of 1/2; those with an earlier one are there already.

    Drawing again until the side is right takes two draws on average, since the side was tossed by its probability.
    """
    for j in range(blocked.shape[0]):
        if j == i or (j < i and blocked[j] == least and sample.score[j] == most):
            continue
        theta = beta_draw(wins[i, j] + 1.0, wins[j, i] + 1.0, rng)
        while (theta > 0.5) != (sample.ahead[i, j] == 1):
            theta = beta_draw(wins[i, j] + 1.0, wins[j, i] + 1.0, rng)
        sample.theta[i, j] = theta
        sample.theta[j, i] = 1.0 - theta


@kernel
def regret_estimate(score: IntVector, theta: FloatMatrix, i: int, top: int) -> float:
    """R_i = sum over j of (zeta_max - (zeta_i + zeta_j) / 2) / d(theta_ij, 1/2), with normalised scores zeta."""
    n_arms, total = score.shape[0], 0.0
    for j in range(n_arms):
        divergence = coin_divergence(theta[i, j])
        if j != i and divergence > 0.0:
            total += (top - 0.5 * (score[i] + score[j])) / ((n_arms - 1) * divergence)
    return total


def plus_update(
    state: PlusState, params: Params, t: int, first: int, second: int, outcome: int, rng: Generator
) -> None:
    """Count."""
    if outcome > 0:
        record_duel(state.known, first, second)
    elif outcome < 0:
        record_duel(state.known, second, first)


def recommend(state: State | PlusState, params: Params) -> int:
    """The arm that beats the most arms (the paper names none)."""
    return most_victorious(state.known.wins)


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
