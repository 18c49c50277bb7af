"""ECW-RMED: Efficient Copeland Winners Relative Minimum Empirical Divergence.

Plays each pair in the proportion that the (relaxed) regret lower bound asks for, computed from the estimates so far.

Komiyama, Honda, Nakagawa. Copeland Dueling Bandit Problem: Regret Lower Bound, Optimal Algorithm, and Computationally
Efficient Algorithm. ICML 2016 (arXiv 1605.01677). Needs no Condorcet winner and no horizon; no pair may tie. Regret
O(log T), within a relaxation of the lower bound; without the relaxation (CW-RMED) each step has a linear program with
exponentially many constraints, which is not offered.

With i* an estimated Copeland winner, L_i the arms that beat arm i and d_ij = d(phat_ij, 1/2), the relaxed constraints
on q_ij = n_ij / ln t are: q_i*j d_i*j >= 1 for every j that i* beats; and for every other arm i, any L_i - L_i* + 1
of the arms j that beat i, i* apart, have q_ij d_ij adding up to at least 1. Sorting the costs r_ij / d_ij solves that
exactly. Of an arm that fewer than L_i - L_i* + 1 such arms beat nothing is asked: of none, if i* is a Condorcet winner.

A step costs O(K^2): all pairs are compared with the plan. The orders and the plan are kept from step to step. A duel
changes one cost, and thus one arm's share of the plan, unless it changes who seems to beat whom: then the costs of up
to K arms. Where several arms may be the winner, those that were not the cheapest are planned anew.
"""

from __future__ import annotations

from math import inf, log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.policies.rmed import ROUNDING
from ltr_duel.bandits.policy import register
from ltr_duel.bandits.state import Registers, registers
from ltr_duel.bandits.statistics import coin_divergence, fewest, last_step_before, most_victorious
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, inlined, kernel


class Params(NamedTuple):
    """Parameters of ECW-RMED."""

    alpha: float = 3.0  # every pair meets alpha sqrt(ln t) times
    beta: float = 0.01  # ... and until its share is beta / ln ln t away from 1/2


class Now:
    """Where the run is."""

    n_current: int  # pairs in L_C
    place: int  # those of them played
    n_following: int  # pairs in L_N
    forced: int  # 1 if this duel is there because the pair is not known well enough
    planned: int  # the winner of `plan`, -1 if there is none
    least: int  # fewest losses of an arm when `cost` was computed


class Superiors(NamedTuple):
    """For each arm those that seem to beat it, the cheapest first. A duel changes few of these rows."""

    order: IntMatrix  # (K, K) the first size[i] of row i: arms by their costs, of several the first by number
    size: IntVector  # (K,)
    cost: FloatMatrix  # (K, K) r_ij / d_ij of the arms in the row, infinity for the others
    stale: IntVector  # (K,) 1 where the row is to be sorted and planned anew


class State(NamedTuple):
    """What ECW-RMED knows after some duels among K arms."""

    wins: IntMatrix  # (K, K) wins[i, j]: duels that arm i won against arm j
    divergence: FloatMatrix  # (K, K) d(phat_ij, 1/2)
    losses: IntVector  # (K,) L_i, the arms that seem to beat arm i
    needed: FloatMatrix  # (K, K) scratch, i < j: q_ij of another plan
    plan: FloatMatrix  # (K, K) i < j: q_ij of the cheapest plan
    superiors: Superiors
    evidence: FloatVector  # (K,) scratch: what is being sorted
    order: IntVector  # (K,) scratch: arms in the order of their evidence
    current: IntVector  # (K (K + 1) / 2,) the first n_current: L_C, pairs i <= j as i K + j
    following: IntVector  # (K (K + 1) / 2,) the first n_following: L_N
    free: FloatMatrix  # (K, K) n_ij of the pairs i <= j, infinity for those in L_R or L_N
    now: Registers[Now]


def init(n_arms: int, horizon: int, params: Params) -> State:
    """L_C = L_R = all pairs, L_N is empty."""
    i, j = np.triu_indices(n_arms, 1 if n_arms > 1 else 0)
    divergence, needed, plan, free = np.zeros((4, n_arms, n_arms))
    wins, places = np.zeros((2, n_arms, n_arms), np.int64)
    losses, order, size = np.zeros((3, n_arms), np.int64)
    superiors = Superiors(places, size, np.full((n_arms, n_arms), inf), np.ones(n_arms, np.int64))
    current, following = np.zeros((2, n_arms * (n_arms + 1) // 2), np.int64)
    current[: i.size] = i * n_arms + j
    free[i, j] = inf
    lists = (current, following, free, registers(Now, n_current=i.size, planned=-1))
    return State(wins, divergence, losses, needed, plan, superiors, np.zeros(n_arms), order, *lists)


def select(state: State, params: Params, t: int, rng: Generator) -> tuple[int, int]:
    """A pair that is not known well enough; else the next pair of L_C."""
    now, n_arms = state.now[0], state.losses.shape[0]
    pair = neglected_pair(state.wins, params.alpha, params.beta, t) if now.place == 0 else -1
    now.forced = pair >= 0
    if pair < 0:
        pair = state.current[now.place]
    return pair // n_arms, pair % n_arms


@kernel
def neglected_pair(wins: IntMatrix, alpha: float, beta: float, t: int) -> int:
    """Return the first pair that met too rarely, or whose share is too near to 1/2; -1 if there is none."""
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
    """Count; plan the next pass."""
    if outcome > 0:
        record(state, first, second)
    elif outcome < 0:
        record(state, second, first)
    if state.now[0].forced == 0:
        end_turn(state, first, second, max(1.0, log(t)))


@kernel
def record(state: State, winner: int, loser: int) -> None:
    """Count a duel, and note whose superiors, or costs of them, it changes."""
    before = state.wins[winner, loser] - state.wins[loser, winner]
    state.wins[winner, loser] += 1
    if before == 0:
        state.losses[loser] += 1
        note_losses(state.superiors.stale, state.wins, loser)
    elif before == -1:
        state.losses[winner] -= 1
        note_losses(state.superiors.stale, state.wins, winner)
    state.superiors.stale[winner] = 1
    state.superiors.stale[loser] = 1
    won, n = state.wins[winner, loser], state.wins[winner, loser] + state.wins[loser, winner]
    state.divergence[winner, loser] = coin_divergence(won / n)
    state.divergence[loser, winner] = state.divergence[winner, loser]
    state.free[min(winner, loser), max(winner, loser)] += 1.0


@kernel
def note_losses(stale: IntVector, wins: IntMatrix, arm: int) -> None:
    """Another number of losses of an arm changes its cost as a superior of those that it seems to beat."""
    for i in range(stale.shape[0]):
        stale[i] |= int(beats(wins, arm, i))


@kernel
def end_turn(state: State, first: int, second: int, log_t: float) -> None:
    """The pair leaves L_R; the pairs that are to be played, and not in L_R, join L_N."""
    now, n_arms = state.now[0], state.losses.shape[0]
    state.free[min(first, second), max(first, second)] = state.wins[first, second] + state.wins[second, first]
    winner = confident_winner(state, log_t)
    if winner < 0:
        winner = cheapest_plan(state)
        for i in range(n_arms - 1):
            if falls_short(state.free[i, i + 1 :], state.plan[i, i + 1 :], log_t):
                for j in range(i + 1, n_arms):
                    if state.plan[i, j] * log_t > state.free[i, j]:
                        join(state, i, j)
    join(state, winner, winner)
    now.place += 1
    if now.place >= now.n_current:
        now.place, now.n_current, now.n_following = 0, now.n_following, 0
        for k in range(now.n_current):
            state.current[k] = state.following[k]


@kernel
def falls_short(met: FloatVector, plan: FloatVector, log_t: float) -> bool:
    """Return whether some pair met less often than planned."""
    found = 0
    for k in range(met.shape[0]):  # without a branch, so that it is vectorised
        found += plan[k] * log_t > met[k]
    return found > 0


@kernel
def join(state: State, i: int, j: int) -> None:
    """Add a pair to L_N, unless it is in L_R or L_N."""
    if state.free[i, j] < inf:
        now = state.now[0]
        state.free[i, j] = inf
        state.following[now.n_following] = i * state.losses.shape[0] + j
        now.n_following += 1


@kernel
def beats(wins: IntMatrix, i: int, j: int) -> bool:
    """Return whether arm i seems to beat arm j."""
    return wins[i, j] > wins[j, i]


@kernel
def confident_winner(state: State, log_t: float) -> int:
    """Return the first estimated Copeland winner whose constraints the duels so far fulfil, or -1."""
    least = fewest(state.losses)
    for i in range(state.losses.shape[0]):
        if state.losses[i] == least and confidence(state, i, log_t) >= log_t:
            return i
    return -1


@kernel
def confidence(state: State, winner: int, enough: float) -> float:
    """Return the largest ln t for which n_ij d_ij fulfils the constraints, ln t in the place of 1.

    If that is less than ``enough``, something between the two may be returned.
    """
    limit = inf
    for j in range(state.losses.shape[0]):
        if beats(state.wins, winner, j):
            n = state.wins[winner, j] + state.wins[j, winner]
            limit = min(limit, n * state.divergence[winner, j])
    for i in range(state.losses.shape[0]):
        if limit < enough:
            return limit
        if i != winner and spare_superiors(state.losses, state.wins, i, winner) >= 0:
            sort_evidence(state, i, winner)
            total = 0.0
            for j in state.order[: state.losses[i] - state.losses[winner] + 1]:
                total += state.evidence[j]
            limit = min(limit, total)
    return limit


@kernel
def spare_superiors(losses: IntVector, wins: IntMatrix, i: int, winner: int) -> int:
    """Return how many arms that seem to beat i, ``winner`` apart, there are beyond L_i - L_i* + 1."""
    return losses[winner] - 1 - (1 if beats(wins, winner, i) else 0)


@kernel
def sort_evidence(state: State, i: int, winner: int) -> None:
    """Put the arms that seem to beat i, ``winner`` apart, into `order`, by n d."""
    size = 0
    for j in range(state.losses.shape[0]):
        if j == winner or not beats(state.wins, j, i):
            continue
        state.evidence[j] = (state.wins[i, j] + state.wins[j, i]) * state.divergence[i, j]
        place = size
        while place > 0 and state.evidence[state.order[place - 1]] > state.evidence[j]:
            state.order[place] = state.order[place - 1]
            place -= 1
        state.order[place] = j
        size += 1


@kernel
def cheapest_plan(state: State) -> int:
    """Fill `plan` with the q_ij of the estimated Copeland winner that costs the least regret; return that arm."""
    now, losses, stale, least = state.now[0], state.losses, state.superiors.stale, fewest(state.losses)
    if now.least != least:
        now.least = least
        stale[:] = 1
    sort_stale(state.superiors, state.plan, state.wins, state.divergence, losses, least)
    if now.planned < 0 or losses[now.planned] != least:
        now.planned = nth_fewest(losses, least, 0)
        make_plan(state, state.plan, now.planned)
    else:
        for i in range(losses.shape[0]):
            if stale[i]:
                plan_arm(state.superiors, state.wins, state.divergence, losses, state.plan, i, now.planned)
        plan_winner(state.wins, state.divergence, state.plan, now.planned)
    stale[:] = 0
    best, cost, n = now.planned, inf, 0
    if nth_fewest(losses, least, 1) >= 0:
        winner = nth_fewest(losses, least, 0)
        while winner >= 0:
            plan = state.plan
            if winner != now.planned:
                plan = state.needed
                make_plan(state, plan, winner)
            regret = planned_regret(plan, losses, least)
            if regret < cost - ROUNDING:  # the first of several
                best, cost = winner, regret
            n += 1
            winner = nth_fewest(losses, least, n)
    if best != now.planned:
        now.planned = best
        make_plan(state, state.plan, best)
    return best


@kernel
def nth_fewest(losses: IntVector, least: int, n: int) -> int:
    """Return the arm number n = 0, 1, ... of those with the fewest losses; -1 if there is none."""
    for i in range(losses.shape[0]):
        n -= losses[i] == least
        if n < 0:
            return i
    return -1


@kernel
def planned_regret(plan: FloatMatrix, losses: IntVector, least: int) -> float:
    """Return what a plan costs for each unit of ln t."""
    regret = 0.0
    for i in range(losses.shape[0]):
        for j in range(i + 1, losses.shape[0]):
            regret += plan[i, j] * (losses[i] + losses[j] - 2 * least)
    return regret


@kernel
def sort_stale(
    superiors: Superiors, plan: FloatMatrix, wins: IntMatrix, divergence: FloatMatrix, losses: IntVector, least: int
) -> None:
    """Sort the stale rows, which are almost in order; what was planned for them is taken back."""
    n_arms = losses.shape[0]
    for i in range(n_arms):
        if superiors.stale[i]:
            order, cost, size = superiors.order[i], superiors.cost[i], 0
            for k in range(superiors.size[i]):
                j = order[k]
                plan[min(i, j), max(i, j)] = 0.0
                if beats(wins, j, i):
                    cost[j] = 0.5 * (losses[i] + losses[j] - 2 * least) / divergence[i, j]
                    insert(order, cost, size, j)
                    size += 1
                else:
                    cost[j] = inf
            for j in range(n_arms):
                if cost[j] == inf and beats(wins, j, i):
                    cost[j] = 0.5 * (losses[i] + losses[j] - 2 * least) / divergence[i, j]
                    insert(order, cost, size, j)
                    size += 1
            superiors.size[i] = size


@inlined
def insert(order: IntVector, cost: FloatVector, size: int, j: int) -> None:
    """Insert an arm into a row of so many arms, by its cost and then its number."""
    place = size
    while place > 0:
        before = order[place - 1]
        if cost[before] < cost[j] or (cost[before] == cost[j] and before < j):
            break
        order[place] = before
        place -= 1
    order[place] = j


@kernel
def make_plan(state: State, plan: FloatMatrix, winner: int) -> None:
    """Fill a plan with the cheapest q_ij under which this arm is known to be a Copeland winner."""
    plan[:] = 0.0
    for i in range(state.losses.shape[0]):
        plan_arm(state.superiors, state.wins, state.divergence, state.losses, plan, i, winner)
    plan_winner(state.wins, state.divergence, plan, winner)


@kernel
def plan_winner(wins: IntMatrix, divergence: FloatMatrix, plan: FloatMatrix, winner: int) -> None:
    """The winner has to beat for certain each arm that it seems to beat."""
    for j in range(plan.shape[0]):
        plan[min(winner, j), max(winner, j)] = 1.0 / divergence[winner, j] if beats(wins, winner, j) else 0.0


@inlined
def plan_arm(
    superiors: Superiors,
    wins: IntMatrix,
    divergence: FloatMatrix,
    losses: IntVector,
    plan: FloatMatrix,
    i: int,
    winner: int,
) -> None:
    """Spread the constraint of arm i over its cheapest superiors but ``winner``; all but `spare` must lose to it."""
    spare = spare_superiors(losses, wins, i, winner)
    if i != winner and spare >= 0:
        order, cost, left = superiors.order[i], superiors.cost[i], 1 - spare
        best, chosen, total = inf, 0, 0.0
        for k in range(superiors.size[i]):
            if order[k] != winner:
                total += cost[order[k]]
                if left > 0 and total / left < best:
                    best, chosen = total / left, left
                left += 1
        left = chosen + spare if chosen > 0 else 0
        for k in range(superiors.size[i]):
            j = order[k]
            if j != winner and left > 0:
                plan[min(i, j), max(i, j)] = 1.0 / (chosen * divergence[i, j])
                left -= 1


def idle_until(state: State, params: Params, t: int) -> int:
    """A winner that is known well enough meets itself until a pair has to be played again."""
    return last_step_alone(state, params.alpha, t)


@kernel
def last_step_alone(state: State, alpha: float, t: int) -> int:
    """Return the last step in which the winner is certain to be alone in L_C; t if it is not sure of that now.

    As t grows pairs come to be known too little by their number alone: the share that is too near to 1/2 shrinks.
    """
    n_arms, log_t = state.losses.shape[0], max(1.0, log(t))
    if state.now[0].n_current != 1 or confident_winner(state, log_t) * (n_arms + 1) != state.current[0]:
        return t
    limit = confidence(state, state.current[0] // n_arms, 0.0)
    for i in range(n_arms if alpha > 0.0 else 0):
        for j in range(i + 1, n_arms):
            limit = min(limit, ((state.wins[i, j] + state.wins[j, i]) / alpha) ** 2)
    return max(t, last_step_before(limit))


def recommend(state: State, params: Params) -> int:
    """The arm that beats the most arms."""
    return most_victorious(state.wins)


register(
    __name__,
    limits={"alpha": (0.0, None), "beta": (0.0, None)},
    assumes="nothing: Copeland winners; no two arms tie",
    regret="O(log T), a relaxation of the lower bound",
    cost="O(K^2)",
    cite="komiyama2016copeland",
    where="ECW-RMED",
)
