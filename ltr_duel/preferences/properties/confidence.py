"""Confidence in the winners of an estimated matrix: the posterior probability that they are the true winners.

The prior of each entry is uniform from 0 to 1. An estimate is treated as the number of wins and losses that would give
the same standard error (`effective_counts`), so the posterior of an entry is a Beta distribution, approximately normal
for many comparisons. A ranker that won all of its few comparisons is therefore not certain to be better. An entry with
standard error 0 is exact only if the matrix does not contain its number of comparisons.

Pairs are assumed to be compared independently, so the probability of a Condorcet winner is a product. If pairs share
queries (variance reduction "stratified") or lists (of multileaving), the errors in a ranker's row
are positively correlated, and the product is too small (Slepian's inequality). The probabilities of Copeland winners
are computed from sampled matrices, and the probabilities of Borda winners from sampled scores. The random stream of the
samples depends on the matrix only, so the results are reproducible.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import scipy  # submodules are loaded on first use

from ltr_duel.core import FloatMatrix, FloatVector, stream
from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.preferences.properties.intervals import effective_counts

_CERTAIN = 8.0  # pairs farther from 1/2 than this number of standard errors are not sampled
_MOST_NUMBERS = 20_000_000  # maximum number of random numbers for all draws


def pair_confidence(matrix: PreferenceMatrix) -> FloatMatrix:
    """Return Pr(i truly beats j); for an exactly known matrix, 1 if p > 1/2 and otherwise 0."""
    n = effective_counts(matrix.p, matrix.standard_error, matrix.comparisons)
    exact = np.isinf(n)
    if exact.all():  # fast path: does not import scipy
        return (matrix.p > 0.5).astype(np.float64)
    n = np.where(exact, 0.0, n)
    sure = scipy.special.betainc(1 + (1 - matrix.p) * n, 1 + matrix.p * n, 0.5)
    return np.where(exact, (matrix.p > 0.5).astype(np.float64), sure)


def condorcet_confidence(matrix: PreferenceMatrix) -> FloatVector:
    """Return Pr(i beats every other ranker) for each ranker; the sum is at most 1.

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
    """Return the probability of being a Copeland winner for each ranker that wins in at least one sampled matrix.

    The probability is the sum of two parts. The first is the probability of being the Condorcet winner, which is a
    product. The second is the share of sampled matrices that have no Condorcet winner, but have this ranker as a
    Copeland winner.
    """
    size = len(matrix)
    sure = pair_confidence(matrix)
    first, second = np.triu_indices(size, 1)
    limit = scipy.special.ndtr(-_CERTAIN)
    doubtful = (sure[first, second] > limit) & (sure[second, first] > limit)
    draws = max(100, min(draws, _MOST_NUMBERS // max(1, int(doubtful.sum()))))
    fixed = matrix.p > 0.5
    fixed[first[doubtful], second[doubtful]] = fixed[second[doubtful], first[doubtful]] = False
    tied = (matrix.p == 0.5) & (sure == 0) & (sure.T == 0)  # exact ties
    base = fixed.sum(axis=1) + 0.5 * (tied.sum(axis=1) - 1)
    rng = stream(0, "copeland confidence", matrix.digest)
    i, j, chance = first[doubtful], second[doubtful], sure[first[doubtful], second[doubtful]]
    seen: set[int] = set()
    shared: Counter[int] = Counter()
    for _ in range(draws):
        won = rng.random(len(i)) < chance
        scores = base + np.bincount(np.where(won, i, j), minlength=size)
        best = np.flatnonzero(scores == scores.max()).tolist()
        seen.update(best)
        if scores.max() < size - 1:  # no ranker beats all others
            shared.update(best)
    outright = condorcet_confidence(matrix)
    found = {k: min(1.0, float(outright[k]) + shared[k] / draws) for k in seen}
    return {matrix.names[k]: found[k] for k in sorted(found, key=lambda k: (-found[k], k))}


def borda_confidence(matrix: PreferenceMatrix, draws: int = 2000) -> dict[str, float]:
    """Return the share of samples in which each ranker has the highest Borda score; shares of 0 are left out.

    In an exactly known matrix, all rankers with the highest score have share 1.
    """
    size = len(matrix)
    if size == 1:
        return {matrix.names[0]: 1.0}
    n = effective_counts(matrix.p, matrix.standard_error, matrix.comparisons)
    np.fill_diagonal(n, np.inf)
    exact = np.isinf(n)
    n = np.where(exact, 0.0, n)
    expected = (1 + matrix.p * n) / (2 + n)
    variance = np.where(exact, 0.0, expected * (1 - expected) / (3 + n))  # variance of the Beta distribution
    variance[np.isinf(matrix.standard_error)] = 0.25
    covariance = (np.diag(variance.sum(axis=1)) - variance) / (size - 1) ** 2  # each win of i is a loss of j
    values, vectors = np.linalg.eigh(covariance)
    rng = stream(0, "borda confidence", matrix.digest)
    normal = rng.standard_normal((draws, size))
    scores = matrix.borda_scores + (normal * np.sqrt(np.maximum(values, 0))) @ vectors.T
    best = (
        Counter(scores.argmax(axis=1).tolist())
        if variance.any()
        else Counter({matrix.index(name): draws for name in matrix.borda_winners})
    )
    return {matrix.names[k]: count / draws for k, count in best.most_common()}
