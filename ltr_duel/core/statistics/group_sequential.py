"""Group-sequential boundaries: a few looks (analyses), named before the experiment, share the error of one test.

A test that is valid at any time must allow for looks that are never made. With K named looks, the boundaries need to
hold at these looks only. The estimates at the looks are jointly normal, so their covariance determines the boundaries.
If users return, the estimates at two looks are more similar than with independent increments.
"""

from __future__ import annotations

import numpy as np
import scipy  # loads its modules on first use
from numpy.typing import ArrayLike

from ltr_duel.core.arrays import FloatMatrix, FloatVector

_POINTS = 13  # log2 of the number of points of the integration
_WIDER = 1.4  # standard deviation of the sampled variables; above 1, because rare paths near a boundary matter
_LEAST = 1e-300  # smallest error for which a boundary is computed
_SURE = 1e-10  # share of a look's variance that is assumed to be new, so that a look without new data does not fail


def spent_error(fraction: ArrayLike, alpha: float, *, shape: str = "obrien_fleming") -> FloatVector:
    """Return the two-sided error that may be spent up to each look (Lan, DeMets, Biometrika 1983).

    fraction: shape (looks,); the completed part of the experiment at each look, measured by information or by planned
        time: above 0, increasing, at most 1. The choice of the looks must not depend on the outcomes.
    alpha: the error of the whole experiment, above 0 and below 1.
    shape: {"obrien_fleming", "pocock"}; the first spends hardly any error at early looks, so that the last look is
        nearly a single test; the second spends about the same at each look.

    The result increases; it is alpha where ``fraction`` is 1.

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
    """Return the boundary at each look, as a distance from 0 in standard deviations of the estimate.

    A normal estimate with mean 0 is beyond its boundary at look k or earlier with the probability ``spent[k]``. The
    function integrates over the paths that have crossed no boundary, one normal variable after the other (Genz, Journal
    of Computational and Graphical Statistics 1992), at points of Sobol's sequence. For ten looks, the boundaries are
    correct to about two decimals. For independent increments, they are the boundaries of Armitage, McPherson, Rowe
    (JRSS A 1969).

    covariance: shape (looks, looks); covariance of the estimates, or of sums, at the looks. The scale of the estimates
        may differ between looks.
    spent: shape (looks,); two-sided error up to each look, not decreasing; see `spent_error`.

    The boundary is infinite at looks that spend no error.

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
        if step > _LEAST:  # the boundary is no farther from 0 than that of a single look with this error
            farthest = 0.01 - float(scipy.special.ndtri(step / 2))
            bound = float(scipy.optimize.brentq(_excess, 0.0, farthest, known, xtol=1e-6))
        low, high = (scipy.special.ndtr((end - mean) / spread / _WIDER) for end in (-bound, bound))
        x = _WIDER * scipy.special.ndtri(np.clip(low + uniform[:, look] * (high - low), 1e-300, 1 - 1e-16))
        weight = weight * (high - low) * _WIDER * np.exp(-(x**2) * (1 - _WIDER**-2) / 2)
        drawn[:, look] = x
        bounds[look] = bound
    return bounds


def _excess(bound: float, mean: FloatVector, spread: float, weight: FloatVector, step: float) -> float:
    """Return the probability that a path is beyond the boundary at the next look, minus ``step``."""
    beyond = scipy.special.ndtr((mean - bound) / spread) + scipy.special.ndtr((-mean - bound) / spread)
    return float((weight * beyond).mean() - step)


def _uniform_points(dimensions: int) -> FloatMatrix:
    points = scipy.stats.qmc.Sobol(dimensions, scramble=False).random_base2(_POINTS)
    return np.asarray(points + 2.0 ** -(_POINTS + 1), np.float64)
