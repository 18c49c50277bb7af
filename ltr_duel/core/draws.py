"""Draws from the normal and the Beta distribution, exact, built on `rng.random()` alone (see `random`)."""

from __future__ import annotations

from math import cos, exp, log, pi, sqrt

import numpy as np

from ltr_duel.core.jit import kernel


@kernel
def normal_draw(rng: np.random.Generator) -> float:
    """Draw from the standard normal distribution (Box and Muller 1958)."""
    radius = sqrt(-2.0 * log(1.0 - rng.random()))
    return radius * cos(2.0 * pi * rng.random())


@kernel
def beta_draw(a: float, b: float, rng: np.random.Generator) -> float:
    """Draw from Beta(a, b) with a >= 1 and b >= 1.

    Where one of the two is 1 the distribution function is inverted; else algorithm BB of Cheng (Generating Beta
    Variates with Nonintegral Shape Parameters, CACM 1978), which rejects less than a third of its proposals.
    """
    if b == 1.0:
        return (1.0 - rng.random()) ** (1.0 / a)
    if a == 1.0:
        return 1.0 - (1.0 - rng.random()) ** (1.0 / b)
    low, high, both = min(a, b), max(a, b), a + b
    slope = sqrt((both - 2.0) / (2.0 * a * b - both))
    gamma = low + 1.0 / slope
    while True:
        u = rng.random()
        while u == 0.0:
            u = rng.random()
        v = slope * log(u / (1.0 - u))
        w = low * exp(v)
        z = u * u * (1.0 - rng.random())
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
