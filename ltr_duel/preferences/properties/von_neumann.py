"""The von Neumann winner: the mixture of rankers that no ranker beats. It always exists."""

from __future__ import annotations

import numpy as np
import scipy  # its modules load when they are used

from ltr_duel.core import FloatVector
from ltr_duel.preferences.matrix import PreferenceMatrix

_NOTHING = 1e-9  # weights below this are rounding


def von_neumann_winner(matrix: PreferenceMatrix) -> FloatVector:
    """Return weights, adding up to 1, whose mixture beats or ties each ranker.

    Dudik, Hofmann, Schapire, Slivkins, Zoghi. Contextual Dueling Bandits. COLT 2015. It is a maximin strategy of the
    game ``p - 1/2``, whose value is 0; found as a linear program with HiGHS. Where several mixtures do, one of them is
    returned. A Condorcet winner has all the weight.
    """
    size = len(matrix)
    cost = np.append(np.zeros(size), -1.0)  # maximise v
    worst = np.hstack([0.5 - matrix.p.T, np.ones((size, 1))])  # v <= sum_i w_i (p[i, j] - 1/2) for each j
    sums = np.append(np.ones(size), 0.0)[None, :]
    solved = scipy.optimize.linprog(
        cost, A_ub=worst, b_ub=np.zeros(size), A_eq=sums, b_eq=[1.0], bounds=[(0, 1)] * size + [(-1, 1)], method="highs"
    )
    found = np.asarray(solved.x)[:-1]
    weights = np.where(found < _NOTHING, 0.0, found)
    result: FloatVector = weights / weights.sum()
    return result
