"""Reduced variance where ties are ordered anew for each list (``resample``).

Before each evaluation the documents of the query are copied to scratch, with the ties of both rankers in a new random
order. What evaluates a list sees these two rankers and this query alone. So each reduction leaves the mean over lists
unchanged for each order of ties, and therefore also over all orders.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import implement
from ltr_duel.interleaving import Comparison, redraw_ties
from ltr_duel.preferences.estimate.blocks import evaluate


class Resampled(NamedTuple):
    """Two rankers and one query, with a new order of ties for each evaluation."""

    comparison: Comparison
    n_queries: int
    inner: Any  # an evaluator of the query in `comparison.current`


def resampled(comparison: Comparison, longest: int) -> Comparison:
    """Return a comparison of the rankers and the query in ``comparison.current``, of at most ``longest`` documents."""
    return comparison._replace(lists=comparison.current, relevance=np.zeros(longest, np.int16))


def _evaluate(evaluator: Resampled, query: int, first: int, second: int, rng: np.random.Generator) -> float:
    c, alone = evaluator.comparison, evaluator.inner.comparison
    c.pair[0] = first
    c.pair[1] = second
    redraw_ties(c, query, c.pair, 2, rng)
    start = c.lists.query_ptr[query]
    for d in range(c.lists.query_ptr[query + 1] - start):
        alone.relevance[d] = c.relevance[start + d]
    return evaluate(evaluator.inner, 0, 0, 1, rng)


implement(evaluate, Resampled, _evaluate)
