"""How hard a preference matrix is for policies: the gaps, and a lower bound on regret."""

from __future__ import annotations

import numpy as np

from ltr_duel.core import FloatMatrix, FloatVector, arguments
from ltr_duel.preferences.matrix import PreferenceMatrix


def gaps(matrix: PreferenceMatrix) -> FloatVector | None:
    """Return how clearly the Condorcet winner beats each ranker j: p[winner, j] - 1/2. None if there is no winner.

    Parameters
    ----------
    matrix : PreferenceMatrix

    Returns
    -------
    ndarray of float64, shape (K,), or None

    Examples
    --------
    >>> gaps(PreferenceMatrix(np.array([[0.5, 0.75], [0.25, 0.5]]))).tolist()
    [0.0, 0.25]
    """
    arguments.require_type("the matrix", matrix, PreferenceMatrix)
    winner = matrix.condorcet_winner
    return None if winner is None else np.asarray(matrix.p[matrix.index(winner)] - 0.5)


def lower_bound(matrix: PreferenceMatrix) -> float | None:
    """Return the constant c of a lower bound on regret, ``c ln T``; None if there is no Condorcet winner.

    If T is large, a policy has at least this regret after T steps. The bound is for policies that compare two arms per
    step, and whose regret grows more slowly than any power of T on all matrices. The regret of a step is the mean gap
    of its two arms. A policy must compare each arm except the winner with some rival, until it is clear that the arm
    loses. The constant adds up the regret of these comparisons, with the cheapest rival for each arm:

    ``c = sum_{i != winner} min_{j: p_ij < 1/2} (gap_i + gap_j) / (2 d(p_ij, 1/2))``

    Here gap_i is the entry of `gaps` for arm i, and d is the relative entropy of two Bernoulli distributions.

    Parameters
    ----------
    matrix : PreferenceMatrix

    Returns
    -------
    float or None

    References
    ----------
    Komiyama, Honda, Kashima, Nakagawa. Regret Lower Bound and Optimal Algorithm in Dueling Bandit Problem. COLT 2015,
    Theorem 1.

    Examples
    --------
    >>> round(lower_bound(PreferenceMatrix(np.array([[0.5, 0.75], [0.25, 0.5]]))), 3)
    0.956
    """
    gap = gaps(matrix)
    if gap is None:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        cost = (gap[:, None] + gap[None, :]) / (2 * entropy_to_half(matrix.p))
    cost[matrix.p >= 0.5] = np.inf
    return float(np.delete(cost.min(axis=1), matrix.index(str(matrix.condorcet_winner))).sum())


def entropy_to_half(p: FloatMatrix) -> FloatMatrix:
    """Return the relative entropy d(p, 1/2) of a coin with probability p and a fair coin."""
    x = 2 * p - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = [np.where(y > -1, (1 + y) * np.log1p(np.maximum(y, -1)), 0.0) for y in (x, -x)]
    return np.where(np.abs(x) < 1e-3, x**2 / 2 + x**4 / 12, (terms[0] + terms[1]) / 2)
