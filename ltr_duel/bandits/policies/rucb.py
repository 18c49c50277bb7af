"""RUCB: Relative Upper Confidence Bound.

The *candidates* are the arms that no rival confidently beats. The champion is one of the candidates. The challenger is
the arm with the largest upper confidence bound against the champion.

By default, the champion is a random candidate. With the option ``hypothesis``, the policy remembers the last arm that
was the only candidate, called the *hypothesised best arm*. With probability 1/2, the hypothesised best arm is the
champion. Otherwise the champion is drawn from the other candidates.

The policy recommends the arm that beats the most rivals. Unlike in the paper, a rival that the arm has not met does not
count as beaten. An arm's bound against itself is 1/2, as in the paper.

Zoghi, Whiteson, Munos, de Rijke. Relative Upper Confidence Bound for the K-Armed Dueling Bandit Problem. ICML 2014,
Algorithm 1. Comments cite the line numbers of Algorithm 1. The default follows the arXiv version, and ``hypothesis``
follows the proceedings. The bound on the expected regret (Theorem 3) needs alpha > 1. For the default of 0.51, the
constant in Theorem 2 is too large to be useful: 10^366 for 64 arms.
"""

# The bound of arm j against arm c is u_jc = rate[c, j] + sqrt(alpha ln t) width[c, j]. The largest crossing of an arm
# (see `statistics`) decides whether the arm is a candidate.

from __future__ import annotations

from math import log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.policy import register
from ltr_duel.bandits.statistics import bound_rows, last_step_before, most_victorious, record_bound
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, kernel, random_below, uniform, vector


class Params(NamedTuple):
    alpha: float = 0.51  # exploration; the regret bound needs alpha > 1/2, smaller values are for sensitivity studies
    prior_wins: int = 0  # initial wins of each arm against every other arm (1 in Lerot)
    hypothesis: bool = False  # whether a hypothesised best arm is preferred, as in the proceedings


class State(NamedTuple):
    wins: IntMatrix  # (K, K) wins[i, j]: duels that arm i won against arm j
    rate: FloatMatrix  # (K, K) rate[c, j]: share of duels with c that j won; initially 2, 1/2 on the diagonal
    width: FloatMatrix  # (K, K) 1 / sqrt(duels of the pair); 0 before the first duel and on the diagonal
    crossings: FloatMatrix  # (K, K) crossings[i, j]: u_ij >= 1/2 while alpha ln t >= crossings[i, j]
    crossing: FloatVector  # (K,)   row maxima: arm i is a candidate while alpha ln t >= crossing[i]
    best: IntVector  # (1,)   the hypothesised best arm B, or -1; always -1 without ``hypothesis``


def init(n_arms: int, horizon: int, params: Params) -> State:
    return State(*bound_rows(n_arms, params.prior_wins), np.zeros(n_arms), np.full(1, -1))


def select(state: State, params: Params, t: int, rng: Generator) -> tuple[int, int]:
    """Lines 3 to 6."""
    bonus = params.alpha * log(t)
    candidates, best = vector.count_up_to(state.crossing, bonus), state.best[0]
    if best >= 0 and state.crossing[best] > bonus:
        best = -1
    if candidates == 0:
        champion = random_below(state.crossing.shape[0], rng)  # line 5: no such c exists
    elif best < 0 or candidates == 1:
        champion = vector.random_up_to(state.crossing, bonus, candidates, rng)  # line 5
    elif uniform(rng) < 0.5:
        champion = best
    else:
        champion = another_candidate(state.crossing, bonus, candidates, best, rng)
    if params.hypothesis:
        state.best[0] = champion if candidates == 1 else best
    return champion, strongest_rival(state.rate, state.width, champion, sqrt(bonus), rng)


@kernel
def another_candidate(crossing: FloatVector, bonus: float, candidates: int, best: int, rng: Generator) -> int:
    """Draw one of the candidates other than ``best``."""
    n = random_below(candidates - 1, rng)
    arm = vector.nth_up_to(crossing, bonus, n)
    if arm < best:
        return arm
    return vector.nth_up_to(crossing, bonus, n + 1)


@kernel
def strongest_rival(rate: FloatMatrix, width: FloatMatrix, champion: int, scale: float, rng: Generator) -> int:
    """Return the arm with the largest bound against the champion. The champion itself loses all ties."""
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
    """Line 7."""
    if outcome == 0:
        return
    state.wins[first, second] += outcome > 0  # a branch would be slow, because the outcome is hard to predict
    state.wins[second, first] += outcome < 0
    won, lost = state.wins[first, second], state.wins[second, first]
    n, d = won + lost, won - lost
    crossing = d * d / (4.0 * n)
    set_crossing(state.crossings, state.crossing, first, second, crossing if d < 0 else 0.0)
    set_crossing(state.crossings, state.crossing, second, first, crossing if d > 0 else 0.0)
    record_bound(state.wins, state.rate, state.width, first, second)


@kernel
def set_crossing(crossings: FloatMatrix, crossing: FloatVector, i: int, j: int, level: float) -> None:
    """Change a crossing, and update the largest crossing of its row."""
    before = crossings[i, j]
    crossings[i, j] = level
    if level >= crossing[i]:
        crossing[i] = level
    elif before == crossing[i]:
        crossing[i] = vector.largest(crossings[i])


def idle_until(state: State, params: Params, t: int) -> int:
    """Return the last step in which the only candidate is certain to play against itself.

    If there are several candidates, return t.
    """
    bonus = params.alpha * log(t)
    candidates = vector.count_up_to(state.crossing, bonus)
    if candidates != 1:
        return t
    last = candidates - 1  # always 0; for numba, a literal 0 would have a different type
    champion, nearest = vector.nth_up_to(state.crossing, bonus, last), np.inf
    for j in range(state.crossing.shape[0]):
        if j != champion:
            nearest = min(nearest, state.crossings[j, champion])
    return max(t, last_step_before(nearest / params.alpha))


def recommend(state: State, params: Params) -> int:
    return most_victorious(state.wins)


register(
    __name__,
    any_order=True,
    limits={"alpha": (0.01, None), "prior_wins": (0, None)},
    assumes="a Condorcet winner",
    regret="O(K^2 log T); with hypothesis O(K log T) + O(K^2)",
    cost="O(K)",
    cite="zoghi2014rucb",
    where="Algorithm 1",
)
