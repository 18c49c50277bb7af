"""ECW-RMED: compare each pair only as often as is necessary to identify a Copeland winner.

A Copeland winner is an arm that beats the most arms. A lower bound on regret says how many duels of each pair are
necessary to identify such an arm. ECW-RMED computes these numbers from its estimates (see `ecw_plans`). In each pass,
it plays the pairs that have fewer duels than necessary.

Komiyama, Honda, Nakagawa. Copeland Dueling Bandit Problem: Regret Lower Bound, Optimal Algorithm, and Computationally
Efficient Algorithm. ICML 2016 (arXiv 1605.01677).
"""

# Let i* be an arm that seems to be a Copeland winner, and L_i the number of arms that beat arm i. The evidence from the
# duels of arms i and j is n_ij d_ij. Here n_ij is the number of these duels, and d_ij is the Kullback-Leibler
# divergence between a coin with the win rate of the pair and a fair coin. The duels before step t suffice if two
# constraints hold:
#
# - For every arm j that i* beats, the evidence n_i*j d_i*j is at least ln t.
# - For every other arm i, consider the arms that beat arm i, except i*. For any L_i - L_i* + 1 of these arms, the
#   evidence from their duels with arm i adds up to at least ln t. If there are fewer such arms, there is no constraint.
#
# In the paper, L_C are the pairs of the current pass, L_R are the pairs that have still to play in the current pass,
# and L_N are the pairs of the next pass.

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
    i, j = np.triu_indices(n_arms, 1 if n_arms > 1 else 0)
    current, following = np.zeros((2, n_arms * (n_arms + 1) // 2), np.int64)
    current[: i.size] = i * n_arms + j
    free = np.zeros((n_arms, n_arms))
    free[i, j] = inf
    scratch = np.zeros(n_arms), np.zeros(n_arms, np.int64)
    now = registers(Now, n_current=i.size, winner=-1)
    return State(ecw_plans.new_estimates(n_arms), ecw_plans.new_plans(n_arms), *scratch, current, following, free, now)


def select(state: State, params: Params, t: int, rng: Generator) -> tuple[int, int]:
    now, n_arms = state.now[0], state.free.shape[0]
    pair = neglected_pair(state.estimates.wins, params.alpha, params.beta, t) if now.place == 0 else -1
    now.forced = pair >= 0
    if pair < 0:
        pair = state.current[now.place]
    return pair // n_arms, pair % n_arms


@kernel
def neglected_pair(wins: IntMatrix, alpha: float, beta: float, t: int) -> int:
    """Return the first pair that met too rarely, or whose win rate is too close to 1/2. Return -1 if there is none."""
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
    """Mark a pair as played in this pass. Pairs that met less often than planned join the next pass."""
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
    found = 0
    for k in range(met.shape[0]):  # without a branch, so that the loop is vectorised
        found += plan[k] * log_t > met[k]
    return found > 0


@kernel
def join(state: State, i: int, j: int) -> None:
    """Add a pair to the next pass, unless the pair is already in the next pass or has still to play in this pass."""
    if state.free[i, j] < inf:
        now = state.now[0]
        state.free[i, j] = inf
        state.following[now.n_following] = i * state.free.shape[0] + j
        now.n_following += 1


@kernel
def confident_winner(state: State, log_t: float) -> int:
    """Return the first arm that seems to be a Copeland winner and has enough evidence, or -1 if there is none."""
    losses = state.estimates.losses
    least = vector.fewest(losses)
    for i in range(losses.shape[0]):
        if losses[i] == least and confidence(state, i, log_t) >= log_t:
            return i
    return -1


@kernel
def confidence(state: State, winner: int, enough: float) -> float:
    """Return the largest ln t for which the duels so far suffice to identify ``winner``.

    To save time, the result is only approximate if it is below ``enough``.
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
    wins, divergence, size = state.estimates.wins, state.estimates.divergence, 0
    for j in range(wins.shape[0]):
        if j != winner and ecw_plans.beats(wins, j, i):
            state.evidence[j] = (wins[i, j] + wins[j, i]) * divergence[i, j]
            position = size  # the least evidence comes first
            while position > 0 and state.evidence[state.order[position - 1]] > state.evidence[j]:
                state.order[position] = state.order[position - 1]
                position -= 1
            state.order[position] = j
            size += 1


def idle_until(state: State, params: Params, t: int) -> int:
    return last_step_alone(state, params.alpha, t)


@kernel
def last_step_alone(state: State, alpha: float, t: int) -> int:
    """Return the last step up to which the winner certainly plays against itself, or t if this is not certain."""
    wins, n_arms, log_t = state.estimates.wins, state.free.shape[0], max(1.0, log(t))
    if state.now[0].n_current != 1 or confident_winner(state, log_t) * (n_arms + 1) != state.current[0]:
        return t
    limit = confidence(state, state.current[0] // n_arms, 0.0)
    for i in range(n_arms if alpha > 0.0 else 0):
        for j in range(i + 1, n_arms):
            limit = min(limit, ((wins[i, j] + wins[j, i]) / alpha) ** 2)
    return max(t, last_step_before(limit))


def recommend(state: State, params: Params) -> int:
    """Return the winner if it still seems to be a Copeland winner, otherwise the arm that beats the most arms."""
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
