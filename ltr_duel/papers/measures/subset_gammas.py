"""Gamma of random subsets of the rankers, for papers that print it for subsets which they do not name."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from ltr_duel.core import FloatVector, run_tasks
from ltr_duel.preferences import PreferenceMatrix, gamma_rucb, random_condorcet_subset

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
Row = tuple[str, int, float, float, float]  # item, rankers, value, standard error, printed


def subset_gammas(
    matrix: PreferenceMatrix, sizes: list[dict[str, Any]], *, subsets: int, seed: int, jobs: int
) -> list[Row]:
    """Return where the printed gamma stands among random subsets with a Condorcet winner, and their quantiles.

    Parameters
    ----------
    matrix : PreferenceMatrix
    sizes : list of dict
        ``rankers``, and ``printed``: the gamma that the paper gives for one subset of that size.
    subsets : int
        How many are drawn of each size.
    seed : int
    jobs : int

    Returns
    -------
    list of tuple
        For each size, "gamma_rucb share up to printed" and "gamma_rucb quantile q".
    """
    rows: list[Row] = []
    for wanted in sizes:
        size, printed = int(wanted["rankers"]), float(wanted["printed"])
        drawn = _gammas(matrix, size, subsets, seed, jobs)
        share = float((drawn <= printed).mean())
        rows.append(("gamma_rucb share up to printed", size, share, sqrt(share * (1 - share) / subsets), np.nan))
        for q in QUANTILES:
            off = sqrt(q * (1 - q) / subsets)  # of the share below a fixed point: so far the quantile may be off
            low, value, high = np.quantile(drawn, [max(0.0, q - off), q, min(1.0, q + off)])
            rows.append((f"gamma_rucb quantile {q:g}", size, float(value), float(high - low) / 2, printed))
    return rows


def _gammas(matrix: PreferenceMatrix, size: int, subsets: int, seed: int, jobs: int) -> FloatVector:
    def one(number: int) -> float:
        chosen = random_condorcet_subset(matrix, size, seed=seed * subsets + number)
        return float(gamma_rucb(chosen) or np.nan)

    tasks = range(subsets)
    label = f"gamma of {size} rankers"
    return np.array(list(run_tasks(one, tasks, total=subsets, jobs=jobs, label=label, unit="set", first_alone=False)))
