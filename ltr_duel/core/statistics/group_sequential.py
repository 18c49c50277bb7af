"""Group-sequential boundaries: a few looks, named before the experiment, share the error of one test.

Who looks at any time pays for looks that never come. With K looks the boundaries need to hold at these only, and follow
from the joint normal law of the estimate at the looks, so from its covariance. Users who return make estimates of two
looks more alike than independent increments would.
"""

from __future__ import annotations

import numpy as np
import scipy  # loads its modules on first use
from numpy.typing import ArrayLike

from ltr_duel.core.arrays import FloatMatrix, FloatVector

_POINTS = 13  # so many doublings: points of the integration
_WIDER = 1.4  # standard deviations of what is drawn: paths near a boundary are rare, and matter
_LEAST = 1e-300  # error that is worth a boundary
_SURE = 1e-10  # share of a look's variance that is taken to be new, so that a look without news is no error


def spent_error(fraction: ArrayLike, alpha: float, *, shape: str = "obrien_fleming") -> FloatVector:
    """Return how much of the error may be spent by each look (Lan, DeMets, Biometrika 1983), of both sides.

    fraction: shape (looks,); part of the experiment that is over: above 0, increasing, up to 1. Of its information or
        of its planned time, but not chosen by its outcomes.
    alpha: the error of the whole experiment, above 0 and below 1.
    shape: {"obrien_fleming", "pocock"}; hardly any error at early looks, so that the last one is nearly a single test;
        or about the same at each.

    The result increases to alpha.

    Examples
    --------
    >>> spent_error([0.5, 1.0], 0.05).round(4).tolist()
    [0.0031, 0.05]
    """
    part = np.asarray(fraction, np.float64)
    if shape == "pocock":
        return np.asarray(alpha * np.log1p((np.e - 1) * part))
    return np.asarray(4 * scipy.special.ndtr(scipy.special.ndtri(alpha / 4) / np.sqrt(part)), np.float64)


def look_boundaries(covariance: ArrayLike, spent: ArrayLike) -> FloatVector:
    """Return how many standard deviations an estimate must be from 0 at each look.

    The chance that a normal estimate of 0 is beyond its boundary at a look or at an earlier one is what is spent then.
    The looks are gone through by integration over paths that have not crossed, one normal variable after the other
    (Genz, Journal of Computational and Graphical Statistics 1992), at points of Sobol's sequence: of ten looks,
    boundaries are right to about two decimals. For independent increments they are those of Armitage, McPherson, Rowe
    (JRSS A 1969).

    covariance: shape (looks, looks); of the estimates, or of sums, at the looks; any scale at each look.
    spent: shape (looks,); error of both sides up to each look, not decreasing; see `spent_error`.

    A boundary is infinite where nothing is spent.

    Examples
    --------
    >>> times = np.arange(1.0, 6.0)  # five looks after equal parts: sums have the covariance min(s, t)
    >>> look_boundaries(np.minimum.outer(times, times), spent_error(times / 5, 0.05)).round(2).tolist()
    [4.88, 3.36, 2.68, 2.29, 2.03]
    """
    sums = np.asarray(covariance, np.float64)
    deviation = np.sqrt(np.diag(sums))
    correlation = sums / np.multiply.outer(deviation, deviation)
    factor = np.linalg.cholesky(correlation + _SURE * np.eye(len(sums)))
    uniform = _uniform_points(len(sums))
    weight, drawn = np.ones(len(uniform)), np.zeros_like(uniform)
    steps = np.diff(np.asarray(spent, np.float64), prepend=0.0)
    bounds = np.empty(len(sums))
    for look, step in enumerate(steps):
        mean, spread = drawn @ factor[look], float(factor[look, look])
        known = mean, spread, weight, float(step)
        bound = np.inf
        if step > _LEAST:  # a single look that spends as much has no nearer boundary
            farthest = 0.01 - float(scipy.special.ndtri(step / 2))
            bound = float(scipy.optimize.brentq(_excess, 0.0, farthest, known, xtol=1e-6))
        low, high = (scipy.special.ndtr((end - mean) / spread / _WIDER) for end in (-bound, bound))
        x = _WIDER * scipy.special.ndtri(np.clip(low + uniform[:, look] * (high - low), 1e-300, 1 - 1e-16))
        weight = weight * (high - low) * _WIDER * np.exp(-(x**2) * (1 - _WIDER**-2) / 2)
        drawn[:, look] = x
        bounds[look] = bound
    return bounds


def _excess(bound: float, mean: FloatVector, spread: float, weight: FloatVector, step: float) -> float:
    """Return by how much more than the step is the chance of paths to be beyond the boundary at the next look."""
    beyond = scipy.special.ndtr((mean - bound) / spread) + scipy.special.ndtr((-mean - bound) / spread)
    return float((weight * beyond).mean() - step)


def _uniform_points(dimensions: int) -> FloatMatrix:
    points = scipy.stats.qmc.Sobol(dimensions, scramble=False).random_base2(_POINTS)
    return np.asarray(points + 2.0 ** -(_POINTS + 1), np.float64)
