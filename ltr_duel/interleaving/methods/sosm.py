"""SOSM (sample-only scored multileaving): every ranker gets credit, even if it contributed no document to the list.

The list is built as in team-draft multileave. For the credit, each ranker puts the shown documents into its own order,
where they have the ranks rho = 1, 2, ... The score of the ranker is the sum of rho^-tau over the clicked documents. The
exponent tau is 3 by default. The higher score wins. Random clicks may favour some rankers (see docs/methods.md).

To find ties exactly, scores are multiplied by a large number and stored as integers. If tau is 3, the integers are
exact for up to 15 shown documents. For longer lists, and for a tau that is not whole, rho^-tau is rounded.

Brost, Cox, Seldin, Lioma. An Improved Multileaving Algorithm for Online Ranker Evaluation. SIGIR 2016.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ltr_duel.core import SMALL_AT_ONCE, IntVector, SignMatrix, SmallIntVector, count_below, kernel
from ltr_duel.interleaving.hooks import Lists, Shown, Size
from ltr_duel.interleaving.methods.team_draft import Draft, new_draft, rank_scores
from ltr_duel.interleaving.methods.team_draft import draw_slate as draw_slate
from ltr_duel.interleaving.registration import register

_LARGEST = 2**62
_BEHIND_ALL = np.iinfo(np.int16).max  # padding: a rank that is worse (larger) than every real rank


class Params(NamedTuple):
    tau: float = 3.0


class State(NamedTuple):
    top: int
    points: IntVector  # (top + 1,) points[rho], proportional to rho^-tau; points[0] unused
    draft: Draft
    room: int  # length of a row of `ranks`: top, rounded up to a multiple of SMALL_AT_ONCE
    ranks: SmallIntVector  # (rankers * room,) scratch: the ranks that each ranker gives to the shown documents
    scores: IntVector  # (rankers,) scratch


def points_by_rank(top: int, tau: float) -> IntVector:
    """Return integers proportional to rho^-tau for rho from 1 to ``top``, and 0 for rho = 0."""
    if tau == int(tau):
        scale = math.lcm(*range(1, top + 1)) ** int(tau)
        if scale * top <= _LARGEST:
            return np.array([0] + [scale // rho ** int(tau) for rho in range(1, top + 1)], dtype=np.int64)
    largest = _LARGEST // top  # a sum of ``top`` scores of this size fits into int64
    return np.array([0] + [round(largest * rho**-tau) for rho in range(1, top + 1)], dtype=np.int64)


def init(size: Size, params: Params, outcome: str) -> State:
    room = -(-size.top // SMALL_AT_ONCE) * SMALL_AT_ONCE
    return State(
        size.top,
        points_by_rank(size.top, params.tau),
        new_draft(size),
        room,
        np.full(size.rankers * room, _BEHIND_ALL, np.int16),
        np.zeros(size.rankers, np.int64),
    )


@kernel
def score_slate(
    state: State, lists: Lists, query: int, slate: IntVector, size: int, page: Shown, length: int, n_clicks: int
) -> None:
    start = lists.query_ptr[query]
    for a in range(size):
        row, ranks = a * state.room, lists.rank[slate[a], start:]
        for k in range(length):
            state.ranks[row + k] = ranks[page.shown[k]]
        for k in range(length, state.top):
            state.ranks[row + k] = _BEHIND_ALL
    for a in range(size):
        row, score = a * state.room, 0
        for c in range(n_clicks):
            rho = 1
            for k in range(0, length, SMALL_AT_ONCE):
                rho += count_below(state.ranks, row + k, state.ranks[row + page.clicks[c]])
            score += state.points[rho]
        state.scores[a] = score


def credit_slate(
    state: State, lists: Lists, query: int, slate: IntVector, size: int, page: Shown, length: int, n_clicks: int,
    won: SignMatrix,
) -> None:  # fmt: skip
    score_slate(state, lists, query, slate, size, page, length, n_clicks)
    rank_scores(state.scores, size, won)


register(
    __name__,
    limits={"tau": (0, 100)},
    shows="the same list as `team_draft`",
    wins="the higher sum of rho^-3 over clicked documents, with rho the rank among the shown documents",
    cost="O(rankers x top), plus all pairs of rankers",
    cite="brost2016sosm",
)
