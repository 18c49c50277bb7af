"""Test whether noise alone explains why estimated preferences are not transitive.

Even if the true preferences are transitive, estimated preferences are usually not transitive. For example, noise can
make three rankers win in a circle. The test finds out whether noise is a sufficient explanation. First, it computes the
strongly transitive matrix that is closest to the estimate. Then it adds random noise to this matrix, many times, with
the standard errors of the estimate. The noisy matrices are called transitive worlds. Each property of the estimate is
compared with its values in the transitive worlds.

Transitive worlds are on average somewhat more transitive than estimates of transitive preferences. The test measures
this bias and corrects for it. Without the correction, the test would often reject strongly transitive preferences.

A small p-value does not prove that rankers win in a circle, because even preferences without a circle need not be
strongly transitive. To prove a circle, find one in which all wins are larger than noise (`wins_beyond_noise`).

References
----------
Dykstra, Robertson. An Algorithm for Isotonic Regression for Two or More Independent Variables. Ann. Statist. 1982.
Efron, Tibshirani. An Introduction to the Bootstrap. 1993, section 10.2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
import scipy  # submodules are loaded on first use

from ltr_duel.core import FloatMatrix, FloatVector, InputError, errors
from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.preferences.properties import transitivity
from ltr_duel.preferences.properties.bounds import lower_bound
from ltr_duel.preferences.properties.subsets import condorcet_shares

_REFITS, _REFITTED = 12, 600  # at least 12 worlds are fitted again; more if they have few rankers, up to 600 in total
_OUTSIDE = 0.05  # intervals cover 95%
_SWEEPS = 60  # the maximum number of sweeps of a fit
_CLOSE = 1e-4  # a fit ends when no probability changes by more than this
_LEAST_ERROR = 1e-6  # used for pairs whose outcomes were all equal, and so have the error 0

Statistic = tuple[Callable[[PreferenceMatrix], float | None], int]


def _strong_share(matrix: PreferenceMatrix) -> float:
    broken, triples = transitivity.strong_violations(matrix)
    return broken / max(1, triples)


STATISTICS: Mapping[str, Statistic] = {
    "cyclic_triples": (transitivity.cyclic_triples, +1),
    "total_order": (transitivity.is_total_order, -1),
    "top_cycle": (lambda matrix: len(transitivity.top_cycle(matrix)), +1),
    "strong_share": (_strong_share, +1),
    "gamma_btm": (transitivity.gamma_btm, +1),
    "gamma_rucb": (transitivity.gamma_rucb, +1),
    "triangle_violations": (transitivity.triangle_violations, +1),
    "least_condorcet_share": (lambda matrix: float(condorcet_shares(matrix).min()), -1),
    "lower_bound": (lower_bound, 0),
}


def transitive_null(
    matrix: PreferenceMatrix,
    rng: np.random.Generator,
    *,
    worlds: int = 200,
    statistics: Mapping[str, Statistic] = STATISTICS,
) -> pd.DataFrame:
    """Test whether noise alone explains how intransitive estimated preferences are.

    The properties of the estimate are compared with the properties of random matrices, the transitive worlds. Each of
    them is a strongly transitive matrix to which noise was added. The noise has the standard errors of the estimate.

    Parameters
    ----------
    matrix : PreferenceMatrix
        The estimated preferences, with standard errors. A published matrix has no standard errors, but
        `load_preferences` can add them if you know the number of comparisons.
    rng : numpy.random.Generator
    worlds : int
        The number of transitive worlds, at least 19.
    statistics : mapping of str to (callable, {+1, -1, 0}), optional
        The properties to compare, by default the nine in `STATISTICS`. For each property, give a function and a sign.
        The function takes a matrix and returns a number. If the function returns None because there is no Condorcet
        winner, the matrix counts as very intransitive. The sign is +1 if large numbers show intransitivity, -1 if small
        numbers show it, and otherwise 0.

    Returns
    -------
    DataFrame
        One row for each property. ``observed`` is the property of the estimate. ``median`` is the median of the
        property over the worlds, and 95% of the worlds lie between ``low`` and ``high``. ``p_value`` is the share of
        worlds that are at least as intransitive as the estimate. For a property with the sign 0, the p-value is
        two-sided.

    Raises
    ------
    InputError
        If the matrix has no standard errors, or if some pairs were never compared.

    Examples
    --------
    >>> circle = PreferenceMatrix.from_counts([[0, 60, 40], [40, 0, 60], [60, 40, 0]])
    >>> table = transitive_null(circle, np.random.default_rng(1), worlds=99).set_index("property")
    >>> bool(table.loc["strong_share", "p_value"] > 0.05)
    True
    """
    errors.require_whole("the number of transitive worlds", worlds, 19)
    error = _noise(matrix)
    fitted = strongly_transitive_fit(matrix.p, error)

    def measure(p: FloatMatrix) -> list[float]:
        world = PreferenceMatrix(redrawn(p, error, rng), matrix.names)
        return [_number(measured(world), worse) for measured, worse in statistics.values()]

    first = np.array([measure(fitted) for _ in range(worlds)])
    # Worlds that are drawn from fits to worlds show how far a fit shifts each property.
    refits = min(worlds, max(_REFITS, _REFITTED // len(matrix)))  # with few rankers, properties take few values
    again = [strongly_transitive_fit(redrawn(fitted, error, rng), error) for _ in range(refits)]
    second = np.array([measure(p) for p in again])
    rows = [
        (name, *_row(_number(measured(matrix), worse), first[:, n], second[:, n], worse))
        for n, (name, (measured, worse)) in enumerate(statistics.items())
    ]
    return pd.DataFrame(rows, columns=["property", "observed", "low", "median", "high", "p_value"])


def _noise(matrix: PreferenceMatrix) -> FloatMatrix:
    if not matrix.standard_error.any():
        raise InputError("the matrix has no standard errors, so its noise is unknown")
    if not np.isfinite(matrix.standard_error).all():
        raise InputError("some pairs of the matrix were never compared, so its noise is unknown")
    return matrix.standard_error


def redrawn(p: FloatMatrix, error: FloatMatrix, rng: np.random.Generator) -> FloatMatrix:
    """Return preferences with added normal noise, clipped to [0, 1]."""
    upper = np.triu_indices(len(p), 1)
    drawn = np.full(p.shape, 0.5)
    drawn[upper] = np.clip(p[upper] + error[upper] * rng.standard_normal(len(upper[0])), 0, 1)
    drawn.T[upper] = 1 - drawn[upper]
    return drawn


def wins_beyond_noise(matrix: PreferenceMatrix, confidence: float = 0.95) -> FloatMatrix:
    """Return a matrix with 1 where the row beats the column by more than noise explains, and 0 elsewhere.

    confidence: the probability that noise alone causes no entry of 1.
    """
    size = len(matrix)
    reach = scipy.special.ndtri(1 - (1 - confidence) / max(1, size * (size - 1)))
    return (matrix.p - 0.5 > reach * _noise(matrix)).astype(np.float64)


def strongly_transitive_fit(p: FloatMatrix, error: FloatMatrix) -> FloatMatrix:
    """Return the strongly transitive matrix that is closest to ``p``, where precise entries count more than others."""
    # Sorted by Borda score, the entries above its diagonal are at least 1/2, never decrease along a row, and never
    # increase down a column. The distance is the sum of squared differences, each divided by its squared error.
    size = len(p)
    order = np.argsort(-p.sum(axis=1), kind="stable")
    sorted_ = np.ix_(order, order)
    fitted = _isotonic(p[sorted_], 1 / np.maximum(error[sorted_], _LEAST_ERROR) ** 2)
    above = np.triu(np.ones((size, size), dtype=bool), 1)
    rising = np.maximum.accumulate(np.where(above, fitted, 0.5), axis=1)  # remove remaining violations of the order
    rising = np.maximum.accumulate(rising[::-1], axis=0)[::-1]
    best = np.full((size, size), 0.5)
    best[above] = np.clip(rising[above], 0.5, 1.0)
    best.T[above] = 1 - best[above]
    result = np.empty_like(best)
    result[sorted_] = best
    return result


def _isotonic(p: FloatMatrix, weight: FloatMatrix) -> FloatMatrix:
    size, isotonic = len(p), scipy.optimize.isotonic_regression
    fitted, by_rows, by_columns = p.copy(), np.zeros_like(p), np.zeros_like(p)
    for _ in range(_SWEEPS):
        before, residual = fitted, fitted - by_rows
        fitted = residual.copy()
        for i in range(size - 2):
            fitted[i, i + 1 :] = isotonic(residual[i, i + 1 :], weights=weight[i, i + 1 :]).x
        by_rows = fitted - residual
        residual = fitted - by_columns
        fitted = residual.copy()
        for j in range(2, size):
            fitted[:j, j] = isotonic(residual[:j, j], weights=weight[:j, j], increasing=False).x
        by_columns = fitted - residual
        if np.abs(np.triu(fitted - before, 1)).max() < _CLOSE:
            break
    return fitted


def _number(value: float | None, worse: int) -> float:
    return float(value) if value is not None else (-np.inf if worse < 0 else np.inf)


def _row(observed: float, first: FloatVector, second: FloatVector, worse: int) -> tuple[float, ...]:
    side = worse or 1
    with np.errstate(invalid="ignore"):  # a median may be infinite
        fall = side * (np.median(first) - np.median(second))
    shift = 2 * side * max(0.0, fall) if np.isfinite(fall) else 0.0  # twice the fall of the median between the worlds
    low, median, high = (float(np.quantile(first, q, method="nearest")) for q in (_OUTSIDE / 2, 0.5, 1 - _OUTSIDE / 2))
    shifted = first + abs(worse) * shift
    lowest = max(low + min(0.0, shift), 0.0 if low >= 0 else -np.inf)  # numbers and shares stay at or above 0
    above, below = 1 + int((shifted >= observed).sum()), 1 + int((shifted <= observed).sum())
    chance = {1: above, -1: below, 0: 2 * min(above, below)}[worse] / (1 + len(first))
    return observed, lowest, median, high + max(0.0, shift), min(1.0, chance)
