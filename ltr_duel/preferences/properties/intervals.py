"""Confidence intervals for an estimated probability with a given standard error."""

from __future__ import annotations

import numpy as np
import scipy  # submodules are loaded on first use

from ltr_duel.core import FloatMatrix, IntMatrix, errors


def effective_counts(p: FloatMatrix, error: FloatMatrix, counts: IntMatrix) -> FloatMatrix:
    """Return how many tosses of a coin with probability p would have this standard error: ``p (1 - p) / error^2``.

    The result is zero for a pair that was never compared, and infinite if p is exact. If all comparisons of a pair had
    the same outcome, the result is the number of comparisons.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        n = np.where(error > 0, p * (1 - p) / error**2, np.where(counts > 0, counts, np.inf))
    return np.where(((p <= 0) | (p >= 1)) & (counts > 0), counts, n)


def wilson(p: FloatMatrix, n: FloatMatrix, confidence: float) -> tuple[FloatMatrix, FloatMatrix]:
    """Return the lower and the upper ends of the confidence intervals of p, given the `effective_counts` n.

    Wilson. Probable Inference, the Law of Succession, and Statistical Inference. JASA 1927.
    """
    errors.require_between("confidence", confidence, 0, 1)
    z = scipy.special.ndtri((1 + confidence) / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    low, high = np.maximum(centre - half, 0), np.minimum(centre + half, 1)
    return np.where(n > 0, low, 0.0), np.where(n > 0, high, 1.0)
