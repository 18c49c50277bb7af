"""Many comparisons in one call, for tests and benchmarks."""

from __future__ import annotations

from ltr_duel.core import interpreted, kernel
from ltr_duel.core.random import random_below
from ltr_duel.interleaving.comparison import compare_pair, compare_slate


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


@kernel
def slates_often(comparison, slate, size, times, rng, won, totals):
    """Sum of the pairwise outcomes in ``totals`` (size, size), for places a < b."""
    n_queries = comparison.lists.query_ptr.shape[0] - 1
    for _ in range(times):
        compare_slate(comparison, random_below(n_queries, rng), slate, size, won, rng, rng)
        for a in range(size):
            for b in range(a + 1, size):
                totals[a, b] += won[a, b]


def fitting(function, comparer):
    """Return the function as the comparer's method can use it."""
    return function if comparer.compiled else interpreted(function)
