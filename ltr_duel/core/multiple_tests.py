"""Several tests at once: p-values corrected for their number."""

from __future__ import annotations

import numpy as np

from ltr_duel.core.arrays import FloatVector


def holm(p: FloatVector) -> FloatVector:
    """Correct p-values for their number (Holm, Scandinavian Journal of Statistics 1979); NaN stays and does not count.

    Parameters
    ----------
    p : ndarray of float64, shape (n,)

    Returns
    -------
    ndarray of float64, shape (n,)

    Examples
    --------
    >>> holm(np.array([0.04, np.nan, 0.01])).tolist()
    [0.04, nan, 0.02]
    """
    corrected = np.full(len(p), np.nan)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    steps = p[order] * (len(order) - np.arange(len(order)))
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return corrected
