"""Summarise a preference matrix by one number for each ranker, its strength.

In the model of Bradley and Terry (Biometrika 1952), ranker i beats ranker j with probability 1 / (1 + exp(s_j - s_i)),
where s_i and s_j are their strengths. Logistic regression without a penalty finds the strengths. The weight of a pair
is its number of comparisons. If there were ties, the weight is the number of comparisons without ties that would give
the same standard error (`effective_counts`). The standard errors of the strengths assume that the model holds.
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import scipy  # submodules are loaded on first use

from ltr_duel.core import FloatMatrix, FloatVector, InputError, arguments, errors
from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.preferences.properties.intervals import effective_counts

_TOLERANCE = 1e-10
_MOST_STEPS = 100_000


def ratings(matrix: PreferenceMatrix, confidence: float = 0.95) -> pd.DataFrame:
    """Return the Bradley-Terry strength of each ranker, the strongest first.

    Parameters
    ----------
    matrix : PreferenceMatrix
    confidence : float
        The confidence of the interval of each strength, between 0 and 1.

    Returns
    -------
    DataFrame
        One row for each ranker. ``strength`` is in natural logarithms of odds, with mean 0. ``standard_error`` and the
        interval from ``low`` to ``high`` are NaN if the matrix is known exactly. ``borda`` is the mean probability of
        beating another ranker, and ``copeland`` is the number of beaten rankers.

    Raises
    ------
    InputError
        If no finite strengths fit, for example because some rankers won all comparisons with the others.

    Examples
    --------
    >>> from ltr_duel.preferences import arxiv
    >>> ratings(arxiv())[["ranker", "strength"]].head(2).round(2).to_numpy().tolist()
    [['A', 0.24], ['B', 0.16]]
    """
    arguments.require_type("the matrix", matrix, PreferenceMatrix)
    errors.require_between("confidence", confidence, 0, 1)
    weights = _weights(matrix)
    _require_finite(matrix, weights * matrix.p)
    strength = _fitted(matrix.p, weights)
    error = np.full(len(matrix), np.nan)
    if is_estimated(matrix):
        error = np.sqrt(np.diag(covariance(strength, weights)))
    half = scipy.special.ndtri((1 + confidence) / 2) * error
    table = pd.DataFrame(
        {
            "ranker": list(matrix.names),
            "strength": strength,
            "standard_error": error,
            "low": strength - half,
            "high": strength + half,
            "borda": matrix.borda_scores,
            "copeland": matrix.copeland_scores,
        }
    )
    return table.sort_values("strength", ascending=False, kind="stable", ignore_index=True)


def is_estimated(matrix: PreferenceMatrix) -> bool:
    """Return whether a matrix has standard errors or numbers of comparisons."""
    return bool(matrix.standard_error.any() or matrix.comparisons.any())


def _weights(matrix: PreferenceMatrix) -> FloatMatrix:
    if not is_estimated(matrix):
        weights = np.ones_like(matrix.p)
    elif matrix.wins is not None and matrix.ties is not None and not matrix.ties.any():
        weights = matrix.comparisons.astype(np.float64)
    else:
        weights = effective_counts(matrix.p, matrix.standard_error, matrix.comparisons)
        weights = np.where(np.isinf(weights), weights[np.isfinite(weights)].max(initial=1.0), weights)
    np.fill_diagonal(weights, 0.0)
    return weights


def _require_finite(matrix: PreferenceMatrix, wins: FloatMatrix) -> None:
    """Raise an error if some rankers never lost to the others, because then no finite strengths exist (Ford 1957)."""
    count, group = scipy.sparse.csgraph.connected_components(wins > 0, directed=True, connection="strong")
    if count == 1:
        return
    for label in range(count):
        inside = group == label
        if not wins[np.ix_(~inside, inside)].any():
            names = ", ".join(name for name, is_inside in zip(matrix.names, inside, strict=True) if is_inside)
            against = "were never compared with" if not wins[np.ix_(inside, ~inside)].any() else "never lost to"
            raise InputError(
                f"no finite strengths fit: {names} {against} the other rankers; leave them out, or compare more"
            )


def _fitted(p: FloatMatrix, weights: FloatMatrix) -> FloatVector:
    """Return the maximum-likelihood strengths, with mean 0."""
    from sklearn.exceptions import ConvergenceWarning  # importing scikit-learn takes a second
    from sklearn.linear_model import LogisticRegression

    size = len(p)
    i, j = np.nonzero(np.triu(weights, 1))
    pairs = np.arange(len(i))
    ones = np.ones(len(i))
    design = scipy.sparse.csr_array((np.r_[ones, -ones], (np.r_[pairs, pairs], np.r_[i, j])), shape=(len(i), size))
    share = weights[i, j] / weights[i, j].sum() * len(i)
    model = LogisticRegression(C=np.inf, fit_intercept=False, tol=_TOLERANCE, max_iter=_MOST_STEPS)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        try:
            model.fit(
                scipy.sparse.vstack([design, design]),
                np.r_[ones, np.zeros(len(i))],
                sample_weight=np.r_[share * p[i, j], share * p[j, i]],
            )
        except ConvergenceWarning:
            raise InputError(
                "the fit of the strengths did not converge: a ranker wins nearly all comparisons"
            ) from None
    strength = np.asarray(model.coef_[0], np.float64)
    return np.asarray(strength - strength.mean(), np.float64)


def covariance(strength: FloatVector, weights: FloatMatrix) -> FloatMatrix:
    """Return the covariance of the strengths, shape (K, K)."""
    p = scipy.special.expit(strength[:, None] - strength)
    information = -weights * p * (1 - p)
    np.fill_diagonal(information, 0.0)
    np.fill_diagonal(information, -information.sum(axis=1))
    # The pseudo-inverse: the data do not change if all strengths are shifted, so the matrix has no inverse.
    shift = np.full_like(information, 1 / len(strength))
    scale = information.trace() / len(strength)
    return np.asarray(np.linalg.inv(information + scale * shift) - shift / scale, np.float64)
