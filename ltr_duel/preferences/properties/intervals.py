"""Confidence intervals for an estimated probability, from the estimate and its standard error."""

from __future__ import annotations

from typing import Literal

import numpy as np
import scipy  # submodules are loaded on first use

from ltr_duel.core import FloatMatrix, IntMatrix, errors, statistics

IntervalRule = Literal["wilson", "exact", "normal"]
INTERVAL_RULES = ("wilson", "exact", "normal")


def effective_counts(p: FloatMatrix, error: FloatMatrix, counts: IntMatrix) -> FloatMatrix:
    """Return the number of independent coin tosses that would give the same error: ``p (1 - p) / error^2``.

    For a pair whose comparisons all had the same outcome, the result is the number of comparisons; for an exactly known
    matrix, it is infinite; for a pair that was never compared, it is zero.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        n = np.where(error > 0, p * (1 - p) / error**2, np.where(counts > 0, counts, np.inf))
    alike = (p <= 0) | (p >= 1)
    return np.where(alike & (counts > 0), counts, n)


def interval(
    p: FloatMatrix, n: FloatMatrix, *, confidence: float = 0.95, rule: IntervalRule = "wilson"
) -> tuple[FloatMatrix, FloatMatrix]:
    """Return the lower and upper ends of two-sided intervals for each entry; ``n`` as in `effective_counts`.

    wilson: Wilson (Probable Inference, the Law of Succession, and Statistical Inference, JASA 1927).
    exact: Clopper and Pearson (Biometrika 1934), exact for comparisons without ties and conservative with ties.
    normal: p plus and minus z standard errors.
    """
    errors.require_between("confidence", confidence, 0, 1)
    errors.require_one_of("interval rule", rule, INTERVAL_RULES)
    exact = np.isinf(n)
    n = np.where(exact, 1.0, n)
    unknown = n <= 0
    n = np.where(unknown, 1.0, n)
    if rule == "exact":
        low, high = statistics.clopper_pearson(p * n, n, confidence)
    else:
        z = scipy.special.ndtri((1 + confidence) / 2)
        if rule == "wilson":
            centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
            reach = z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
        else:
            centre, reach = p, z * np.sqrt(p * (1 - p) / n)
        low, high = np.maximum(centre - reach, 0), np.minimum(centre + reach, 1)
    low, high = np.where(unknown, 0.0, low), np.where(unknown, 1.0, high)
    return np.where(exact, p, low), np.where(exact, p, high)
