"""Many comparisons in one call, for tests and benchmarks."""

from __future__ import annotations

from ltr_duel.core import interpreted, kernel
from ltr_duel.core.random import random_below
from ltr_duel.interleaving.comparison import compare_pair


@kernel
def pairs_often(comparison, first, second, times, rng, totals):
    """Sum of the outcomes, and of their squares, in ``totals``."""
    totals[0] = 0.0
    totals[1] = 0.0
    n_queries = comparison.lists.query_ptr.shape[0] - 1
    for _ in range(times):
        outcome = compare_pair(comparison, random_below(n_queries, rng), first, second, rng, rng)
        totals[0] += outcome
        totals[1] += outcome * outcome


def fitting(function, comparer):
    """Return the function as the comparer's method can use it."""
    return function if comparer.compiled else interpreted(function)
