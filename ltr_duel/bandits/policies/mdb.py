"""MDB, Multi-Dueling Bandits: all arms that may be the Condorcet winner are compared at once.

The Condorcet winner is the arm that beats every other arm. A narrow confidence bound says which arms may be the
Condorcet winner. If there is only one such arm, it plays alone. Otherwise, a wider bound decides which arms are
compared.

Brost, Seldin, Cox, Lioma. Multi-Dueling Bandits and Their Application to Online Ranker Evaluation. CIKM 2016 (extended:
arXiv 1608.06253), Algorithm 1. Comments cite the line numbers of Algorithm 1. The defaults are the best of the paper's
grid search.
"""

from __future__ import annotations

from math import log
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.policy import register
from ltr_duel.bandits.statistics import last_step_before, most_victorious, record_points
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, SignMatrix, vector


class Params(NamedTuple):
    alpha: float = 0.5  # width of the narrow bound u
    beta: float = 1.5  # the wider bound v uses beta alpha in place of alpha


class State(NamedTuple):
    points: IntMatrix  # (K, K) points[i, j]: two for each comparison in which arm i beat arm j, one for each tie
    crossings: FloatMatrix  # (K, K) crossings[i, j]: u_ij >= 1/2 while alpha ln t >= crossings[i, j]
    crossing: FloatVector  # (K,)   row maxima: U_i >= 1/2 while alpha ln t >= crossing[i]


def init(n_arms: int, horizon: int, params: Params) -> State:
    return State(np.zeros((n_arms, n_arms), np.int64), np.zeros((n_arms, n_arms)), np.zeros(n_arms))


def select(state: State, params: Params, t: int, slate: IntVector, rng: Generator) -> int:
    narrow = params.alpha * log(t)
    champions = vector.count_up_to(state.crossing, narrow)  # |E|, line 6
    limit = np.inf  # lines 2 and 13: all arms
    if t > 1 and champions == 1:
        limit = narrow  # line 11: E itself
    elif t > 1 and champions > 1:
        limit = params.beta * narrow  # line 9: F
    size = 0
    for k in range(state.crossing.shape[0]):
        if state.crossing[k] <= limit:
            slate[size] = k
            size += 1
    return size


def update(state: State, params: Params, t: int, slate: IntVector, size: int, won: SignMatrix, rng: Generator) -> None:
    if size == 1:
        return
    for a in range(size):
        for b in range(a + 1, size):
            record_points(state.points, state.crossings, slate[a], slate[b], won[a, b])
    for a in range(size):
        state.crossing[slate[a]] = vector.largest(state.crossings[slate[a]])


def idle_until(state: State, params: Params, t: int) -> int:
    """Return the last step before a second arm may be the Condorcet winner."""
    narrow = params.alpha * log(t)
    nearest = np.inf
    for k in range(state.crossing.shape[0]):
        if state.crossing[k] > narrow:
            nearest = min(nearest, state.crossing[k])
    return max(t, last_step_before(nearest / params.alpha))


def recommend(state: State, params: Params) -> int:
    return most_victorious(state.points)


register(
    __name__,
    any_order=True,
    counts_ties=True,
    limits={"alpha": (0.0, None), "beta": (1.0, None)},
    assumes="a Condorcet winner",
    regret="not proven",
    cost="O(K) alone, O(|slate| K) exploring",
    cite="brost2016mdb",
    where="Algorithm 1",
)
