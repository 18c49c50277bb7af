"""Intervals for what simulations show: of a share and of a mean."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ltr_duel.core import FloatVector, statistics


class Estimate(NamedTuple):
    """A number with its interval."""

    value: float
    low: float
    high: float

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {"value": self.value, "low": self.low, "high": self.high}


def share(hits: int, n: int, confidence: float) -> Estimate:
    """Return a share with the interval of Clopper and Pearson, which covers it with at least this chance."""
    low, high = statistics.clopper_pearson(hits, n, confidence)
    return Estimate(hits / n, float(low), float(high))


def mean(values: ArrayLike, confidence: float, surprise: float | None = None) -> Estimate:
    """Return a mean with Student's interval; with a ``surprise``, as `upper_mean` has it, on its upper side."""
    sample = np.asarray(values, np.float64)
    tail = (1 - confidence) / 2
    low = lower_mean(sample, tail)
    middle = float(sample.mean())
    if surprise is None:
        return Estimate(middle, low, 2 * middle - low)
    return Estimate(middle, max(low, float(sample.min())), upper_mean(sample, middle + surprise, tail))


def upper_mean(values: FloatVector, surprise: float, error: float) -> float:
    """Return an upper bound for a mean of values that may have a rare high one, which was not met yet.

    Student's bound knows of no value that it has not seen. So one run more is counted, with ``surprise`` as its value.
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
