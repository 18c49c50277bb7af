"""The hardness of a preference matrix: asymptotic bounds on the regret of policies that play pairs or whole sets."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import scipy  # submodules are loaded on first use
from numpy.typing import NDArray

from ltr_duel.core import arguments
from ltr_duel.preferences.matrix import PreferenceMatrix


def gaps(matrix: PreferenceMatrix) -> NDArray[np.float64] | None:
    """Return p[winner, j] - 1/2 for each ranker j, which is zero for the winner; None if there is no Condorcet winner.

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
    if winner is None:
        return None
    row: NDArray[np.float64] = matrix.p[matrix.names.index(winner)] - 0.5
    return row


def lower_bound(matrix: PreferenceMatrix) -> float | None:
    """Return the constant c of the asymptotic lower bound ``c ln T`` on average regret; None if there is no winner.

    Komiyama, Honda, Kashima, Nakagawa. Regret Lower Bound and Optimal Algorithm in Dueling Bandit Problem. COLT 2015,
    Theorem 1, with regret (gap_i + gap_j) / 2. The constant is the cost of comparing each suboptimal arm i with its
    cheapest rival j until it is certain that i loses:
    ``sum_{i != winner} min_{j: p_ij < 1/2} (gap_i + gap_j) / (2 d(p_ij, 1/2))``, where d is the relative entropy of two
    Bernoulli distributions. The bound holds for every strongly consistent policy that compares two arms per step.

    Parameters
    ----------
    matrix : PreferenceMatrix

    Returns
    -------
    float or None

    Examples
    --------
    >>> round(lower_bound(PreferenceMatrix(np.array([[0.5, 0.75], [0.25, 0.5]]))), 3)
    0.956
    """
    gap = gaps(matrix)
    if gap is None:
        return None
    winner = matrix.names.index(str(matrix.condorcet_winner))
    return float(np.delete(_pair_costs(matrix, gap).min(axis=1), winner).sum())


class MultiduelBound(NamedTuple):
    """The constant c of ``c ln T`` for policies that compare sets."""

    constant: float
    exact: bool  # False if the minimum is over some sets only, so the true constant may be smaller


def multiduel_bound(matrix: PreferenceMatrix, most_arms: int = 12) -> MultiduelBound | None:
    """Return the analogue of `lower_bound` for policies that compare any set of arms per step; None without a winner.

    A set S of arms costs the mean of their gaps and compares all its pairs at once. If each of these comparisons
    contains as much information as a duel, the least regret is the minimum of a linear program, in which set S is
    played N_S ln T times. For each suboptimal arm i, comparisons with arms that beat i must give enough information:
    ``sum_S N_S sum_{j in S: p_ij < 1/2} d(p_ij, 1/2) >= 1``. If only pairs were allowed, the minimum would be
    `lower_bound`, so with all sets it is at most `lower_bound`. The constant is for orientation only, because the
    outcomes within a set are not independent and no theorem excludes better policies.

    With more than ``most_arms`` arms, only some sets are used: the best pair of each arm, and the sets of the 2, 3,
    ..., K arms with the smallest gaps.

    Parameters
    ----------
    matrix : PreferenceMatrix
    most_arms : int
        Largest number of arms for which all sets are used.

    Returns
    -------
    MultiduelBound or None

    Examples
    --------
    >>> bound = multiduel_bound(PreferenceMatrix(np.array([[0.5, 0.75], [0.25, 0.5]])))
    >>> round(bound.constant, 3), bound.exact
    (0.956, True)
    """
    gap = gaps(matrix)
    if gap is None:
        return None
    size = len(matrix)
    if size == 1:
        return MultiduelBound(0.0, True)
    if size <= most_arms:
        sets = [list(s) for n in range(2, size + 1) for s in itertools.combinations(range(size), n)]
    else:
        order = np.argsort(gap, kind="stable")
        sets = [order[:n].tolist() for n in range(2, size + 1)]
        rivals = _pair_costs(matrix, gap).argmin(axis=1)
        sets += [[int(i), int(rivals[i])] for i in np.flatnonzero(gap > 0)]
    entropy = np.where(matrix.p < 0.5, entropy_to_half(matrix.p), 0.0)
    inside = np.zeros((len(sets), size))
    for row, members in zip(inside, sets, strict=True):
        row[members] = 1
    information = inside * (inside @ entropy.T)
    others = gap > 0
    cost = (inside @ gap) / inside.sum(axis=1)
    per_regret = (information / cost[:, None]).T[others]  # information on each arm per unit of a set's regret
    most = per_regret.max(axis=1)
    unit = 1 / most.min()  # rescale, because near ties are expensive and the solver's tolerances are absolute
    solved = scipy.optimize.linprog(
        np.ones(len(sets)), A_ub=-per_regret / most[:, None], b_ub=-1 / (unit * most), method="highs"
    )
    return MultiduelBound(float(solved["fun"] * unit), size <= most_arms)


def _pair_costs(matrix: PreferenceMatrix, gap: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the regret, per unit of information, of learning that i loses to j; infinite if j does not beat i."""
    with np.errstate(divide="ignore", invalid="ignore"):
        cost = (gap[:, None] + gap[None, :]) / (2 * entropy_to_half(matrix.p))
    cost[matrix.p >= 0.5] = np.inf
    return cost


def entropy_to_half(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the relative entropy d(p, 1/2) of two coins, accurate near 1/2."""
    x = 2 * p - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = [np.where(y > -1, (1 + y) * np.log1p(np.maximum(y, -1)), 0.0) for y in (x, -x)]
    total: NDArray[np.float64] = np.where(np.abs(x) < 1e-3, x**2 / 2 + x**4 / 12, (terms[0] + terms[1]) / 2)
    return total
