"""How hard a preference matrix is: the asymptotic lower bound on the regret of pairwise policies."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ltr_duel.preferences.matrix import PreferenceMatrix


def gaps(matrix: PreferenceMatrix) -> NDArray[np.float64] | None:
    """Return p[winner, j] - 1/2 for each ranker j, zero for the winner; None without a Condorcet winner."""
    winner = matrix.condorcet_winner
    if winner is None:
        return None
    row: NDArray[np.float64] = matrix.p[matrix.names.index(winner)] - 0.5
    return row


def lower_bound(matrix: PreferenceMatrix) -> float | None:
    """Return the constant c of the asymptotic lower bound ``c ln T`` on the average regret; None without a winner.

    Komiyama, Honda, Kashima, Nakagawa. Regret Lower Bound and Optimal Algorithm in Dueling Bandit Problem. COLT 2015,
    Theorem 1, with regret (gap_i + gap_j) / 2: each suboptimal arm i must be compared often enough, with the rival j
    against which that costs least, to be sure that i loses:
    ``sum_{i != winner} min_{j: p_ij < 1/2} (gap_i + gap_j) / (2 d(p_ij, 1/2))``, d the Bernoulli relative entropy.
    It holds for every strongly consistent policy that compares two arms a step.
    """
    gap = gaps(matrix)
    if gap is None:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        cost = (gap[:, None] + gap[None, :]) / (2 * entropy_to_half(matrix.p))
    cost[matrix.p >= 0.5] = np.inf
    best = cost.min(axis=1)
    winner = matrix.names.index(str(matrix.condorcet_winner))
    return float(np.delete(best, winner).sum())


def entropy_to_half(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the relative entropy d(p, 1/2) of two coins, accurate near 1/2."""
    x = 2 * p - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = [np.where(y > -1, (1 + y) * np.log1p(np.maximum(y, -1)), 0.0) for y in (x, -x)]
    total: NDArray[np.float64] = (terms[0] + terms[1]) / 2
    return total
