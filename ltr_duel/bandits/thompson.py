"""Thompson sampling for many arms, with few draws from Beta distributions. These draws are slow.

Thompson sampling draws a sample for each arm from the arm's posterior distribution, and chooses the arm with the
largest sample. This module finds the arm with the largest sample, but draws only few of the samples. The choice has the
same distribution as if all samples were drawn.

To save draws, the module flips a biased coin for each arm, which decides whether the sample of the arm exceeds a number
that is called the *level*. If only one sample exceeds the level, it is the largest sample, and nothing is drawn. If
several samples exceed the level, only these samples are drawn. If no sample exceeds the level, all samples are drawn.
"""

from __future__ import annotations

from math import exp, inf, log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits import tournament
from ltr_duel.core import FloatMatrix, FloatVector, IntVector, draws, inlined, kernel, larger, trailing_zeros, uniform

_FIRST, _PATIENCE = 4, 16  # draws per arm before the first level of a row is computed, and before each later level
_HALVINGS = 12  # bisections of the interval in search of a new level
# A row has the arms whose samples are compared, and one level. It gets a new level after ``patience`` draws. The new
# level does not depend on samples of the current step. Let theta be the probability that arm i beats arm j, with a
# uniform prior. After a wins and b losses of arm i, theta has the posterior Beta(a + 1, b + 1). Stored is the
# probability that theta exceeds a level x. Let m(a, b) be C(a + b, a) x^a (1 - x)^b. A win adds m(a + 1, b) (1 - x) to
# the probability that theta exceeds x, and a loss subtracts m(a, b + 1) x. The arrays `log_mass` contain ln m for x =
# 1/2.


def posterior_rows(n_arms: int) -> tuple[FloatMatrix, FloatMatrix]:
    return np.full((n_arms, n_arms), 0.5), np.zeros((n_arms, n_arms))


@kernel
def record_posterior(prefer: FloatMatrix, log_mass: FloatMatrix, winner: int, loser: int, won: int, duels: int) -> None:
    # won, duels: wins of the winner against the loser, and duels of the two, including this duel
    log_mass[winner, loser] += log(duels / (2.0 * won))
    log_mass[loser, winner] = log_mass[winner, loser]
    change = 0.5 * exp(log_mass[winner, loser])
    prefer[winner, loser] += change
    prefer[loser, winner] -= change


@kernel
def draw_above(level: float, a: int, b: int, log_mass: float, rng: Generator) -> float:
    # the larger of ``level`` and a draw from Beta(a + 1, b + 1); most values below the level are not drawn
    n = a + b
    if n == 0 or level * n <= a:
        return max(level, draws.beta_draw(a + 1.0, b + 1.0, rng))
    h = b / (1.0 - level) - a / level  # > 0; above the mode, an exponential curve with this rate bounds the density
    log_f = log(n + 1.0) + log_mass + n * 0.6931471805599453 + a * log(level) + b * log(1.0 - level)
    area = exp(log_f) / h
    if area >= 1.0:
        return max(level, draws.beta_draw(a + 1.0, b + 1.0, rng))
    if uniform(rng) >= area:
        return level
    theta = level - log(1.0 - uniform(rng)) / h
    if theta >= 1.0:
        return level
    ratio = exp(a * log(theta / level) + b * log((1.0 - theta) / (1.0 - level)) + h * (theta - level))
    return theta if uniform(rng) < ratio else level


class Levels(NamedTuple):
    # R rows of K posteriors, and scratch memory for one row; the policy itself stores wins and losses
    level: FloatVector  # (R,) initially 1/2
    chance: FloatMatrix  # (R, K) Pr(theta > level)
    bits: tournament.BitsMatrix  # (R, padded K) the first 16 bits of ``chance``
    patience: IntVector  # (R,) draws left before the next level
    lane: tournament.LaneVector  # (8,) random words
    every: IntVector  # (K,) constant: 0, 1, ...
    some: IntVector  # (K,) a list of arms
    mean: FloatVector  # (K,) means of the posteriors of the listed arms
    scale: FloatVector  # (K,) reciprocals of the standard deviations of these posteriors
    zeros: FloatVector  # (K,) constant: zeros


class Posteriors(NamedTuple):
    # the wins and losses of a row; the posterior of arm k is Beta(good[k] - prior + 1, bad[k] - prior + 1)
    good: IntVector  # (K,)
    bad: IntVector  # (K,)
    log_mass: FloatVector  # (K,) ln m(a, b) for x = 1/2
    prior: int  # value of every entry of ``good`` and of ``bad`` before the first duel


class Field(NamedTuple):
    """The arms that take part in a draw: all ``arms`` except ``without`` whose crossing is at most ``bonus``."""

    arms: IntVector
    bits: tournament.WordVector  # in the order of ``arms``
    without: int
    crossings: FloatVector  # (K,)
    bonus: float  # the highest crossing with which an arm takes part


def new_levels(rows: int, n_arms: int) -> Levels:
    chance, patience = np.full((rows, n_arms), 0.5), np.full(rows, _FIRST * n_arms)
    lane, every, some = np.zeros(tournament.BLOCK // 4, np.uint64), np.arange(n_arms), np.zeros(n_arms, np.int64)
    bits = tournament.fair_bits(rows, n_arms)
    return Levels(np.full(rows, 0.5), chance, bits, patience, lane, every, some, *np.zeros((3, n_arms)))


@kernel
def record_sample(levels: Levels, row: int, arm: int, won: bool, a: int, b: int, log_mass: float) -> None:
    # a, b: wins and losses of the arm, including this duel
    level = levels.level[row]
    mass = exp(log_mass + a * log(2.0 * level) + b * log(2.0 - 2.0 * level))
    levels.chance[row, arm] += mass * (1.0 - level) if won else -mass * level
    levels.bits[row, arm] = tournament.bits_of(levels.chance[row, arm])


@kernel
def record_samples(
    levels: Levels, row: int, arm: int, wins: int, losses: int, a: int, b: int, log_mass: float
) -> float:
    # a, b: wins and losses of the arm before these duels. The result is the factor by which exp(log_mass) changes.
    level, ratio = levels.level[row], 1.0
    mass = exp(log_mass + a * log(2.0 * level) + b * log(2.0 - 2.0 * level))
    chance = levels.chance[row, arm]
    while wins + losses > 0:  # wins and losses alternate, so that the ratio stays near 1
        if wins > 0:
            wins -= 1
            a += 1
            factor = 0.5 * (a + b) / a
            ratio *= factor
            mass *= 2.0 * level * factor
            chance += mass * (1.0 - level)
        if losses > 0:
            losses -= 1
            b += 1
            factor = 0.5 * (a + b) / b
            ratio *= factor
            mass *= (2.0 - 2.0 * level) * factor
            chance -= mass * level
    levels.chance[row, arm] = chance
    levels.bits[row, arm] = tournament.bits_of(chance)
    return ratio


@inlined
def renew_level(levels: Levels, row: int, known: Posteriors, field: Field, least: float) -> None:
    # the new level is at least ``least``
    if levels.patience[row] < 0:
        set_level(levels, row, list_arms(levels, field, inf), known, least)


@inlined
def draw_largest(levels: Levels, row: int, known: Posteriors, field: Field, least: float, rng: Generator) -> int:
    """Return the arm of ``field`` with the largest sample, or -1 if no sample exceeds ``least``."""
    coins, size = tournament.Coins(field.arms, field.bits, levels.chance[row], levels.lane), field.arms.shape[0]
    above, seed = 0, tournament.new_seed(rng)
    for at in range(0, size, tournament.BLOCK):
        mask = tournament.toss_block(coins, seed, at // 4, at, tournament.block_mask(size, at), rng)
        while mask != 0:
            levels.some[above] = field.arms[at + trailing_zeros(np.uint64(mask))]
            above += 1
            mask &= mask - 1
    above = keep_arms(levels.some, above, field, field.bonus)
    if above > 0:
        return largest_above(levels, row, above, known, rng)
    if levels.level[row] <= least:
        return -1
    return largest_below(levels, row, list_arms(levels, field, field.bonus), known, least, rng)


@inlined
def list_arms(levels: Levels, field: Field, bonus: float) -> int:
    for k in range(field.arms.shape[0]):
        levels.some[k] = field.arms[k]
    return keep_arms(levels.some, field.arms.shape[0], field, bonus)


@inlined
def keep_arms(some: IntVector, count: int, field: Field, bonus: float) -> int:
    kept = 0
    for k in some[:count]:
        if k != field.without and field.crossings[k] <= bonus:
            some[kept] = k
            kept += 1
    return kept


@kernel
def largest_above(levels: Levels, row: int, count: int, known: Posteriors, rng: Generator) -> int:
    # among the arms ``some[:count]``, whose samples exceed the level
    best, arm, level = 0.0, levels.some[0], levels.level[row]
    if count > 1:
        levels.patience[row] -= count
        for k in levels.some[:count]:
            theta = draws.beta_above(level, known.good[k] - known.prior, known.bad[k] - known.prior, rng)
            if theta > best:
                best, arm = theta, k
    return arm


@kernel
def largest_below(levels: Levels, row: int, count: int, known: Posteriors, least: float, rng: Generator) -> int:
    # among the arms ``some[:count]``, whose samples are below the level; -1 if no sample exceeds ``least``
    best, arm, level = least, -1, levels.level[row]
    levels.patience[row] -= 2 * count
    for k in levels.some[:count]:
        a, b = known.good[k] - known.prior, known.bad[k] - known.prior
        if levels.chance[row, k] > 0.5:
            theta = 1.0 - draws.beta_above(1.0 - level, b, a, rng)
        else:
            theta = draw_above(best, a, b, known.log_mass[k], rng)
            while theta > level:
                theta = draw_above(best, a, b, known.log_mass[k], rng)
        if theta > best:
            best, arm = theta, k
    return arm


@kernel
def set_level(levels: Levels, row: int, count: int, known: Posteriors, least: float) -> None:
    # the level fits the posteriors of the arms ``some[:count]``, and is at least ``least``
    for n in range(count):
        k = levels.some[n]
        a, b = known.good[k] - known.prior + 1.0, known.bad[k] - known.prior + 1.0
        levels.mean[n] = a / (a + b)
        levels.scale[n] = sqrt((a + b + 1.0) * (a + b) * (a + b) / (a * b))
    level = fitting_level(levels.mean[:count], levels.scale[:count], least)
    levels.level[row], levels.patience[row] = level, _PATIENCE * count
    for k in levels.some[:count]:
        a, b = known.good[k] - known.prior, known.bad[k] - known.prior
        levels.chance[row, k] = chance_above(level, a, b, known.log_mass[k])
        levels.bits[row, k] = tournament.bits_of(levels.chance[row, k])


@kernel
def fitting_level(mean: FloatVector, scale: FloatVector, least: float) -> float:
    # The level keeps two cases rare: several samples exceed the level, or no sample does. For simplicity, the
    # posteriors are treated as normal distributions.
    low, high = least, least
    for n in range(mean.shape[0]):
        low = larger(low, mean[n] - 4.0 / scale[n])
        high = larger(high, mean[n] + 4.0 / scale[n])
    high = min(high, 1.0)
    for _ in range(_HALVINGS):
        level, none, several, surest = 0.5 * (low + high), 1.0, 0.0, 0.0
        for n in range(mean.shape[0]):
            z = (level - mean[n]) * scale[n] * 0.7071067811865476
            x = abs(z)  # the tail by formula 7.1.27 of Abramowitz and Stegun
            x = 1.0 + x * (0.278393 + x * (0.230389 + x * (0.000972 + x * 0.078108)))
            x = 0.5 / (x * x * x * x)
            chance = x if z > 0.0 else 1.0 - x
            none *= 1.0 - chance
            several += chance
            surest = larger(surest, chance)
        if 2.0 * mean.shape[0] * none > several - surest:
            high = level
        else:
            low = level
    return low


@kernel
def chance_above(level: float, a: int, b: int, log_mass: float) -> float:
    """Return the probability that a sample from Beta(a + 1, b + 1) exceeds the level."""
    mass = exp(log_mass + a * log(2.0 * level) + b * log(2.0 - 2.0 * level))
    if a <= (a + b + 1) * level:
        return mass * binomial_tail(level, a, b)
    return 1.0 - mass * binomial_tail(1.0 - level, b, a)


@kernel
def binomial_tail(p: float, a: int, b: int) -> float:
    # Pr(at most a heads in a + b + 1 flips) / (C(a + b, a) p^a (1 - p)^b), for a below the mode
    term = (1.0 - p) * (a + b + 1.0) / (b + 1.0)
    total, odds = term, (1.0 - p) / p
    while a > 0 and term > 1e-17 * total:
        b += 1
        term *= odds * a / (b + 1.0)
        a -= 1
        total += term
    return total
