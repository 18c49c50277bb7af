"""ECW-RMED: each pair plays as often as the relaxed lower bound on regret requires, given the current estimates.

Komiyama, Honda, Nakagawa. Copeland Dueling Bandit Problem: Regret Lower Bound, Optimal Algorithm, and Computationally
Efficient Algorithm. ICML 2016 (arXiv 1605.01677). The algorithm without the relaxation (CW-RMED) solves a linear
program with exponentially many constraints in each step and is not implemented.

Let i* be an estimated Copeland winner, and L_i the number of arms that beat arm i. A pair met n_ij times, i won the
share phat_ij of these duels, and d_ij = d(phat_ij, 1/2), where d is the Kullback-Leibler divergence of two coins. There
are two kinds of relaxed constraints on q_ij = n_ij / ln t. First, q_i*j d_i*j >= 1 for every arm j that i* beats.
Second, take any other arm i, and any L_i - L_i* + 1 arms j that beat i and are not i*. The sum of q_ij d_ij over these
arms j must be at least 1. Without so many arms j, arm i has no constraint; no arm has one if i* is a Condorcet winner.
The cheapest q_ij are stored and updated (see `ecw_plans`).

L_C contains the pairs of this pass, L_R the pairs of L_C that are still to play, and L_N the pairs of the next pass.
"""

from __future__ import annotations

from math import inf, log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits import ecw_plans
from ltr_duel.bandits.policy import register
from ltr_duel.bandits.state import Registers, registers
from ltr_duel.bandits.statistics import last_step_before, most_victorious
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, kernel, vector


class Params(NamedTuple):
    alpha: float = 3.0  # every pair meets at least alpha sqrt(ln t) times
    beta: float = 0.01  # ... and until its share of wins is at least beta / ln ln t away from 1/2


class Now:
    n_current: int  # number of pairs in L_C
    place: int  # number of these pairs that were played
    n_following: int  # number of pairs in L_N
    forced: int  # 1 if this duel is played because the pair is not known well enough
    winner: int  # i* of the last plan, the arm that meets itself; -1 before the first plan


class State(NamedTuple):
    estimates: ecw_plans.Estimates
    plans: ecw_plans.Plans
    evidence: FloatVector  # (K,) scratch: evidence to sort
    order: IntVector  # (K,) scratch: arms in the order of their evidence
    current: IntVector  # (K (K + 1) / 2,) the first n_current entries: L_C, pairs i <= j as i K + j
    following: IntVector  # (K (K + 1) / 2,) the first n_following entries: L_N
    free: FloatMatrix  # (K, K) n_ij of the pairs i <= j, infinity for pairs in L_R or L_N
    now: Registers[Now]


def init(n_arms: int, horizon: int, params: Params) -> State:
    """L_C = L_R = all pairs, L_N is empty."""
    i, j = np.triu_indices(n_arms, 1 if n_arms > 1 else 0)
    current, following = np.zeros((2, n_arms * (n_arms + 1) // 2), np.int64)
    current[: i.size] = i * n_arms + j
    free = np.zeros((n_arms, n_arms))
    free[i, j] = inf
    scratch = np.zeros(n_arms), np.zeros(n_arms, np.int64)
    now = registers(Now, n_current=i.size, winner=-1)
    return State(ecw_plans.new_estimates(n_arms), ecw_plans.new_plans(n_arms), *scratch, current, following, free, now)


def select(state: State, params: Params, t: int, rng: Generator) -> tuple[int, int]:
    """Return a pair that is not known well enough, otherwise the next pair of L_C."""
    now, n_arms = state.now[0], state.free.shape[0]
    pair = neglected_pair(state.estimates.wins, params.alpha, params.beta, t) if now.place == 0 else -1
    now.forced = pair >= 0
    if pair < 0:
        pair = state.current[now.place]
    return pair // n_arms, pair % n_arms


@kernel
def neglected_pair(wins: IntMatrix, alpha: float, beta: float, t: int) -> int:
    """Return the first pair that met too rarely, or whose share is too close to 1/2; -1 if no such pair exists."""
    n_arms = wins.shape[0]
    often = alpha * sqrt(log(t))
    near = beta / max(1.0, log(log(t))) if t > 2 else beta
    for i in range(n_arms):
        for j in range(i + 1, n_arms):
            n = wins[i, j] + wins[j, i]
            if n < often or n == 0 or abs(wins[i, j] / n - 0.5) < near:
                return i * n_arms + j
    return -1


def update(state: State, params: Params, t: int, first: int, second: int, outcome: int, rng: Generator) -> None:
    """Count the duel, and plan the next pass."""
    stale = state.plans.superiors.stale
    if outcome > 0:
        ecw_plans.record(state.estimates, stale, first, second)
    elif outcome < 0:
        ecw_plans.record(state.estimates, stale, second, first)
    if outcome != 0:
        state.free[min(first, second), max(first, second)] += 1.0
    if state.now[0].forced == 0:
        end_turn(state, first, second, max(1.0, log(t)))


@kernel
def end_turn(state: State, first: int, second: int, log_t: float) -> None:
    """Remove the pair from L_R; add to L_N the pairs outside L_R that met less often than planned."""
    now, wins, n_arms = state.now[0], state.estimates.wins, state.free.shape[0]
    state.free[min(first, second), max(first, second)] = wins[first, second] + wins[second, first]
    winner = confident_winner(state, log_t)
    if winner < 0:
        winner, plan = ecw_plans.cheapest_plan(state.estimates, state.plans), state.plans.cheapest
        for i in range(n_arms - 1):
            if falls_short(state.free[i, i + 1 :], plan[i, i + 1 :], log_t):
                for j in range(i + 1, n_arms):
                    if plan[i, j] * log_t > state.free[i, j]:
                        join(state, i, j)
    join(state, winner, winner)
    now.winner = winner
    now.place += 1
    if now.place >= now.n_current:
        now.place, now.n_current, now.n_following = 0, now.n_following, 0
        for k in range(now.n_current):
            state.current[k] = state.following[k]


@kernel
def falls_short(met: FloatVector, plan: FloatVector, log_t: float) -> bool:
    """Return whether a pair met less often than planned."""
    found = 0
    for k in range(met.shape[0]):  # without a branch, so that the loop is vectorised
        found += plan[k] * log_t > met[k]
    return found > 0


@kernel
def join(state: State, i: int, j: int) -> None:
    """Add a pair to L_N, unless it is in L_R or L_N."""
    if state.free[i, j] < inf:
        now = state.now[0]
        state.free[i, j] = inf
        state.following[now.n_following] = i * state.free.shape[0] + j
        now.n_following += 1


@kernel
def confident_winner(state: State, log_t: float) -> int:
    """Return the first estimated Copeland winner whose constraints the duels so far fulfil, or -1."""
    losses = state.estimates.losses
    least = vector.fewest(losses)
    for i in range(losses.shape[0]):
        if losses[i] == least and confidence(state, i, log_t) >= log_t:
            return i
    return -1


@kernel
def confidence(state: State, winner: int, enough: float) -> float:
    """Return the largest ln t for which the duels so far fulfil the constraints: each sum of n_ij d_ij is >= ln t.

    If the value is below ``enough``, the result may be any number between both.
    """
    wins, divergence, losses = state.estimates.wins, state.estimates.divergence, state.estimates.losses
    limit = inf
    for j in range(losses.shape[0]):
        if ecw_plans.beats(wins, winner, j):
            n = wins[winner, j] + wins[j, winner]
            limit = min(limit, n * divergence[winner, j])
    for i in range(losses.shape[0]):
        if limit < enough:
            return limit
        if i != winner and ecw_plans.spare_superiors(losses, wins, i, winner) >= 0:
            sort_evidence(state, i, winner)
            total = 0.0
            for j in state.order[: losses[i] - losses[winner] + 1]:
                total += state.evidence[j]
            limit = min(limit, total)
    return limit


@kernel
def sort_evidence(state: State, i: int, winner: int) -> None:
    """Write the arms that seem to beat i, except ``winner``, into `order`, sorted by n d."""
    wins, divergence, size = state.estimates.wins, state.estimates.divergence, 0
    for j in range(wins.shape[0]):
        if j != winner and ecw_plans.beats(wins, j, i):
            state.evidence[j] = (wins[i, j] + wins[j, i]) * divergence[i, j]
            position = size
            while position > 0 and state.evidence[state.order[position - 1]] > state.evidence[j]:
                state.order[position] = state.order[position - 1]
                position -= 1
            state.order[position] = j
            size += 1


def idle_until(state: State, params: Params, t: int) -> int:
    """If a winner with enough evidence meets itself, return the last step before another pair is due; else return t."""
    return last_step_alone(state, params.alpha, t)


@kernel
def last_step_alone(state: State, alpha: float, t: int) -> int:
    """Return the last step in which the winner is certain to be alone in L_C, or t if this is not certain now.

    The margin around 1/2 shrinks as t grows, so a pair can become due only because it met too rarely.
    """
    wins, n_arms, log_t = state.estimates.wins, state.free.shape[0], max(1.0, log(t))
    if state.now[0].n_current != 1 or confident_winner(state, log_t) * (n_arms + 1) != state.current[0]:
        return t
    limit = confidence(state, state.current[0] // n_arms, 0.0)
    for i in range(n_arms if alpha > 0.0 else 0):
        for j in range(i + 1, n_arms):
            limit = min(limit, ((wins[i, j] + wins[j, i]) / alpha) ** 2)
    return max(t, last_step_before(limit))


def recommend(state: State, params: Params) -> int:
    """Return the arm that meets itself if it is an estimated Copeland winner, else the arm that beats the most arms."""
    winner, losses = state.now[0].winner, state.estimates.losses
    if winner >= 0 and losses[winner] == vector.fewest(losses):
        return winner
    return most_victorious(state.estimates.wins)


register(
    __name__,
    limits={"alpha": (0.0, None), "beta": (0.0, None)},
    assumes="no ties between arms; finds Copeland winners",
    regret="O(log T), with the constant of a relaxed lower bound",
    cost="O(K^2)",
    cite="komiyama2016copeland",
    where="ECW-RMED",
    version=2,  # recommends the played arm; version 1 recommended the first of the arms that beat the most arms
)
