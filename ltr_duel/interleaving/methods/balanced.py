"""Balanced interleave: merge the lists of two rankers in turn. A coin decides which ranker begins.

The credit looks at the lowest clicked document. Let k be the better of the two ranks that the rankers give to this
document. The ranker with more clicked documents among its first k documents wins. If the lists differ only in the place
of one document, random clicks favour one ranker (see docs/methods.md).

Joachims. Evaluating Retrieval Performance Using Clickthrough Data. 2003. Chapelle, Joachims, Radlinski, Yue.
Large-Scale Validation and Analysis of Interleaved Search Evaluation. TOIS 2012.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.core import MarkVector, components, random_below, vector
from ltr_duel.interleaving.hooks import Lists, Shown, Size
from ltr_duel.interleaving.registration import register


class State(NamedTuple):
    top: int
    used: MarkVector  # (longest,) 1 for documents already shown; all zero between calls


def init(size: Size, params: components.NoParams, outcome: str) -> State:
    return State(size.top, np.zeros(size.longest, np.uint8))


def draw_pair(state: State, lists: Lists, query: int, first: int, second: int, page: Shown, rng: Generator) -> int:
    start = lists.query_ptr[query]
    length = min(state.top, lists.query_ptr[query + 1] - start)
    leader = random_below(2, rng)
    depth_of_first, depth_of_second, k = 0, 0, 0
    while k < length:
        if depth_of_first < depth_of_second or (depth_of_first == depth_of_second and leader == 0):
            owner = 0
            document = lists.order[first, start + depth_of_first]
            depth_of_first += 1
        else:
            owner = 1
            document = lists.order[second, start + depth_of_second]
            depth_of_second += 1
        if state.used[document] == 0:
            state.used[document] = 1
            page.shown[k] = document
            page.owner[k] = owner
            k += 1
    for m in range(length):
        state.used[page.shown[m]] = 0
    return length


def credit_pair(
    state: State, lists: Lists, query: int, first: int, second: int, page: Shown, length: int, n_clicks: int
) -> float:
    start = lists.query_ptr[query]
    lowest = start + page.shown[page.clicks[n_clicks - 1]]
    depth = min(lists.rank[first, lowest], lists.rank[second, lowest])
    balance = 0
    for c in range(n_clicks):
        document = start + page.shown[page.clicks[c]]
        balance += int(lists.rank[first, document] <= depth) - int(lists.rank[second, document] <= depth)
    return float(vector.sign(balance, 0))


register(
    __name__,
    biased=("credit",),
    shows="a coin decides which ranker leads, then the two lists are merged alternately",
    wins="more clicked documents in its top k, where k is the better of the two ranks of the lowest clicked document",
    cost="O(top)",
    cite="joachims2003balanced,chapelle2012interleaved",
)
