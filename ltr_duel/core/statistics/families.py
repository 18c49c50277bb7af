"""Several tests at once: p-values corrected for their number."""

from __future__ import annotations

import numpy as np

from ltr_duel.core.arrays import FloatVector


def holm(p: FloatVector, family: int = 0) -> FloatVector:
    """Correct p-values for their number (Holm, Scandinavian Journal of Statistics 1979); NaN stays and does not count.

    The chance of any false rejection is at most the level, whatever the tests have in common.

    p: shape (n,)
    family: how many tests could have been looked at; by default those of ``p``. If K items are compared with the best
        one *of the same data*, each of the K (K - 1) / 2 pairs could have been one of the K - 1 tests, so that is the
        number; K - 1 is right for a reference that was named before.

    Examples
    --------
    >>> holm(np.array([0.04, np.nan, 0.01])).tolist()
    [0.04, nan, 0.02]
    >>> holm(np.array([0.04, np.nan, 0.01]), family=3).tolist()
    [0.08, nan, 0.03]
    """
    corrected = np.full(len(p), np.nan)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    steps = p[order] * (max(family, len(order)) - np.arange(len(order)))
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return corrected
