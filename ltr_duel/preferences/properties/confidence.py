"""How sure an estimated matrix makes its winners, by the normal approximation of its entries.

Pairs are taken as compared independently: for Condorcet winners the probability is a product. Where pairs met the
same queries, the errors of a ranker's row go together, and the product is too small (Slepian's inequality). The other
winners are found by drawing matrices from the approximation, with a stream named by the matrix: the same matrix, the
same numbers.
A probability here is that of the truth given the estimate, with no prior opinion about any pair.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import scipy  # its modules load when they are used

from ltr_duel.core import FloatMatrix, FloatVector, stream
from ltr_duel.preferences.matrix import PreferenceMatrix

_CERTAIN = 8.0  # standard errors beyond which a pair is not drawn
_MOST_NUMBERS = 20_000_000  # drawn at once


def pair_confidence(matrix: PreferenceMatrix) -> FloatMatrix:
    """Return Pr(i truly beats j); 1 or 0 for a matrix known exactly, where an exact 1/2 is beaten by nobody."""
    gap, error = matrix.p - 0.5, matrix.standard_error
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(error > 0, gap / error, np.where(gap > 0, np.inf, -np.inf))
    sure: FloatMatrix = scipy.special.ndtr(z)
    return sure


def condorcet_confidence(matrix: PreferenceMatrix) -> FloatVector:
    """Return Pr(i beats every other ranker) for each ranker; they add up to at most 1.

    Parameters
    ----------
    matrix : PreferenceMatrix

    Returns
    -------
    ndarray of float64, shape (K,)

    Examples
    --------
    >>> error = [[0, 0.01], [0.01, 0]]
    >>> condorcet_confidence(PreferenceMatrix([[0.5, 0.51], [0.49, 0.5]], ("new", "old"), error)).round(3).tolist()
    [0.841, 0.159]
    """
    sure = pair_confidence(matrix)
    np.fill_diagonal(sure, 1.0)
    product: FloatVector = sure.prod(axis=1)
    return product


def copeland_confidence(matrix: PreferenceMatrix, draws: int = 2000) -> dict[str, float]:
    """Return for each ranker that occurs the share of drawn matrices in which it is a Copeland winner."""
    size = len(matrix)
    sure = pair_confidence(matrix)
    first, second = np.triu_indices(size, 1)
    limit = scipy.special.ndtr(-_CERTAIN)
    doubtful = (sure[first, second] > limit) & (sure[second, first] > limit)
    draws = max(100, min(draws, _MOST_NUMBERS // max(1, int(doubtful.sum()))))
    fixed = matrix.p > 0.5
    fixed[first[doubtful], second[doubtful]] = fixed[second[doubtful], first[doubtful]] = False
    base = fixed.sum(axis=1) + 0.5 * (((matrix.p == 0.5) & (matrix.standard_error == 0)).sum(axis=1) - 1)
    rng = stream(0, "copeland confidence", matrix.digest)
    i, j, chance = first[doubtful], second[doubtful], sure[first[doubtful], second[doubtful]]
    counts: Counter[int] = Counter()
    for _ in range(draws):
        won = rng.random(len(i)) < chance
        scores = base + np.bincount(np.where(won, i, j), minlength=size)
        counts.update(np.flatnonzero(scores == scores.max()).tolist())
    return {matrix.names[k]: count / draws for k, count in counts.most_common()}


def borda_confidence(matrix: PreferenceMatrix, draws: int = 2000) -> dict[str, float]:
    """Return for each ranker that occurs the share of draws in which it has the highest Borda score."""
    size = len(matrix)
    if size == 1:
        return {matrix.names[0]: 1.0}
    variance = np.where(np.isfinite(matrix.standard_error), matrix.standard_error, 0.5) ** 2
    covariance = (np.diag(variance.sum(axis=1)) - variance) / (size - 1) ** 2  # what i wins, j loses
    values, vectors = np.linalg.eigh(covariance)
    rng = stream(0, "borda confidence", matrix.digest)
    normal = rng.standard_normal((draws, size))
    scores = matrix.borda_scores + (normal * np.sqrt(np.maximum(values, 0))) @ vectors.T
    best = (
        Counter(scores.argmax(axis=1).tolist())
        if variance.any()
        else Counter({int(matrix.borda_scores.argmax()): draws})
    )
    return {matrix.names[k]: count / draws for k, count in best.most_common()}
