"""Random sets of rankers that have a Condorcet winner, drawn exactly: no set is tried and thrown away.

A set of k rankers is won by r if and only if the other k - 1 are among the N_r rankers that r beats. So the winner is r
with probability proportional to C(N_r, k - 1), and the others are any k - 1 of the N_r.
"""

from __future__ import annotations

import math

import numpy as np

from ltr_duel.core import IntVector
from ltr_duel.preferences.matrix import PreferenceMatrix


def draw_winner_set(matrix: PreferenceMatrix, size: int, rng: np.random.Generator) -> IntVector:
    """Draw uniformly from the sets of ``size`` rankers that have a Condorcet winner.

    Parameters
    ----------
    matrix : PreferenceMatrix
    size : int
        At least 1.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int64, shape (size,)
        Positions of the rankers, the winner first, the others in the order of the matrix; empty if no set of this
        size has a winner.
    """
    beats = matrix.p > 0.5
    ways = [math.comb(int(count), size - 1) for count in beats.sum(axis=1)]
    total = sum(ways)
    if total == 0:
        return np.zeros(0, np.int64)
    reach = np.cumsum([float(way / total) for way in ways])  # way / total is correctly rounded, however large both are
    possible = np.flatnonzero(ways)
    winner = int(min(np.searchsorted(reach, rng.random(), side="right"), possible[-1]))
    beaten = np.flatnonzero(beats[winner])
    others = beaten[np.argsort(rng.random(len(beaten)), kind="stable")[: size - 1]]
    return np.concatenate([[winner], np.sort(others)]).astype(np.int64)
