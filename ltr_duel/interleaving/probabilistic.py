"""Probabilistic interleave, credit marginalised exactly over who may have contributed what.

Each ranker becomes a softmax over its documents: rank r has weight r^-tau (tau = 3). For each place of the list a
fair coin chooses a ranker, which draws a document from its distribution over those not yet shown. Given the list,
the contributors are independent: place k came from the first ranker with probability q_k = P1_k / (P1_k + P2_k),
whatever was clicked, for clicks depend on the list alone. So the clicks that the first ranker owns are a sum of
independent coins, and its distribution follows from a dynamic programme over the clicked places.

Hofmann, Whiteson, de Rijke. A Probabilistic Method for Inferring Preferences from Clicks. CIKM 2011.

Outcome rules, with P1 (P2) the posterior probability that the first (second) ranker owns more of the clicks:

- ``marginal_sign``: the first ranker wins if P1 > P2; equal is a tie. The default, and what the published baselines
used. - ``sampled``: whoever owns more clicks under the contributors that were really drawn. - ``expectation``: the
number P1 - P2 itself; its mean is that of ``sampled``, with less variance.

``marginal_sign`` and ``sampled`` lead to different preference matrices; never mix them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ltr_duel.core.arrays import FloatVector, IntVector, MarkVector
from ltr_duel.core.jit import implement, kernel
from ltr_duel.core.vector import sign
from ltr_duel.interleaving.comparison import METHODS, Lists, Method, Page, credit_pair, draw_pair

TAU = 3.0
OUTCOMES = ("marginal_sign", "sampled", "expectation")
_EQUAL = 1e-12  # closer posteriors are a tie: they differ by rounding alone


class Probabilistic(NamedTuple):
    """Constants and scratch of probabilistic interleave."""

    top: int
    rule: int  # index into OUTCOMES
    weight: FloatVector  # (longest + 2,) weight[r] = r^-tau; weight[0] unused
    tail: FloatVector  # (longest + 2,) tail[r] = weight[r] + weight[r + 1] + ...
    used: MarkVector  # (longest,) scratch: documents already shown; all zero between calls
    ranks_of_first: IntVector  # (top,) scratch: ranks that the first ranker gives to the shown documents
    ranks_of_second: IntVector  # (top,) scratch
    owned: FloatVector  # (top + 1,) scratch: Pr(first ranker owns m clicks)


def open_probabilistic(top: int, longest: int, n_rankers: int, outcome: str) -> Probabilistic:
    """Allocate for lists of ``top`` from queries of up to ``longest`` documents."""
    weight = np.zeros(longest + 2)
    weight[1:-1] = np.arange(1.0, longest + 1) ** -TAU
    return Probabilistic(
        top,
        OUTCOMES.index(outcome),
        weight,
        np.cumsum(weight[::-1])[::-1].copy(),
        np.zeros(longest, np.uint8),
        np.zeros(top, np.int64),
        np.zeros(top, np.int64),
        np.zeros(top + 1),
    )


@kernel
def first_free(method: Probabilistic, lists: Lists, ranker: int, start: int, free: int) -> int:
    """Return the first rank from ``free`` on whose document is not shown yet."""
    while method.used[lists.order[ranker, start + free - 1]] == 1:
        free += 1
    return free


@kernel
def remaining_mass(method: Probabilistic, ranks: IntVector, shown: int, free: int, size: int) -> float:
    """Weight of the documents not shown: all from the first free rank on, less those shown beyond it.

    ``ranks[:shown]`` are the ranks of the shown documents. Nothing cancels, however steep the weights.
    """
    mass = method.tail[free] - method.tail[size + 1]
    for k in range(shown):
        if ranks[k] > free:
            mass -= method.weight[ranks[k]]
    return mass


def _draw(
    method: Probabilistic,
    lists: Lists,
    query: int,
    first: int,
    second: int,
    page: Page,
    rng: np.random.Generator,
) -> int:
    start = lists.query_ptr[query]
    size = lists.query_ptr[query + 1] - start
    length = min(method.top, size)
    end = method.tail[size + 1]
    free_of_first, free_of_second = 1, 1
    for k in range(length):
        u = 2.0 * rng.random()  # one draw for the coin and the document
        side = int(u >= 1.0)
        u -= side
        page.owner[k] = side
        if side == 0:
            ranker = first
            free_of_first = first_free(method, lists, first, start, free_of_first)
            free = free_of_first
        else:
            ranker = second
            free_of_second = first_free(method, lists, second, start, free_of_second)
            free = free_of_second
        # Draw from all ranks >= free; a document already shown is drawn again. Rank `free` is never one, so at least
        # weight[free] / tail[free], for tau = 3 about 2 / free, of the draws succeed.
        while True:
            level = method.tail[free] - u * (method.tail[free] - end)
            r = free
            while r < size and method.tail[r + 1] >= level:
                r += 1
            chosen = lists.order[ranker, start + r - 1]
            if method.used[chosen] == 0:
                break
            u = rng.random()
        page.shown[k] = chosen
        method.used[chosen] = 1
    for k in range(length):
        method.used[page.shown[k]] = 0
    return length


def _credit(
    method: Probabilistic,
    lists: Lists,
    query: int,
    first: int,
    second: int,
    page: Page,
    length: int,
    n_clicks: int,
) -> float:
    if method.rule == 1:  # sampled
        balance = 0
        for c in range(n_clicks):
            balance += 1 - 2 * page.owner[page.clicks[c]]
        return float(sign(balance, 0))
    difference = ownership(method, lists, query, first, second, page, n_clicks)
    if method.rule == 2:  # expectation
        return difference
    return float(sign(difference, _EQUAL))


@kernel
def ownership(
    method: Probabilistic, lists: Lists, query: int, first: int, second: int, page: Page, n_clicks: int
) -> float:
    """Pr(first ranker owns more of the clicks) - Pr(second ranker does), given the list."""
    start = lists.query_ptr[query]
    size = lists.query_ptr[query + 1] - start
    free_of_first, free_of_second, clicked = 1, 1, 0
    method.owned[0] = 1.0
    depth = page.clicks[n_clicks - 1] + 1
    for k in range(depth):
        document = page.shown[k]
        method.ranks_of_first[k] = lists.rank[first, start + document]
        method.ranks_of_second[k] = lists.rank[second, start + document]
        if k == page.clicks[clicked]:
            free_of_first = first_free(method, lists, first, start, free_of_first)
            free_of_second = first_free(method, lists, second, start, free_of_second)
            mass_of_first = remaining_mass(method, method.ranks_of_first, k, free_of_first, size)
            mass_of_second = remaining_mass(method, method.ranks_of_second, k, free_of_second, size)
            mine = method.weight[method.ranks_of_first[k]] * mass_of_second
            theirs = method.weight[method.ranks_of_second[k]] * mass_of_first
            q = mine / (mine + theirs)
            clicked += 1
            method.owned[clicked] = 0.0
            for m in range(clicked, 0, -1):
                method.owned[m] = method.owned[m] * (1.0 - q) + method.owned[m - 1] * q
            method.owned[0] *= 1.0 - q
        method.used[document] = 1
    for k in range(depth):
        method.used[page.shown[k]] = 0
    difference = 0.0
    for m in range(n_clicks + 1):
        if 2 * m > n_clicks:
            difference += method.owned[m]
        elif 2 * m < n_clicks:
            difference -= method.owned[m]
    return difference


implement(draw_pair, Probabilistic, _draw)
implement(credit_pair, Probabilistic, _credit)
METHODS.add(
    "probabilistic",
    Method(
        name="probabilistic",
        pairs=True,
        slates=False,
        outcomes=OUTCOMES,
        open=open_probabilistic,
        kind=Probabilistic,
        reference="Hofmann, Whiteson, de Rijke, CIKM 2011",
    ),
)
