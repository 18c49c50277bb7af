"""Regret: what it costs to compare arms that are not the best.

Each kind of regret is a sum over the arms. An arm contributes its loss times a count, such as the number of its
impressions. A run stores the counts, so regret is computed after the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np

from ltr_duel.core import FloatMatrix, FloatVector, IntVector, errors
from ltr_duel.preferences import PreferenceMatrix, gaps


class Definition(NamedTuple):
    """One kind of regret."""

    loss: str  # the name of the loss, see `loss_per_arm`
    counts: Literal["exposure", "best", "worst"]  # counts of all compared arms, or only of the best or worst


REGRETS: Mapping[str, Definition] = {
    "average": Definition("average", "exposure"),  # the mean gap of the compared arms to the Condorcet winner
    "strong": Definition("average", "worst"),
    "weak": Definition("average", "best"),
    "copeland": Definition("copeland", "exposure"),
    "borda": Definition("borda", "exposure"),
    "utility": Definition("utility", "exposure"),
    "ndcg": Definition("ndcg", "exposure"),
}
DEFAULT_REGRETS = ("average", "strong", "weak", "copeland", "borda")
MEASURED = ("utility", "ndcg")  # these regrets need a value of each arm, which the matrix does not have


def loss_per_arm(matrix: PreferenceMatrix, loss: str, values: FloatVector | None = None) -> FloatVector:
    """Return the loss of one impression of each arm, shape (K,). It is NaN if the winner or the ``values`` are missing.

    For "average", the loss of arm j is p[winner, j] - 1/2, where winner is the Condorcet winner (Yue and Joachims, ICML
    2011, eq. 1). For the other losses, each arm has a value, and the loss of arm j is the highest value minus the value
    of arm j. For "copeland" and "borda", the value is the arm's score of this name. For "utility" and "ndcg", it is
    given in ``values`` (Ailon et al., ICML 2014; Brost et al., CIKM 2016, eq. 4).
    """
    unknown = np.full(len(matrix), np.nan)
    if loss == "average":
        gap = gaps(matrix)
        return unknown if gap is None else gap
    errors.require_one_of("regret", loss, ("copeland", "borda", *MEASURED))
    if loss in MEASURED:
        scores = unknown if values is None else values
    else:
        scores = matrix.borda_scores if loss == "borda" else matrix.copeland_scores / max(1, len(matrix) - 1)
    return np.asarray(scores.max() - scores)


def arm_ranks(matrix: PreferenceMatrix) -> IntVector:
    """Return the rank of each arm, from 0 for the best arm, shape (K,).

    Arms are ranked by the probability with which the Condorcet winner beats them. If there is no winner, they are
    ranked by their Copeland scores. Weak and strong regret need the ranks.
    """
    loss = loss_per_arm(matrix, "copeland" if matrix.condorcet_winner is None else "average")
    return np.argsort(np.argsort(loss, kind="stable"))


def cumulative_regret(exposure: FloatMatrix, loss: FloatVector) -> FloatVector:
    """Return the regret up to each checkpoint. The bits of the result are equal on all machines.

    exposure: the counts of each arm up to each checkpoint, see `Definition`; shape (..., K).
    loss: the loss of each arm, see `loss_per_arm`; shape (K,).
    """
    total = np.zeros(exposure.shape[:-1])
    for arm in range(exposure.shape[-1]):
        total += exposure[..., arm] * loss[arm]
    return total
