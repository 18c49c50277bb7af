"""The strongly transitive preferences that are closest to estimated preferences.

Preferences are strongly transitive exactly if, with the rankers in their order, p[i, j] >= 1/2 for i before j, and
p[i, j] does not fall as j goes down or i goes up the order. The fit uses the order of the Borda scores: strongly
transitive preferences have the same order, and means over rivals have much smaller errors than single pairs.
Given the order, the closest such matrix by weighted least squares is an isotonic regression in two directions (Dykstra
and Robertson, An Algorithm for Isotonic Regression for Two or More Independent Variables, Annals of Statistics 1982).
Bradley-Terry and Thurstone models are special cases; the fit assumes no form of the preferences.
"""

from __future__ import annotations

import numpy as np
import scipy  # loads its modules on first use

from ltr_duel.core import FloatMatrix

_SWEEPS = 60
_CLOSE = 1e-4  # a sweep that changes every probability by less is the last
_LEAST_ERROR = 1e-6  # least standard error, for pairs whose outcomes were all equal


def strongly_transitive_fit(p: FloatMatrix, error: FloatMatrix) -> FloatMatrix:
    """Return the strongly transitive matrix that is closest to ``p``, in squared standard errors.

    error: standard errors, finite.

    The result is strongly transitive exactly, and within about 1e-4 of the closest such matrix.
    """
    size = len(p)
    order = np.argsort(-p.sum(axis=1), kind="stable")
    sorted_ = np.ix_(order, order)
    fitted = _isotonic(p[sorted_], 1 / np.maximum(error[sorted_], _LEAST_ERROR) ** 2)
    above = np.triu(np.ones((size, size), dtype=bool), 1)
    rising = np.maximum.accumulate(np.where(above, fitted, 0.5), axis=1)  # remove what the last sweep left unordered
    rising = np.maximum.accumulate(rising[::-1], axis=0)[::-1]
    best = np.full((size, size), 0.5)
    best[above] = np.clip(rising[above], 0.5, 1.0)
    best.T[above] = 1 - best[above]
    result = np.empty_like(best)
    result[sorted_] = best
    return result


def _isotonic(p: FloatMatrix, weight: FloatMatrix) -> FloatMatrix:
    """Fit rows that rise and columns that fall, above the diagonal, by Dykstra's alternating projections."""
    size, isotonic = len(p), scipy.optimize.isotonic_regression
    fitted, by_rows, by_columns = p.copy(), np.zeros_like(p), np.zeros_like(p)
    for _ in range(_SWEEPS):
        before = fitted
        given = fitted - by_rows
        fitted = given.copy()
        for i in range(size - 2):
            fitted[i, i + 1 :] = isotonic(given[i, i + 1 :], weights=weight[i, i + 1 :]).x
        by_rows = fitted - given
        given = fitted - by_columns
        fitted = given.copy()
        for j in range(2, size):
            fitted[:j, j] = isotonic(given[:j, j], weights=weight[:j, j], increasing=False).x
        by_columns = fitted - given
        if np.abs(np.triu(fitted - before, 1)).max() < _CLOSE:
            break
    return fitted
