"""SOSM: sample-only scored multileaving.

The list is built as in team-draft multileave; then the teams are forgotten. Each ranker re-ranks the shown documents
alone (rho = 1..length), and scores the sum of rho^-tau over the clicked ones (tau = 3). The higher score wins;
equal scores tie. So all rankers are scored by one impression, also those that contributed nothing.

Brost, Cox, Seldin, Lioma. An Improved Multileaving Algorithm for Online Ranker Evaluation. SIGIR 2016
(arXiv 1608.00788). Not fair under random clicks in general: see docs/methods.md.

Scores are integers, so that equal scores are equal: rho^-3 is multiplied by lcm(1..top)^3, which is exact up to top
= 10; longer lists, and exponents that are no whole number, use the largest power of two that cannot overflow.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ltr_duel.core import IntVector, SignMatrix, implement, kernel
from ltr_duel.interleaving.method import METHODS, Lists, Method, Page, Size, credit_slate, draw_slate
from ltr_duel.interleaving.team_draft import Draft, draft_list, new_draft, rank_scores

_LARGEST = 2**62


class Params(NamedTuple):
    """Parameters of SOSM."""

    tau: float = 3.0


class Sosm(NamedTuple):
    """Constants and scratch of SOSM."""

    top: int
    points: IntVector  # (top + 1,) points[rho], proportional to rho^-tau; points[0] unused
    draft: Draft
    ranks: IntVector  # (top,) scratch: ranks that one ranker gives to the shown documents
    scores: IntVector  # (rankers,) scratch


def points_by_rank(top: int, tau: float) -> IntVector:
    """Return integers proportional to rho^-tau for rho = 1..top; shape (top + 1,), the first unused."""
    if tau == int(tau):
        scale = math.lcm(*range(1, top + 1)) ** int(tau)
        if scale * top <= _LARGEST:
            return np.array([0] + [scale // rho ** int(tau) for rho in range(1, top + 1)], dtype=np.int64)
    largest = _LARGEST // top  # top scores of this size still fit
    return np.array([0] + [round(largest * rho**-tau) for rho in range(1, top + 1)], dtype=np.int64)


def open_sosm(size: Size, params: Params, outcome: str) -> Sosm:
    """Allocate."""
    return Sosm(
        size.top,
        points_by_rank(size.top, params.tau),
        new_draft(size),
        np.zeros(size.top, np.int64),
        np.zeros(size.rankers, np.int64),
    )


def _draw(
    method: Sosm, lists: Lists, query: int, slate: IntVector, size: int, page: Page, rng: np.random.Generator
) -> int:
    return draft_list(method.draft, method.top, 0, lists, query, slate, size, page, rng)


@kernel
def score_slate(
    method: Sosm, lists: Lists, query: int, slate: IntVector, size: int, page: Page, length: int, n_clicks: int
) -> None:
    """Write the score of each ranker of the slate into ``method.scores``."""
    start = lists.query_ptr[query]
    for a in range(size):
        for k in range(length):
            method.ranks[k] = lists.rank[slate[a], start + page.shown[k]]
        score = 0
        for c in range(n_clicks):
            clicked = method.ranks[page.clicks[c]]
            rho = 1
            for k in range(length):
                rho += method.ranks[k] < clicked
            score += method.points[rho]
        method.scores[a] = score


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
    score_slate(method, lists, query, slate, size, page, length, n_clicks)
    rank_scores(method.scores, size, won)


implement(draw_slate, Sosm, _draw)
implement(credit_slate, Sosm, _credit)
METHODS.add(
    "sosm",
    Method(
        name="sosm",
        pairs=False,
        slates=True,
        open=open_sosm,
        params=Params,
        limits={"tau": (0, 100)},
        cost="O(rankers x top), and all pairs of rankers",
        reference="Brost, Cox, Seldin, Lioma, SIGIR 2016",
    ),
)
