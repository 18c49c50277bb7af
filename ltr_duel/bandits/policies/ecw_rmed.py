"""ECW-RMED: Efficient Copeland Winners Relative Minimum Empirical Divergence.

Plays each pair in the proportion that the (relaxed) regret lower bound asks for, computed from the estimates so far.

Komiyama, Honda, Nakagawa. Copeland Dueling Bandit Problem: Regret Lower Bound, Optimal Algorithm, and Computationally
Efficient Algorithm. ICML 2016 (arXiv 1605.01677). Needs no Condorcet winner and no horizon; no pair may tie. Regret
O(log T), within a relaxation of the lower bound; without the relaxation (CW-RMED) each step has a linear program with
exponentially many constraints, which is not offered.

With i* an estimated Copeland winner, L_i the arms that beat arm i and d_ij = d(phat_ij, 1/2), the relaxed constraints
on q_ij = n_ij / ln t are: q_i*j d_i*j >= 1 for every j that i* beats; and for every other arm i, any L_i - L_i* + 1
of the arms j that beat i, i* apart, have q_ij d_ij adding up to at least 1. Sorting the costs r_ij / d_ij solves that
exactly.

A step costs O(K^2 log K), one of exploitation O(K^2).
"""

from __future__ import annotations

from math import inf, log, sqrt
from typing import NamedTuple

import numpy as np

from ltr_duel.bandits.divergence import coin_divergence
from ltr_duel.bandits.policies.rmed import ROUNDING
from ltr_duel.bandits.policy import register
from ltr_duel.bandits.statistics import most_victorious
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, kernel


class Params(NamedTuple):
    """Parameters of ECW-RMED."""

    alpha: float = 3.0  # every pair meets alpha sqrt(ln t) times
    beta: float = 0.01  # ... and until its share is beta / ln ln t away from 1/2


class State(NamedTuple):
    """What ECW-RMED knows after some duels among K arms."""

    wins: IntMatrix  # (K, K) wins[i, j]: duels that arm i won against arm j
    divergence: FloatMatrix  # (K, K) d(phat_ij, 1/2)
    losses: IntVector  # (K,) L_i, the arms that seem to beat arm i
    needed: FloatMatrix  # (K, K) scratch, i < j: q_ij of the plan being made
    plan: FloatMatrix  # (K, K) scratch, i < j: q_ij of the cheapest plan
    cost: FloatVector  # (K,) scratch: what is being sorted
    order: IntVector  # (K,) scratch: arms in the order of their costs
    current: IntVector  # (K (K + 1) / 2,) L_C, pairs i <= j as i K + j
    following: IntVector  # (K (K + 1) / 2,) L_N
    waiting: IntMatrix  # (K, K) 1 for the pairs i <= j in L_R or L_N
    clock: IntVector  # (4,) see the constants below


# In `clock`: pairs in L_C; those of them played; pairs in L_N; whether this duel is a forced one.
SIZE, PLACE, FOLLOWING, FORCED = range(4)


def init(n_arms: int, horizon: int, params: Params) -> State:
    """L_C = L_R = all pairs, L_N is empty."""
    square = (n_arms, n_arms)
    divergence, needed, plan = np.zeros((3, *square))
    i, j = np.triu_indices(n_arms, 1 if n_arms > 1 else 0)
    current, following = np.zeros((2, n_arms * (n_arms + 1) // 2), np.int64)
    current[: i.size] = i * n_arms + j
    waiting = np.zeros(square, np.int64)
    waiting[i, j] = 1
    losses, order = np.zeros((2, n_arms), np.int64)
    clock = np.array([i.size, 0, 0, 0])
    wins = np.zeros(square, np.int64)
    return State(
        wins,
        divergence,
        losses,
        needed,
        plan,
        np.zeros(n_arms),
        order,
        current,
        following,
        waiting,
        clock,
    )


def select(state: State, params: Params, t: int, rng: np.random.Generator) -> tuple[int, int]:
    """A pair that is not known well enough; else the next pair of L_C."""
    n_arms = state.losses.shape[0]
    state.clock[FORCED] = 0
    if state.clock[PLACE] == 0:
        pair = neglected_pair(state, params.alpha, params.beta, t)
        if pair >= 0:
            state.clock[FORCED] = 1
            return pair // n_arms, pair % n_arms
    pair = state.current[state.clock[PLACE]]
    return pair // n_arms, pair % n_arms


@kernel
def neglected_pair(state: State, alpha: float, beta: float, t: int) -> int:
    """Return the first pair that met too rarely, or whose share is too near to 1/2; -1 if there is none."""
    n_arms = state.losses.shape[0]
    often = alpha * sqrt(log(t))
    near = beta / max(1.0, log(log(t))) if t > 2 else beta
    for i in range(n_arms):
        for j in range(i + 1, n_arms):
            n = state.wins[i, j] + state.wins[j, i]
            if n < often or n == 0 or abs(state.wins[i, j] / n - 0.5) < near:
                return i * n_arms + j
    return -1


def update(
    state: State, params: Params, t: int, first: int, second: int, outcome: int, rng: np.random.Generator
) -> None:
    """Count; plan the next pass."""
    if outcome != 0:
        winner, loser = (first, second) if outcome > 0 else (second, first)
        record(state, winner, loser)
    if state.clock[FORCED] == 0:
        end_turn(state, first, second, max(1.0, log(t)))


@kernel
def record(state: State, winner: int, loser: int) -> None:
    """Count a duel."""
    before = state.wins[winner, loser] - state.wins[loser, winner]
    state.wins[winner, loser] += 1
    if before == 0:
        state.losses[loser] += 1
    elif before == -1:
        state.losses[winner] -= 1
    won, n = state.wins[winner, loser], state.wins[winner, loser] + state.wins[loser, winner]
    state.divergence[winner, loser] = coin_divergence(won / n)
    state.divergence[loser, winner] = state.divergence[winner, loser]


@kernel
def end_turn(state: State, first: int, second: int, log_t: float) -> None:
    """The pair leaves L_R; the pairs that are to be played, and not in L_R, join L_N."""
    n_arms = state.losses.shape[0]
    state.waiting[min(first, second), max(first, second)] = 0
    winner = confident_winner(state, log_t)
    if winner < 0:
        winner = cheapest_plan(state)
        for i in range(n_arms):
            for j in range(i + 1, n_arms):
                if state.plan[i, j] * log_t > state.wins[i, j] + state.wins[j, i]:
                    join(state, i, j)
    join(state, winner, winner)
    state.clock[PLACE] += 1
    if state.clock[PLACE] >= state.clock[SIZE]:
        state.clock[PLACE] = 0
        state.clock[SIZE] = state.clock[FOLLOWING]
        state.clock[FOLLOWING] = 0
        for k in range(state.clock[SIZE]):
            state.current[k] = state.following[k]


@kernel
def join(state: State, i: int, j: int) -> None:
    """Add a pair to L_N, unless it is in L_R or L_N."""
    if state.waiting[i, j] == 0:
        state.waiting[i, j] = 1
        state.following[state.clock[FOLLOWING]] = i * state.losses.shape[0] + j
        state.clock[FOLLOWING] += 1


@kernel
def beats(state: State, i: int, j: int) -> bool:
    """Return whether arm i seems to beat arm j."""
    return state.wins[i, j] > state.wins[j, i]


@kernel
def fewest_losses(state: State) -> int:
    """Return min L_i."""
    fewest = state.losses[0]
    for k in range(state.losses.shape[0]):
        fewest = min(fewest, state.losses[k])
    return fewest


@kernel
def confident_winner(state: State, log_t: float) -> int:
    """Return the first estimated Copeland winner whose constraints the duels so far fulfil, or -1."""
    fewest = fewest_losses(state)
    for i in range(state.losses.shape[0]):
        if state.losses[i] == fewest and is_confident(state, i, log_t):
            return i
    return -1


@kernel
def is_confident(state: State, winner: int, log_t: float) -> bool:
    """Return whether n_ij d_ij fulfils the constraints with ln t in the place of 1."""
    n_arms = state.losses.shape[0]
    for j in range(n_arms):
        n = state.wins[winner, j] + state.wins[j, winner]
        if beats(state, winner, j) and n * state.divergence[winner, j] < log_t:
            return False
    for i in range(n_arms):
        if i != winner:
            size = sort_superiors(state, i, winner, True)
            least = state.losses[i] - state.losses[winner] + 1
            if size >= least:
                total = 0.0
                for k in range(least):
                    total += state.cost[state.order[k]]
                if total < log_t:
                    return False
    return True


@kernel
def sort_superiors(state: State, i: int, winner: int, evidence: bool) -> int:
    """Put the arms that seem to beat i, ``winner`` apart, into `order`, by n d or by r / d; return how many."""
    n_arms, size = state.losses.shape[0], 0
    fewest = state.losses[winner]
    for j in range(n_arms):
        if j == winner or not beats(state, j, i):
            continue
        if evidence:
            state.cost[j] = (state.wins[i, j] + state.wins[j, i]) * state.divergence[i, j]
        else:
            state.cost[j] = 0.5 * (state.losses[i] + state.losses[j] - 2 * fewest) / state.divergence[i, j]
        place = size
        while place > 0 and state.cost[state.order[place - 1]] > state.cost[j]:
            state.order[place] = state.order[place - 1]
            place -= 1
        state.order[place] = j
        size += 1
    return size


@kernel
def cheapest_plan(state: State) -> int:
    """Fill `plan` with the q_ij of the estimated Copeland winner that costs the least regret; return that arm."""
    n_arms, fewest = state.losses.shape[0], fewest_losses(state)
    best, least = 0, inf
    for winner in range(n_arms):
        if state.losses[winner] == fewest:
            make_plan(state, winner)
            regret = 0.0
            for i in range(n_arms):
                for j in range(i + 1, n_arms):
                    regret += state.needed[i, j] * (state.losses[i] + state.losses[j] - 2 * fewest)
            if regret < least - ROUNDING:  # the first of several
                best, least = winner, regret
                for i in range(n_arms):
                    for j in range(i + 1, n_arms):
                        state.plan[i, j] = state.needed[i, j]
    return best


@kernel
def make_plan(state: State, winner: int) -> None:
    """Fill `needed` with the cheapest q_ij under which this arm is known to be a Copeland winner."""
    n_arms = state.losses.shape[0]
    for i in range(n_arms):
        for j in range(i + 1, n_arms):
            state.needed[i, j] = 0.0
    for j in range(n_arms):
        if beats(state, winner, j):
            state.needed[min(winner, j), max(winner, j)] = 1.0 / state.divergence[winner, j]
    for i in range(n_arms):
        if i == winner:
            continue
        size = sort_superiors(state, i, winner, False)
        spare = size - (state.losses[i] - state.losses[winner] + 1)
        if spare < 0:
            continue
        best, chosen, total = inf, size, 0.0
        for h in range(1, size + 1):
            total += state.cost[state.order[h - 1]]
            if h > spare and total / (h - spare) < best:
                best, chosen = total / (h - spare), h
        for k in range(chosen):
            j = state.order[k]
            state.needed[min(i, j), max(i, j)] = 1.0 / ((chosen - spare) * state.divergence[i, j])


def recommend(state: State, params: Params) -> int:
    """The arm that beats the most arms."""
    return most_victorious(state.wins)


register(
    __name__,
    limits={"alpha": (0.0, None), "beta": (0.0, None)},
    assumes="nothing: Copeland winners; no two arms tie",
    regret="O(log T), a relaxation of the lower bound",
    cost="O(K^2 log K)",
    cite="komiyama2016copeland",
    where="ECW-RMED",
)
