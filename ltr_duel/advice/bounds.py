"""Intervals for the share and the mean of simulated results."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ltr_duel.core import FloatVector, statistics


class Estimate(NamedTuple):
    """An estimated number with the ends of its interval."""

    value: float
    low: float
    high: float


def share(hits: int, n: int, confidence: float) -> Estimate:
    """Return a share with its Clopper-Pearson interval, whose coverage is at least ``confidence``."""
    low, high = statistics.clopper_pearson(hits, n, confidence)
    return Estimate(hits / n, float(low), float(high))


def mean(values: ArrayLike, confidence: float, surprise: float | None = None) -> Estimate:
    """Return a mean with Student's interval; if ``surprise`` is given, the upper end is `upper_mean`."""
    sample = np.asarray(values, np.float64)
    tail = (1 - confidence) / 2
    low = lower_mean(sample, tail)
    middle = float(sample.mean())
    if surprise is None:
        return Estimate(middle, low, 2 * middle - low)
    return Estimate(middle, max(low, float(sample.min())), upper_mean(sample, middle + surprise, tail))


def upper_mean(values: FloatVector, surprise: float, error: float) -> float:
    """Return an upper bound for the mean of a sample in which rare high values may not have occurred yet.

    Student's bound ignores values that have not occurred, so the sample gets one more value: the higher of ``surprise``
    and the maximum.
    """
    sample = np.append(values, max(surprise, float(values.max())))
    return float(
        sample.mean()
        + statistics.student_quantile(1 - error, len(values) - 1) * sample.std(ddof=1) / np.sqrt(len(sample))
    )


def lower_mean(values: FloatVector, error: float) -> float:
    """Return Student's lower bound for a mean."""
    spread = values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean() - statistics.student_quantile(1 - error, len(values) - 1) * spread)
