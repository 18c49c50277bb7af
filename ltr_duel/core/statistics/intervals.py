"""Confidence intervals of a mean or a share."""

from __future__ import annotations

import numpy as np
import scipy  # loads its modules on first use
from numpy.typing import ArrayLike

from ltr_duel.core.arrays import FloatVector

_OUTSIDE = 0.05  # error probability of the normal and the bootstrap interval


def student_quantile(probability: ArrayLike, freedom: ArrayLike) -> FloatVector:
    """Return the quantile of Student's t (Student, Biometrika 1908).

    probability: above 0 and below 1.
    freedom: degrees of freedom, above 0; they need not be whole.

    Examples
    --------
    >>> round(float(student_quantile(0.975, 9)), 3)
    2.262
    """
    given = np.asarray(freedom, np.float64), np.asarray(probability, np.float64)
    return np.asarray(scipy.special.stdtrit(*given), np.float64)


def student_reach(error: ArrayLike, freedom: ArrayLike, confidence: float) -> FloatVector:
    """Return half the width of Student's interval of a mean; infinite if there are no degrees of freedom.

    The estimand is the expected value of the estimate. The interval is exact if the observations are independent and
    normal. It is an approximation for 20 or more observations of bounded values; for fewer, and for values that are
    nearly always equal, it is too narrow.

    error: standard errors.
    freedom: degrees of freedom of the standard errors.
    confidence: above 0 and below 1.

    Examples
    --------
    >>> student_reach([0.1, 0.1], [9.0, 0.0], 0.95).round(3).tolist()
    [0.226, inf]
    """
    freedom = np.asarray(freedom, np.float64)
    known = freedom > 0
    quantile = student_quantile((1 + confidence) / 2, np.where(known, freedom, 1.0))
    return np.where(known, quantile * np.where(known, error, 0.0), np.inf)


def student_p(mean: ArrayLike, error: ArrayLike, freedom: ArrayLike) -> FloatVector:
    """Return the two-sided p-value of "the expected value is 0" by Student's t.

    The assumptions are the same as for `student_reach`. Without degrees of freedom, or without any variation, the data
    do not determine the error, and the p-value is 1.

    The result is above 0.

    Examples
    --------
    >>> student_p([0.2, 1.0], [0.1, 0.0], [9.0, 1.0]).round(3).tolist()
    [0.077, 1.0]
    """
    error, freedom = np.asarray(error, np.float64), np.asarray(freedom, np.float64)
    known = (freedom > 0) & (error > 0)
    ratio = np.abs(mean) / np.where(known, error, 1.0)
    p = 2 * scipy.special.stdtr(np.where(known, freedom, 1.0), -ratio)
    return np.where(known, np.maximum(p, np.finfo(np.float64).tiny), 1.0)


def clopper_pearson(hits: ArrayLike, n: ArrayLike, confidence: float) -> tuple[FloatVector, FloatVector]:
    """Return an interval that covers a share with at least this confidence (Clopper, Pearson, Biometrika 1934).

    The estimand is the probability of a hit. The n trials are independent with the same probability; n is fixed in
    advance.

    hits, n: number of hits, and number of trials; n is at least 1. Both may be effective numbers, which
        need not be whole.
    confidence: above 0 and below 1.

    Examples
    --------
    >>> [round(float(end), 3) for end in clopper_pearson(0, 10, 0.95)]
    [0.0, 0.308]
    """
    hits, n, tail = np.asarray(hits, np.float64), np.asarray(n, np.float64), (1 - confidence) / 2
    low = scipy.special.betaincinv(np.maximum(hits, 1e-9), n - hits + 1, tail)
    high = scipy.special.betaincinv(hits + 1, np.maximum(n - hits, 1e-9), 1 - tail)
    return np.where(hits > 0, low, 0.0), np.where(hits < n, high, 1.0)


def normal_reach(error: FloatVector | float) -> FloatVector | float:
    """Return half the width of the 95 % interval of a normal estimate with a known error.

    error: standard errors.

    Examples
    --------
    >>> round(float(normal_reach(1.0)), 2)
    1.96
    """
    return float(scipy.special.ndtri(1 - _OUTSIDE / 2)) * error


def bootstrap_interval(samples: FloatVector, units: int) -> tuple[float, float]:
    """Return the expanded 95 % percentile interval of bootstrap samples.

    Few units make percentile intervals too narrow. The ends are therefore moved outwards, by the factor by which
    Student's t is wider than the normal distribution, times sqrt(units / (units - 1)) (Hesterberg, What Teachers Should
    Know About the Bootstrap, The American Statistician 2015, section 5.3). The units must be independent. The interval
    cannot account for events that occurred in none of the units.

    samples: shape (n,); the statistic of each sample; NaN is ignored.
    units: number of independent observations, at least 2.

    Examples
    --------
    >>> [round(end, 2) for end in bootstrap_interval(np.linspace(0, 1, 1001), units=1000)]
    [0.02, 0.98]
    """
    wide = student_quantile(1 - _OUTSIDE / 2, units - 1) * np.sqrt(units / (units - 1))
    tail = float(scipy.special.ndtr(-wide))
    low, high = np.nanquantile(samples, [tail, 1 - tail])
    return float(low), float(high)
