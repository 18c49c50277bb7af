"""The share of random sets of rankers with a Condorcet winner, and the share with a total order (RUCB, Figure 5).

The matrix is an estimate, and the estimate of a total order is hardly ever a total order. The table therefore also
contains the largest possible true shares. A set cannot have a total order if wins beyond noise form a cycle in it. A
set cannot have a Condorcet winner if each of its rankers loses beyond noise to another ranker of the set. In all other
cases, the order or the winner counts as possible. These bounds hold with 95 % confidence for all sets together, for any
true matrix. The least share of sets with a Condorcet winner is the 2.5 % quantile over copies of the estimate with
added noise.

Zoghi, Whiteson, Munos, de Rijke. RUCB. ICML 2014, section 8.1.
"""

from __future__ import annotations

from math import comb, sqrt

import numpy as np
import pandas as pd
import scipy  # submodules are loaded on first use

from ltr_duel.core import FloatMatrix, parallel, stream
from ltr_duel.papers.expand import Found
from ltr_duel.papers.measures.inputs import around, load_matrix
from ltr_duel.preferences import condorcet_shares, total_order_share, wins_beyond_noise

_SETS = 1000  # number of sampled sets of each size that determine the largest share


def measure(
    *,
    found: Found,
    jobs: int,
    subsets: int = 100_000,
    clicks: str = "informational",
    comparisons: int = 4000,
    seed: int = 0,
) -> pd.DataFrame:
    """Return the shares of sets with a Condorcet winner and with a total order, and their bounds, for every size.

    subsets: number of sampled sets of each size. If at most this number exists, all are used, and the error is 0.
    clicks, comparisons: settings of the estimate. For a published matrix without standard errors, the noise of
        ``comparisons`` comparisons of each pair is assumed.
    """
    matrix = load_matrix(found, clicks=clicks, comparisons=comparisons, seed=seed, jobs=jobs)
    sizes = range(1, len(matrix) + 1)

    def ordered(size: int) -> float:
        return total_order_share(matrix, size, subsets=subsets, seed=seed)

    orders = parallel.run_tasks(
        ordered, sizes, total=len(sizes), jobs=jobs, label="subsets", unit="size", first_alone=False
    )
    rows = [("condorcet winner", size, share, 0.0) for size, share in zip(sizes, condorcet_shares(matrix), strict=True)]
    rows += [
        ("total order", size, share, 0.0 if comb(len(matrix), size) <= subsets else _error(share, subsets))
        for size, share in zip(sizes, orders, strict=True)
    ]
    wins = wins_beyond_noise(matrix, comparisons)
    most = np.array([_possible(wins, size, seed) for size in sizes]).T.ravel()
    shares = [condorcet_shares(one) for one in around(matrix, comparisons=comparisons, seed=seed)]
    least = np.append(np.quantile(shares, 0.025, axis=0), np.zeros(len(sizes)))
    columns = ["item", "rankers", "value", "standard_error"]
    return pd.DataFrame(rows, columns=columns).assign(least=least, most=most, source=found.source)


def _possible(wins: FloatMatrix, size: int, seed: int) -> tuple[float, float]:
    """Return the shares of sets that, given the sure wins, may have a Condorcet winner and may have a total order."""
    components = scipy.sparse.csgraph.connected_components
    if components(wins, directed=True, connection="strong")[0] == len(wins):
        return 1.0, 1.0
    rng, counts = stream(seed, "possible orders", size), np.zeros(2)
    for _ in range(_SETS):
        picks = rng.permutation(len(wins))[:size]
        inside = wins[np.ix_(picks, picks)]
        counts += not inside.any(axis=0).all(), components(inside, directed=True, connection="strong")[0] == size
    return float(counts[0] / _SETS), float(counts[1] / _SETS)


def _error(share: float, drawn: int) -> float:
    """Return the standard error of a share; one hit and one miss are added, because a share of 0 is not exact."""
    likely = (share * drawn + 1) / (drawn + 2)
    return sqrt(likely * (1 - likely) / drawn)
