"""Multiple comparisons with the best: bounds on the ratio of each policy's mean regret to the best policy's.

Each policy is a candidate for the best policy; all others are its rivals. Let D be the log mean regret of a rival minus
the candidate's, and s the standard error of D for paired runs, by the delta method. The runs are resampled many times;
D* and s* are the values of D and s in a resample. For each rival, the resamples are ranked by |D* - D| / s*. So each
resample has one rank per rival, of which only the highest is kept; let r be the 95 % quantile of these highest ranks.
The interval of a rival is D plus and minus s times the value of |D* - D| / s* that has rank r for this rival. All
intervals hold at once (Beran, Balanced Simultaneous Confidence Sets, JASA 1988; studentised, because regrets have heavy
tails). A candidate may be the best if no rival's interval lies entirely below 0. To bound the true ratio of a policy to
the true best policy, take the intervals of the policy for all candidates that may be the best, and then their outermost
ends; in 95 % of studies, the bounds of all policies are correct (Edwards and Hsu, Multiple Comparisons with the Best
Treatment, JASA 1983).

An event with a probability below 1 / n may be absent from all n runs; the intervals cannot account for such events.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from ltr_duel.core import FloatMatrix, FloatVector

LEAST_RUNS = 6  # with fewer runs, there are too few different resamples
_SAMPLES = 4000
_OUTSIDE = 0.05


def compare_with_best(paid: FloatMatrix, rng: Generator) -> tuple[FloatVector, FloatVector]:
    """Bound the ratio of each policy's mean regret to the best policy's, with 95 % confidence for all bounds together.

    Parameters
    ----------
    paid : ndarray of float64, shape (n, P)
        Regret of n runs of each of P policies; the runs of a row may share randomness.
    rng : Generator

    Returns
    -------
    low, high : ndarray of float64, shape (P,)
        Bounds on the ratio; no bound is below 1. ``low`` is 1 for policies that may be the best, and above 1 for all
        others. The bounds are NaN for fewer than six runs, or if a mean is not positive.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> low, high = compare_with_best(rng.normal([10.0, 10.0, 30.0], 1, (20, 3)), rng)
    >>> low.round(), bool(high[0] < 1.2)
    (array([1., 1., 3.]), True)
    """
    runs, policies = paid.shape
    if runs < LEAST_RUNS or not (paid.mean(axis=0) > 0).all():
        return np.full(policies, np.nan), np.full(policies, np.nan)
    ones = np.full((1, runs), 1 / runs)
    difference, error = _differences(paid, ones)
    shares = rng.multinomial(runs, ones[0], _SAMPLES) / runs
    drawn, drawn_error = _differences(paid, shares)
    with np.errstate(divide="ignore", invalid="ignore"):
        beyond = np.nan_to_num(np.abs(drawn - difference) / drawn_error, nan=0.0, posinf=np.inf)
    low, high = np.full(policies, np.inf), np.full(policies, -np.inf)
    least = np.full(policies, np.nextafter(1.0, 2.0))
    for best in range(policies):
        reach = _balanced(beyond[:, :, best]) * error[0, :, best]
        reach[best] = 0.0
        above = difference[0, :, best]
        if (above + reach >= 0).all():  # no rival's interval is below 0
            low, high = np.minimum(low, above - reach), np.maximum(high, above + reach)
            least[best] = 1.0
    return np.maximum(np.exp(low), least), np.exp(np.maximum(high, 0.0))


def _differences(paid: FloatMatrix, shares: FloatMatrix) -> tuple[FloatMatrix, FloatMatrix]:
    """Return log(mean i) - log(mean j) for weighted runs, and its standard error, both of shape (samples, P, P)."""
    runs, policies = paid.shape
    mean = shares @ paid
    with np.errstate(divide="ignore"):
        logs = np.log(mean)
    squares = (paid[:, :, None] * paid[:, None, :]).reshape(runs, -1)
    product = (shares @ squares).reshape(-1, policies, policies) / (mean[:, :, None] * mean[:, None, :])
    own = np.einsum("bpp->bp", product)
    variance = own[:, :, None] + own[:, None, :] - 2 * product  # of x_i / mean_i - x_j / mean_j, whose mean is 0
    return logs[:, :, None] - logs[:, None, :], np.sqrt(np.maximum(variance, 0) / (runs - 1))


def _balanced(beyond: FloatMatrix) -> FloatVector:
    """Return one quantile of each column, all at the same level, such that 95 % of the rows are within all of them."""
    samples = len(beyond)
    rank = np.argsort(np.argsort(beyond, axis=0), axis=0).max(axis=1)
    order = np.sort(rank)[int(np.ceil((1 - _OUTSIDE) * samples)) - 1]
    quantiles: FloatVector = np.sort(beyond, axis=0)[order]
    return quantiles
