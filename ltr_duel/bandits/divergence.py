"""The evidence of the RMED family: how unlikely the losses of an arm are if it were the Condorcet winner.

``I_i = sum over j with phat_ij <= 1/2 of n_ij d(phat_ij, 1/2)``, where d is the divergence between two coins. A duel
changes one term of two arms, so a step costs two logarithms; sums are taken anew now and then against drift.
"""

from __future__ import annotations

from math import log1p
from typing import Any

import numpy as np

from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, kernel

_RESUM = 1023  # a sum is taken anew after so many changes (a power of two, less one)


def evidence_rows(n_arms: int) -> tuple[IntMatrix, FloatMatrix, FloatMatrix, FloatVector, IntVector, IntVector]:
    """Make wins, share, terms (K, K) and evidence, losing, changes (K,) for arms that met nobody."""
    share = np.full((n_arms, n_arms), 0.5)
    np.fill_diagonal(share, 2.0)  # never the smallest of its row
    counts = np.zeros((2, n_arms), np.int64)
    square = (n_arms, n_arms)
    return np.zeros(square, np.int64), share, np.zeros(square), np.zeros(n_arms), counts[0], counts[1]


@kernel
def coin_divergence(p: float) -> float:
    """Return d(p, 1/2), the Kullback-Leibler divergence from a fair coin."""
    x = 2.0 * p - 1.0
    if x <= -1.0 or x >= 1.0:
        return 0.6931471805599453  # ln 2
    return 0.5 * ((1.0 + x) * log1p(x) + (1.0 - x) * log1p(-x))


@kernel
def record_evidence(state: Any, winner: int, loser: int) -> None:
    """Count a duel, and bring the shares and the evidence of both arms up to date."""
    state.wins[winner, loser] += 1
    won, lost = state.wins[winner, loser], state.wins[loser, winner]
    n = won + lost
    state.share[winner, loser] = won / n
    state.share[loser, winner] = lost / n
    term = n * coin_divergence(won / n) if won != lost else 0.0
    _set_term(state, winner, loser, term if won < lost else 0.0)
    _set_term(state, loser, winner, term if lost < won else 0.0)


@kernel
def _set_term(state: Any, i: int, j: int, term: float) -> None:
    before = state.terms[i, j]
    if term == before:
        return
    state.terms[i, j] = term
    state.losing[i] += int(term > 0.0) - int(before > 0.0)
    state.changes[i] += 1
    if state.losing[i] == 0:
        state.evidence[i] = 0.0
    elif state.changes[i] & _RESUM:
        state.evidence[i] += term - before
    else:
        total = 0.0
        for k in range(state.terms.shape[0]):
            total += state.terms[i, k]
        state.evidence[i] = total
