"""Counts of wins, and the step at which the confidence bound of a pair crosses one half.

Arm i has won w_ij of its n = w_ij + w_ji comparisons with arm j. The upper confidence bound of its win rate is u_ij =
w_ij/n + sqrt(alpha ln t / n). Let D = n - 2 w_ij. If D <= 0, the bound is at least 1/2. Otherwise it is at least 1/2
when alpha ln t >= D^2 / (4 n). The number D^2 / (4 n), or 0 if D <= 0 or n = 0, is called the *crossing* of i against
j. It changes only when the pair meets, so policies store the crossings and need not compute K x K bounds in each step.
"""

from __future__ import annotations

from math import ceil, exp, log1p, sqrt

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.hooks import NEVER
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, inlined, kernel, random_below


@inlined
def best_arm(values: FloatVector, rng: Generator) -> int:
    """Return the arm with the largest value, a random one if several are largest. For kernels and plain Python.

    Parameters
    ----------
    values : array of numbers, shape (K,)
    rng : numpy.random.Generator

    Returns
    -------
    int

    Examples
    --------
    >>> best_arm([0.2, 0.7, 0.4], np.random.default_rng(0))
    1
    """
    best, ties = 0, 1
    for arm in range(1, len(values)):
        if values[arm] > values[best]:
            best, ties = arm, 1
        elif values[arm] == values[best]:
            ties += 1
            if random_below(ties, rng) == 0:
                best = arm
    return best


@kernel
def record_win(wins: IntMatrix, crossings: FloatMatrix, winner: int, loser: int) -> None:
    """Count a duel, and update the crossings of the two arms against each other."""
    wins[winner, loser] += 1
    won, lost = wins[winner, loser], wins[loser, winner]
    d = won - lost
    crossing = d * d / (4.0 * (won + lost))
    crossings[loser, winner] = crossing if d > 0 else 0.0
    crossings[winner, loser] = crossing if d < 0 else 0.0


@kernel
def record_points(points: IntMatrix, crossings: FloatMatrix, one: int, other: int, outcome: int) -> None:
    """Count a comparison that may be a tie, and update the crossings of both arms.

    A win gives two points, a tie one point to each arm. With points p, n = (p_ij + p_ji) / 2 and D = (p_ji - p_ij) / 2.
    """
    points[one, other] += 1 + outcome
    points[other, one] += 1 - outcome
    d = points[one, other] - points[other, one]
    crossing = d * d / (8.0 * (points[one, other] + points[other, one]))
    crossings[other, one] = crossing if d > 0 else 0.0
    crossings[one, other] = crossing if d < 0 else 0.0


@kernel
def record_bound(wins: IntMatrix, rate: FloatMatrix, width: FloatMatrix, one: int, other: int) -> None:
    """Update the terms of ``u_jc = rate[c, j] + sqrt(alpha ln t) width[c, j]`` for both arms of a duel."""
    n = wins[one, other] + wins[other, one]
    rate[other, one] = wins[one, other] / n
    rate[one, other] = wins[other, one] / n
    width[other, one] = 1.0 / sqrt(n)
    width[one, other] = width[other, one]


def bound_rows(n_arms: int, prior_wins: int) -> tuple[IntMatrix, FloatMatrix, FloatMatrix, FloatMatrix]:
    """Return initial wins, rate, width and crossings; each arm starts with ``prior_wins`` wins against every other.

    Without prior wins, a pair that has not met has the bound 2, because x/0 counts as 1 in both terms. The bound of an
    arm against itself is 1/2.
    """
    block = np.zeros((4, n_arms, n_arms))  # one array: from 4 MiB, numpy uses huge pages (fewer TLB misses)
    wins, rate, width, crossings = block[0].view(np.int64), block[1], block[2], block[3]
    wins[:] = prior_wins
    rate[:] = 0.5 if prior_wins else 2.0
    width[:] = 1.0 / sqrt(2 * prior_wins) if prior_wins else 0.0
    np.fill_diagonal(rate, 0.5)
    np.fill_diagonal(width, 0.0)
    return wins, rate, width, crossings


@kernel
def most_victorious(wins: IntMatrix) -> int:
    """Return the arm with the most victories (see `victories`); ties are broken by the lowest number."""
    best, most = 0, -1
    for i in range(wins.shape[0]):
        beaten = victories(wins, i)
        if beaten > most:
            best, most = i, beaten
    return best


@kernel
def victories(wins: IntMatrix, i: int) -> int:
    """Return the number of rivals against which an arm won more than half of its duels."""
    beaten = 0
    for j in range(wins.shape[0]):
        beaten += wins[i, j] > wins[j, i]
    return beaten


@kernel
def coin_divergence(p: float) -> float:
    """Return d(p, 1/2), the Kullback-Leibler divergence from a fair coin."""
    x = 2.0 * p - 1.0
    if x <= -1.0 or x >= 1.0:
        return 0.6931471805599453  # ln 2
    return 0.5 * ((1.0 + x) * log1p(x) + (1.0 - x) * log1p(-x))


@kernel
def last_step_before(level: float) -> int:
    """Return the last step t with ln t < level, minus one for rounding errors; `NEVER` if no 64-bit step reaches it."""
    if level >= 43.0:  # ln(2^63) is 43.7
        return NEVER
    if level <= 0.0:
        return 0
    return int(ceil(exp(level))) - 2
