"""RUCB: Relative Upper Confidence Bound.

The champion is any arm that no rival confidently beats. The challenger is the arm with the largest optimistic bound
against the champion.

Zoghi, Whiteson, Munos, de Rijke. Relative Upper Confidence Bound for the K-Armed Dueling Bandit Problem. ICML 2014,
Algorithm 1 (in the arXiv version's form, without the hypothesised best arm); comments cite its line numbers. Assumes a
Condorcet winner; needs no horizon. Regret O(K^2 log T). There is one deviation from the paper. The policy recommends
the arm that beats the most rivals; a rival that the arm has not met does not count as beaten here, but does in the
paper, because x/0 := 1. An arm's bound against itself, U_xx, is always 1/2, as in the paper, even if Wolfenfeld's
survey is reproduced. In the survey's box 3, U_xx is 0, but then regret is linear.

A step costs O(K), because one threshold for each arm determines the candidates (`doubt`, see `statistics`), and the
bounds of all arms against the champion follow from two stored rows: u_jc = rate[c, j] + sqrt(alpha ln t) * width[c, j].
"""

from __future__ import annotations

from math import log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.policy import register
from ltr_duel.bandits.statistics import bound_rows, last_step_before, most_victorious, record_bound
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, kernel, random_below, vector


class Params(NamedTuple):
    """Parameters of RUCB."""

    alpha: float = 0.51  # exploration; the regret bound needs alpha > 1/2, smaller values are for sensitivity studies
    prior_wins: int = 0  # initial wins of each arm against every other arm (1 in Lerot)


class State(NamedTuple):
    """The state of RUCB after some duels among K arms."""

    wins: IntMatrix  # (K, K) wins[i, j]: duels that arm i won against arm j
    rate: FloatMatrix  # (K, K) rate[c, j]: share of duels with c that j won; initially 2, 1/2 on the diagonal
    width: FloatMatrix  # (K, K) 1 / sqrt(duels of the pair); 0 before the first duel and on the diagonal
    doubts: FloatMatrix  # (K, K) doubts[i, j]: u_ij >= 1/2 while alpha ln t >= doubts[i, j]
    doubt: FloatVector  # (K,)   row maxima: arm i is a candidate while alpha ln t >= doubt[i]


def init(n_arms: int, horizon: int, params: Params) -> State:
    """Line 1, and line 3 for arms that have not met."""
    return State(*bound_rows(n_arms, params.prior_wins), np.zeros(n_arms))


def select(state: State, params: Params, t: int, rng: Generator) -> tuple[int, int]:
    """Lines 3 to 6."""
    bonus = params.alpha * log(t)
    candidates = vector.count_up_to(state.doubt, bonus)
    if candidates > 0:
        champion = vector.random_up_to(state.doubt, bonus, candidates, rng)  # line 5
    else:
        champion = random_below(state.doubt.shape[0], rng)  # line 5: no such c exists
    return champion, strongest_rival(state.rate, state.width, champion, sqrt(bonus), rng)


@kernel
def strongest_rival(rate: FloatMatrix, width: FloatMatrix, champion: int, scale: float, rng: Generator) -> int:
    """Line 6: the arm with the largest u_jc; ties are broken at random, and the champion loses all ties."""
    row, widths = rate[champion], width[champion]
    best = vector.highest(row, widths, scale)
    among = best == 0.5  # whether the champion, whose bound is 1/2, ties
    ties, first = vector.find_at(row, widths, scale, best)
    if ties == 1:
        return first
    n = random_below(ties - among, rng)
    rival = vector.nth_at(row, widths, scale, best, n)
    if among and rival >= champion:
        return vector.nth_at(row, widths, scale, best, n + 1)
    return rival


def update(state: State, params: Params, t: int, first: int, second: int, outcome: int, rng: Generator) -> None:
    """Line 7, without a branch that depends on the winner: the processor would mispredict it half of the time."""
    if outcome == 0:
        return
    state.wins[first, second] += outcome > 0
    state.wins[second, first] += outcome < 0
    won, lost = state.wins[first, second], state.wins[second, first]
    n, d = won + lost, won - lost
    doubt = d * d / (4.0 * n)
    set_doubt(state.doubts, state.doubt, first, second, doubt if d < 0 else 0.0)
    set_doubt(state.doubts, state.doubt, second, first, doubt if d > 0 else 0.0)
    record_bound(state.wins, state.rate, state.width, first, second)


@kernel
def set_doubt(doubts: FloatMatrix, doubt: FloatVector, i: int, j: int, level: float) -> None:
    """Change a doubt, and update the maximum of its row; the row is read only if the maximum may have decreased."""
    before = doubts[i, j]
    doubts[i, j] = level
    if level >= doubt[i]:
        doubt[i] = level
    elif before == doubt[i]:
        doubt[i] = vector.largest(doubts[i])


def idle_until(state: State, params: Params, t: int) -> int:
    """Return the last step before a rival's bound against the only candidate reaches 1/2.

    If there are several candidates, or none, return t.

    A rival can be a candidate only after its bound against the champion has reached 1/2. Until the first bound reaches
    1/2, the champion is therefore the only candidate.
    """
    bonus = params.alpha * log(t)
    candidates = vector.count_up_to(state.doubt, bonus)
    if candidates != 1:
        return t
    last = candidates - 1  # always 0; for numba, a literal 0 would have a different type
    champion, nearest = vector.nth_up_to(state.doubt, bonus, last), np.inf
    for j in range(state.doubt.shape[0]):
        if j != champion:
            nearest = min(nearest, state.doubts[j, champion])
    return max(t, last_step_before(nearest / params.alpha))


def recommend(state: State, params: Params) -> int:
    """Return the arm that beats the most arms."""
    return most_victorious(state.wins)


register(
    __name__,
    any_order=True,
    limits={"alpha": (0.01, None), "prior_wins": (0, None)},
    assumes="a Condorcet winner",
    regret="O(K^2 log T)",
    cost="O(K)",
    cite="zoghi2014rucb",
    where="Algorithm 1",
)
