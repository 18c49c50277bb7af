"""What random subsets of the rankers look like: how often they have a Condorcet winner, or a total order.

Zoghi, Whiteson, Munos, de Rijke. RUCB. ICML 2014, section 8.1 and Figure 5. The paper prints C(N_r, K) in the
formula of P_K; that would make P_1, the chance that a single ranker beats all others of its set, the mean number of
rankers beaten. It is C(N_r, K - 1): the winner r, and K - 1 of the N_r rankers that it beats.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import FloatVector, InputError, IntMatrix, require_between, stream
from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.preferences.properties.winner_sets import draw_winner_set

BoolMatrix = NDArray[np.bool_]
_NUMBERS_AT_ONCE = 20_000_000


def condorcet_shares(matrix: PreferenceMatrix) -> FloatVector:
    """Return P_1, ..., P_n: the share of the subsets of each size that have a Condorcet winner; exact."""
    n = len(matrix)
    beaten = (matrix.p > 0.5).sum(axis=1).tolist()
    return np.array([sum(math.comb(b, k - 1) for b in beaten) / math.comb(n, k) for k in range(1, n + 1)])


def total_order_share(matrix: PreferenceMatrix, size: int, *, subsets: int = 100_000, seed: int = 0) -> float:
    """Return the share of subsets of a size whose preferences are a total order.

    Parameters
    ----------
    matrix : PreferenceMatrix
    size : int
        Rankers in a subset.
    subsets : int
        How many are drawn; if there are no more than that, each is looked at once and the share is exact.
    seed : int

    Returns
    -------
    float
    """
    n = len(matrix)
    require_between("the size of the subsets", size, 1, n)
    beats = matrix.p > 0.5
    if math.comb(n, size) <= subsets:
        every = np.array(list(itertools.combinations(range(n), size)), np.int64)
        return _ordered(beats, every) / len(every)
    rng = stream(seed, "subsets", size)
    step = max(1, _NUMBERS_AT_ONCE // max(n, size * size))
    found = 0
    for done in range(0, subsets, step):
        count = min(step, subsets - done)
        found += _ordered(beats, np.argsort(rng.random((count, n)), axis=1)[:, :size])
    return found / subsets


def _ordered(beats: BoolMatrix, picks: IntMatrix) -> int:
    """Count the rows of ``picks`` that are totally ordered: their scores are 0, 1, ..., size - 1."""
    scores = np.sort(beats[picks[:, :, None], picks[:, None, :]].sum(axis=2), axis=1)
    return int((scores == np.arange(picks.shape[1])).all(axis=1).sum())


def random_condorcet_subset(matrix: PreferenceMatrix, size: int, seed: int = 0) -> PreferenceMatrix:
    """Return the matrix of a random subset, uniform among those of that size with a Condorcet winner.

    Raises
    ------
    InputError
        If the size is out of range, or no such subset has a winner.
    """
    require_between("the size of the subset", size, 1, len(matrix))
    picks = draw_winner_set(matrix, size, stream(seed, "subset", size))
    if not picks.size:
        raise InputError(f"no subset of {size} rankers has a Condorcet winner")
    return matrix[np.sort(picks).tolist()]
