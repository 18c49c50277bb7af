"""Regret, computed from the counts of each arm, so that every definition can be evaluated after the run.

Each definition has a loss and a count for each arm; regret is the sum of loss times count over all arms.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np

from ltr_duel.core import FloatMatrix, FloatVector, IntVector, errors
from ltr_duel.preferences import PreferenceMatrix, gaps


class Definition(NamedTuple):
    """One kind of regret."""

    loss: str  # name of the loss, see `loss_per_arm`
    counts: Literal["exposure", "best", "worst"]  # the counts that multiply the loss: of all, the best, the worst arm


REGRETS: Mapping[str, Definition] = {
    "average": Definition("average", "exposure"),  # mean gap of the compared arms to the Condorcet winner
    "strong": Definition("average", "worst"),
    "weak": Definition("average", "best"),
    "copeland": Definition("copeland", "exposure"),
    "borda": Definition("borda", "exposure"),
    "utility": Definition("utility", "exposure"),
    "ndcg": Definition("ndcg", "exposure"),
}
DEFAULT_REGRETS = ("average", "strong", "weak", "copeland", "borda")
MEASURED = ("utility", "ndcg")  # these regrets require values that are not in the matrix, one for each arm


def loss_per_arm(matrix: PreferenceMatrix, loss: str, values: FloatVector | None = None) -> FloatVector:
    """Return the loss of one impression of each arm, shape (K,); NaN if required values or the winner are missing.

    ``average``: the gap to the Condorcet winner, p[winner, j] - 1/2. A pair costs the mean of its two gaps, a slate the
    mean of all its gaps (Yue and Joachims, ICML 2011, eq. 1; Brost et al., CIKM 2016, eq. 1). ``copeland``, ``borda``:
    the highest share of beaten rivals (or Borda score) of any arm, minus that of arm j. ``utility``,
    ``ndcg``: the highest of ``values``, minus the value of arm j (Ailon et al., ICML 2014; Brost et al., CIKM 2016, eq.
    4). Raises `InputError` for other names.
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
    """Return the rank of each arm, from 0 for the best, shape (K,). Ranks define the best and worst arm of a slate.

    Arms are sorted by the gap to the Condorcet winner or, if there is none, by the Copeland score. Equal arms keep the
    order of the matrix; their order does not affect regret.
    """
    loss = loss_per_arm(matrix, "copeland" if matrix.condorcet_winner is None else "average")
    return np.argsort(np.argsort(loss, kind="stable"))


def cumulative_regret(exposure: FloatMatrix, loss: FloatVector) -> FloatVector:
    """Return the regret up to each checkpoint. Arms are added in their order, so that all machines give the same bits.

    exposure: shape (..., K); impressions of each arm, or the number of steps in which the arm was the best (or the
        worst) of the compared arms.
    loss: shape (K,); see `loss_per_arm`.
    """
    total = np.zeros(exposure.shape[:-1])
    for arm in range(exposure.shape[-1]):
        total += exposure[..., arm] * loss[arm]
    return total
