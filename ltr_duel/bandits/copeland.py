"""Optimistic Copeland scores, kept up to date without refilling a K x K matrix of bounds.

Arm i is *blocked* by arm j while u_ij < 1/2, that is while its doubt (see `statistics`) exceeds alpha ln t. A duel
changes two entries; as time passes blocked entries come free, the lowest doubt of a row first. So a row is read anew
only when one of its pairs met, or when time has reached the least blocked doubt of that row.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from ltr_duel.core import FloatVector, IntVector, kernel, smallest

STALE = -1.0  # in `release`: the row must be read anew


def score_rows(n_arms: int) -> tuple[IntVector, FloatVector]:
    """Make blocked and release (K,) for arms that met nobody."""
    return np.zeros(n_arms, np.int64), np.full(n_arms, inf)


@kernel
def refresh_scores(state: Any, bonus: float) -> None:
    """Bring ``blocked[i] = #{j: u_ij < 1/2}`` up to date."""
    if smallest(state.release) >= bonus:
        return
    n_arms = state.release.shape[0]
    for i in range(n_arms):
        if state.release[i] < bonus:
            count, least = 0, inf
            for j in range(n_arms):
                if state.doubts[i, j] > bonus:
                    count += 1
                    least = min(least, state.doubts[i, j])
            state.blocked[i] = count
            state.release[i] = least
