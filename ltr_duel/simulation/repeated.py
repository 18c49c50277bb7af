"""Repeated comparisons of the same rankers, on queries drawn uniformly with replacement."""

from __future__ import annotations

from ltr_duel.core import FloatVector, IntVector, SignMatrix, Streams, coin, kernel, random_below
from ltr_duel.interleaving import Comparison, compare_pair, compare_slate


@kernel
def multileave_often(
    comparison: Comparison, slate: IntVector, times: int, won: SignMatrix, lead: IntVector, streams: Streams
) -> None:
    """Multileave a set ``times`` times; ``lead[j]`` is the first ranker's wins minus its losses against ranker j."""
    size = slate.shape[0]
    n_queries = comparison.lists.query_ptr.shape[0] - 1
    for _ in range(times):
        query = random_below(n_queries, streams.queries)
        compare_slate(comparison, query, slate, size, won, streams.lists, streams.clicks)
        for j in range(1, size):
            outcome = int(won[0, j])
            if outcome == 0:
                outcome = coin(streams.feedback)
            lead[j] += outcome


@kernel
def name_leader(balance: float) -> float:
    """Return 1 if the first ranker leads, 0 if the second ranker leads, and 1/2 if the balance is zero."""
    return 0.5 + 0.5 * (int(balance > 1e-9) - int(balance < -1e-9))


@kernel
def walk_pairs(
    comparison: Comparison, slate: IntVector, won: SignMatrix, times: IntVector, right: FloatVector, streams: Streams
) -> None:
    """Compare two rankers as a pair; at each checkpoint c, add the result of `name_leader` to ``right[c]``."""
    n_queries = comparison.lists.query_ptr.shape[0] - 1
    balance, t = 0.0, 0
    for c in range(times.shape[0]):
        while t < times[c]:
            query = random_below(n_queries, streams.queries)
            balance += compare_pair(comparison, query, slate[0], slate[1], streams.lists, streams.clicks)
            t += 1
        right[c] += name_leader(balance)


@kernel
def walk_slates(
    comparison: Comparison, slate: IntVector, won: SignMatrix, times: IntVector, right: FloatVector, streams: Streams
) -> None:
    """Compare two rankers as a set; at each checkpoint c, add the result of `name_leader` to ``right[c]``."""
    n_queries = comparison.lists.query_ptr.shape[0] - 1
    balance, t = 0.0, 0
    for c in range(times.shape[0]):
        while t < times[c]:
            query = random_below(n_queries, streams.queries)
            compare_slate(comparison, query, slate, 2, won, streams.lists, streams.clicks)
            balance += float(won[0, 1])
            t += 1
        right[c] += name_leader(balance)
