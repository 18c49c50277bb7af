"""Users' loss by the list that was just shown.

A list is compared with the best ranker's list for the same query. The mean over queries is the same as for a comparison
with the best ranker's mean NDCG, but the choice of queries adds much less noise.
"""

from __future__ import annotations

from typing import NamedTuple

from ltr_duel.core import FloatVector, kernel
from ltr_duel.interleaving import Comparison


class Yardstick(NamedTuple):
    """The measure of lists."""

    worth: FloatVector  # (n_docs,) contribution to its query's NDCG of a document at the top of the list
    discount: FloatVector  # (10 or fewer,) share of this contribution at each position
    best: FloatVector  # (n_queries,) NDCG of the best ranker's list


@kernel
def judge(c: Comparison, yardstick: Yardstick, query: int) -> float:
    """Return the NDCG of the best ranker's list, minus the NDCG of the list that is shown."""
    start = c.lists.query_ptr[query]
    length = min(c.lists.query_ptr[query + 1] - start, min(c.page.shown.shape[0], yardstick.discount.shape[0]))
    lost = yardstick.best[query]
    for k in range(length):
        lost -= yardstick.worth[start + c.page.shown[k]] * yardstick.discount[k]
    return lost
