"""Probabilistic interleave and multileave: each position shows a document that a random ranker draws.

At each position, a random ranker (the contributor) draws a document that is not yet shown. A ranker draws the document
at rank r with a probability proportional to r^-tau. By default, tau is 3. The contributor owns the clicks on the
document, and the ranker that owns more clicks wins.

The outcome rule ``sampled`` uses the contributors that were drawn. The other rules consider all rankers that may have
contributed the clicked documents. They use two probabilities: that the first ranker owns more clicks than the second
ranker, and that the second ranker owns more. Under ``expectation``, the outcome is the difference of the two
probabilities. This outcome has the same mean as under ``sampled``, but varies less. The default rule,
``marginal_bernoulli``, draws the winner at random, so that the mean outcome is the same. Under ``marginal_sign``, the
ranker with the larger probability wins. ``marginal_sign`` is biased if users click at random, but published baselines
used it. For sets of rankers, there are only the rules ``sampled`` and ``marginal_sign``.

Hofmann, Whiteson, de Rijke. A Probabilistic Method for Inferring Preferences from Clicks. CIKM 2011. For many rankers:
Schuth et al. Probabilistic Multileave for Online Retrieval Evaluation. SIGIR 2015.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.core import (
    AT_ONCE,
    FloatMatrix,
    FloatVector,
    IntVector,
    MarkVector,
    SignMatrix,
    SignVector,
    count_reaching,
    jit,
    kernel,
    trailing_zeros,
    uniform,
    vector,
)
from ltr_duel.interleaving.hooks import Lists, Shown, Size
from ltr_duel.interleaving.methods.team_draft import compare_owned, owned_lead
from ltr_duel.interleaving.registration import register

OUTCOMES = ("marginal_bernoulli", "marginal_sign", "sampled", "expectation")
_BERNOULLI, _SIGN, _SAMPLED = range(3)
_BITS = 63  # bits of a mask
_EQUAL = 1e-12  # smaller differences between posteriors are rounding errors, and count as ties


class Params(NamedTuple):
    tau: float = 3.0  # how fast the probability of a document falls with its rank r: as r^-tau


class State(NamedTuple):
    top: int
    rule: int  # index into OUTCOMES
    weight: FloatVector  # (longest + 1 + AT_ONCE,) weight[r] = r^-tau, or 0 if r > longest; weight[0] unused
    tail: FloatVector  # (longest + 1 + AT_ONCE,) tail[r] = weight[r] + weight[r + 1] + ...
    used: MarkVector  # (longest,) scratch: 1 for documents already shown; all zero between calls
    free: IntVector  # (rankers,) scratch: a rank above which all documents are shown, or the number of owned clicks
    ranks: IntVector  # (top,) scratch: ranks that one ranker gives to the shown documents
    source: FloatMatrix  # (top, rankers) scratch: Pr(the ranker contributed click c)
    owned: FloatVector  # (2 top + 3,) scratch: distribution of one ranker's owned clicks, or of two rankers' difference
    least: FloatVector  # (rankers,) scratch: Pr(the ranker owns at least one click)
    most: FloatVector  # (rankers,) scratch: expected number of clicks that the ranker owns
    pair: IntVector  # (2,) scratch: the two rankers of a pair, as a slate
    kept: FloatVector  # (1,) the random number of `marginal_bernoulli`, drawn with the list; (0,) for other rules


def init(size: Size, params: Params, outcome: str) -> State:
    weight = np.zeros(size.longest + 1 + AT_ONCE)
    weight[1 : size.longest + 1] = np.arange(1.0, size.longest + 1) ** -params.tau
    return State(
        size.top,
        OUTCOMES.index(outcome),
        weight,
        np.cumsum(weight[::-1])[::-1].copy(),
        np.zeros(size.longest, np.uint8),
        np.zeros(size.rankers, np.int64),
        np.zeros(size.top, np.int64),
        np.zeros((size.top, size.rankers)),
        np.zeros(2 * size.top + 3),
        np.zeros(size.rankers),
        np.zeros(size.rankers),
        np.zeros(2, np.int64),
        np.zeros(int(outcome == "marginal_bernoulli")),
    )


@kernel
def draw_document(
    state: State, lists: Lists, ranker: int, place: int, start: int, documents: int, u: float, rng: Generator
) -> int:
    free = state.free[place]
    while state.used[lists.order[ranker, start + free - 1]] == 1:
        free += 1
    while True:
        level = state.tail[free] - u * (state.tail[free] - state.tail[documents + 1])
        r = free
        while r < documents:
            deeper = count_reaching(state.tail, r + 1, level)
            r += deeper
            if deeper < AT_ONCE:
                break
        r = min(r, documents)
        chosen = lists.order[ranker, start + r - 1]
        if state.used[chosen] == 0:
            state.free[place] = free + int(r == free)
            return chosen
        u = uniform(rng)  # the document is already shown, so draw again


@kernel
def draw_list(state: State, lists: Lists, query: int, slate: IntVector, size: int, page: Shown, rng: Generator) -> int:
    start = lists.query_ptr[query]
    documents = lists.query_ptr[query + 1] - start
    length = min(state.top, documents)
    for a in range(size):
        state.free[a] = 1
    for k in range(length):
        u = size * uniform(rng)  # one random number for the contributor and the document
        place = int(u)
        chosen = draw_document(state, lists, slate[place], place, start, documents, u - place, rng)
        page.shown[k] = chosen
        page.owner[k] = place
        state.used[chosen] = 1
    for k in range(length):
        state.used[page.shown[k]] = 0
    return length


def draw_slate(state: State, lists: Lists, query: int, slate: IntVector, size: int, page: Shown, rng: Generator) -> int:
    return draw_list(state, lists, query, slate, size, page, rng)


def draw_pair(state: State, lists: Lists, query: int, first: int, second: int, page: Shown, rng: Generator) -> int:
    state.pair[0] = first
    state.pair[1] = second
    if state.rule == _BERNOULLI:
        state.kept[0] = uniform(rng)
    return draw_list(state, lists, query, state.pair, 2, page, rng)


def draw_mirrored(
    state: State, lists: Lists, query: int, first: int, second: int, page: Shown, uniforms: FloatVector, rng: Generator
) -> int:
    start = lists.query_ptr[query]
    documents = lists.query_ptr[query + 1] - start
    length = min(state.top, documents)
    state.free[:2] = 1
    for k in range(length):
        u = 2.0 * uniforms[k]
        ranker = second if int(u) == 1 else first
        chosen = draw_document(state, lists, ranker, int(u), start, documents, u - int(u), rng)
        page.shown[k] = chosen
        state.used[chosen] = 1
    for k in range(length):
        state.used[page.shown[k]] = 0
    return length


@kernel
def trace_clicks(
    state: State, lists: Lists, query: int, slate: IntVector, size: int, page: Shown, n_clicks: int
) -> None:
    # Given the list, the contributors are independent: Pr(a contributed k) = Pr(a draws k) / sum_b Pr(b draws k).
    start = lists.query_ptr[query]
    end = state.tail[lists.query_ptr[query + 1] - start + 1]
    last = page.clicks[n_clicks - 1]
    for a in range(size):
        above = 0  # bit r - 1: whether the document of rank r is shown above the last click, for r up to _BITS
        for k in range(last):
            r = int(lists.rank[slate[a], start + page.shown[k]])
            state.ranks[k] = r
            above |= int(r <= _BITS) << ((r - 1) % 64)
        free = first_left(above, state.ranks, last)
        mass = state.tail[free] - end
        for k in range(last):
            weight = state.weight[state.ranks[k]]
            mass -= weight if state.ranks[k] > free else 0.0
        c = n_clicks - 1
        state.source[c, a] = state.weight[lists.rank[slate[a], start + page.shown[last]]] / mass
        for k in range(last - 1, page.clicks[0] - 1, -1):  # upwards: to subtract large weights would lose digits
            weight = state.weight[state.ranks[k]]
            mass += weight
            if page.clicks[c - 1] == k:
                c -= 1
                state.source[c, a] = weight / mass
    for c in range(n_clicks):
        total = 0.0
        for a in range(size):
            total += state.source[c, a]
        for a in range(size):
            state.source[c, a] /= total


@kernel
def first_left(above: int, ranks: IntVector, places: int) -> int:
    free = trailing_zeros(~above) + 1
    m = 0
    while free > _BITS and m < places:
        m += 1
        if ranks[m - 1] == free:
            free, m = free + 1, 0
    return free


@kernel
def lead_of_two(state: State, n_clicks: int) -> float:
    state.owned[0] = 1.0
    for c in range(n_clicks):
        q = state.source[c, 0]
        state.owned[c + 1] = 0.0
        for m in range(c + 1, 0, -1):
            state.owned[m] = state.owned[m] * (1.0 - q) + state.owned[m - 1] * q
        state.owned[0] *= 1.0 - q
    lead = 0.0
    for m in range(n_clicks + 1):
        lead += vector.sign(2 * m - n_clicks, 0) * state.owned[m]
    return lead


@jit.outlined
def lead_among_many(state: State, a: int, b: int, n_clicks: int) -> float:
    middle = n_clicks + 1  # owned[middle + d] = Pr(difference d)
    state.owned[middle] = 1.0
    for c in range(n_clicks):
        up, down = state.source[c, a], state.source[c, b]
        stay = 1.0 - up - down
        state.owned[middle - c - 1] = 0.0
        state.owned[middle + c + 1] = 0.0
        state.owned[middle + c + 2] = 0.0
        left = 0.0  # the previous value at m - 1
        for m in range(middle - c - 1, middle + c + 2):
            current = state.owned[m]
            state.owned[m] = left * up + current * stay + state.owned[m + 1] * down
            left = current
    lead = 0.0
    for d in range(1, n_clicks + 1):
        lead += state.owned[middle + d] - state.owned[middle - d]
    return lead


@jit.outlined
def add_click(source: FloatVector, least: FloatVector, most: FloatVector) -> None:
    for a in range(source.shape[0]):
        least[a] += (1.0 - least[a]) * source[a]
        most[a] += source[a]


@jit.outlined
def compare_bounds(mine_least: float, mine_most: float, least: FloatVector, most: FloatVector, won: SignVector) -> None:
    for b in range(won.shape[0]):
        won[b] = int(mine_least > most[b] + 2 * _EQUAL) - int(mine_most + 2 * _EQUAL < least[b])


def credit_pair(
    state: State, lists: Lists, query: int, first: int, second: int, page: Shown, length: int, n_clicks: int
) -> float:
    if state.rule == _SAMPLED:
        return owned_lead(page, n_clicks)
    state.pair[0] = first
    state.pair[1] = second
    trace_clicks(state, lists, query, state.pair, 2, page, n_clicks)
    lead = lead_of_two(state, n_clicks)
    if state.rule == _SIGN:
        return float(vector.sign(lead, _EQUAL))
    if state.rule == _BERNOULLI:  # P1 + (1 - P1 - P2) / 2 = (1 + lead) / 2
        return float(vector.sign(1.0 + lead - 2.0 * state.kept[0], 0.0))
    return lead


def credit_slate(
    state: State, lists: Lists, query: int, slate: IntVector, size: int, page: Shown, length: int, n_clicks: int,
    won: SignMatrix,
) -> None:  # fmt: skip
    if state.rule != _SIGN:
        return compare_owned(state.free, size, page, n_clicks, won)
    trace_clicks(state, lists, query, slate, size, page, n_clicks)
    state.least[:size] = 0.0
    state.most[:size] = 0.0
    for c in range(n_clicks):
        add_click(state.source[c, :size], state.least[:size], state.most[:size])
    # If the probability that a owns a click exceeds the mean number of clicks of b, then a wins. Most pairs are clear.
    for a in range(size - 1):
        low = a + 1
        compare_bounds(state.least[a], state.most[a], state.least[low:size], state.most[low:size], won[a, low:size])
        for b in range(low, size):
            if won[a, b] == 0:
                won[a, b] = vector.sign(lead_among_many(state, a, b, n_clicks), _EQUAL)


def find_contributors(
    state: State, lists: Lists, query: int, first: int, second: int, page: Shown, n_clicks: int, q: FloatVector
) -> None:
    state.pair[0] = first
    state.pair[1] = second
    trace_clicks(state, lists, query, state.pair, 2, page, n_clicks)
    for c in range(n_clicks):
        q[page.clicks[c]] = state.source[c, 0]


register(
    __name__,
    limits={"tau": (0, 100)},
    outcomes=OUTCOMES,
    slate_outcomes=("sampled", "marginal_sign"),
    biased=("marginal_sign",),
    posterior=("marginal_sign",),
    shows="at each position, a document from the softmax over ranks of a random ranker",
    wins="more clicks owned, marginalised exactly over the possible contributors",
    cost="O(top + clicks x top); sets: O(rankers x clicks x top), and clicks^2 for each pair",
    cite="hofmann2011probabilistic,schuth2015probabilistic",
)
