"""Count the sets of rankers that have a Condorcet winner or a total order, and draw random sets with a winner.

Zoghi, Whiteson, Munos, de Rijke. RUCB. ICML 2014, section 8.1 and Figure 5.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from ltr_duel.core import FloatVector, InputError, IntMatrix, IntVector, errors, stream
from ltr_duel.preferences.matrix import PreferenceMatrix

_NUMBERS_AT_ONCE = 20_000_000


def condorcet_shares(matrix: PreferenceMatrix) -> FloatVector:
    """Return, for each size from 1 to the number of rankers, the share of sets that have a Condorcet winner.

    Parameters
    ----------
    matrix : PreferenceMatrix

    Returns
    -------
    ndarray of float64, shape (K,)

    Examples
    --------
    >>> from ltr_duel.preferences import synthetic_preferences
    >>> condorcet_shares(synthetic_preferences("cyclic")).tolist()
    [1.0, 1.0, 0.75, 1.0]
    """
    n = len(matrix)
    beaten = (matrix.p > 0.5).sum(axis=1).tolist()
    # A ranker that beats b others wins C(b, k - 1) sets of k rankers. The paper prints C(b, k), a misprint.
    return np.array([sum(math.comb(b, k - 1) for b in beaten) / math.comb(n, k) for k in range(1, n + 1)])


def total_order_share(matrix: PreferenceMatrix, size: int, *, subsets: int = 100_000, seed: int = 0) -> float:
    """Return the share of sets of ``size`` rankers in which the preferences are a total order.

    Parameters
    ----------
    matrix : PreferenceMatrix
    size : int
        The number of rankers in a set.
    subsets : int
        The number of random sets to check. If no more sets exist, all of them are checked, and the share is exact.
    seed : int

    Returns
    -------
    float
        The share, from 0 to 1.

    Raises
    ------
    InputError
        If there are no sets of this size.

    Examples
    --------
    >>> from ltr_duel.preferences import synthetic_preferences
    >>> total_order_share(synthetic_preferences("cyclic"), 3)
    0.75
    """
    n, beats = len(matrix), matrix.p > 0.5
    batches: Iterator[IntMatrix]
    errors.require_between("the size of the subsets", size, 1, n)
    if math.comb(n, size) <= subsets:
        every = np.array(list(itertools.combinations(range(n), size)), np.int64)
        batches, subsets = iter([every]), len(every)
    else:
        rng, step = stream(seed, "subsets", size), max(1, _NUMBERS_AT_ONCE // max(n, size * size))
        counts = (min(step, subsets - done) for done in range(0, subsets, step))
        batches = (np.argsort(rng.random((count, n)), axis=1)[:, :size] for count in counts)
    ordered = 0
    for picks in batches:  # in a total order, the numbers of wins are 0, 1, ..., size - 1
        scores = np.sort(beats[picks[:, :, None], picks[:, None, :]].sum(axis=2), axis=1)
        ordered += int((scores == np.arange(size)).all(axis=1).sum())
    return ordered / subsets


def random_condorcet_subset(matrix: PreferenceMatrix, size: int, seed: int = 0) -> PreferenceMatrix:
    """Return the matrix of a random set of ``size`` rankers that has a Condorcet winner."""
    size = errors.require_whole("the size of the subset", size, 1, len(matrix))
    picks = draw_winner_set(matrix, size, stream(seed, "subset", size))
    if not picks.size:
        raise InputError(f"no subset of {size} rankers has a Condorcet winner")
    return matrix[np.sort(picks).tolist()]


def draw_winner_set(matrix: PreferenceMatrix, size: int, rng: np.random.Generator) -> IntVector:
    """Draw a random set of ``size`` rankers that has a Condorcet winner.

    Return the positions of the rankers in the matrix, the winner first. The result is empty if no set has a winner.
    """
    beats = matrix.p > 0.5
    ways = [math.comb(int(count), size - 1) for count in beats.sum(axis=1)]
    total = sum(ways)
    if total == 0:
        return np.zeros(0, np.int64)
    reach = np.cumsum([float(way / total) for way in ways])  # way / total is rounded correctly, even for huge integers
    winner = int(min(np.searchsorted(reach, rng.random(), side="right"), np.flatnonzero(ways)[-1]))
    beaten = np.flatnonzero(beats[winner])
    others = beaten[np.argsort(rng.random(len(beaten)), kind="stable")[: size - 1]]
    return np.concatenate([[winner], np.sort(others)]).astype(np.int64)
