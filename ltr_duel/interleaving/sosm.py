"""SOSM: sample-only scored multileaving.

The list is built as in team-draft multileave; then the teams are forgotten. Each ranker re-ranks the shown
documents alone (rho = 1..length), and scores the sum of rho^-tau over the clicked ones (tau = 3). The higher score
wins; equal scores tie. So all rankers are scored by one impression, also those that contributed nothing.

Brost, Cox, Seldin, Lioma. An Improved Multileaving Algorithm for Online Ranker Evaluation. SIGIR 2016 (arXiv
1608.00788). The list: Schuth, Sietsma, Whiteson, Lefortier, de Rijke. Multileaved Comparisons for Fast Online
Evaluation. CIKM 2014.

Scores are integers, so that equal scores are equal: rho^-3 is multiplied by lcm(1..top)^3, which is exact up to top
= 10; longer lists use the largest power of two that cannot overflow.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ltr_duel.core.arrays import IntVector, MarkVector, SignMatrix
from ltr_duel.core.jit import implement, kernel
from ltr_duel.core.random import random_below
from ltr_duel.core.vector import sign
from ltr_duel.interleaving.comparison import METHODS, Lists, Method, Page, credit_slate, draw_slate

TAU = 3
_LARGEST_SUM = 2**62


class Sosm(NamedTuple):
    """Constants and scratch of SOSM."""

    top: int
    points: IntVector  # (top + 1,) points[rho], proportional to rho^-tau; points[0] unused
    used: MarkVector  # (longest,) scratch: documents already shown; all zero between calls
    turns: IntVector  # (K,) scratch: places of the slate in the order in which they contribute
    reached: IntVector  # (K,) scratch: how far down its list each place has looked
    scores: IntVector  # (K,) scratch


def points_by_rank(top: int) -> IntVector:
    """Return integers proportional to rho^-3 for rho = 1..top; shape (top + 1,), the first unused."""
    scale = math.lcm(*range(1, top + 1)) ** TAU
    if scale * 2 > _LARGEST_SUM:  # the sum of all rho^-3 is below 1.21
        scale = _LARGEST_SUM // 2
    return np.array(
        [0] + [round(scale / rho**TAU) if scale % rho**TAU else scale // rho**TAU for rho in range(1, top + 1)],
        dtype=np.int64,
    )


def open_sosm(top: int, longest: int, n_rankers: int, outcome: str) -> Sosm:
    """Allocate for lists of ``top`` from queries of up to ``longest`` documents, and slates of all rankers."""
    return Sosm(
        top,
        points_by_rank(top),
        np.zeros(longest, np.uint8),
        np.zeros(n_rankers, np.int64),
        np.zeros(n_rankers, np.int64),
        np.zeros(n_rankers, np.int64),
    )


def _draw(
    method: Sosm, lists: Lists, query: int, slate: IntVector, size: int, page: Page, rng: np.random.Generator
) -> int:
    start = lists.query_ptr[query]
    length = min(method.top, lists.query_ptr[query + 1] - start)
    k = common_prefix(lists, start, slate, size, page, length)
    for m in range(k):
        method.used[page.shown[m]] = 1
    for a in range(size):
        method.turns[a] = a
        method.reached[a] = k
    turn = 0
    while k < length:
        other = turn + random_below(size - turn, rng)  # one step of a shuffle: only the turns needed are drawn
        place = method.turns[other]
        method.turns[other] = method.turns[turn]
        method.turns[turn] = place
        turn = (turn + 1) % size
        document = lists.order[slate[place], start + method.reached[place]]
        while method.used[document] == 1:
            method.reached[place] += 1
            document = lists.order[slate[place], start + method.reached[place]]
        method.used[document] = 1
        page.shown[k] = document
        page.owner[k] = place
        k += 1
    for m in range(length):
        method.used[page.shown[m]] = 0
    return length


@kernel
def common_prefix(lists: Lists, start: int, slate: IntVector, size: int, page: Page, length: int) -> int:
    """Show, for nobody's credit, the documents that all rankers agree on from the top; return how many."""
    for k in range(length):
        document = lists.order[slate[0], start + k]
        for a in range(1, size):
            if lists.order[slate[a], start + k] != document:
                return k
        page.shown[k] = document
        page.owner[k] = -1
    return length


def _credit(
    method: Sosm,
    lists: Lists,
    query: int,
    slate: IntVector,
    size: int,
    page: Page,
    length: int,
    n_clicks: int,
    won: SignMatrix,
) -> None:
    start = lists.query_ptr[query]
    for a in range(size):
        score = 0
        for c in range(n_clicks):
            clicked = lists.rank[slate[a], start + page.shown[page.clicks[c]]]
            rho = 1
            for k in range(length):
                rho += lists.rank[slate[a], start + page.shown[k]] < clicked
            score += method.points[rho]
        method.scores[a] = score
    for a in range(size):
        for b in range(a + 1, size):
            won[a, b] = sign(method.scores[a] - method.scores[b], 0)


implement(draw_slate, Sosm, _draw)
implement(credit_slate, Sosm, _credit)
METHODS.add(
    "sosm",
    Method(
        name="sosm",
        pairs=False,
        slates=True,
        outcomes=("score",),
        open=open_sosm,
        kind=Sosm,
        reference="Brost, Cox, Seldin, Lioma, SIGIR 2016",
    ),
)
