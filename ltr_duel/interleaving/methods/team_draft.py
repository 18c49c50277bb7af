"""Team draft: rankers take turns to add their best document that is not yet shown, in a new random order each round.

The ranker that added a document owns the clicks on this document. The ranker that owns more clicks wins. The method is
fair under random clicks, because each ranker is equally likely to own the document at a position. If there are many
more rankers than positions, most rankers own no document.

If all rankings begin with the same documents, these documents are shown first and have no owner, as in the public
implementations. With ``prefix_credit=1``, rankers also take turns for these documents, as in the original paper.

Radlinski, Kurup, Joachims. How Does Clickthrough Data Reflect Retrieval Quality? CIKM 2008. For many rankers: Schuth,
Sietsma, Whiteson, Lefortier, de Rijke. Multileaved Comparisons for Fast Online Evaluation. CIKM 2014.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.core import IntVector, MarkVector, SignMatrix, SignVector, kernel, random_below, vector
from ltr_duel.interleaving.hooks import Lists, Shown, Size
from ltr_duel.interleaving.registration import register


class Params(NamedTuple):
    prefix_credit: int = 0  # 1: rankers take turns for the documents of the common prefix, too


class Draft(NamedTuple):
    top: int
    prefix_credit: int
    used: MarkVector  # (longest,) 1 for documents already shown; all zero between calls
    turns: IntVector  # (rankers,) positions of rankers in the slate, in the order of their turns
    reached: IntVector  # (rankers,) for each ranker, a position in its order; all documents above it are shown


class State(NamedTuple):
    draft: Draft
    pair: IntVector  # (2,) the two rankers of a pair, as a slate
    scores: IntVector  # (rankers,) number of clicks that each ranker owns


def new_draft(size: Size, prefix_credit: int = 0) -> Draft:
    turns, reached = np.zeros((2, size.rankers), np.int64)
    return Draft(size.top, prefix_credit, np.zeros(size.longest, np.uint8), turns, reached)


def init(size: Size, params: Params, outcome: str) -> State:
    return State(new_draft(size, params.prefix_credit), np.zeros(2, np.int64), np.zeros(size.rankers, np.int64))


@kernel
def draft_list(draft: Draft, lists: Lists, query: int, slate: IntVector, size: int, page: Shown, rng: Generator) -> int:
    start = lists.query_ptr[query]
    length = min(draft.top, lists.query_ptr[query + 1] - start)
    k = 0
    if draft.prefix_credit == 0:
        k = common_prefix(lists, start, slate, size, page, length)
    for m in range(k):
        draft.used[page.shown[m]] = 1
    for a in range(size):
        draft.turns[a] = a
        draft.reached[a] = k
    turn = 0
    while k < length:
        other = turn + random_below(size - turn, rng)  # one step of a shuffle, because the list may end in this round
        place = draft.turns[other]
        draft.turns[other] = draft.turns[turn]
        draft.turns[turn] = place
        turn += 1
        if turn == size:
            turn = 0
        reached = draft.reached[place]
        document = lists.order[slate[place], start + reached]
        while draft.used[document] == 1:
            reached += 1
            document = lists.order[slate[place], start + reached]
        draft.reached[place] = reached
        draft.used[document] = 1
        page.shown[k] = document
        page.owner[k] = place
        k += 1
    for m in range(length):
        draft.used[page.shown[m]] = 0
    return length


@kernel
def common_prefix(lists: Lists, start: int, slate: IntVector, size: int, page: Shown, length: int) -> int:
    """Fill the page with the common prefix of all rankers, without owners, and return its length."""
    for k in range(length):
        document = lists.order[slate[0], start + k]
        for a in range(1, size):
            if lists.order[slate[a], start + k] != document:
                return k
        page.shown[k] = document
        page.owner[k] = -1
    return length


def draw_pair(state: State, lists: Lists, query: int, first: int, second: int, page: Shown, rng: Generator) -> int:
    state.pair[0] = first
    state.pair[1] = second
    return draft_list(state.draft, lists, query, state.pair, 2, page, rng)


def draw_slate(state: State, lists: Lists, query: int, slate: IntVector, size: int, page: Shown, rng: Generator) -> int:
    return draft_list(state.draft, lists, query, slate, size, page, rng)


def credit_pair(
    state: State, lists: Lists, query: int, first: int, second: int, page: Shown, length: int, n_clicks: int
) -> float:
    return owned_lead(page, n_clicks)


@kernel
def owned_lead(page: Shown, n_clicks: int) -> float:
    """Return +1 if the first of two rankers owns more clicks, -1 if it owns fewer, else 0."""
    balance = 0
    for c in range(n_clicks):
        owner = page.owner[page.clicks[c]]
        balance += int(owner == 0) - int(owner == 1)
    return float(vector.sign(balance, 0))


def credit_slate(
    state: State, lists: Lists, query: int, slate: IntVector, size: int, page: Shown, length: int, n_clicks: int,
    won: SignMatrix,
) -> None:  # fmt: skip
    compare_owned(state.scores, size, page, n_clicks, won)


@kernel
def compare_owned(scores: IntVector, size: int, page: Shown, n_clicks: int, won: SignMatrix) -> None:
    for a in range(size):
        scores[a] = 0
    for c in range(n_clicks):
        if page.owner[page.clicks[c]] >= 0:
            scores[page.owner[page.clicks[c]]] += 1
    rank_scores(scores, size, won)


@kernel
def rank_scores(scores: IntVector, size: int, won: SignMatrix) -> None:
    """Compare all scores of a slate: the higher score wins, and equal scores tie."""
    for a in range(size - 1):
        compare_scores(scores[a], scores[a + 1 : size], won[a, a + 1 : size])


@kernel
def compare_scores(score: int, scores: IntVector, won: SignVector) -> None:
    for b in range(won.shape[0]):  # in a function of its own, so that the loop compiles to vector instructions
        won[b] = int(score > scores[b]) - int(score < scores[b])


register(
    __name__,
    limits={"prefix_credit": (0, 1)},
    shows="rankers take turns, in a new random order each round",
    wins="more clicks on contributed documents",
    cost="O(top)",
    cite="radlinski2008teamdraft,schuth2014multileaved",
)
