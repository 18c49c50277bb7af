"""Probabilistic interleave and multileave, credit marginalised exactly over who may have contributed what.

Each ranker becomes a softmax over its documents: rank r has weight r^-tau (tau = 3). For each place of the list one
of the rankers is chosen uniformly, and draws a document from its distribution over those not yet shown. Given the
list, the contributors are independent: place k came from ranker j with probability q_kj = P_kj / sum_i P_ki,
whatever was clicked, for clicks depend on the list alone. So the clicks that a ranker owns are a sum of independent
coins, and its distribution follows from a dynamic programme over the clicked places; for two of many rankers the
programme runs over the difference of their clicks, each click adding +1, -1 or 0.

Hofmann, Whiteson, de Rijke. A Probabilistic Method for Inferring Preferences from Clicks. CIKM 2011; for many
rankers Schuth et al. Probabilistic Multileave for Online Retrieval Evaluation. SIGIR 2015 (with contributors drawn
independently).

Outcome rules for pairs, with P1 (P2) the posterior probability that the first (second) ranker owns more of the
clicks:

- ``marginal_sign``: the first ranker wins if P1 > P2; equal is a tie. The default, and what published baselines used.
- ``sampled``: whoever owns more clicks under the contributors that were really drawn.
- ``marginal_bernoulli``: the first ranker wins with probability P1 + (1 - P1 - P2) / 2: the law of ``sampled``.
- ``expectation``: the number P1 - P2 itself; its mean is that of ``sampled``, with less variance.

``marginal_sign`` and ``sampled`` lead to different preference matrices; never mix them. Sets of rankers use
``marginal_sign`` for each pair.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.core import (
    FloatCube,
    FloatMatrix,
    FloatVector,
    IntMatrix,
    IntVector,
    MarkVector,
    SignMatrix,
    kernel,
    sign,
)
from ltr_duel.interleaving.method import Lists, Shown, Size
from ltr_duel.interleaving.registration import register

OUTCOMES = ("marginal_sign", "sampled", "marginal_bernoulli", "expectation")
_TOGETHER = 16  # from so many rankers on vectors are worth their overhead
_EQUAL = 1e-12  # closer posteriors are a tie: they differ by rounding alone


class Params(NamedTuple):
    """Parameters of probabilistic interleave."""

    tau: float = 3.0  # decay of the softmax over ranks


class State(NamedTuple):
    """Constants and scratch."""

    top: int
    rule: int  # index into OUTCOMES
    weight: FloatVector  # (longest + 2,) weight[r] = r^-tau; weight[0] unused
    tail: FloatVector  # (longest + 2,) tail[r] = weight[r] + weight[r + 1] + ...
    used: MarkVector  # (longest,) scratch: documents already shown; all zero between calls
    free: IntVector  # (rankers,) scratch: the first rank of each place of the slate that is not shown
    ranks: IntMatrix  # (top, rankers) scratch: ranks of the shown documents
    source: FloatMatrix  # (top, rankers) scratch: Pr(the ranker contributed click c)
    owned: FloatVector  # (2 top + 3,) scratch: distribution of clicks owned, or of their difference
    apart: FloatCube  # (2, 2 top + 3, rankers) scratch: that of many rankers, before and after a click
    lead: FloatVector  # (rankers,) scratch: Pr(one ranker owns more clicks than this one) - Pr(it owns fewer)
    pair: IntVector  # (2,) scratch: the pair as a slate
    kept: FloatVector  # (1,) the coin of `marginal_bernoulli`, drawn with the list; (0,) for other rules


Probabilistic = State  # by this name other floors know it


def init(size: Size, params: Params, outcome: str) -> State:
    """Allocate."""
    weight = np.zeros(size.longest + 2)
    weight[1:-1] = np.arange(1.0, size.longest + 1) ** -params.tau
    return State(
        size.top,
        OUTCOMES.index(outcome),
        weight,
        np.cumsum(weight[::-1])[::-1].copy(),
        np.zeros(size.longest, np.uint8),
        np.zeros(size.rankers, np.int64),
        np.zeros((size.top, size.rankers), np.int64),
        np.zeros((size.top, size.rankers)),
        np.zeros(2 * size.top + 3),
        np.zeros((2, 2 * size.top + 3, size.rankers)),
        np.zeros(size.rankers),
        np.zeros(2, np.int64),
        np.zeros(int(outcome == "marginal_bernoulli")),
    )


@kernel
def first_free(state: State, lists: Lists, ranker: int, start: int, place: int) -> int:
    """Bring the first rank of a ranker whose document is not shown up to date."""
    free = state.free[place]
    while state.used[lists.order[ranker, start + free - 1]] == 1:
        free += 1
    state.free[place] = free
    return free


@kernel
def draw_document(
    state: State, lists: Lists, ranker: int, place: int, start: int, documents: int, u: float, rng: Generator
) -> int:
    """Draw a document that is not shown yet from a ranker's softmax, with ``u`` in [0, 1) for the first try.

    Draws from all ranks from the first free one on; a document already shown is drawn again. The first free rank is
    never one of those, so at least ``weight[free] / tail[free]``, for tau = 3 about ``2 / free``, of the draws succeed.
    """
    free = first_free(state, lists, ranker, start, place)
    end = state.tail[documents + 1]
    while True:
        level = state.tail[free] - u * (state.tail[free] - end)
        r = free
        while r < documents and state.tail[r + 1] >= level:
            r += 1
        chosen = lists.order[ranker, start + r - 1]
        if state.used[chosen] == 0:
            return chosen
        u = rng.random()


@kernel
def draw_list(state: State, lists: Lists, query: int, slate: IntVector, size: int, page: Shown, rng: Generator) -> int:
    """Fill the page place by place, and return its length."""
    start = lists.query_ptr[query]
    documents = lists.query_ptr[query + 1] - start
    length = min(state.top, documents)
    for a in range(size):
        state.free[a] = 1
    for k in range(length):
        u = size * rng.random()  # one draw for the contributor and the document
        place = int(u)
        u -= place
        chosen = draw_document(state, lists, slate[place], place, start, documents, u, rng)
        page.shown[k] = chosen
        page.owner[k] = place
        state.used[chosen] = 1
    for k in range(length):
        state.used[page.shown[k]] = 0
    return length


def draw_slate(state: State, lists: Lists, query: int, slate: IntVector, size: int, page: Shown, rng: Generator) -> int:
    """Multileave all."""
    return draw_list(state, lists, query, slate, size, page, rng)


def draw_pair(state: State, lists: Lists, query: int, first: int, second: int, page: Shown, rng: Generator) -> int:
    """Multileave the slate of two."""
    state.pair[0] = first
    state.pair[1] = second
    if state.rule == 2:  # marginal_bernoulli
        state.kept[0] = rng.random()
    return draw_list(state, lists, query, state.pair, 2, page, rng)


@kernel
def trace_clicks(
    state: State, lists: Lists, query: int, slate: IntVector, size: int, page: Shown, n_clicks: int
) -> None:
    """Write Pr(ranker a contributed click c | list) into ``state.source[c, a]``.

    The weight left to a ranker is that of all ranks from its first free one on, less what was shown beyond: nothing
    cancels, however steep the weights.
    """
    start = lists.query_ptr[query]
    end = state.tail[lists.query_ptr[query + 1] - start + 1]
    for a in range(size):
        state.free[a] = 1
    clicked = 0
    depth = page.clicks[n_clicks - 1] + 1
    for k in range(depth):
        document = page.shown[k]
        for a in range(size):
            state.ranks[k, a] = lists.rank[slate[a], start + document]
        if k == page.clicks[clicked]:
            total = 0.0
            for a in range(size):
                free = first_free(state, lists, slate[a], start, a)
                mass = state.tail[free] - end
                for m in range(k):
                    if state.ranks[m, a] > free:
                        mass -= state.weight[state.ranks[m, a]]
                state.source[clicked, a] = state.weight[state.ranks[k, a]] / mass
                total += state.source[clicked, a]
            for a in range(size):
                state.source[clicked, a] /= total
            clicked += 1
        state.used[document] = 1
    for k in range(depth):
        state.used[page.shown[k]] = 0


@kernel
def owned_lead(page: Shown, n_clicks: int) -> int:
    """Return +1 if the first of two rankers owns more clicks, -1 if fewer, else 0."""
    balance = 0
    for c in range(n_clicks):
        balance += 1 - 2 * page.owner[page.clicks[c]]
    return sign(balance, 0)


@kernel
def lead_of_two(state: State, n_clicks: int) -> float:
    """Pr(first ranker owns more clicks) - Pr(second does), where nobody else owns any."""
    state.owned[0] = 1.0
    for c in range(n_clicks):
        q = state.source[c, 0]
        state.owned[c + 1] = 0.0
        for m in range(c + 1, 0, -1):
            state.owned[m] = state.owned[m] * (1.0 - q) + state.owned[m - 1] * q
        state.owned[0] *= 1.0 - q
    lead = 0.0
    for m in range(n_clicks + 1):
        lead += sign(2 * m - n_clicks, 0) * state.owned[m]
    return lead


@kernel
def lead_among_many(state: State, a: int, b: int, n_clicks: int) -> float:
    """Pr(ranker a owns more clicks than ranker b) - Pr(it owns fewer), where others may own some."""
    middle = n_clicks + 1  # owned[middle + d] = Pr(difference d)
    state.owned[middle] = 1.0
    for c in range(n_clicks):
        up, down = state.source[c, a], state.source[c, b]
        stay = 1.0 - up - down
        state.owned[middle - c - 1] = 0.0
        state.owned[middle + c + 1] = 0.0
        state.owned[middle + c + 2] = 0.0
        left = 0.0  # the value that was at m - 1
        for m in range(middle - c - 1, middle + c + 2):
            here = state.owned[m]
            state.owned[m] = left * up + here * stay + state.owned[m + 1] * down
            left = here
    lead = 0.0
    for d in range(1, n_clicks + 1):
        lead += state.owned[middle + d] - state.owned[middle - d]
    return lead


@kernel
def add_click(
    more: FloatVector, same: FloatVector, less: FloatVector, up: float, down: FloatVector, after: FloatVector
) -> None:
    """Write Pr(difference d after a click) for each of some rankers, from those of d + 1, d and d - 1 before it.

    Parameters
    ----------
    more, same, less : ndarray of float64, shape (n,)
    up : float
        Pr(the ranker that all are compared with contributed the click).
    down : ndarray of float64, shape (n,)
        Pr(this ranker did).
    after : ndarray of float64, shape (n,)
    """
    for b in range(after.shape[0]):
        after[b] = less[b] * up + same[b] * (1.0 - up - down[b]) + more[b] * down[b]


@kernel
def leads_over(state: State, a: int, size: int, n_clicks: int) -> None:
    """Write Pr(ranker a owns more clicks than b) - Pr(it owns fewer) into ``state.lead[b]``, for all b > a.

    Others may own some. All b are taken at once, difference by difference: a vector each.
    """
    middle, low = n_clicks + 1, a + 1  # apart[c % 2, middle + d, b] = Pr(difference d) after c clicks
    apart = state.apart
    apart[0, middle, low:size] = 1.0
    for c in range(n_clicks):
        now, then, down = c % 2, (c + 1) % 2, state.source[c, low:size]
        for edge in (-c - 2, -c - 1, c + 1, c + 2):
            apart[now, middle + edge, low:size] = 0.0
        for m in range(middle - c - 1, middle + c + 2):
            more, same, less = apart[now, m + 1, low:size], apart[now, m, low:size], apart[now, m - 1, low:size]
            add_click(more, same, less, state.source[c, a], down, apart[then, m, low:size])
    state.lead[low:size] = 0.0
    for d in range(1, n_clicks + 1):
        now = n_clicks % 2
        add_difference(state.lead[low:size], apart[now, middle + d, low:size], apart[now, middle - d, low:size])


@kernel
def add_difference(total: FloatVector, plus: FloatVector, minus: FloatVector) -> None:
    """Add ``plus - minus`` to a vector."""
    for b in range(total.shape[0]):
        total[b] += plus[b] - minus[b]


def credit_pair(
    state: State, lists: Lists, query: int, first: int, second: int, page: Shown, length: int, n_clicks: int
) -> float:
    """Apply the outcome rule to the clicks owned."""
    if state.rule == 1:  # sampled
        outcome = float(owned_lead(page, n_clicks))
    else:
        state.pair[0] = first
        state.pair[1] = second
        trace_clicks(state, lists, query, state.pair, 2, page, n_clicks)
        outcome = lead_of_two(state, n_clicks)
        if state.rule == 0:  # marginal_sign
            outcome = float(sign(outcome, _EQUAL))
        elif state.rule == 2:  # marginal_bernoulli: P1 + (1 - P1 - P2) / 2 = (1 + lead) / 2
            outcome = float(sign(1.0 + outcome - 2.0 * state.kept[0], 0.0))
    return outcome


def credit_slate(
    state: State,
    lists: Lists,
    query: int,
    slate: IntVector,
    size: int,
    page: Shown,
    length: int,
    n_clicks: int,
    won: SignMatrix,
) -> None:
    """Compare the clicks owned by each pair of rankers."""
    trace_clicks(state, lists, query, slate, size, page, n_clicks)
    for a in range(size - 1):
        if size - a > _TOGETHER:
            leads_over(state, a, size, n_clicks)
        else:
            for b in range(a + 1, size):
                state.lead[b] = lead_among_many(state, a, b, n_clicks)
        for b in range(a + 1, size):
            won[a, b] = sign(state.lead[b], _EQUAL)


register(
    __name__,
    limits={"tau": (0, 100)},
    outcomes=OUTCOMES,
    shows="a random ranker draws from its softmax over ranks, place by place",
    wins="more clicks owned, marginalised exactly over who may have contributed",
    cost="O(top + clicks x top); sets: O(rankers x clicks x top), and clicks^2 for each pair",
    cite="hofmann2011probabilistic,schuth2015probabilistic",
)
