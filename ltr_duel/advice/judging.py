"""What a user loses by the list just shown.

Lists are held against that of the best ranker for the same query. In the mean over the queries that is the same as to
hold them against its mean NDCG, but which queries come makes far less noise.
"""

from __future__ import annotations

from typing import NamedTuple

from ltr_duel.core import FloatVector, kernel
from ltr_duel.interleaving import Comparison


class Yardstick(NamedTuple):
    """What lists are measured by."""

    worth: FloatVector  # (n_docs,) what a document at the top of the list adds to the NDCG of its query
    discount: FloatVector  # (10 or fewer,) how much of its worth a document adds at each place
    best: FloatVector  # (n_queries,) NDCG of the best ranker's list


@kernel
def judge(c: Comparison, yardstick: Yardstick, query: int) -> float:
    """Return the NDCG of the best ranker's list, less that of the list that the comparison shows."""
    start = c.lists.query_ptr[query]
    length = min(c.lists.query_ptr[query + 1] - start, min(c.page.shown.shape[0], yardstick.discount.shape[0]))
    lost = yardstick.best[query]
    for k in range(length):
        lost -= yardstick.worth[start + c.page.shown[k]] * yardstick.discount[k]
    return lost
