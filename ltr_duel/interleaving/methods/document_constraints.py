"""Document constraints: the ranker whose order contradicts the clicks less often wins.

The list is built as in balanced interleave. Each click gives two kinds of constraints. Constraint 1: the clicked
document should rank above the unclicked documents that were shown above it. Constraint 2: the clicked document should
rank above the next document, if the next document is unclicked. The ranker that violates fewer constraints wins. Random
clicks favour some rankers (see docs/methods.md).

He, Zhai, Li. Evaluation of Methods for Relative Comparison of Retrieval Systems Based on Clickthroughs. CIKM 2009.
Hofmann, Whiteson, de Rijke. Fidelity, Soundness, and Efficiency of Interleaved Comparison Methods. TOIS 2013.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ltr_duel.core import MarkVector, kernel, vector
from ltr_duel.interleaving.hooks import Lists, Shown, Size
from ltr_duel.interleaving.methods.balanced import draw_pair as draw_pair
from ltr_duel.interleaving.registration import register


class Params(NamedTuple):
    constraints: int = 3  # which constraints are used: 1 or 2 for this constraint alone, 3 for both


class State(NamedTuple):
    top: int
    constraints: int
    used: MarkVector  # (longest,) 1 for documents already shown; all zero between calls
    clicked: MarkVector  # (top,) scratch: 1 for clicked positions


def init(size: Size, params: Params, outcome: str) -> State:
    return State(size.top, params.constraints, np.zeros(size.longest, np.uint8), np.zeros(size.top, np.uint8))


def credit_pair(
    state: State, lists: Lists, query: int, first: int, second: int, page: Shown, length: int, n_clicks: int
) -> float:
    start = lists.query_ptr[query]
    for k in range(length):
        state.clicked[k] = 0
    for c in range(n_clicks):
        state.clicked[page.clicks[c]] = 1
    balance = 0  # violations of the second ranker, minus violations of the first
    for c in range(n_clicks):
        k = page.clicks[c]
        better = start + page.shown[k]
        if state.constraints & 1:
            for above in range(k):
                if state.clicked[above] == 0:
                    worse = start + page.shown[above]
                    balance += violations(lists, second, better, worse) - violations(lists, first, better, worse)
        if state.constraints & 2 and k + 1 < length and state.clicked[k + 1] == 0:
            worse = start + page.shown[k + 1]
            balance += violations(lists, second, better, worse) - violations(lists, first, better, worse)
    return float(vector.sign(balance, 0))


@kernel
def violations(lists: Lists, ranker: int, better: int, worse: int) -> int:
    return int(lists.rank[ranker, better] > lists.rank[ranker, worse])


register(
    __name__,
    biased=("credit",),
    limits={"constraints": (1, 3)},
    shows="the same list as `balanced`",
    wins='fewer violations of "the clicked document is better than this document"',
    cost="O(top x clicks)",
    cite="he2009constraints",
)
