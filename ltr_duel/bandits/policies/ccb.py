"""CCB: Copeland Confidence Bound.

Plays an optimistic Copeland winner against an arm that may beat it, and remembers which arms can still be winners (B)
and, for each of them, by which arms it is believed to be beaten (B^i), so that only few pairs have to be explored.

Zoghi, Karnin, Whiteson, de Rijke. Copeland Dueling Bandits. NIPS 2015, Algorithm 1; comments give its lines. Needs no
Condorcet winner and no horizon. Regret O(K^2 + (C + L_C) K log T), with C Copeland winners that lose to L_C arms
each.

The sets change only when some u_ij crosses 1/2 (see `copeland`); lines 7 to 13 run only then, in O(K^2). Other steps
cost O(K).
"""

from __future__ import annotations

from math import inf, log, sqrt
from typing import NamedTuple

import numpy as np

from ltr_duel.bandits.policy import register
from ltr_duel.bandits.statistics import bound_rows, most_victorious, record_bound, record_win
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, kernel, random_below, smallest


class Params(NamedTuple):
    """Parameters of CCB."""

    alpha: float = 0.51  # exploration; the bound asks for alpha > 1/2


class State(NamedTuple):
    """What CCB knows after some duels among K arms."""

    wins: IntMatrix  # (K, K) wins[i, j]: duels that arm i won against arm j
    rate: FloatMatrix  # (K, K) u_jc = rate[c, j] + sqrt(alpha ln t) width[c, j], as in `rucb`
    width: FloatMatrix  # (K, K)
    doubts: FloatMatrix  # (K, K) doubts[i, j]: u_ij >= 1/2 while alpha ln t >= doubts[i, j]
    below: IntMatrix  # (K, K) 1 where u_ij < 1/2, which is l_ji > 1/2
    release: FloatVector  # (K,) the least doubt of the row that is below; -1 where the row must be read anew
    losses: IntVector  # (K,) row sums of `below`: K - 1 less the optimistic Copeland score
    victories: IntVector  # (K,) column sums: the pessimistic Copeland score
    possible: IntVector  # (K,) 1 for the arms in B
    betters: IntMatrix  # (K, K) betters[i, j] is 1 for the arms j in B^i
    open_pairs: IntVector  # (K,) pairs (i, j) with j in B^i and 1/2 in [l_ij, u_ij]
    limit: IntVector  # (1,) L_C, how many arms at most a Copeland winner loses to


def init(n_arms: int, horizon: int, params: Params) -> State:
    """Lines 2 to 5."""
    square = (n_arms, n_arms)
    below, betters = np.zeros((2, *square), np.int64)
    losses, victories, open_pairs = np.zeros((3, n_arms), np.int64)
    release, possible = np.full(n_arms, -1.0), np.ones(n_arms, np.int64)
    limit = np.full(1, n_arms)
    rows = bound_rows(n_arms, 0)
    return State(*rows, below, release, losses, victories, possible, betters, open_pairs, limit)


def select(state: State, params: Params, t: int, rng: np.random.Generator) -> tuple[int, int]:
    """Lines 7 to 14."""
    bonus = params.alpha * log(t)
    if smallest(state.release) < bonus and refresh(state, bonus):
        update_hypotheses(state, rng)  # line 10
        count_open_pairs(state)
    total = 0
    for i in range(state.losses.shape[0]):
        total += state.open_pairs[i]
    if total > 0 and rng.random() < 0.25:  # line 11
        return open_pair(state, random_below(total, rng))
    first = draw_winner(state, rng)  # lines 12 and 13
    only_betters = rng.random() < 0.5  # line 14
    return first, best_rival(state, first, only_betters, sqrt(bonus), bonus, rng)


@kernel
def refresh(state: State, bonus: float) -> bool:
    """Lines 7 and 8: bring `below` and its sums up to date; return whether anything changed."""
    n_arms, changed = state.losses.shape[0], False
    for i in range(n_arms):
        if state.release[i] >= bonus:
            continue
        changed |= bonus == 0.0  # the first step
        least = inf
        for j in range(n_arms):
            now = 1 if state.doubts[i, j] > bonus else 0
            if now:
                least = min(least, state.doubts[i, j])
            if now != state.below[i, j]:
                changed = True
                state.losses[i] += now - state.below[i, j]
                state.victories[j] += now - state.below[i, j]
                state.below[i, j] = now
        state.release[i] = least
    return changed


@kernel
def update_hypotheses(state: State, rng: np.random.Generator) -> None:
    """Line 10, A to C."""
    n_arms = state.losses.shape[0]
    for i in range(n_arms):  # A
        for j in range(n_arms):
            if state.betters[i, j] and state.below[j, i]:
                reset(state)
    most_victories, fewest_losses, remaining = 0, n_arms, 0
    for i in range(n_arms):
        most_victories = max(most_victories, state.victories[i])
        fewest_losses = min(fewest_losses, state.losses[i])
    for i in range(n_arms):  # B
        if state.possible[i] and n_arms - 1 - state.losses[i] < most_victories:
            state.possible[i] = 0
            if count_betters(state, i) != state.limit[0] + 1:
                for k in range(n_arms):
                    state.betters[i, k] = state.below[i, k]
        remaining += state.possible[i]
    if remaining == 0:
        reset(state)
    for i in range(n_arms):  # C
        if state.losses[i] == fewest_losses and n_arms - 1 - state.losses[i] == state.victories[i]:
            add_winner(state, i, rng)


@kernel
def add_winner(state: State, winner: int, rng: np.random.Generator) -> None:
    """Line 10 C for a certain Copeland winner."""
    n_arms = state.losses.shape[0]
    state.possible[winner] = 1
    state.limit[0] = state.losses[winner]
    for j in range(n_arms):
        size = count_betters(state, j)
        if j == winner or size < state.limit[0] + 1:
            for k in range(n_arms):
                state.betters[j, k] = 0
            continue
        while size > state.limit[0] + 1:
            skip = random_below(size, rng)
            for k in range(n_arms):
                if state.betters[j, k]:
                    if skip == 0:
                        state.betters[j, k] = 0
                    skip -= 1
            size -= 1


@kernel
def reset(state: State) -> None:
    """Set B, all B^i and L_C to what they were at first."""
    n_arms = state.losses.shape[0]
    state.limit[0] = n_arms
    for i in range(n_arms):
        state.possible[i] = 1
        for j in range(n_arms):
            state.betters[i, j] = 0


@kernel
def count_betters(state: State, i: int) -> int:
    """Return the size of B^i."""
    size = 0
    for k in range(state.losses.shape[0]):
        size += state.betters[i, k]
    return size


@kernel
def count_open_pairs(state: State) -> None:
    """Count, for each i, the j in B^i for which neither u_ij nor u_ji is below 1/2."""
    n_arms = state.losses.shape[0]
    for i in range(n_arms):
        state.open_pairs[i] = 0
        for j in range(n_arms):
            state.open_pairs[i] += is_open(state, i, j)


@kernel
def is_open(state: State, i: int, j: int) -> int:
    """Return 1 if j is in B^i and 1/2 lies within [l_ij, u_ij], else 0."""
    return state.betters[i, j] * (1 - state.below[i, j]) * (1 - state.below[j, i])


@kernel
def open_pair(state: State, n: int) -> tuple[int, int]:
    """Return the open pair number n."""
    i = 0
    while n >= state.open_pairs[i]:
        n -= state.open_pairs[i]
        i += 1
    for j in range(state.losses.shape[0]):
        n -= is_open(state, i, j)
        if n < 0:
            return i, j
    return i, i


@kernel
def draw_winner(state: State, rng: np.random.Generator) -> int:
    """Draw from the optimistic Copeland winners, two times of three from those in B alone if there are any."""
    n_arms = state.losses.shape[0]
    fewest, count, both = n_arms, 0, 0
    for i in range(n_arms):
        fewest = min(fewest, state.losses[i])
    for i in range(n_arms):
        count += state.losses[i] == fewest
        both += state.losses[i] == fewest and state.possible[i] == 1
    within = both > 0 and rng.random() < 2.0 / 3.0  # line 12
    skip = random_below(both if within else count, rng)  # line 13
    for i in range(n_arms):
        if state.losses[i] == fewest and (state.possible[i] == 1 or not within):
            if skip == 0:
                return i
            skip -= 1
    return 0


@kernel
def best_rival(
    state: State, first: int, only_betters: bool, scale: float, bonus: float, rng: np.random.Generator
) -> int:
    """Line 14: the largest u_jc with l_jc <= 1/2, in B^c if asked for and not empty; never c if another arm ties."""
    n_arms = state.losses.shape[0]
    within = only_betters and count_betters(state, first) > 0
    best, ties = -1.0, 0
    for j in range(n_arms):
        if (state.betters[first, j] or not within) and state.below[first, j] == 0:
            u = state.rate[first, j] + scale * state.width[first, j]
            if u > best:
                best, ties = u, 1 if j != first else 0
            elif u == best and j != first:
                ties += 1
    if ties == 0:
        return first
    skip = random_below(ties, rng)
    for j in range(n_arms):
        eligible = (state.betters[first, j] or not within) and state.below[first, j] == 0 and j != first
        if eligible and state.rate[first, j] + scale * state.width[first, j] == best:
            if skip == 0:
                return j
            skip -= 1
    return first


def update(
    state: State, params: Params, t: int, first: int, second: int, outcome: int, rng: np.random.Generator
) -> None:
    """Line 15."""
    if outcome == 0:
        return
    winner, loser = (first, second) if outcome > 0 else (second, first)
    record_win(state.wins, state.doubts, winner, loser)
    record_bound(state.wins, state.rate, state.width, winner, loser)
    state.release[winner] = -1.0
    state.release[loser] = -1.0


def recommend(state: State, params: Params) -> int:
    """The arm that beats the most arms (the paper names none)."""
    return most_victorious(state.wins)


register(
    __name__,
    limits={"alpha": (0.5, None)},
    assumes="nothing: Copeland winners",
    regret="O(K^2 + (C + L_C) K log T)",
    cost="O(K), O(K^2) when a bound crosses 1/2",
    cite="zoghi2015copeland",
    where="CCB",
)
