"""Confidence intervals and p-values for means and shares. Each function names its assumptions.

Several tests compare two rankers by random signs. An observation is positive if the first ranker wins, and negative if
the second ranker wins. If the rankers are identical, both signs are equally likely. A small p-value says that random
signs rarely give a sum as far from 0 as the observed sum. For many observations, the p-value is also valid for rankers
that differ but win equally often.

References
----------
Random signs: Fisher, The Design of Experiments, 1935, section 21; Janssen, Studentized permutation tests for non-i.i.d.
hypotheses, Statistics & Probability Letters 1997. Bootstrap: Hesterberg, What Teachers Should Know About the Bootstrap,
The American Statistician 2015, section 5.3.
"""

from __future__ import annotations

import numpy as np
import scipy  # loads its modules on first use
from numpy.typing import ArrayLike

from ltr_duel.core.arrays import FloatVector, IntVector

_WHOLE = 4000  # up to this sum, in steps, whole numbers are not rounded
_FEWEST, _MOST, _EACH = 1000, 3000, 10  # for other numbers: least and greatest sum in steps, and steps per observation
_NORMAL, _NORMAL_WHOLE = 300.0, 1000.0  # effective observations above which the sum is treated as normal
_COARSE, _SEVERAL = 10.0, 30  # rounding hurts observations of fewer steps; the sum of more than 30 of them is normal
_TINY = float(np.finfo(np.float64).tiny)


def student_quantile(probability: ArrayLike, freedom: ArrayLike) -> FloatVector:
    """Return the quantile of Student's t-distribution for a probability.

    probability: above 0 and below 1.
    freedom: degrees of freedom, above 0. Fractions are allowed.
    """
    return np.asarray(scipy.special.stdtrit(np.asarray(freedom, np.float64), np.asarray(probability, np.float64)))


def student_reach(error: ArrayLike, freedom: ArrayLike, confidence: float) -> FloatVector:
    """Return half the width of Student's confidence interval of a mean. Without degrees of freedom, it is infinite.

    The interval is exact for independent, normal observations. It is a good approximation for 20 or more bounded
    observations. It is too narrow for fewer observations, or if nearly all observations are equal.

    error, freedom: standard errors of the means, and the degrees of freedom of each error.
    confidence: above 0 and below 1.
    """
    freedom = np.asarray(freedom, np.float64)
    known = freedom > 0
    quantile = student_quantile((1 + confidence) / 2, np.where(known, freedom, 1.0))
    return np.where(known, quantile * np.where(known, error, 0.0), np.inf)


def student_p(mean: ArrayLike, error: ArrayLike, freedom: ArrayLike) -> FloatVector:
    """Return the two-sided p-value of Student's t-test, which tests whether a mean is 0.

    The p-value is always above 0. It is 1 if the standard error is 0, or if there are no degrees of freedom. The test
    makes the assumptions that `student_reach` lists.
    """
    error, freedom = np.asarray(error, np.float64), np.asarray(freedom, np.float64)
    known = (freedom > 0) & (error > 0)
    p = 2 * scipy.special.stdtr(np.where(known, freedom, 1.0), -np.abs(mean) / np.where(known, error, 1.0))
    return np.where(known, np.maximum(p, _TINY), 1.0)


def clopper_pearson(hits: ArrayLike, n: ArrayLike, confidence: float) -> tuple[FloatVector, FloatVector]:
    """Return the confidence interval of Clopper and Pearson (Biometrika 1934) for the probability of a hit.

    The trials must be independent and have the same probability of a hit. The number of trials must be fixed in
    advance.

    hits, n: number of hits, and number of trials, at least 1. Fractions are allowed.
    confidence: least probability that the interval covers the true value, above 0 and below 1.
    """
    hits, n, tail = np.asarray(hits, np.float64), np.asarray(n, np.float64), (1 - confidence) / 2
    low = scipy.special.betaincinv(np.maximum(hits, 1e-9), n - hits + 1, tail)
    high = scipy.special.betaincinv(hits + 1, np.maximum(n - hits, 1e-9), 1 - tail)
    return np.where(hits > 0, low, 0.0), np.where(hits < n, high, 1.0)


def bootstrap_interval(samples: FloatVector, units: int) -> tuple[float, float]:
    """Return a 95 % confidence interval, which lies between two percentiles of bootstrap samples.

    If there are few independent observations, the percentiles are moved outwards, because the interval would otherwise
    be too narrow. The interval does not allow for rare events that happened in none of the observations.

    samples: shape (n,); the statistic of each bootstrap sample. NaN is ignored.
    units: number of independent observations, at least 2.
    """
    tail = float(scipy.special.ndtr(-student_quantile(0.975, units - 1) * np.sqrt(units / (units - 1))))
    low, high = np.nanquantile(samples, [tail, 1 - tail])
    return float(low), float(high)


def sign_flip_p(x: ArrayLike, times: ArrayLike = 1) -> float:
    """Test with random signs whether two rankers are equally good, and return the two-sided p-value.

    The p-value is exact for whole numbers whose absolute values sum to at most 4,000. Other numbers are first rounded
    to multiples of a small step. For many observations, a normal approximation is used. The p-value is always above 0.
    If all observations are 0, the p-value is 1.

    x: shape (n,); independent observations, or the sum of each independent group of observations.
    times: how often each observation occurs; 1 by default.

    Examples
    --------
    >>> sign_flip_p([1.0, 1.0, 0.0, 3.0, 2.0])
    0.125
    """
    values, number = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(times, np.int64))
    values, number = values[values != 0], number[values != 0]
    if len(values) == 0:
        return 1.0
    values = values / np.abs(values).max()
    square = float((values**2 * number).sum())
    scaled, whole = _on_a_grid(values, number)
    if square**2 / float((values**4 * number).sum()) > (_NORMAL_WHOLE if whole else _NORMAL):
        return max(float(2 * scipy.special.ndtr(-abs((values * number).sum()) / np.sqrt(square))), _TINY)
    coarse = (np.abs(scaled) < _COARSE) & (not whole)
    coarse &= number[coarse].sum() > _SEVERAL
    steps, n_each = np.round(scaled[~coarse]).astype(np.int64), number[~coarse]
    sizes, inverse = np.unique(np.abs(steps[steps != 0]), return_inverse=True)
    chance = np.ones(1)
    for size, n in zip(sizes, np.bincount(inverse, n_each[steps != 0]), strict=True):
        spread = np.zeros(2 * size * int(n) + 1)
        spread[:: 2 * size] = _fair_coins(int(n))
        chance = np.convolve(chance, spread)
    lead, middle = abs(steps @ n_each + scaled[coarse] @ number[coarse]), len(chance) // 2
    if coarse.any():
        sd = np.sqrt((scaled[coarse] ** 2 * number[coarse]).sum())
        tail = (chance * scipy.special.ndtr((np.arange(-middle, middle + 1) - lead) / sd)).sum()
    else:
        tail = chance[middle + int(lead) :].sum()
    return 1.0 if lead == 0 else min(1.0, max(float(2 * tail), _TINY))


def _on_a_grid(x: FloatVector, times: IntVector) -> tuple[FloatVector, bool]:
    # the numbers in steps, and whether they are whole
    total, least = (np.abs(x) * times).sum(), np.abs(x).min()
    for step in (least, least / 2, least / 3):
        steps = np.round(x / step)
        if total / step <= _WHOLE and np.allclose(steps, x / step, rtol=0, atol=1e-9):
            return steps, True
    return np.asarray(x * (np.clip(_EACH * times.sum(), _FEWEST, _MOST) / total)), False


def _fair_coins(n: int) -> FloatVector:
    # the probabilities of 0 to n heads of n fair coins
    heads, log = np.arange(n + 1.0), scipy.special.gammaln
    return np.asarray(np.exp(log(n + 1) - log(heads + 1) - log(n - heads + 1) - n * np.log(2)), np.float64)


def sign_p(wins: ArrayLike, losses: ArrayLike, total: ArrayLike, square: ArrayLike) -> FloatVector:
    """Return p-values of the test with random signs, from counts and sums of the observations.

    Each observation must lie between -1 and 1. If all observations are -1, 0 or 1, the result is the p-value of the
    sign test. For other observations, the result is an upper bound of the exact p-value, or a normal approximation if
    the sum of squares is above 1,000.

    wins, losses: numbers of observations above and below 0.
    total, square: sum of the observations, and sum of their squares.

    Examples
    --------
    >>> sign_p([5, 0], [0, 0], [5, 0], [5, 0]).tolist()
    [0.0625, 1.0]
    """
    won, lost, square = (np.asarray(part, np.float64) for part in (wins, losses, square))
    most, least = np.maximum(won, lost), np.minimum(won, lost)
    exact = 2 * scipy.special.betainc(np.maximum(most, 1.0), least + 1, 0.5)
    z = np.abs(total) / np.sqrt(np.where(square > 0, square, 1.0))
    # an upper bound by Hoeffding (JASA 1963)
    rough = np.where(square > _NORMAL_WHOLE, 2 * scipy.special.ndtr(-z), 2 * np.exp(-(z**2) / 2))
    p = np.where(square == won + lost, exact, rough)
    return np.clip(np.where(most > 0, p, 1.0), _TINY, 1.0)


def signed_rank_p(x: ArrayLike) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test. Observations may be equal, or equal to 0.

    Observations of 0 receive ranks, but these ranks are left out of the sum (Pratt, JASA 1959).

    x: shape (n,); independent observations, such as paired differences.
    """
    _, inverse, counts = np.unique(np.abs(x), return_inverse=True, return_counts=True)
    rank = np.cumsum(counts) - (counts - 1) / 2  # the mean rank of equal observations
    return sign_flip_p(np.sign(x) * rank[inverse])


def mean_test(x: ArrayLike) -> float:
    """Test whether a mean is 0, and return the two-sided p-value.

    The result is the larger of two p-values, one by Student's t-test and one by `sign_flip_p`. The t-test alone often
    gives p-values that are far too small if observations are few, skewed or constant.

    x: shape (n,); at least two independent, identically distributed observations, such as paired differences.
    """
    values = np.asarray(x, np.float64)
    signs, spread = sign_flip_p(values), values.std(ddof=1)
    if not spread > 1e-12 * np.abs(values).max(initial=0.0):  # all values are equal, except for rounding
        return signs
    return max(signs, float(student_p(values.mean(), spread / np.sqrt(len(values)), len(values) - 1.0)))


def holm(p: FloatVector, family: int = 0) -> FloatVector:
    """Correct p-values for the number of tests, by Holm's method (Scandinavian Journal of Statistics 1979).

    If you reject all hypotheses whose corrected p-value is at most 5 %, the probability of any false rejection is at
    most 5 %, even if the tests depend on each other. NaN stays NaN.

    p: shape (n,)
    family: number of tests that could have been made; by default the number of p-values without NaN.

    If you compare K items with an item that you named beforehand, there are K - 1 tests. If you compare K items with
    the best of these items *in the same data*, there are K (K - 1) / 2 tests.

    Examples
    --------
    >>> holm(np.array([0.04, np.nan, 0.01]), family=3).tolist()
    [0.08, nan, 0.03]
    """
    corrected = np.full(len(p), np.nan)
    order = np.argsort(p, kind="stable")[: np.count_nonzero(~np.isnan(p))]  # NaN is last
    steps = p[order] * (max(family, len(order)) - np.arange(len(order)))
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return corrected
