"""Total orders, cycles, and measures of how far preferences are from transitivity.

A ranker with the win probability p beats another ranker by the margin p - 1/2. Strong transitivity means: if i beats j
and j beats k, then i beats k by at least the larger of the two margins. Relaxed transitivity requires this only if i is
the Condorcet winner, and allows that its margin over k is smaller by a factor gamma. The stochastic triangle inequality
means that the winner's margin over k is at most its margin over j plus the margin of j over k.

Yue, Joachims. Beat the Mean Bandit. ICML 2011, section 3.1.
"""

from __future__ import annotations

import numpy as np
import scipy  # submodules are loaded on first use

from ltr_duel.core import FloatMatrix, FloatVector
from ltr_duel.preferences.entries import ROUNDING
from ltr_duel.preferences.matrix import PreferenceMatrix


def is_total_order(matrix: PreferenceMatrix) -> bool:
    """Return whether the rankers can be sorted so that each ranker beats all later rankers."""
    wins = (matrix.p > 0.5).sum(axis=1)
    return bool((np.sort(wins) == np.arange(len(matrix))).all())


def gamma_btm(matrix: PreferenceMatrix) -> float | None:
    """Return the smallest gamma >= 1 for which relaxed transitivity holds, or None if there is no Condorcet winner.

    The larger gamma is, the farther the preferences are from strong transitivity (Yue and Joachims, ICML 2011).

    Parameters
    ----------
    matrix : PreferenceMatrix

    Examples
    --------
    >>> from ltr_duel.preferences import arxiv
    >>> round(gamma_btm(arxiv()), 2)
    1.5
    """
    return _gamma(matrix, every_pair=False)


def gamma_rucb(matrix: PreferenceMatrix) -> float | None:
    """Return the smallest gamma by the definition in the paper on RUCB, or None if there is no Condorcet winner.

    In contrast to `gamma_btm`, relaxed transitivity must hold for all rankers j and k, even if k beats j (Zoghi et al.,
    RUCB, ICML 2014, appendix).

    Parameters
    ----------
    matrix : PreferenceMatrix

    Examples
    --------
    >>> from ltr_duel.preferences import arxiv
    >>> round(gamma_rucb(arxiv()), 2)
    2.75
    """
    return _gamma(matrix, every_pair=True)


def _gamma(matrix: PreferenceMatrix, *, every_pair: bool) -> float | None:
    split = _without_winner(matrix)
    if split is None:
        return None
    row, rest = split
    # gamma e[winner, k] >= max(e[winner, j], e[j, k]); the paper on RUCB prints p for e, but its values (4.85, 11.6 and
    # 47.3) agree with e = p - 1/2
    counted = ~np.eye(len(row), dtype=bool) if every_pair else rest > 0
    ratio = np.maximum(row[:, None], rest) / row[None, :]
    return max(1.0, float(ratio[counted].max(initial=1.0)))


def triangle_violations(matrix: PreferenceMatrix) -> int | None:
    """Return how many pairs of rankers break the stochastic triangle inequality, or None without a Condorcet winner."""
    split = _without_winner(matrix)
    if split is None:
        return None
    row, rest = split
    excess = row[None, :] - row[:, None] - rest
    return int(((rest >= 0) & ~np.eye(len(row), dtype=bool) & (excess > ROUNDING)).sum())


def strong_violations(matrix: PreferenceMatrix) -> tuple[int, int]:
    """Return how many triples of rankers break strong transitivity, and how many triples there are.

    A triple (i, j, k) is counted if i beats j and j beats k.
    """
    e = matrix.p - 0.5
    broken = triples = 0
    for j in range(len(e)):
        before, after = np.flatnonzero(e[:, j] > 0), np.flatnonzero(e[j] > 0)
        needed = np.maximum(e[before, j][:, None], e[j, after][None, :])
        broken += int((e[np.ix_(before, after)] < needed - ROUNDING).sum())
        triples += len(before) * len(after)
    return broken, triples


def cyclic_triples(matrix: PreferenceMatrix) -> int:
    """Return the number of sets of three rankers that beat each other in a circle."""
    beats = (matrix.p > 0.5).astype(np.float64)
    return round(float(((beats @ beats) * beats.T).sum()) / 3)


def find_cycle(matrix: PreferenceMatrix) -> tuple[str, ...] | None:
    """Return three rankers that beat each other in a circle, or None if there are none."""
    beats = matrix.p > 0.5
    paths = (beats.astype(np.float64) @ beats) * beats.T  # [i, k]: number of cycles i, j, k
    if not paths.any():
        return None
    i, k = np.argwhere(paths > 0)[0]
    j = int(np.flatnonzero(beats[i] & beats[:, k])[0])
    return matrix.names[i], matrix.names[j], matrix.names[k]


def top_cycle(matrix: PreferenceMatrix) -> tuple[str, ...]:
    """Return the smallest set of rankers that all beat every ranker outside of the set, also called the Smith set."""
    # In the graph of "beats or ties", it is the strong component of a ranker with the highest Copeland score.
    _, label = scipy.sparse.csgraph.connected_components(matrix.p >= 0.5, directed=True, connection="strong")
    order = matrix.copeland_order
    return tuple(matrix.names[k] for k in order if label[k] == label[order[0]])


def _without_winner(matrix: PreferenceMatrix) -> tuple[FloatVector, FloatMatrix] | None:
    if matrix.condorcet_winner is None:
        return None
    winner = matrix.index(matrix.condorcet_winner)
    others = np.delete(np.arange(len(matrix)), winner)
    e = matrix.p - 0.5
    return e[winner, others], e[np.ix_(others, others)]
