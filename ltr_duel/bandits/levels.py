"""The largest of many Beta samples, of which few are drawn: the arm that Thompson sampling plays.

A row is K posteriors, ``theta_k ~ Beta(a_k + 1, b_k + 1)`` after a wins and b losses. It has a level, and the
probabilities ``chance[k] = Pr(theta_k > level)``, which a duel changes by one term, as in `posterior`:

    Pr(Beta(a + 2, b + 1) > x) - Pr(Beta(a + 1, b + 1) > x) = m(a + 1, b) (1 - x),

and ``- m(a, b + 1) x`` for a loss, with ``m(a, b) = C(a + b, a) x^a (1 - x)^b``. A coin for each arm, many at once
(see `words`), tells whose sample is above the level. If it is one alone, it is the largest, and no sample is drawn. Of
several only these are drawn, as they are above the level; if there is none, all are, as they are below it. So the law
is that of K draws, whatever the level.

A level is good where this costs little: a few samples above it, seldom none. What was drawn since the level was set is
counted, and a row that has spent its patience gets a new level, by what is known then. That takes K sums of binomial
probabilities. The level depends on the past alone, never on the samples of its step.

What runs for nanoseconds here is `inlined`: a call would copy the eighty numbers that describe the arrays of a row
through memory, which takes 90 ns.
"""

from __future__ import annotations

from math import exp, log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.coin_words import (
    BLOCK,
    LaneVector,
    OddsMatrix,
    WordVector,
    block_mask,
    fair_odds,
    new_lane,
    new_seed,
    odds_of,
    toss_block,
)
from ltr_duel.bandits.posterior import draw_above
from ltr_duel.core import FloatMatrix, FloatVector, IntVector, draws, inlined, kernel, larger, trailing_zeros

_FIRST, _PATIENCE = 4, 16  # samples drawn for each arm of a row until it gets a level, and a new one
_HALVINGS = 12  # of the interval in which a new level is sought


class Levels(NamedTuple):
    """R rows of K posteriors, and scratch for one of them. Wins and losses are kept by the policy."""

    level: FloatVector  # (R,) at first 1/2
    chance: FloatMatrix  # (R, K) Pr(theta > level)
    odds: OddsMatrix  # (R, K filled up) the first sixteen bits of these
    patience: IntVector  # (R,) how many more samples may be drawn
    lane: LaneVector  # (8,) random words
    every: IntVector  # (K,) 0, 1, ...; not scratch
    some: IntVector  # (K,) a list of arms
    mean: FloatVector  # (K,) of their posteriors
    scale: FloatVector  # (K,) one over their standard deviations


def new_levels(rows: int, n_arms: int) -> Levels:
    """Make rows without a win or a loss."""
    chance, patience = np.full((rows, n_arms), 0.5), np.full(rows, _FIRST * n_arms)
    some, (mean, scale) = np.zeros(n_arms, np.int64), np.zeros((2, n_arms))
    return Levels(
        np.full(rows, 0.5), chance, fair_odds(rows, n_arms), patience, new_lane(), np.arange(n_arms), some, mean, scale
    )


@kernel
def record_sample(levels: Levels, row: int, arm: int, won: bool, a: int, b: int, log_mass: float) -> None:
    """Bring an arm up to date after it won or lost a duel; it now has ``a`` wins and ``b`` losses.

    ``log_mass`` is ln C(a + b, a) / 2^(a + b), as in `posterior`.
    """
    level = levels.level[row]
    mass = exp(log_mass + a * log(2.0 * level) + b * log(2.0 - 2.0 * level))
    levels.chance[row, arm] += mass * (1.0 - level) if won else -mass * level
    levels.odds[row, arm] = odds_of(levels.chance[row, arm])


@inlined
def list_arms(levels: Levels, arms: IntVector) -> int:
    """List these arms; return how many there are. All of them are ``levels.every``."""
    for k in range(arms.shape[0]):
        levels.some[k] = arms[k]
    return arms.shape[0]


@inlined
def toss_row(levels: Levels, row: int, rng: Generator) -> int:
    """Toss whose samples are above the level; list them in ``some``, and return how many there are."""
    return toss_coins(levels, levels.odds[row], levels.chance[row], levels.every, rng)


@inlined
def toss_coins(levels: Levels, odds: WordVector, chance: FloatVector, arms: IntVector, rng: Generator) -> int:
    """Toss the coins of these arms; list those that win in ``some``, and return how many there are.

    The odds are in the order of the arms, the chances are those of all arms.
    """
    lane, count, seed = levels.lane, 0, new_seed(rng)
    for at in range(0, arms.shape[0], BLOCK):
        mask = toss_block(lane, seed, at // 4, odds, chance, arms, at, block_mask(arms.shape[0], at), rng)
        while mask != 0:
            levels.some[count] = arms[at + trailing_zeros(np.uint64(mask))]
            count += 1
            mask &= mask - 1
    return count


@kernel
def largest_above(
    levels: Levels, row: int, count: int, good: IntVector, bad: IntVector, prior: int, rng: Generator
) -> int:
    """Return which of the first ``count`` arms of ``some``, all above the level, has the largest sample.

    ``good`` and ``bad`` are their wins and losses, ``prior`` of which are not to be counted.
    """
    best, arm, level = 0.0, levels.some[0], levels.level[row]
    if count > 1:
        levels.patience[row] -= count
        for k in levels.some[:count]:
            theta = draws.beta_above(level, good[k] - prior, bad[k] - prior, rng)
            if theta > best:
                best, arm = theta, k
    return arm


@kernel
def largest_below(
    levels: Levels, row: int, count: int, good: IntVector, bad: IntVector, prior: int, log_mass: FloatVector,
    least: float, rng: Generator,
) -> int:  # fmt: skip
    """Return which of the first ``count`` arms of ``some``, all below the level, has the largest sample.

    -1 if none is above ``least``.
    """
    best, arm, level = least, -1, levels.level[row]
    levels.patience[row] -= 2 * count
    for k in levels.some[:count]:
        a, b = good[k] - prior, bad[k] - prior
        if levels.chance[row, k] > 0.5:
            theta = 1.0 - draws.beta_above(1.0 - level, b, a, rng)
        else:
            theta = draw_above(best, a, b, log_mass[k], rng)
            while theta > level:
                theta = draw_above(best, a, b, log_mass[k], rng)
        if theta > best:
            best, arm = theta, k
    return arm


@kernel
def is_due(levels: Levels, row: int) -> bool:
    """Return whether a row has spent its patience."""
    return levels.patience[row] < 0


@kernel
def set_level(
    levels: Levels, row: int, count: int, good: IntVector, bad: IntVector, prior: int, log_mass: FloatVector,
    least: float,
) -> None:  # fmt: skip
    """Give a row a level, at least ``least``, that fits what is known of the first ``count`` arms of ``some``."""
    for n in range(count):
        a, b = good[levels.some[n]] - prior + 1.0, bad[levels.some[n]] - prior + 1.0
        levels.mean[n] = a / (a + b)
        levels.scale[n] = sqrt((a + b + 1.0) * (a + b) * (a + b) / (a * b))
    level = fitting_level(levels.mean[:count], levels.scale[:count], least)
    levels.level[row], levels.patience[row] = level, _PATIENCE * count
    for k in levels.some[:count]:
        levels.chance[row, k] = chance_above(level, good[k] - prior, bad[k] - prior, log_mass[k])
        levels.odds[row, k] = odds_of(levels.chance[row, k])


@kernel
def fitting_level(mean: FloatVector, scale: FloatVector, least: float) -> float:
    """Return a level at which samples above it, but for the surest, cost about what it costs if there is none.

    By the normal distribution, its tail as approximated by Abramowitz and Stegun, 7.1.27: a level need not be exact.
    """
    low, high = least, least
    for n in range(mean.shape[0]):
        low = larger(low, mean[n] - 4.0 / scale[n])
        high = larger(high, mean[n] + 4.0 / scale[n])
    high = min(high, 1.0)
    for _ in range(_HALVINGS):
        level, none, several, surest = 0.5 * (low + high), 1.0, 0.0, 0.0
        for n in range(mean.shape[0]):
            z = (level - mean[n]) * scale[n] * 0.7071067811865476
            x = abs(z)
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
    """Return Pr(Beta(a + 1, b + 1) > level): at most ``a`` heads in a + b + 1 tosses with that probability."""
    mass = exp(log_mass + a * log(2.0 * level) + b * log(2.0 - 2.0 * level))
    if a <= (a + b + 1) * level:
        return mass * binomial_tail(level, a, b)
    return 1.0 - mass * binomial_tail(1.0 - level, b, a)


@kernel
def binomial_tail(p: float, a: int, b: int) -> float:
    """Return Pr(at most ``a`` heads in a + b + 1 tosses) / (C(a + b, a) p^a (1 - p)^b), for an ``a`` below the mode."""
    term = (1.0 - p) * (a + b + 1.0) / (b + 1.0)
    total, odds = term, (1.0 - p) / p
    while a > 0 and term > 1e-17 * total:
        b += 1
        term *= odds * a / (b + 1.0)
        a -= 1
        total += term
    return total
