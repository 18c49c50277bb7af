"""D-TS, Double Thompson Sampling: two samples from the posterior choose the two arms, to find a Copeland winner.

A Copeland winner is an arm that beats the most arms. The candidates are the arms with the smallest number of rivals
that are known to beat them. In phase 1, the result of each pair is sampled, and the first arm is the candidate with the
most wins in this sample. In phase 2, the win rate of each other arm against the first arm is sampled anew. The second
arm is the arm with the largest sample. Arms that are known to beat the first arm are left out.

Phase 1 only needs to know which samples are above 1/2. To save time, it flips coins instead of drawing samples (see
`tournament`). Phase 2 draws only the few samples that may be the largest (see `thompson`).

Wu, Liu. Double Thompson Sampling for Dueling Bandits. NIPS 2016 (arXiv 1604.07101), Algorithm 1.
"""

from __future__ import annotations

from math import inf, log
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits import thompson
from ltr_duel.bandits.policy import register
from ltr_duel.bandits.statistics import most_victorious, record_win
from ltr_duel.bandits.tournament import BitsMatrix, Tournament, most_wins, new_tournament, set_bits
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, kernel, vector


class Params(NamedTuple):
    alpha: float = 0.51  # exploration; the regret bound needs alpha > 1/2


class Known(NamedTuple):
    """What the policy knows about each pair from its duels. Arm j *blocks* arm i if it is known to beat arm i."""

    wins: IntMatrix  # (K, K) wins[i, j]: duels that arm i won against arm j
    crossings: FloatMatrix  # (K, K) crossings[i, j]: u_ij >= 1/2 while alpha ln t >= crossings[i, j]
    prefer: FloatMatrix  # (K, K) prefer[i, j] = Pr(theta_ij > 1/2), see `thompson`
    log_mass: FloatMatrix  # (K, K) see `thompson`
    blocked: IntVector  # (K,) number of arms that block arm i: K - 1 minus its optimistic Copeland score
    release: FloatVector  # (K,) smallest blocking crossing of the row; -1 if the row must be read again


class State(NamedTuple):
    known: Known
    levels: thompson.Levels  # row c: the samples of all others against arm c
    tournament: Tournament
    last: IntVector  # (1,) the previous first arm, which is likely to win the next tournament


def init(n_arms: int, horizon: int, params: Params) -> State:
    table = new_tournament(n_arms, n_arms)
    wins, crossings = np.zeros((n_arms, n_arms), np.int64), np.zeros((n_arms, n_arms))
    blocked, release = np.zeros(n_arms, np.int64), np.full(n_arms, inf)
    known = Known(wins, crossings, *thompson.posterior_rows(n_arms), blocked, release)
    levels = thompson.new_levels(n_arms, n_arms)
    for rows in (levels.chance, levels.bits):
        np.fill_diagonal(rows, 0)  # an arm does not meet itself
    return State(known, levels, table, np.zeros(1, np.int64))


def select(state: State, params: Params, t: int, rng: Generator) -> tuple[int, int]:
    known, bonus = state.known, params.alpha * log(t)
    refresh_scores(known, bonus)
    count, first = candidates(known.blocked)
    if count > 1:
        least = known.blocked[first]
        arms = state.tournament.every
        first = most_wins(state.tournament, known.prefer, arms, known.blocked, least, state.last[0], rng)
    state.last[0] = first
    return first, second_of_fresh_sample(known, state.levels, first, bonus, rng)


@kernel
def refresh_scores(known: Known, bonus: float) -> None:
    if vector.smallest(known.release) >= bonus:
        return
    for i in range(known.release.shape[0]):
        if known.release[i] < bonus:
            known.blocked[i] = known.blocked.shape[0] - vector.count_up_to(known.crossings[i], bonus)
            known.release[i] = vector.smallest_above(known.crossings[i], bonus) if known.blocked[i] > 0 else inf


@kernel
def candidates(blocked: IntVector) -> tuple[int, int]:
    """Find the arms that the fewest rivals block. Return the number of these arms, and the first of them."""
    least, count, first = vector.fewest(blocked), 0, 0
    for k in range(blocked.shape[0] - 1, -1, -1):
        if blocked[k] == least:
            count += 1
            first = k
    return count, first


@kernel
def second_of_fresh_sample(known: Known, levels: thompson.Levels, first: int, bonus: float, rng: Generator) -> int:
    """Return the arm with the largest new sample against ``first`` (phase 2). The sample of ``first`` itself is 1/2."""
    rows = thompson.Posteriors(known.wins[:, first], known.wins[first], known.log_mass[first], 0)
    field = thompson.Field(levels.every, levels.bits[first], first, known.crossings[first], bonus)
    thompson.renew_level(levels, first, rows, field, 0.5)
    second = thompson.draw_largest(levels, first, rows, field, 0.5, rng)
    return second if second >= 0 else first


def update(state: State, params: Params, t: int, first: int, second: int, outcome: int, rng: Generator) -> None:
    if outcome == 0:
        return
    winner, loser = (first, second) if outcome > 0 else (second, first)
    record_duel(state.known, state.levels, state.tournament.bits, winner, loser)


@kernel
def record_duel(known: Known, levels: thompson.Levels, bits: BitsMatrix, winner: int, loser: int) -> None:
    record_win(known.wins, known.crossings, winner, loser)
    known.release[winner] = -1.0
    known.release[loser] = -1.0
    won, lost = known.wins[winner, loser], known.wins[loser, winner]
    thompson.record_posterior(known.prefer, known.log_mass, winner, loser, won, won + lost)
    set_bits(bits, known.prefer, winner, loser, winner, loser)
    thompson.record_sample(levels, loser, winner, True, won, lost, known.log_mass[winner, loser])
    thompson.record_sample(levels, winner, loser, False, lost, won, known.log_mass[winner, loser])


def recommend(state: State, params: Params) -> int:
    return most_victorious(state.known.wins)


register(
    __name__,
    any_order=True,
    limits={"alpha": (0.5, None)},
    assumes="nothing; finds Copeland winners",
    regret="O(K^2 log T); with a Condorcet winner O(K log T + K^2 log log T)",
    cost="O(|candidates| K) coin flips, a few Beta draws",
    cite="wu2016double",
    where="D-TS",
)
