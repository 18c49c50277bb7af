"""The probability that the winners of an estimated matrix are the true winners.

For each pair, the first step computes the probability that ranker i truly beats ranker j. This step uses the numbers of
wins and losses that would give the standard error of the pair (`effective_counts`). Before any comparison, each p from
0 to 1 is assumed to be equally likely. A ranker that won all of its few comparisons is therefore not certain to be
better.

The probability that a ranker is the Condorcet winner is the product of the probabilities of its pairs. If pairs share
lists or queries, this product is too small (Slepian's inequality). For Copeland and Borda winners, possible true
preferences are drawn at random many times, and the probabilities say how often each ranker was a winner. For the same
matrix, the random numbers are always the same.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import scipy  # submodules are loaded on first use

from ltr_duel.core import FloatMatrix, FloatVector, stream
from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.preferences.properties.intervals import effective_counts

_CERTAIN = 8.0  # a pair that is more standard errors away from 1/2 is certain, so it is not sampled
_MOST_NUMBERS = 20_000_000  # the maximum number of random numbers for all draws


def pair_confidence(matrix: PreferenceMatrix) -> FloatMatrix:
    """Return, for each pair, the probability that ranker i truly beats ranker j: 0 or 1 if the entry is exact."""
    n = effective_counts(matrix.p, matrix.standard_error, matrix.comparisons)
    wins, exact = (matrix.p > 0.5).astype(np.float64), np.isinf(n)
    if exact.all():  # without importing scipy
        return wins
    n = np.where(exact, 0.0, n)
    return np.where(exact, wins, scipy.special.betainc(1 + (1 - matrix.p) * n, 1 + matrix.p * n, 0.5))


def condorcet_confidence(matrix: PreferenceMatrix) -> FloatVector:
    """Return, for each ranker, the probability that it truly beats every other ranker.

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


def conclusion_confidence(matrix: PreferenceMatrix) -> float:
    """Return the probability that the conclusion from a matrix is true.

    If the matrix has a Condorcet winner, the conclusion is that this ranker is the true winner. Otherwise, the
    conclusion is that no ranker truly beats all others, and the result is a lower bound of the probability.
    """
    winner = matrix.condorcet_winner
    if winner is not None:
        return float(condorcet_confidence(matrix)[matrix.index(winner)])
    sure = pair_confidence(matrix)
    np.fill_diagonal(sure, 1.0)
    # For each ranker, the probability against its strongest rival, times the number of rivals.
    return max(0.0, 1 - float(np.minimum(sure.min(axis=1) * (len(matrix) - 1), 1.0).sum()))


def copeland_confidence(matrix: PreferenceMatrix, draws: int = 2000) -> dict[str, float]:
    """Return the rankers that may be Copeland winners, each with its probability."""
    size, sure = len(matrix), pair_confidence(matrix)
    i, j = np.triu_indices(size, 1)
    limit = scipy.special.ndtr(-_CERTAIN)
    doubtful = (sure[i, j] > limit) & (sure[j, i] > limit)
    i, j = i[doubtful], j[doubtful]
    draws = max(100, min(draws, _MOST_NUMBERS // max(1, len(i))))
    fixed = matrix.p > 0.5
    fixed[i, j] = fixed[j, i] = False
    tied = (matrix.p == 0.5) & (sure == 0) & (sure.T == 0)  # exact ties
    base = fixed.sum(axis=1) + 0.5 * (tied.sum(axis=1) - 1)
    rng, chance = stream(0, "copeland confidence", matrix.digest), sure[i, j]
    winners: set[int] = set()
    shared: Counter[int] = Counter()
    for _ in range(draws):
        won = rng.random(len(i)) < chance
        scores = base + np.bincount(np.where(won, i, j), minlength=size)
        best = np.flatnonzero(scores == scores.max()).tolist()
        winners.update(best)
        if scores.max() < size - 1:  # no ranker beats all others
            shared.update(best)
    outright = condorcet_confidence(matrix)  # exact; the samples only add winners that do not beat all others
    shares = {k: min(1.0, float(outright[k]) + shared[k] / draws) for k in winners}
    return {matrix.names[k]: shares[k] for k in sorted(shares, key=lambda k: (-shares[k], k))}


def borda_confidence(matrix: PreferenceMatrix, draws: int = 2000) -> dict[str, float]:
    """Return the rankers that may be the Borda winner, each with its probability.

    If the matrix is exact, each ranker with the highest score has the probability 1.
    """
    size = len(matrix)
    n = effective_counts(matrix.p, matrix.standard_error, matrix.comparisons)
    np.fill_diagonal(n, np.inf)
    exact = np.isinf(n)
    if exact.all():
        return dict.fromkeys(matrix.borda_winners, 1.0)
    n = np.where(exact, 0.0, n)
    mean = (1 + matrix.p * n) / (2 + n)
    variance = np.where(exact, 0.0, mean * (1 - mean) / (3 + n))  # variance of the Beta distribution
    variance[np.isinf(matrix.standard_error)] = 0.25
    covariance = (np.diag(variance.sum(axis=1)) - variance) / (size - 1) ** 2  # each win of i is a loss of j
    values, vectors = np.linalg.eigh(covariance)
    rng = stream(0, "borda confidence", matrix.digest)
    normal = rng.standard_normal((draws, size))
    scores = matrix.borda_scores + (normal * np.sqrt(np.maximum(values, 0))) @ vectors.T
    return {matrix.names[k]: count / draws for k, count in Counter(scores.argmax(axis=1).tolist()).most_common()}
