"""Regret, derived from how often each arm was used; so any definition can be asked for after the run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ltr_duel.preferences.bounds import gaps
from ltr_duel.preferences.matrix import PreferenceMatrix


def loss_per_arm(matrix: PreferenceMatrix, definition: str) -> NDArray[np.float64]:
    """Return what one impression of each arm costs; shape (K,), NaN where the definition needs a missing winner.

    ``average``
        The gap to the Condorcet winner, p[winner, j] - 1/2. A pair costs the mean of its two gaps, a slate the mean
        of all of them (Yue and Joachims, ICML 2011, eq. 1; Brost et al., CIKM 2016, eq. 1).
    ``copeland``
        The share of rivals that the best arm beats, less the share that arm j beats.
    """
    if definition == "copeland":
        scores = matrix.copeland_scores / max(1, len(matrix) - 1)
        return np.asarray(scores.max() - scores)
    gap = gaps(matrix)
    return np.full(len(matrix), np.nan) if gap is None else gap


def cumulative_regret(exposure: NDArray[np.float64], loss: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the regret up to each checkpoint.

    Parameters
    ----------
    exposure : ndarray of float64, shape (..., K)
        Impressions each arm had: half of one for each arm of a pair, 1/s for each of a slate of s.
    loss : ndarray of float64, shape (K,)
        See `loss_per_arm`.

    Returns
    -------
    ndarray of float64, shape (...)
        The sum over arms, added in the order of the arms: the same bits on every machine.
    """
    total = np.zeros(exposure.shape[:-1])
    for arm in range(exposure.shape[-1]):
        total += exposure[..., arm] * loss[arm]
    return total
