"""The plain A/B test: each user sees the list of one random ranker, and the mean of a click metric decides.

The metric is the reciprocal rank of the first click, 0 without a click.
"""

from __future__ import annotations

from ltr_duel.core import FloatVector, IntVector, Streams, kernel, random_below
from ltr_duel.interleaving import Comparison, click_list


@kernel
def show_apart(c: Comparison, users: int, score: FloatVector, shown: IntVector, streams: Streams) -> None:
    """Simulate more users; add to ``score`` (K,), and to ``shown`` (K,) the number of users who saw each ranker."""
    n_queries, n_arms, top = c.lists.query_ptr.shape[0] - 1, score.shape[0], c.page.shown.shape[0]
    for _ in range(users):
        query, arm = random_below(n_queries, streams.queries), random_below(n_arms, streams.policy)
        start = c.lists.query_ptr[query]
        length = min(c.lists.query_ptr[query + 1] - start, top)
        for k in range(length):
            c.page.shown[k] = c.lists.order[arm, start + k]
        shown[arm] += 1
        if click_list(c, query, length, streams.clicks) > 0:
            score[arm] += 1.0 / (1.0 + c.page.clicks[0])


@kernel
def best_apart(score: FloatVector, shown: IntVector) -> int:
    """Return the ranker with the highest mean (the first of equals; callers order rankers at random)."""
    best, most = 0, -1.0
    for k in range(score.shape[0]):
        mean = score[k] / max(shown[k], 1)
        if mean > most:
            best, most = k, mean
    return best
