"""D-TS: Double Thompson Sampling, for Copeland winners.

An arm's optimistic Copeland score is the number of arms that it may beat; the arms with the largest score are the
candidates. The first arm is the candidate that beats the most arms in a posterior sample. The second arm is chosen
among the arms that are not yet known to beat the first arm: it has the largest value against the first arm in a second
posterior sample.

Wu, Liu. Double Thompson Sampling for Dueling Bandits. NIPS 2016 (arXiv 1604.07101), Algorithm 1; comments cite its
phases. Needs no Condorcet winner and no horizon. The regret is O(K^2 log T) or, with a Condorcet winner,
O(K log T + K^2 log log T).

`double_thompson` breaks ties of the first phase at random; `double_thompson_plus` (D-TS+) breaks them by the estimated
regret of the tied arms. The first phase of D-TS depends only on which samples are above 1/2, so coins replace Beta
draws. Only the rows of candidates that may still win are sampled (see `tournament`). The second phase draws the few
samples that may be the largest (see `levels`). A step costs at most O(|candidates| K) coin flips. D-TS+ flips a coin
for each of the K (K - 1) / 2 pairs unless there is only one candidate. Only its regret estimates need the values of the
samples. These values are drawn in the rows of tied candidates, conditional on being above or below 1/2 as the coin
decided.
"""

from __future__ import annotations

from math import inf, log
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.coin_words import BLOCK, OddsMatrix, new_seed
from ltr_duel.bandits.levels import Field, Levels, Posteriors, draw_largest, new_levels, record_sample, renew_level
from ltr_duel.bandits.policy import register
from ltr_duel.bandits.posterior import posterior_rows, record_posterior
from ltr_duel.bandits.statistics import coin_divergence, most_victorious, record_win
from ltr_duel.bandits.tournament import (
    CountVector,
    Tournament,
    coins_of,
    most_wins,
    new_tournament,
    open_tournament,
    set_odds,
    toss_arm,
)
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, draws, kernel, vector


class Params(NamedTuple):
    """Parameters of double Thompson sampling."""

    alpha: float = 0.51  # exploration; the regret bound needs alpha > 1/2


class Known(NamedTuple):
    """The counts and posteriors of all pairs, and the optimistic Copeland scores.

    Arm i is blocked by arm j while u_ij < 1/2, that is, while ``doubts[i, j]`` (see `statistics`) exceeds alpha ln t. A
    duel changes two doubts. As t grows, arms stop blocking arm i, in ascending order of arm i's doubts. A row is
    therefore read again only after a duel of one of its pairs, or when alpha ln t has exceeded its `release`.
    """

    wins: IntMatrix  # (K, K) wins[i, j]: duels that arm i won against arm j
    doubts: FloatMatrix  # (K, K) doubts[i, j]: u_ij >= 1/2 while alpha ln t >= doubts[i, j]
    prefer: FloatMatrix  # (K, K) prefer[i, j] = Pr(theta_ij > 1/2), see `posterior`
    log_mass: FloatMatrix  # (K, K) see `posterior`
    blocked: IntVector  # (K,) number of arms that block arm i: K - 1 minus its optimistic Copeland score
    release: FloatVector  # (K,) smallest blocking doubt of the row; -1 if the row must be read again


class State(NamedTuple):
    """The state of D-TS after some duels among K arms."""

    known: Known
    levels: Levels  # row c: the samples of all others against arm c
    tournament: Tournament
    last: IntVector  # (1,) the previous first arm, which is likely to win the next tournament


class Sample(NamedTuple):
    """Scratch arrays of D-TS+ for the sample of a step."""

    ahead: IntMatrix  # (K, padded K / 32) masks: for j > i, bit j % 32 of block j // 32 is 1 if theta_ij > 1/2
    theta: FloatMatrix  # (K, K) the samples in the rows of tied candidates; entries never sampled are 1/2
    cost: FloatVector  # (K,) estimated regret of tied candidates, infinity for the others


class PlusState(NamedTuple):
    """The state of D-TS+ after some duels among K arms."""

    known: Known
    levels: Levels  # as in D-TS
    tournament: Tournament
    sample: Sample


def init(n_arms: int, horizon: int, params: Params) -> State:
    """Return the state before the first duel."""
    tournament = new_tournament(n_arms, n_arms)
    return State(nothing_known(n_arms), rivals(n_arms), tournament, np.zeros(1, np.int64))


def plus_init(n_arms: int, horizon: int, params: Params) -> PlusState:
    """Return the state before the first duel."""
    tournament = new_tournament(n_arms, n_arms)
    sample = new_sample(n_arms, tournament.unmet.shape[0])
    return PlusState(nothing_known(n_arms), rivals(n_arms), tournament, sample)


def new_sample(n_arms: int, blocks: int) -> Sample:
    """Allocate the scratch arrays for ``n_arms`` arms in ``blocks`` blocks of 32."""
    return Sample(np.zeros((n_arms, blocks), np.int64), np.full((n_arms, n_arms), 0.5), np.zeros(n_arms))


def nothing_known(n_arms: int) -> Known:
    """Return the counts of arms that have not met."""
    wins, doubts = np.zeros((n_arms, n_arms), np.int64), np.zeros((n_arms, n_arms))
    return Known(wins, doubts, *posterior_rows(n_arms), np.zeros(n_arms, np.int64), np.full(n_arms, inf))


def rivals(n_arms: int) -> Levels:
    """Make one row of samples for each arm; in its row, the arm itself has probability 0."""
    levels = new_levels(n_arms, n_arms)
    for of_first in (levels.chance, levels.odds):
        np.fill_diagonal(of_first, 0)
    return levels


def select(state: State, params: Params, t: int, rng: Generator) -> tuple[int, int]:
    """Phase 1 and phase 2."""
    known, bonus = state.known, params.alpha * log(t)
    refresh_scores(known, bonus)
    count, first = candidates(known.blocked)
    if count > 1:
        least = known.blocked[first]
        first = most_wins(state.tournament, known.prefer, known.blocked, least, state.last[0], rng)
    state.last[0] = first
    return first, second_of_fresh_sample(known, state.levels, first, bonus, rng)


@kernel
def refresh_scores(known: Known, bonus: float) -> None:
    """Update ``blocked[i] = #{j: u_ij < 1/2}``."""
    if vector.smallest(known.release) >= bonus:
        return
    for i in range(known.release.shape[0]):
        if known.release[i] < bonus:
            known.blocked[i] = known.blocked.shape[0] - vector.count_up_to(known.doubts[i], bonus)
            known.release[i] = vector.smallest_above(known.doubts[i], bonus) if known.blocked[i] > 0 else inf


@kernel
def candidates(blocked: IntVector) -> tuple[int, int]:
    """Return the number of arms with the largest optimistic Copeland score, and the first of these arms."""
    least, count, first = vector.fewest(blocked), 0, 0
    for k in range(blocked.shape[0] - 1, -1, -1):
        if blocked[k] == least:
            count += 1
            first = k
    return count, first


@kernel
def second_of_fresh_sample(known: Known, levels: Levels, first: int, bonus: float, rng: Generator) -> int:
    """Phase 2: return the arm i with the largest new theta_i,first among the arms with l_i,first <= 1/2.

    The value of the first arm itself is 1/2.
    """
    rows = Posteriors(known.wins[:, first], known.wins[first], known.log_mass[first], 0)
    field = Field(levels.every, levels.odds[first], first, known.doubts[first], bonus)
    renew_level(levels, first, rows, field, 0.5)
    second = draw_largest(levels, first, rows, field, 0.5, rng)
    return second if second >= 0 else first


def update(
    state: State | PlusState, params: Params, t: int, first: int, second: int, outcome: int, rng: Generator
) -> None:
    """Count the duel."""
    if outcome == 0:
        return
    winner, loser = (first, second) if outcome > 0 else (second, first)
    record_duel(state.known, state.levels, state.tournament.odds, winner, loser)


@kernel
def record_duel(known: Known, levels: Levels, odds: OddsMatrix, winner: int, loser: int) -> None:
    """Count a duel, and update the statistics of the pair."""
    record_win(known.wins, known.doubts, winner, loser)
    known.release[winner] = -1.0
    known.release[loser] = -1.0
    won, lost = known.wins[winner, loser], known.wins[loser, winner]
    record_posterior(known.prefer, known.log_mass, winner, loser, won, won + lost)
    set_odds(odds, known.prefer, winner, loser, winner, loser)
    record_sample(levels, loser, winner, True, won, lost, known.log_mass[winner, loser])
    record_sample(levels, winner, loser, False, lost, won, known.log_mass[winner, loser])


def plus_select(state: PlusState, params: Params, t: int, rng: Generator) -> tuple[int, int]:
    """Phase 1 with the regret rule, and phase 2."""
    known, bonus = state.known, params.alpha * log(t)
    refresh_scores(known, bonus)
    count, first = candidates(known.blocked)
    if count > 1:
        toss_all(state.tournament, known.prefer, state.sample.ahead, rng)
        least = known.blocked[first]
        first = cheapest_candidate(known.wins, known.blocked, state.tournament.lost, state.sample, least, rng)
    return first, second_of_fresh_sample(known, state.levels, first, bonus, rng)


@kernel
def toss_all(tournament: Tournament, prefer: FloatMatrix, ahead: IntMatrix, rng: Generator) -> None:
    """Sample for each pair whether theta_ij > 1/2, and count the losses of all arms."""
    open_tournament(tournament, prefer.shape[0])
    seed = new_seed(rng)
    for i in range(prefer.shape[0]):
        toss_arm(tournament, coins_of(tournament, prefer, i, tournament.every), i, ahead[i], seed, rng)


@kernel
def is_ahead(ahead: IntMatrix, i: int, j: int) -> bool:
    """Return whether theta_ij > 1/2."""
    low, high = min(i, j), max(i, j)
    return ((ahead[low, high // BLOCK] >> high % BLOCK) & 1 == 1) == (i < j)


@kernel
def cheapest_candidate(
    wins: IntMatrix, blocked: IntVector, lost: CountVector, sample: Sample, least: int, rng: Generator
) -> int:
    """Return the candidate with the fewest losses in the sample; ties are broken by the lowest regret estimate."""
    n_arms = blocked.shape[0]
    top, fewest, ties, chosen = n_arms, n_arms, 0, 0
    for k in range(n_arms):
        top = min(top, lost[k])
        if blocked[k] == least:
            if lost[k] < fewest:
                fewest, ties, chosen = lost[k], 0, k
            ties += lost[k] == fewest
    if ties == 1:
        return chosen
    for k in range(n_arms):
        sample.cost[k] = inf if blocked[k] != least or lost[k] != fewest else 0.0
    for k in range(n_arms):
        if sample.cost[k] == 0.0:
            draw_row(wins, sample, k, rng)
    for k in range(n_arms):
        if sample.cost[k] == 0.0:
            sample.cost[k] = regret_estimate(lost, sample.theta[k], k, top)
    lowest = vector.smallest(sample.cost)
    return vector.random_up_to(sample.cost, lowest, vector.count_up_to(sample.cost, lowest), rng)


@kernel
def draw_row(wins: IntMatrix, sample: Sample, i: int, rng: Generator) -> None:
    """Draw the values of a tied candidate's samples; pairs with an earlier tied candidate are already drawn."""
    for j in range(sample.cost.shape[0]):
        if j != i and (j > i or sample.cost[j] > 0.0):
            if is_ahead(sample.ahead, i, j):
                theta = draws.beta_above(0.5, wins[i, j], wins[j, i], rng)
            else:
                theta = 1.0 - draws.beta_above(0.5, wins[j, i], wins[i, j], rng)
            sample.theta[i, j] = theta
            sample.theta[j, i] = 1.0 - theta


@kernel
def regret_estimate(lost: CountVector, theta: FloatVector, i: int, top: int) -> float:
    """Return sum over j of (zeta_max - (zeta_i + zeta_j) / 2) / d(theta_ij, 1/2), with normalised scores zeta."""
    n_arms, total = theta.shape[0], 0.0
    for j in range(n_arms):
        divergence = coin_divergence(theta[j])
        if j != i and divergence > 0.0:
            total += (0.5 * (lost[i] + lost[j]) - top) / ((n_arms - 1) * divergence)
    return total


def recommend(state: Any, params: Params) -> int:
    """Return the arm that beats the most arms (the paper defines no recommendation)."""
    return most_victorious(state.known.wins)


_FACTS: dict[str, Any] = {
    "any_order": True,
    "limits": {"alpha": (0.5, None)},
    "assumes": "nothing; finds Copeland winners",
    "regret": "O(K^2 log T); with a Condorcet winner O(K log T + K^2 log log T)",
    "cite": "wu2016double",
}
register(__name__, cost="O(|candidates| K) coin flips, a few Beta draws", where="D-TS", **_FACTS)
register(
    __name__,
    name="double_thompson_plus",
    prefix="plus",
    cost="O(K^2) coins, O(K) Beta draws for each tie",
    where="D-TS+",
    **_FACTS,
)
