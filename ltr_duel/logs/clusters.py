"""Compute the mean outcome of each pair of rankers, with a standard error.

Outcomes of the same user or query may be correlated. A cluster is therefore formed of all outcomes of one user, or of
one query. The standard error follows from how much the sums of the clusters vary (delta method). For a ratio of two
outcomes, the mean is the sum of the first outcome divided by the sum of the second outcome.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import FloatMatrix, FloatVector, statistics


class Means(NamedTuple):
    """The mean outcome of each pair of rankers, with its standard error. Each field has one entry per pair."""

    mean: FloatVector
    error: FloatVector  # standard error; infinite if a single cluster has all outcomes
    freedom: FloatVector  # degrees of freedom: the effective number of clusters, minus one

    @classmethod
    def joined(cls, parts: Iterable[Means]) -> Means:
        """Join the means of several sets of pairs."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))

    def of(self, pairs: Any) -> Means:
        """Return the means of some of the pairs."""
        return Means(*(part[pairs] for part in self))


def clustered_means(count: FloatMatrix, total: FloatMatrix, times: FloatVector | float = 1.0) -> Means:
    """Return the means of pairs, with cluster-robust standard errors.

    For tests and intervals, use `cautious_means` instead.

    count, total: number and sum of the outcomes of each cluster, with shape (pairs, clusters).
    times: how many clusters have these numbers.
    """
    # errors of the type CR2 (Liang, Zeger 1986; Bell, McCaffrey 2002); degrees of freedom as for independent outcomes
    # (Carter, Schnepel, Steigerwald 2017)
    n = (count * times).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (total * times).sum(axis=1) / n
        share = count / n[:, None]
        residual = (total - count * mean[:, None]) ** 2
        error = np.sqrt((residual / (1 - share) * times).sum(axis=1)) / n
        freedom = 1 / (share**2 * times).sum(axis=1) - 1
    return _unless_alone(~(freedom > 1e-9), mean, error, freedom)


def cautious_means(
    count: FloatMatrix, total: FloatMatrix, square: FloatVector, times: FloatVector | float = 1.0
) -> Means:
    """Return the means of pairs, with standard errors for tests and intervals.

    The errors are also valid for few outcomes. For this purpose, one won and one lost cluster are added to each pair.
    Without these clusters, a ranker that has won all impressions would have an error of 0.
    """
    all_n, all_y, squared = count * times, total * times, count * count
    once, sum_y = all_n.sum(axis=1), all_y.sum(axis=1)
    squares, cubes, fourths, crossed, summed = (
        np.einsum("pg,pg->p", a, b)
        for a, b in ((all_n, count), (all_n, squared), (all_n * count, squared), (all_n, total), (all_y, total))
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        size, mean = squares / once, sum_y / once
        together = summed - 2 * mean * crossed + mean**2 * squares
        single = np.maximum(square - once * mean**2, 0)
        design = np.clip((together + 2 * size**2) / (single + 2 * size), 1.0, size)
        added = np.sqrt(design * size)  # size of an added cluster (Agresti and Min, Statistics in Medicine 2005)
        n = once + 2 * added
        mean = sum_y / n
        residual = (total - count * mean[:, None]) ** 2 / (1 - count / n[:, None])
        of_added = added**2 * (2 + 2 * mean**2) / (1 - added / n)
        error = np.sqrt((residual * times).sum(axis=1) + of_added) / n
        alike = (design - 1) / np.maximum(size - 1, 1e-9)  # correlation of outcomes within a cluster
        rest = 1 - alike  # with V = count * (rest + alike * count), the freedom is (sum V)^2 / sum V^2 - 1
        spread = rest * once + alike * squares + 2 * added**2
        freedom = spread**2 / (rest**2 * squares + 2 * rest * alike * cubes + alike**2 * fourths + 2 * added**4) - 1
    return _unless_alone(~(once > size * (1 + 1e-12)), mean, error, freedom)


def _unless_alone(alone: Any, mean: FloatVector, error: FloatVector, freedom: FloatVector) -> Means:
    return Means(mean, np.where(alone, np.inf, error), np.where(alone, 0.0, freedom))


def naive_means(n: FloatVector, total: FloatVector, square: FloatVector) -> Means:
    """Return the means of pairs, with standard errors that are valid if all outcomes are independent."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = total / n
        variance = np.maximum(square / n - mean**2, 0) * n / (n - 1)
        return Means(mean, np.where(n > 1, np.sqrt(variance / n), np.inf), np.maximum(n - 1, 0))


def interval_ends(
    cautious: Means, confidence: float, p: FloatVector | None = None, bound: float = 1.0
) -> tuple[FloatVector, FloatVector]:
    """Return the lower and the upper ends of the confidence intervals of means (Student).

    p: p-values of "the mean is 0". If a p-value is not significant, the interval is extended to 0.
    """
    half = statistics.student_reach(cautious.error, cautious.freedom, confidence)
    return clipped_ends(cautious.mean, half, True if p is None else p < 1 - confidence, bound)


def clipped_ends(mean: FloatVector, half: FloatVector, refuted: Any, bound: float) -> tuple[FloatVector, FloatVector]:
    """Return the ends of intervals around means, at least -bound and at most bound.

    refuted: whether a mean of 0 is refuted. If it is not, the interval is extended to 0.
    """
    middle = np.where(np.isfinite(half), mean, 0.0)
    low, high = np.maximum(middle - half, -bound), np.minimum(middle + half, bound)
    return np.where(refuted, low, np.minimum(low, 0.0)), np.where(refuted, high, np.maximum(high, 0.0))
