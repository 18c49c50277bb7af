"""Pairwise posteriors: the probability that one arm is better than another, updated in O(1) after each duel.

With a uniform prior for theta_ij = Pr(arm i beats arm j), ``theta_ij ~ Beta(a + 1, b + 1)`` after ``a`` wins and ``b``
losses of arm i. Some algorithms use only whether a sample of theta_ij is above 1/2. They need no Beta draw, because
a coin with probability ``prefer[i, j] = Pr(theta_ij > 1/2)`` has the same distribution. A win increases ``prefer`` by

    Pr(Beta(a + 2, b + 1) > 1/2) - Pr(Beta(a + 1, b + 1) > 1/2) = m(a + 1, b) / 2,   m(a, b) = C(a + b, a) / 2^(a + b),

where ``m(a + 1, b) = m(a, b) (a + b + 1) / (2 (a + 1))``. ``log_mass`` stores ln m, because m would underflow.
"""

from __future__ import annotations

from math import exp, log

import numpy as np
from numpy.random import Generator

from ltr_duel.core import FloatMatrix, draws, kernel, uniform


def posterior_rows(n_arms: int) -> tuple[FloatMatrix, FloatMatrix]:
    """Return the initial ``prefer`` and ``log_mass``, shape (K, K) each, for pairs without duels."""
    return np.full((n_arms, n_arms), 0.5), np.zeros((n_arms, n_arms))


@kernel
def record_posterior(prefer: FloatMatrix, log_mass: FloatMatrix, winner: int, loser: int, won: int, duels: int) -> None:
    """Update a pair after a duel; ``winner`` has now won ``won`` of the pair's ``duels`` duels."""
    log_mass[winner, loser] += log(duels / (2.0 * won))
    log_mass[loser, winner] = log_mass[winner, loser]
    change = 0.5 * exp(log_mass[winner, loser])
    prefer[winner, loser] += change
    prefer[loser, winner] -= change


@kernel
def draw_above(level: float, a: int, b: int, log_mass: float, rng: Generator) -> float:
    """Draw theta ~ Beta(a + 1, b + 1) and return max(theta, ``level``). Most samples below the level need no Beta draw.

    For x > level > mode, the density f satisfies f(x) <= g(x) = f(level) exp(-h (x - level)), where -h is the slope of
    ln f at the level. With probability 1 - (area under g) the result is the level. Otherwise a point is drawn
    under g: if it is under f, its theta is the result; if not, the result is the level.
    """
    n = a + b
    if n == 0 or level * n <= a:
        return max(level, draws.beta_draw(a + 1.0, b + 1.0, rng))
    h = b / (1.0 - level) - a / level  # > 0
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


@kernel
def beats(prefer: FloatMatrix, i: int, j: int, rng: Generator) -> bool:
    """Sample whether theta_ij > 1/2."""
    return uniform(rng) < prefer[i, j]
