"""Plans for ECW-RMED. A plan says how often each pair should meet to identify a Copeland winner.

A Copeland winner is an arm that beats the most arms. `cheapest_plan` computes the plan with the least regret.
"""

# Up to step t, the pair of arms i and j should meet q_ij ln t times. The numbers q_ij of a plan must fulfil the
# constraints in `policies.ecw_rmed`. Each constraint concerns the duels of one arm i, and is solved separately. The
# arms j that beat arm i are sorted by their cost r_ij / d_ij, and arm i meets the cheapest of these arms. Here r_ij is
# the regret of a duel with arm j, and d_ij is the evidence from this duel. The sorted arms and the cheapest plan are
# stored, because a duel changes only few costs.

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from ltr_duel.bandits.state import Registers, registers
from ltr_duel.bandits.statistics import coin_divergence
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, inlined, kernel, vector

_ROUNDING = 1e-9  # plans whose regrets differ by less than this are treated as equally good


class Estimates(NamedTuple):
    wins: IntMatrix  # (K, K) wins[i, j]: duels that arm i won against arm j
    divergence: FloatMatrix  # (K, K) d_ij, the divergence of the pair's win rate from 1/2
    losses: IntVector  # (K,) L_i, the number of arms that seem to beat arm i


class Superiors(NamedTuple):
    """The superiors of each arm: the arms that seem to beat it. Row i contains the superiors of arm i."""

    order: IntMatrix  # (K, K) the first size[i] entries of row i: arms by cost, then by number
    size: IntVector  # (K,)
    cost: FloatMatrix  # (K, K) r_ij / d_ij of the arms in the row, infinity for the others
    stale: IntVector  # (K,) 1 if the row must be sorted and planned again


class Now:
    planned: int  # the Copeland winner of the plan `cheapest`, -1 before the first plan
    least: int  # the smallest number of losses of any arm when the costs were computed


class Plans(NamedTuple):
    superiors: Superiors
    cheapest: FloatMatrix  # (K, K) i < j: q_ij
    other: FloatMatrix  # (K, K) scratch, i < j: q_ij of another plan
    now: Registers[Now]


def new_estimates(n_arms: int) -> Estimates:
    square = n_arms, n_arms
    return Estimates(np.zeros(square, np.int64), np.zeros(square), np.zeros(n_arms, np.int64))


def new_plans(n_arms: int) -> Plans:
    order, (cheapest, other) = np.zeros((n_arms, n_arms), np.int64), np.zeros((2, n_arms, n_arms))
    cost, stale = np.full((n_arms, n_arms), inf), np.ones(n_arms, np.int64)
    superiors = Superiors(order, np.zeros(n_arms, np.int64), cost, stale)
    return Plans(superiors, cheapest, other, registers(Now, planned=-1))


@kernel
def record(estimates: Estimates, stale: IntVector, winner: int, loser: int) -> None:
    """Count a duel, and mark the arms whose duels must be planned again."""
    wins, losses = estimates.wins, estimates.losses
    before = wins[winner, loser] - wins[loser, winner]
    wins[winner, loser] += 1
    if before == 0:
        losses[loser] += 1
        note_losses(stale, wins, loser)
    elif before == -1:
        losses[winner] -= 1
        note_losses(stale, wins, winner)
    stale[winner] = 1
    stale[loser] = 1
    won, n = wins[winner, loser], wins[winner, loser] + wins[loser, winner]
    estimates.divergence[winner, loser] = coin_divergence(won / n)
    estimates.divergence[loser, winner] = estimates.divergence[winner, loser]


@kernel
def note_losses(stale: IntVector, wins: IntMatrix, arm: int) -> None:
    for i in range(stale.shape[0]):  # the cost of the arm in a row depends on the losses of the arm
        stale[i] |= int(beats(wins, arm, i))


@kernel
def beats(wins: IntMatrix, i: int, j: int) -> bool:
    """Return whether arm i seems to beat arm j."""
    return wins[i, j] > wins[j, i]


@kernel
def cheapest_plan(estimates: Estimates, plans: Plans) -> int:
    """Write the plan with the least regret into ``plans.cheapest``, and return the winner that it identifies."""
    losses, superiors, now = estimates.losses, plans.superiors, plans.now[0]
    stale, least = superiors.stale, vector.fewest(losses)
    if now.least != least:
        now.least = least
        stale[:] = 1
    sort_stale(superiors, plans.cheapest, estimates, least)
    if now.planned < 0 or losses[now.planned] != least:
        now.planned = vector.nth_equal(losses, least, 0)
        make_plan(estimates, superiors, plans.cheapest, now.planned)
    else:
        for i in range(losses.shape[0]):
            if stale[i]:
                plan_arm(superiors, estimates, plans.cheapest, i, now.planned)
        plan_winner(estimates, plans.cheapest, now.planned)
    stale[:] = 0
    best, cost, n = now.planned, inf, 0
    if vector.nth_equal(losses, least, 1) >= 0:
        winner = vector.nth_equal(losses, least, 0)
        while winner >= 0:
            plan = plans.cheapest
            if winner != now.planned:
                plan = plans.other
                make_plan(estimates, superiors, plan, winner)
            regret = planned_regret(plan, losses, least)
            if regret < cost - _ROUNDING:  # ties are broken by the lowest number
                best, cost = winner, regret
            n += 1
            winner = vector.nth_equal(losses, least, n)
    if best != now.planned:
        now.planned = best
        make_plan(estimates, superiors, plans.cheapest, best)
    return best


@kernel
def planned_regret(plan: FloatMatrix, losses: IntVector, least: int) -> float:
    regret = 0.0
    for i in range(losses.shape[0]):
        for j in range(i + 1, losses.shape[0]):
            regret += plan[i, j] * (losses[i] + losses[j] - 2 * least)
    return regret


@kernel
def sort_stale(superiors: Superiors, plan: FloatMatrix, estimates: Estimates, least: int) -> None:
    wins, divergence, losses = estimates.wins, estimates.divergence, estimates.losses
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
    place = size
    while place > 0:
        before = order[place - 1]
        if cost[before] < cost[j] or (cost[before] == cost[j] and before < j):
            break
        order[place] = before
        place -= 1
    order[place] = j


@kernel
def make_plan(estimates: Estimates, superiors: Superiors, plan: FloatMatrix, winner: int) -> None:
    """Write into ``plan`` the cheapest plan that identifies ``winner`` as a Copeland winner."""
    plan[:] = 0.0
    for i in range(plan.shape[0]):
        plan_arm(superiors, estimates, plan, i, winner)
    plan_winner(estimates, plan, winner)


@kernel
def plan_winner(estimates: Estimates, plan: FloatMatrix, winner: int) -> None:
    """Plan the duels of the winner with each arm that it seems to beat."""
    wins, divergence = estimates.wins, estimates.divergence
    for j in range(plan.shape[0]):
        plan[min(winner, j), max(winner, j)] = 1.0 / divergence[winner, j] if beats(wins, winner, j) else 0.0


@inlined
def plan_arm(superiors: Superiors, estimates: Estimates, plan: FloatMatrix, i: int, winner: int) -> None:
    divergence, spare = estimates.divergence, spare_superiors(estimates.losses, estimates.wins, i, winner)
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


@kernel
def spare_superiors(losses: IntVector, wins: IntMatrix, i: int, winner: int) -> int:
    # the number of superiors of arm i whose evidence may be missing; negative if there is no constraint
    return losses[winner] - 1 - (1 if beats(wins, winner, i) else 0)
