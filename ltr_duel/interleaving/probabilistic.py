"""Probabilistic interleave and multileave, credit marginalised exactly over who may have contributed what.

Each ranker becomes a softmax over its documents: rank r has weight r^-tau (tau = 3). For each place of the list one
of the rankers is chosen uniformly, and draws a document from its distribution over those not yet shown. Given the
list, the contributors are independent: place k came from ranker j with probability q_kj = P_kj / sum_i P_ki,
whatever was clicked, for clicks depend on the list alone. So the clicks that a ranker owns are a sum of independent
coins, and its distribution follows from a dynamic programme over the clicked places; for two of many rankers the
programme runs over the difference of their clicks, each click adding +1, -1 or 0.

Hofmann, Whiteson, de Rijke. A Probabilistic Method for Inferring Preferences from Clicks. CIKM 2011; for many rankers
Schuth et al. Probabilistic Multileave for Online Retrieval Evaluation. SIGIR 2015 (with contributors drawn
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

from ltr_duel.core import (
    FloatMatrix,
    FloatVector,
    IntMatrix,
    IntVector,
    MarkVector,
    SignMatrix,
    implement,
    kernel,
    sign,
)
from ltr_duel.interleaving.method import (
    METHODS,
    Lists,
    Method,
    Page,
    Size,
    credit_pair,
    credit_slate,
    draw_pair,
    draw_slate,
)

OUTCOMES = ("marginal_sign", "sampled", "marginal_bernoulli", "expectation")
_EQUAL = 1e-12  # closer posteriors are a tie: they differ by rounding alone


class Params(NamedTuple):
    """Parameters of probabilistic interleave."""

    tau: float = 3.0  # decay of the softmax over ranks


class Probabilistic(NamedTuple):
    """Constants and scratch of probabilistic interleave and multileave."""

    top: int
    rule: int  # index into OUTCOMES
    weight: FloatVector  # (longest + 2,) weight[r] = r^-tau; weight[0] unused
    tail: FloatVector  # (longest + 2,) tail[r] = weight[r] + weight[r + 1] + ...
    used: MarkVector  # (longest,) scratch: documents already shown; all zero between calls
    free: IntVector  # (rankers,) scratch: the first rank of each place of the slate that is not shown
    ranks: IntMatrix  # (rankers, top) scratch: ranks of the shown documents
    source: FloatMatrix  # (rankers, top) scratch: Pr(the ranker contributed click c)
    owned: FloatVector  # (2 top + 3,) scratch: distribution of clicks owned, or of their difference
    pair: IntVector  # (2,) scratch: the pair as a slate
    luck: FloatVector  # (1,) scratch: the coin of `marginal_bernoulli`


def open_probabilistic(size: Size, params: Params, outcome: str) -> Probabilistic:
    """Allocate."""
    weight = np.zeros(size.longest + 2)
    weight[1:-1] = np.arange(1.0, size.longest + 1) ** -params.tau
    return Probabilistic(
        size.top,
        OUTCOMES.index(outcome),
        weight,
        np.cumsum(weight[::-1])[::-1].copy(),
        np.zeros(size.longest, np.uint8),
        np.zeros(size.rankers, np.int64),
        np.zeros((size.rankers, size.top), np.int64),
        np.zeros((size.rankers, size.top)),
        np.zeros(2 * size.top + 3),
        np.zeros(2, np.int64),
        np.zeros(1),
    )


@kernel
def first_free(method: Probabilistic, lists: Lists, ranker: int, start: int, place: int) -> int:
    """Bring the first rank of a ranker whose document is not shown up to date."""
    free = method.free[place]
    while method.used[lists.order[ranker, start + free - 1]] == 1:
        free += 1
    method.free[place] = free
    return free


@kernel
def draw_document(
    method: Probabilistic,
    lists: Lists,
    ranker: int,
    place: int,
    start: int,
    documents: int,
    u: float,
    rng: np.random.Generator,
) -> int:
    """Draw a document that is not shown yet from a ranker's softmax, with ``u`` in [0, 1) for the first try.

    Draws from all ranks from the first free one on; a document already shown is drawn again. The first free rank is
    never one of those, so at least ``weight[free] / tail[free]``, for tau = 3 about ``2 / free``, of the draws succeed.
    """
    free = first_free(method, lists, ranker, start, place)
    end = method.tail[documents + 1]
    while True:
        level = method.tail[free] - u * (method.tail[free] - end)
        r = free
        while r < documents and method.tail[r + 1] >= level:
            r += 1
        chosen = lists.order[ranker, start + r - 1]
        if method.used[chosen] == 0:
            return chosen
        u = rng.random()


def _draw_slate(
    method: Probabilistic, lists: Lists, query: int, slate: IntVector, size: int, page: Page, rng: np.random.Generator
) -> int:
    start = lists.query_ptr[query]
    documents = lists.query_ptr[query + 1] - start
    length = min(method.top, documents)
    for a in range(size):
        method.free[a] = 1
    for k in range(length):
        u = size * rng.random()  # one draw for the contributor and the document
        place = int(u)
        u -= place
        chosen = draw_document(method, lists, slate[place], place, start, documents, u, rng)
        page.shown[k] = chosen
        page.owner[k] = place
        method.used[chosen] = 1
    for k in range(length):
        method.used[page.shown[k]] = 0
    return length


def _draw_pair(
    method: Probabilistic, lists: Lists, query: int, first: int, second: int, page: Page, rng: np.random.Generator
) -> int:
    method.pair[0] = first
    method.pair[1] = second
    if method.rule == 2:  # marginal_bernoulli
        method.luck[0] = rng.random()
    return draw_slate(method, lists, query, method.pair, 2, page, rng)


@kernel
def trace_clicks(
    method: Probabilistic, lists: Lists, query: int, slate: IntVector, size: int, page: Page, n_clicks: int
) -> None:
    """Write Pr(ranker a contributed click c | list) into ``method.source[a, c]``.

    The weight left to a ranker is that of all ranks from its first free one on, less what was shown beyond: nothing
    cancels, however steep the weights.
    """
    start = lists.query_ptr[query]
    end = method.tail[lists.query_ptr[query + 1] - start + 1]
    for a in range(size):
        method.free[a] = 1
    clicked = 0
    depth = page.clicks[n_clicks - 1] + 1
    for k in range(depth):
        document = page.shown[k]
        for a in range(size):
            method.ranks[a, k] = lists.rank[slate[a], start + document]
        if k == page.clicks[clicked]:
            total = 0.0
            for a in range(size):
                free = first_free(method, lists, slate[a], start, a)
                mass = method.tail[free] - end
                for m in range(k):
                    if method.ranks[a, m] > free:
                        mass -= method.weight[method.ranks[a, m]]
                method.source[a, clicked] = method.weight[method.ranks[a, k]] / mass
                total += method.source[a, clicked]
            for a in range(size):
                method.source[a, clicked] /= total
            clicked += 1
        method.used[document] = 1
    for k in range(depth):
        method.used[page.shown[k]] = 0


@kernel
def owned_lead(page: Page, n_clicks: int) -> int:
    """Return +1 if the first of two rankers owns more clicks, -1 if fewer, else 0."""
    balance = 0
    for c in range(n_clicks):
        balance += 1 - 2 * page.owner[page.clicks[c]]
    return sign(balance, 0)


@kernel
def lead_of_two(method: Probabilistic, n_clicks: int) -> float:
    """Pr(first ranker owns more clicks) - Pr(second does), where nobody else owns any."""
    method.owned[0] = 1.0
    for c in range(n_clicks):
        q = method.source[0, c]
        method.owned[c + 1] = 0.0
        for m in range(c + 1, 0, -1):
            method.owned[m] = method.owned[m] * (1.0 - q) + method.owned[m - 1] * q
        method.owned[0] *= 1.0 - q
    lead = 0.0
    for m in range(n_clicks + 1):
        lead += sign(2 * m - n_clicks, 0) * method.owned[m]
    return lead


@kernel
def lead_among_many(method: Probabilistic, a: int, b: int, n_clicks: int) -> float:
    """Pr(ranker a owns more clicks than ranker b) - Pr(it owns fewer), where others may own some."""
    middle = n_clicks + 1  # owned[middle + d] = Pr(difference d)
    method.owned[middle] = 1.0
    for c in range(n_clicks):
        up, down = method.source[a, c], method.source[b, c]
        stay = 1.0 - up - down
        method.owned[middle - c - 1] = 0.0
        method.owned[middle + c + 1] = 0.0
        method.owned[middle + c + 2] = 0.0
        left = 0.0  # the value that was at m - 1
        for m in range(middle - c - 1, middle + c + 2):
            here = method.owned[m]
            method.owned[m] = left * up + here * stay + method.owned[m + 1] * down
            left = here
    lead = 0.0
    for d in range(1, n_clicks + 1):
        lead += method.owned[middle + d] - method.owned[middle - d]
    return lead


def _credit_pair(
    method: Probabilistic, lists: Lists, query: int, first: int, second: int, page: Page, length: int, n_clicks: int
) -> float:
    if method.rule == 1:  # sampled
        outcome = float(owned_lead(page, n_clicks))
    else:
        method.pair[0] = first
        method.pair[1] = second
        trace_clicks(method, lists, query, method.pair, 2, page, n_clicks)
        outcome = lead_of_two(method, n_clicks)
        if method.rule == 0:  # marginal_sign
            outcome = float(sign(outcome, _EQUAL))
        elif method.rule == 2:  # marginal_bernoulli: P1 + (1 - P1 - P2) / 2 = (1 + lead) / 2
            outcome = float(sign(1.0 + outcome - 2.0 * method.luck[0], 0.0))
    return outcome


def _credit_slate(
    method: Probabilistic,
    lists: Lists,
    query: int,
    slate: IntVector,
    size: int,
    page: Page,
    length: int,
    n_clicks: int,
    won: SignMatrix,
) -> None:
    trace_clicks(method, lists, query, slate, size, page, n_clicks)
    for a in range(size):
        for b in range(a + 1, size):
            won[a, b] = sign(lead_among_many(method, a, b, n_clicks), _EQUAL)


implement(draw_pair, Probabilistic, _draw_pair)
implement(credit_pair, Probabilistic, _credit_pair)
implement(draw_slate, Probabilistic, _draw_slate)
implement(credit_slate, Probabilistic, _credit_slate)
METHODS.add(
    "probabilistic",
    Method(
        name="probabilistic",
        pairs=True,
        slates=True,
        open=open_probabilistic,
        params=Params,
        limits={"tau": (0, 100)},
        outcomes=OUTCOMES,
        cost="O(top + clicks x top); sets: O(rankers x clicks x top), and clicks^2 for each pair",
        reference="Hofmann, Whiteson, de Rijke, CIKM 2011; Schuth et al., SIGIR 2015",
    ),
)
