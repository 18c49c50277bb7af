"""How good the list is that a user was just shown."""

from __future__ import annotations

from ltr_duel.core import FloatVector, kernel
from ltr_duel.interleaving import Comparison


@kernel
def judge(c: Comparison, worth: FloatVector, discount: FloatVector, query: int) -> float:
    """Return the NDCG of the list that the comparison shows; see `World` for worth and discount."""
    start = c.lists.query_ptr[query]
    length = min(c.lists.query_ptr[query + 1] - start, c.page.shown.shape[0], discount.shape[0])
    total = 0.0
    for k in range(length):
        total += worth[start + c.page.shown[k]] * discount[k]
    return total
