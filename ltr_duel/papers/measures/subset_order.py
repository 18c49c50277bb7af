"""How often a random set of rankers has a Condorcet winner, and how often a total order (RUCB, Figure 5).

Zoghi, Whiteson, Munos, de Rijke. RUCB. ICML 2014, section 8.1.
"""

from __future__ import annotations

from math import comb, sqrt

import pandas as pd

from ltr_duel.core import run_tasks
from ltr_duel.papers.find_data import Found
from ltr_duel.papers.measures.inputs import load_matrix
from ltr_duel.preferences import condorcet_shares, total_order_share


def measure(
    *,
    found: Found,
    jobs: int,
    subsets: int = 100_000,
    clicks: str = "informational",
    comparisons: int = 4000,
    seed: int = 0,
) -> pd.DataFrame:
    """Return both shares for every size of set.

    Parameters
    ----------
    found : Found
        A matrix, or a corpus to estimate one on.
    jobs : int
    subsets : int
        How many are drawn of each size.
    clicks, comparisons
        Of the estimate.
    seed : int

    Returns
    -------
    DataFrame
        ``item`` ("condorcet winner" or "total order"), ``rankers`` (the size), ``value`` (the share),
        ``standard_error`` (zero where all sets were counted) and ``source``.
    """
    matrix = load_matrix(found, clicks=clicks, comparisons=comparisons, seed=seed, jobs=jobs)
    sizes = range(1, len(matrix) + 1)

    def ordered(size: int) -> float:
        return total_order_share(matrix, size, subsets=subsets, seed=seed)

    orders = run_tasks(ordered, sizes, total=len(sizes), jobs=jobs, label="subsets", unit="size", first_alone=False)
    rows = [("condorcet winner", size, share, 0.0) for size, share in zip(sizes, condorcet_shares(matrix), strict=True)]
    rows += [
        ("total order", size, share, 0.0 if comb(len(matrix), size) <= subsets else _error(share, subsets))
        for size, share in zip(sizes, orders, strict=True)
    ]
    return pd.DataFrame(rows, columns=["item", "rankers", "value", "standard_error"]).assign(source=found.source)


def _error(share: float, drawn: int) -> float:
    """Return the standard error of a share, with one hit and one miss added: none in many draws does not mean never."""
    likely = (share * drawn + 1) / (drawn + 2)
    return sqrt(likely * (1 - likely) / drawn)
