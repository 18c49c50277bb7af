"""Draw exactly from the normal distribution and from Beta distributions. All randomness comes from `uniform`."""

from __future__ import annotations

from math import cos, exp, log, pi, sqrt

import numpy as np

from ltr_duel.core._machine.generators import uniform
from ltr_duel.core.jit import kernel


@kernel
def normal_draw(rng: np.random.Generator) -> float:
    """Draw from the standard normal distribution (Box and Muller 1958)."""
    radius = sqrt(-2.0 * log(1.0 - uniform(rng)))
    return radius * cos(2.0 * pi * uniform(rng))


@kernel
def beta_draw(a: float, b: float, rng: np.random.Generator) -> float:
    """Draw from Beta(a, b) with a >= 1 and b >= 1.

    The algorithm is BB of Cheng (Generating Beta Variates with Nonintegral Shape Parameters, CACM 1978). If a or b is
    1, the distribution function is inverted instead.
    """
    if b == 1.0:
        return (1.0 - uniform(rng)) ** (1.0 / a)
    if a == 1.0:
        return 1.0 - (1.0 - uniform(rng)) ** (1.0 / b)
    low, high, both = min(a, b), max(a, b), a + b
    slope = sqrt((both - 2.0) / (2.0 * a * b - both))
    gamma = low + 1.0 / slope
    while True:
        u = uniform(rng)
        while u == 0.0:
            u = uniform(rng)
        v = slope * log(u / (1.0 - u))
        w = low * exp(v)
        z = u * u * (1.0 - uniform(rng))
        r = gamma * v - 1.3862943611198906  # ln 4
        s = low + r - w
        if s + 2.6094379124341003 >= 5.0 * z:  # 1 + ln 5
            break
        level = log(z)
        if s >= level or r + both * log(both / (high + w)) >= level:
            break
    if a == low:
        return w / (high + w)
    return high / (high + w)


@kernel
def beta_above(level: float, a: int, b: int, rng: np.random.Generator) -> float:
    """Draw a value above ``level`` from Beta(a + 1, b + 1). The level is between 0 and 1.

    If a or b is 0, the distribution function is inverted. If the level is low, values are drawn until one is above it.
    If the level is high, proposals are drawn from an exponential distribution that bounds the density, and most
    proposals are accepted.
    """
    if b == 0:
        below = level ** (a + 1.0)
        return (below + (1.0 - below) * (1.0 - uniform(rng))) ** (1.0 / (a + 1.0))
    rest = 1.0 - level
    if a == 0:
        return 1.0 - rest * (1.0 - uniform(rng)) ** (1.0 / (b + 1.0))
    slope, bend = b / rest - a / level, a / (level * level) + b / (rest * rest)
    if slope > -0.7 * sqrt(bend):
        reach = min(2.0 / (slope + sqrt(slope * slope + 4.0 * bend)), 0.75 * rest)
        slope = b / (rest - reach) - a / (level + reach)
        if slope * reach > 0.4:  # always true to the right of the mode
            return _draw_by_tangent(level, level + reach, slope, a, b, rng)
    theta = beta_draw(a + 1.0, b + 1.0, rng)
    while theta <= level:
        theta = beta_draw(a + 1.0, b + 1.0, rng)
    return theta


@kernel
def _draw_by_tangent(level: float, touch: float, slope: float, a: int, b: int, rng: np.random.Generator) -> float:
    left = 1.0 - touch  # the tangent of the log density at `touch` has the slope `-slope`
    while True:
        theta, u = level - log(1.0 - uniform(rng)) / slope, 1.0 - uniform(rng)
        if theta < 1.0:
            x, y = (theta - touch) / touch, (touch - theta) / left
            # Polynomial bounds of ln(1 + x) decide most proposals without a logarithm.
            ratio = exp(a * x * x * (x / 3.0 - 0.5) + b * y * y * (y / 3.0 - 0.5))
            if u <= ratio:
                if min(x, y) > -0.5 and u <= ratio * (1.0 - 0.5 * (a * x * x * x * x + b * y * y * y * y)):
                    return theta
                if log(u) <= a * log(theta / touch) + b * log((1.0 - theta) / left) + slope * (theta - touch):
                    return theta
