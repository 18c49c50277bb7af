"""Pairwise preference multileave: clicks say which documents are better, with weights that remove position bias.

At position i = 0, 1, ..., the list shows a random candidate. A candidate is a document that is not yet shown, and that
at least one ranker has among its first i + 1 documents. A clicked document is preferred to the unclicked documents that
were shown above the last click or directly below it.

A preference between two documents counts only if both documents were candidates when the upper document was drawn.
Often, one of the documents becomes a candidate before the other. Let p be the probability that this document is not
drawn before the other document is a candidate, too. The weight of the preference is 1 / p. The score of a ranker is the
total weight of the preferences that agree with its order. The higher score wins. Under random clicks, all rankers have
the same mean score.

Oosterhuis, de Rijke. Sensitive and Scalable Online Evaluation with Theoretical Guarantees. CIKM 2017. Clicks become
preferences as in the authors' code.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.core import FloatVector, IntVector, MarkVector, SignMatrix, components, kernel, random_below, vector
from ltr_duel.interleaving.hooks import Lists, Shown, Size
from ltr_duel.interleaving.registration import register

_EQUAL = 1e-12  # smaller differences between scores are rounding errors


class State(NamedTuple):
    top: int
    listed: MarkVector  # (longest,) 1 for documents that have been candidates; all zero between calls
    candidates: IntVector  # (rankers * top,) documents that may be shown next, followed by documents already shown
    choices: IntVector  # (top,) number of candidates at each position
    highest: IntVector  # (top,) best rank, from 0, that any ranker gives to each shown document; at most `length`
    clicked: MarkVector  # (top,) 1 for clicked positions
    scores: FloatVector  # (rankers,)


def init(size: Size, params: components.NoParams, outcome: str) -> State:
    return State(
        size.top,
        np.zeros(size.longest, np.uint8),
        np.zeros(min(size.rankers * size.top, size.longest), np.int64),
        np.zeros(size.top, np.int64),
        np.zeros(size.top, np.int64),
        np.zeros(size.top, np.uint8),
        np.zeros(size.rankers),
    )


@kernel
def add_candidates(state: State, lists: Lists, column: int, slate: IntVector, size: int, left: int, total: int) -> int:
    for a in range(size):
        document = lists.order[slate[a], column]
        if state.listed[document] == 0:
            state.listed[document] = 1
            state.candidates[total] = state.candidates[left]
            state.candidates[left] = document
            left += 1
            total += 1
    return total


@kernel
def clear_candidates(state: State, total: int) -> None:
    for m in range(total):
        state.listed[state.candidates[m]] = 0


def draw_slate(state: State, lists: Lists, query: int, slate: IntVector, size: int, page: Shown, rng: Generator) -> int:
    start = lists.query_ptr[query]
    length = min(state.top, lists.query_ptr[query + 1] - start)
    total = 0
    for i in range(length):
        total = add_candidates(state, lists, start + i, slate, size, total - i, total)
        left = total - i - 1
        chosen = random_below(left + 1, rng)
        page.shown[i] = state.candidates[chosen]
        page.owner[i] = -1
        state.candidates[chosen] = state.candidates[left]
        state.candidates[left] = page.shown[i]
    clear_candidates(state, total)
    return length


def credit_slate(
    state: State, lists: Lists, query: int, slate: IntVector, size: int, page: Shown, length: int, n_clicks: int,
    won: SignMatrix,
) -> None:  # fmt: skip
    start, total = lists.query_ptr[query], 0
    depth = min(length, page.clicks[n_clicks - 1] + 2)  # down to the position after the last click
    for i in range(depth):
        total = add_candidates(state, lists, start + i, slate, size, total, total)
        state.choices[i] = total - i  # i candidates are already shown
        state.clicked[i] = 0
        highest = length
        for a in range(size):
            highest = min(highest, lists.rank[slate[a], start + page.shown[i]] - 1)
        state.highest[i] = highest
    clear_candidates(state, total)
    for c in range(n_clicks):
        state.clicked[page.clicks[c]] = 1
    for a in range(size):
        state.scores[a] = 0.0
    for c in range(n_clicks):
        for y in range(depth):
            add_preference(state, lists, start, slate, size, page, page.clicks[c], y)
    for a in range(size):
        for b in range(a + 1, size):
            won[a, b] = vector.sign(state.scores[a] - state.scores[b], _EQUAL)


@kernel
def add_preference(
    state: State, lists: Lists, start: int, slate: IntVector, size: int, page: Shown, x: int, y: int
) -> None:
    """Position x is preferred to position y: add the weight to the scores of the rankers that agree."""
    low, high = min(state.highest[x], state.highest[y]), max(state.highest[x], state.highest[y])
    if state.clicked[y] == 1 or min(x, y) < high:
        return
    weight = 1.0
    for i in range(low, high):  # positions at which only one of the two documents could have been drawn
        weight *= state.choices[i] / (state.choices[i] - 1.0)
    preferred, other = start + page.shown[x], start + page.shown[y]
    for a in range(size):
        if lists.rank[slate[a], preferred] < lists.rank[slate[a], other]:
            state.scores[a] += weight


register(
    __name__,
    biased=("credit",),
    shows="a document from the top i + 1 of any ranker, drawn uniformly",
    wins='weighted agreement with "clicked is better than not clicked"',
    cost="O(rankers x top x clicks), plus all pairs of rankers",
    cite="oosterhuis2017sensitive",
)
