"""D-TS: Double Thompson Sampling, for Copeland winners.

Of the arms that may, optimistically, beat the most others, the first is the one that does so in a sample from the
posterior; the second is the arm that does best against the first in a fresh sample, among those not yet known to lose
to it.

Wu, Liu. Double Thompson Sampling for Dueling Bandits. NIPS 2016 (arXiv 1604.07101), Algorithm 1; comments give its
phases. Needs no Condorcet winner and no horizon. Regret O(K^2 log T), with a Condorcet winner O(K log T + K^2 log log
T).

`double_thompson` breaks ties of the first phase at random; `double_thompson_plus` (D-TS+) by the estimated regret
that an arm will cost. The first phase of D-TS asks only on which side of 1/2 each sample falls, and only in the rows
of candidates that may still win: coins do, many at a time (see `tournament`). The second phase draws the few samples
that may be the largest (see `levels`). A step costs at most O(|candidates| K) coins. D-TS+ tosses a coin for each of
the K (K - 1) / 2 pairs unless there is one candidate, and draws the samples of tied candidates (see `regret_rule`).
"""

from __future__ import annotations

from math import inf, log
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.coin_words import OddsMatrix
from ltr_duel.bandits.levels import Field, Levels, Posteriors, draw_largest, new_levels, record_sample, renew_level
from ltr_duel.bandits.policy import register
from ltr_duel.bandits.posterior import posterior_rows, record_posterior
from ltr_duel.bandits.regret_rule import Sample, cheapest_candidate, new_sample, toss_all
from ltr_duel.bandits.statistics import fewest, most_victorious, record_win
from ltr_duel.bandits.tournament import Tournament, most_wins, new_tournament, set_odds
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, kernel, vector


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
    levels: Levels  # row c: the samples of all others against arm c
    tournament: Tournament
    last: IntVector  # (1,) the last first arm, which is likely to win the next tournament


class PlusState(NamedTuple):
    """What D-TS+ knows after some duels among K arms."""

    known: Known
    levels: Levels  # as in D-TS
    tournament: Tournament
    sample: Sample


def init(n_arms: int, horizon: int, params: Params) -> State:
    """No duel has been played."""
    tournament = new_tournament(n_arms, n_arms)
    return State(nothing_known(n_arms), rivals(n_arms), tournament, np.zeros(1, np.int64))


def plus_init(n_arms: int, horizon: int, params: Params) -> PlusState:
    """No duel has been played."""
    tournament = new_tournament(n_arms, n_arms)
    sample = new_sample(n_arms, tournament.unmet.shape[0])
    return PlusState(nothing_known(n_arms), rivals(n_arms), tournament, sample)


def nothing_known(n_arms: int) -> Known:
    """Make what is known of arms that have not met."""
    wins, doubts = np.zeros((n_arms, n_arms), np.int64), np.zeros((n_arms, n_arms))
    return Known(wins, doubts, *posterior_rows(n_arms), np.zeros(n_arms, np.int64), np.full(n_arms, inf))


def rivals(n_arms: int) -> Levels:
    """Make the rows of all arms; none is its own rival."""
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
    """Bring ``blocked[i] = #{j: u_ij < 1/2}`` up to date."""
    if vector.smallest(known.release) >= bonus:
        return
    for i in range(known.release.shape[0]):
        if known.release[i] < bonus:
            known.blocked[i] = known.blocked.shape[0] - vector.count_up_to(known.doubts[i], bonus)
            known.release[i] = vector.smallest_above(known.doubts[i], bonus) if known.blocked[i] > 0 else inf


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
def second_of_fresh_sample(known: Known, levels: Levels, first: int, bonus: float, rng: Generator) -> int:
    """Phase 2: the largest fresh theta_i,first among the arms with l_i,first <= 1/2; 1/2 for the first arm itself."""
    rows = Posteriors(known.wins[:, first], known.wins[first], known.log_mass[first], 0)
    field = Field(levels.every, levels.odds[first], first, known.doubts[first], bonus)
    renew_level(levels, first, rows, field, 0.5)
    second = draw_largest(levels, first, rows, field, 0.5, rng)
    return second if second >= 0 else first


def update(
    state: State | PlusState, params: Params, t: int, first: int, second: int, outcome: int, rng: Generator
) -> None:
    """Count."""
    if outcome == 0:
        return
    winner, loser = (first, second) if outcome > 0 else (second, first)
    record_duel(state.known, state.levels, state.tournament.odds, winner, loser)


@kernel
def record_duel(known: Known, levels: Levels, odds: OddsMatrix, winner: int, loser: int) -> None:
    """Count a duel, and bring what is known of the pair up to date."""
    record_win(known.wins, known.doubts, winner, loser)
    known.release[winner] = -1.0
    known.release[loser] = -1.0
    won, lost = known.wins[winner, loser], known.wins[loser, winner]
    record_posterior(known.prefer, known.log_mass, winner, loser, won, won + lost)
    set_odds(odds, known.prefer, winner, loser)
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


def recommend(state: Any, params: Params) -> int:
    """The arm that beats the most arms (the paper names none)."""
    return most_victorious(state.known.wins)


_FACTS: dict[str, Any] = {
    "any_order": True,
    "limits": {"alpha": (0.5, None)},
    "assumes": "nothing: Copeland winners",
    "regret": "O(K^2 log T); with a Condorcet winner O(K log T + K^2 log log T)",
    "cite": "wu2016double",
}
register(__name__, cost="O(|candidates| K) coins, a few Beta draws", where="D-TS", **_FACTS)
register(
    __name__,
    name="double_thompson_plus",
    prefix="plus",
    cost="O(K^2) coins, O(K) Beta draws for each tie",
    where="D-TS+",
    **_FACTS,
)
