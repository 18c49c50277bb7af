"""Counts of wins, and a fast test whether the confidence bound of a pair is at least one half.

In each step, many policies ask for each pair of arms whether the first arm may win at least half of its comparisons
with the second arm. To answer this fast, they store a number for each pair, the *crossing*, which changes only when the
pair meets.
"""

# If arm i won w of its n comparisons with arm j, its win rate has the upper confidence bound w/n + sqrt(alpha ln t /
# n). The bound is at least 1/2 if the crossing of i against j is at most alpha ln t. If arm i lost more often than it
# won, the crossing is D^2 / (4 n), where D is the number of losses minus the number of wins. Otherwise it is 0.

from __future__ import annotations

from math import ceil, exp, log1p, sqrt

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.hooks import NEVER
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, inlined, kernel, random_below


@inlined
def best_arm(values: FloatVector, rng: Generator) -> int:
    """Return the arm with the largest value. Ties are broken at random.

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
    """Count a win of one arm against another arm."""
    wins[winner, loser] += 1
    won, lost = wins[winner, loser], wins[loser, winner]
    d = won - lost
    crossing = d * d / (4.0 * (won + lost))
    crossings[loser, winner] = crossing if d > 0 else 0.0
    crossings[winner, loser] = crossing if d < 0 else 0.0


@kernel
def record_points(points: IntMatrix, crossings: FloatMatrix, one: int, other: int, outcome: int) -> None:
    """Count a comparison of two arms. A win gives two points, and a tie gives one point to each arm."""
    points[one, other] += 1 + outcome
    points[other, one] += 1 - outcome
    d = points[one, other] - points[other, one]
    crossing = d * d / (8.0 * (points[one, other] + points[other, one]))
    crossings[other, one] = crossing if d > 0 else 0.0
    crossings[one, other] = crossing if d < 0 else 0.0


@kernel
def record_bound(wins: IntMatrix, rate: FloatMatrix, width: FloatMatrix, one: int, other: int) -> None:
    """Update the win rates of two arms after a duel, and the widths of their confidence bounds."""
    n = wins[one, other] + wins[other, one]
    rate[other, one] = wins[one, other] / n
    rate[one, other] = wins[other, one] / n
    width[other, one] = 1.0 / sqrt(n)
    width[one, other] = width[other, one]


def bound_rows(n_arms: int, prior_wins: int) -> tuple[IntMatrix, FloatMatrix, FloatMatrix, FloatMatrix]:
    """Return arrays for the wins, win rates, widths of confidence bounds, and crossings of all pairs of arms.

    At the beginning, each arm has ``prior_wins`` wins against every other arm.
    """
    block = np.zeros((4, n_arms, n_arms))  # one array: from 4 MiB, numpy uses huge pages (fewer TLB misses)
    wins, rate, width, crossings = block[0].view(np.int64), block[1], block[2], block[3]
    wins[:] = prior_wins
    rate[:] = 0.5 if prior_wins else 2.0  # a bound of 2, until the pair meets
    width[:] = 1.0 / sqrt(2 * prior_wins) if prior_wins else 0.0
    np.fill_diagonal(rate, 0.5)
    np.fill_diagonal(width, 0.0)
    return wins, rate, width, crossings


@kernel
def most_victorious(wins: IntMatrix) -> int:
    """Return the arm that beats the most arms, or the first such arm if there are several."""
    best, most = 0, -1
    for i in range(wins.shape[0]):
        beaten = victories(wins, i)
        if beaten > most:
            best, most = i, beaten
    return best


@kernel
def victories(wins: IntMatrix, i: int) -> int:
    """Return the number of arms against which arm ``i`` won more than half of its duels."""
    beaten = 0
    for j in range(wins.shape[0]):
        beaten += wins[i, j] > wins[j, i]
    return beaten


@kernel
def coin_divergence(p: float) -> float:
    """Return the Kullback-Leibler divergence of a coin with probability ``p`` from a fair coin."""
    x = 2.0 * p - 1.0
    if x <= -1.0 or x >= 1.0:
        return 0.6931471805599453  # ln 2
    return 0.5 * ((1.0 + x) * log1p(x) + (1.0 - x) * log1p(-x))


@kernel
def last_step_before(level: float) -> int:
    """Return about the last step whose logarithm is below ``level``, and never a later step."""
    if level >= 43.0:  # ln(2^63) is 43.7: the number would not fit into 64 bits
        return NEVER
    if level <= 0.0:
        return 0
    return int(ceil(exp(level))) - 2
