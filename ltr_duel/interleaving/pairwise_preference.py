"""Pairwise preference multileave: clicks become preferences between documents, weighted so that no place is favoured.

At place i = 0, 1, ... the list shows one of the documents that some ranker has among its top i + 1, drawn uniformly
from those not yet shown. A clicked document is preferred to every unclicked one down to the place after the last
click. Such a preference counts only if both documents could have been drawn at either place, and with the inverse
of the probability of that; each ranker scores the weight of the preferences it agrees with. (The authors divide by
the number that count, the same for all rankers: it changes no winner.)

Oosterhuis, de Rijke. Sensitive and Scalable Online Evaluation with Theoretical Guarantees. CIKM 2017, with the
preference rule of the authors' code. Under random clicks all rankers score the same on average.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ltr_duel.core import FloatVector, IntVector, MarkVector, SignMatrix, implement, kernel, random_below, sign
from ltr_duel.interleaving.method import METHODS, Lists, Method, NoParams, Page, Size, credit_slate, draw_slate

_EQUAL = 1e-12  # closer scores differ by rounding alone


class PairwisePreference(NamedTuple):
    """Constants and scratch of pairwise preference multileave."""

    top: int
    listed: MarkVector  # (longest,) documents that have been candidates; all zero between calls
    candidates: IntVector  # (rankers * top,) documents that may be shown next, and behind them those already shown
    choices: IntVector  # (top,) how many candidates there were at each place
    highest: IntVector  # (top,) smallest 0-based rank that any ranker gives to each shown document, at most `length`
    clicked: MarkVector  # (top,) places that were clicked
    scores: FloatVector  # (rankers,)


def open_preference(size: Size, params: NoParams, outcome: str) -> PairwisePreference:
    """Allocate."""
    return PairwisePreference(
        size.top,
        np.zeros(size.longest, np.uint8),
        np.zeros(min(size.rankers * size.top, size.longest), np.int64),
        np.zeros(size.top, np.int64),
        np.zeros(size.top, np.int64),
        np.zeros(size.top, np.uint8),
        np.zeros(size.rankers),
    )


def _draw(
    method: PairwisePreference,
    lists: Lists,
    query: int,
    slate: IntVector,
    size: int,
    page: Page,
    rng: np.random.Generator,
) -> int:
    start = lists.query_ptr[query]
    length = min(method.top, lists.query_ptr[query + 1] - start)
    left, total = 0, 0  # candidates[:left] may be shown, candidates[left:total] have been
    for i in range(length):
        for a in range(size):
            document = lists.order[slate[a], start + i]
            if method.listed[document] == 0:
                method.listed[document] = 1
                method.candidates[total] = method.candidates[left]
                method.candidates[left] = document
                left += 1
                total += 1
        method.choices[i] = left
        chosen = random_below(left, rng)
        left -= 1
        page.shown[i] = method.candidates[chosen]
        page.owner[i] = -1
        method.candidates[chosen] = method.candidates[left]
        method.candidates[left] = page.shown[i]
    for m in range(total):
        method.listed[method.candidates[m]] = 0
    return length


def _credit(
    method: PairwisePreference,
    lists: Lists,
    query: int,
    slate: IntVector,
    size: int,
    page: Page,
    length: int,
    n_clicks: int,
    won: SignMatrix,
) -> None:
    score_preferences(method, lists, query, slate, size, page, length, n_clicks)
    for a in range(size):
        for b in range(a + 1, size):
            won[a, b] = sign(method.scores[a] - method.scores[b], _EQUAL)


@kernel
def score_preferences(
    method: PairwisePreference,
    lists: Lists,
    query: int,
    slate: IntVector,
    size: int,
    page: Page,
    length: int,
    n_clicks: int,
) -> None:
    """Write the score of each ranker of the slate into ``method.scores``."""
    start = lists.query_ptr[query]
    depth = min(length, page.clicks[n_clicks - 1] + 2)  # down to the place after the last click
    count_choices(method, lists, start, slate, size, page, length, depth)
    for c in range(n_clicks):
        method.clicked[page.clicks[c]] = 1
    for a in range(size):
        method.scores[a] = 0.0
    for c in range(n_clicks):
        x = page.clicks[c]
        for y in range(depth):
            low, high = min(method.highest[x], method.highest[y]), max(method.highest[x], method.highest[y])
            if method.clicked[y] == 1 or min(x, y) < high:
                continue
            weight = 1.0
            for i in range(low, high):  # at each of these places one of the two could have been drawn, and was not
                weight *= method.choices[i] / (method.choices[i] - 1.0)
            preferred, other = start + page.shown[x], start + page.shown[y]
            for a in range(size):
                if lists.rank[slate[a], preferred] < lists.rank[slate[a], other]:
                    method.scores[a] += weight


@kernel
def count_choices(
    method: PairwisePreference,
    lists: Lists,
    start: int,
    slate: IntVector,
    size: int,
    page: Page,
    length: int,
    depth: int,
) -> None:
    """Work out, from the list alone, the number of candidates at each place, and the highest rank of each document."""
    total = 0
    for i in range(depth):
        for a in range(size):
            document = lists.order[slate[a], start + i]
            if method.listed[document] == 0:
                method.listed[document] = 1
                method.candidates[total] = document
                total += 1
        method.choices[i] = total - i  # i of them have been shown
        method.clicked[i] = 0
        highest = length
        for a in range(size):
            highest = min(highest, lists.rank[slate[a], start + page.shown[i]] - 1)
        method.highest[i] = highest
    for m in range(total):
        method.listed[method.candidates[m]] = 0


implement(draw_slate, PairwisePreference, _draw)
implement(credit_slate, PairwisePreference, _credit)
METHODS.add(
    "pairwise_preference",
    Method(
        name="pairwise_preference",
        pairs=False,
        slates=True,
        open=open_preference,
        cost="O(rankers x top x clicks), and all pairs of rankers",
        reference="Oosterhuis, de Rijke, CIKM 2017",
    ),
)
