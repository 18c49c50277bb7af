"""CCB, Copeland Confidence Bound: an arm that may be a Copeland winner plays against an arm that may beat it.

A Copeland winner is an arm that beats the most arms. To explore only few pairs, CCB stores which arms may still be
Copeland winners (the set B). For each arm i, it also stores which arms are believed to beat arm i (the set B^i). The
sets are updated when a confidence bound crosses 1/2. In comments, u_ij is the upper bound of the probability that arm i
beats arm j, and l_ij is the lower bound.

The paper does not say what to do if every arm of B^c is known to beat the first arm c (line 14). In this case, arm c
plays against itself.

Zoghi, Karnin, Whiteson, de Rijke. Copeland Dueling Bandits. NIPS 2015, Algorithm 1. Comments cite the line numbers of
Algorithm 1. In the regret bound, C is the number of Copeland winners, and L_C is the number of arms that beat a
Copeland winner.
"""

from __future__ import annotations

from math import inf, log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.policy import register
from ltr_duel.bandits.statistics import bound_rows, most_victorious, record_bound, record_win
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, kernel, larger, random_below, uniform, vector


class Params(NamedTuple):
    alpha: float = 0.51  # exploration; the bound needs alpha > 1/2


class Bounds(NamedTuple):
    """The pairs (i, j) for which arm j is known to beat arm i, because the upper bound u_ij is below 1/2."""

    below: IntMatrix  # (K, K) 1 if u_ij < 1/2, which is equivalent to l_ji > 1/2
    release: FloatVector  # (K,) smallest crossing of the entries below 1/2 in the row; -1 if the row must be read again
    losses: IntVector  # (K,) row sums of `below`: K - 1 minus the optimistic Copeland score
    victories: IntVector  # (K,) column sums of `below`: the pessimistic Copeland score


class Hypotheses(NamedTuple):
    """The set B of arms that may be Copeland winners, and for each arm i the set B^i of arms that may beat it."""

    possible: IntVector  # (K,) 1 for the arms in B
    betters: IntMatrix  # (K, K) betters[i, j] is 1 for the arms j in B^i
    open_pairs: IntVector  # (K,) number of pairs (i, j) with j in B^i and 1/2 in [l_ij, u_ij]
    limit: IntVector  # (1,) L_C, upper limit of the losses of a Copeland winner


class State(NamedTuple):
    wins: IntMatrix  # (K, K) wins[i, j]: duels that arm i won against arm j
    rate: FloatMatrix  # (K, K) u_jc = rate[c, j] + sqrt(alpha ln t) width[c, j], as in `rucb`
    width: FloatMatrix  # (K, K)
    crossings: FloatMatrix  # (K, K) crossings[i, j]: u_ij >= 1/2 while alpha ln t >= crossings[i, j]
    bounds: Bounds
    hypotheses: Hypotheses


def init(n_arms: int, horizon: int, params: Params) -> State:
    """Lines 2 to 5."""
    below, betters = np.zeros((2, n_arms, n_arms), np.int64)
    losses, victories, open_pairs = np.zeros((3, n_arms), np.int64)
    bounds = Bounds(below, np.full(n_arms, -1.0), losses, victories)
    hypotheses = Hypotheses(np.ones(n_arms, np.int64), betters, open_pairs, np.full(1, n_arms))
    return State(*bound_rows(n_arms, 0), bounds, hypotheses)


def select(state: State, params: Params, t: int, rng: Generator) -> tuple[int, int]:
    """Lines 7 to 14."""
    bounds, hypotheses, bonus = state.bounds, state.hypotheses, params.alpha * log(t)
    if vector.smallest(bounds.release) < bonus and refresh(bounds, state.crossings, bonus):
        update_hypotheses(hypotheses, bounds, rng)  # line 10
    total = hypotheses.open_pairs.sum()
    if total > 0 and uniform(rng) < 0.25:  # line 11
        return open_pair(hypotheses, bounds.below, random_below(total, rng))
    c = draw_winner(bounds.losses, hypotheses.possible, rng)  # lines 12 and 13
    within = uniform(rng) < 0.5  # line 14
    return c, best_rival(state, c, within, sqrt(bonus), rng)


@kernel
def refresh(bounds: Bounds, crossings: FloatMatrix, bonus: float) -> bool:
    """Find the bounds that are below 1/2 (lines 7 and 8). Return whether a bound has crossed 1/2."""
    n_arms, changed = crossings.shape[0], False
    for i in range(n_arms):
        if bounds.release[i] >= bonus:
            continue
        changed |= bonus == 0.0  # the first step
        least, crossed, below = inf, 0, bounds.below[i]
        for j in range(n_arms):  # without a branch, so that the loop is vectorised
            above = crossings[i, j] > bonus
            least = -larger(-least, -(crossings[i, j] if above else inf))
            crossed += int(above) != below[j]
        bounds.release[i] = least
        if crossed > 0:
            changed = True
            for j in range(n_arms):
                change = int(crossings[i, j] > bonus) - below[j]
                bounds.losses[i] += change
                bounds.victories[j] += change
                below[j] += change
    return changed


@kernel
def update_hypotheses(hypotheses: Hypotheses, bounds: Bounds, rng: Generator) -> None:
    """Update the sets B and B^i (line 10, A to C)."""
    below, losses, victories = bounds.below, bounds.losses, bounds.victories
    possible, betters, n_arms = hypotheses.possible, hypotheses.betters, bounds.losses.shape[0]
    for i in range(n_arms):  # A
        for j in range(n_arms):
            if betters[i, j] and below[j, i]:
                reset(hypotheses)
    most_victories = victories[vector.first_most(victories)]
    for i in range(n_arms):  # B
        if possible[i] and n_arms - 1 - losses[i] < most_victories:
            possible[i] = 0
            if betters[i].sum() != hypotheses.limit[0] + 1:
                for k in range(n_arms):
                    betters[i, k] = below[i, k]
    if possible.sum() == 0:
        reset(hypotheses)
    fewest_losses = vector.fewest(losses)
    for i in range(n_arms):  # C
        if losses[i] == fewest_losses and n_arms - 1 - losses[i] == victories[i]:
            add_winner(hypotheses, i, losses[i], rng)
    for i in range(n_arms):
        hypotheses.open_pairs[i] = 0
        for j in range(n_arms):
            hypotheses.open_pairs[i] += is_open(betters, below, i, j)


@kernel
def add_winner(hypotheses: Hypotheses, winner: int, losses: int, rng: Generator) -> None:
    """Update the sets for an arm that is certainly a Copeland winner (line 10 C)."""
    hypotheses.possible[winner] = 1
    hypotheses.limit[0] = losses
    for j in range(hypotheses.possible.shape[0]):
        size = hypotheses.betters[j].sum()
        if j == winner or size < losses + 1:
            hypotheses.betters[j, :] = 0
            size = 0
        for left in range(size, losses + 1, -1):
            hypotheses.betters[j, vector.nth_equal(hypotheses.betters[j], 1, random_below(left, rng))] = 0


@kernel
def reset(hypotheses: Hypotheses) -> None:
    hypotheses.possible[:] = 1
    hypotheses.betters[:] = 0
    hypotheses.limit[0] = hypotheses.possible.shape[0]


@kernel
def is_open(betters: IntMatrix, below: IntMatrix, i: int, j: int) -> int:
    return betters[i, j] * (1 - below[i, j]) * (1 - below[j, i])


@kernel
def open_pair(hypotheses: Hypotheses, below: IntMatrix, n: int) -> tuple[int, int]:
    i = 0
    while n >= hypotheses.open_pairs[i]:
        n -= hypotheses.open_pairs[i]
        i += 1
    for j in range(below.shape[0]):
        n -= is_open(hypotheses.betters, below, i, j)
        if n < 0:
            return i, j
    return i, i


@kernel
def draw_winner(losses: IntVector, possible: IntVector, rng: Generator) -> int:
    """Draw one of the arms with the fewest known losses. If some of them are in B, these arms are drawn more often."""
    least, count, both = vector.fewest(losses), 0, 0
    for i in range(losses.shape[0]):
        count += losses[i] == least
        both += int(losses[i] == least) & possible[i]
    within = both > 0 and uniform(rng) < 2.0 / 3.0  # line 12
    n = random_below(both if within else count, rng)  # line 13
    for i in range(losses.shape[0]):
        n -= losses[i] == least and (possible[i] == 1 or not within)
        if n < 0:
            return i
    return 0


@kernel
def best_rival(state: State, c: int, within: bool, scale: float, rng: Generator) -> int:
    """Return the arm with the largest bound against c, among the arms that are not known to beat c (line 14).

    If ``within`` is True and B^c is not empty, only the arms of B^c are considered. Arm c itself loses all ties.
    """
    rate, width = state.rate[c], state.width[c]
    below, betters = state.bounds.below[c], state.hypotheses.betters[c]
    anywhere = 0 if within and betters.sum() > 0 else 1
    best, ties = -1.0, 0
    for j in range(rate.shape[0]):  # without a branch, so that the loop is vectorised
        best = larger(best, rate[j] + scale * width[j] if (betters[j] | anywhere) & (1 - below[j]) else -1.0)
    for j in range(rate.shape[0]):
        ties += (betters[j] | anywhere) & (1 - below[j]) & int(rate[j] + scale * width[j] == best)
    ties -= (betters[c] | anywhere) & (1 - below[c]) & int(rate[c] + scale * width[c] == best)
    if ties == 0:
        return c
    skip = random_below(ties, rng)
    for j in range(rate.shape[0]):
        skip -= (betters[j] | anywhere) & (1 - below[j]) & int(rate[j] + scale * width[j] == best) & int(j != c)
        if skip < 0:
            return j
    return c


def update(state: State, params: Params, t: int, first: int, second: int, outcome: int, rng: Generator) -> None:
    if outcome == 0:
        return
    winner, loser = (first, second) if outcome > 0 else (second, first)
    record_win(state.wins, state.crossings, winner, loser)
    record_bound(state.wins, state.rate, state.width, winner, loser)
    state.bounds.release[winner] = -1.0
    state.bounds.release[loser] = -1.0


def recommend(state: State, params: Params) -> int:
    return most_victorious(state.wins)


register(
    __name__,
    any_order=True,
    limits={"alpha": (0.5, None)},
    assumes="nothing; finds Copeland winners",
    regret="O(K^2 + (C + L_C) K log T)",
    cost="O(K), O(K^2) when a bound crosses 1/2",
    cite="zoghi2015copeland",
    where="CCB",
)
