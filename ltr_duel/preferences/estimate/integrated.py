"""Clicks integrated out: the mean outcome of a shown list over all users who might see it.

One impression then says more than one user can. The mean of the outcome over lists is unchanged, so the estimate is
unbiased for the same rule. For any method the users are walked through as a tree (`estimate.tree`); for probabilistic
interleave, who contributed a document does not change with further clicks and is found once for a list. Where the
outcome depends on the balance of owned clicks alone (all its rules but ``marginal_sign``), a dynamic programme over
that balance integrates clicks and contributors exactly.

Of probabilistic interleave, lists may come in mirrored pairs (`Antithetic`). Both are drawn from the same uniform
numbers, place by place: where the first ranker chose a document for one list, the second ranker chooses at the same
depth for the other. Each list alone follows the law of the method. Whatever favoured one ranker by chance favours the
other in the mirrored list, so the mean of the two varies much less than that of two independent lists (Hammersley and
Morton, A New Monte Carlo Technique: Antithetic Variates, 1956).

Where ties are ordered anew for each list (``resample``), the documents of the query are copied to scratch before each
evaluation, with the ties of both rankers in a new random order. What evaluates a list sees these two rankers and this
query alone. So the mean over lists is unchanged for each order of ties, and therefore also over all orders.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import FloatVector, dispatched, implement, kernel, uniform, vector
from ltr_duel.interleaving import (
    OUTCOMES,
    Comparison,
    Probabilistic,
    draw_document,
    draw_pair,
    redraw_ties,
    trace_clicks,
)
from ltr_duel.preferences.estimate.blocks import evaluate
from ltr_duel.preferences.estimate.tree import Duel, Tree, note_click, outcome_so_far, walk_users

_MARGINAL_SIGN = OUTCOMES.index("marginal_sign")
_EQUAL = 1e-12  # closer posteriors are a tie, as in the method itself


class Integrated(NamedTuple):
    """All users see the list."""

    comparison: Comparison
    n_queries: int
    tree: Tree


def _evaluate(evaluator: Integrated, query: int, first: int, second: int, rng: np.random.Generator) -> float:
    c = evaluator.comparison
    length = draw_pair(c.method, c.lists, query, first, second, c.page, rng)
    return mean_over_users(c, evaluator.tree, query, first, second, length, rng)


@kernel
def mean_over_users(
    comparison: Comparison, tree: Tree, query: int, first: int, second: int, length: int, rng: np.random.Generator
) -> float:
    """Return the mean outcome of the list on the page over its users, or an unbiased estimate of it."""
    c = comparison
    start = c.lists.query_ptr[query]
    for k in range(length):
        grade = c.relevance[start + c.page.shown[k]]
        tree.click[k] = c.users.p_click[grade] * c.users.attention[k]
        tree.stop[k] = c.users.p_stop[grade]
        tree.leave[k] = c.users.p_leave[grade]
        tree.go_on[k] = (1.0 - tree.click[k]) * (1.0 - tree.leave[k])
    return mean_outcome(c.method, c, tree, Duel(query, first, second, length), rng)


@dispatched
def mean_outcome(method: Any, comparison: Comparison, tree: Tree, duel: Duel, rng: np.random.Generator) -> float:
    """As `mean_over_users`, which has written down what users do at each place."""
    return walk_users(comparison, tree, duel, rng)


def _mean_of_probabilistic(
    method: Probabilistic, comparison: Comparison, tree: Tree, duel: Duel, rng: np.random.Generator
) -> float:
    find_contributors(method, comparison, tree, duel)
    if method.rule == _MARGINAL_SIGN:
        tree.owned[0, 0] = 1.0
        return walk_users(comparison, tree, duel, rng)
    return mean_balance(tree, duel.length)


@kernel
def find_contributors(method: Probabilistic, comparison: Comparison, tree: Tree, duel: Duel) -> None:
    """Fill ``tree.q``, for the places that can be clicked: the credit of a user who clicks all of these."""
    c = comparison
    n = 0
    for k in range(duel.length):
        if tree.click[k] > 0.0:
            c.page.clicks[n] = k
            n += 1
    if n > 0:
        method.pair[0] = duel.first
        method.pair[1] = duel.second
        trace_clicks(method, c.lists, duel.query, method.pair, 2, c.page, n)
    for m in range(n):
        tree.q[c.page.clicks[m]] = method.source[m, 0]


def _note_click_of_probabilistic(method: Probabilistic, comparison: Comparison, tree: Tree, n_clicks: int) -> None:
    q = tree.q[comparison.page.clicks[n_clicks - 1]]
    n, before, after = n_clicks, tree.owned[n_clicks - 1], tree.owned[n_clicks]
    after[0] = before[0] * (1.0 - q)
    for m in range(1, n):
        after[m] = before[m] * (1.0 - q) + before[m - 1] * q
    after[n] = before[n - 1] * q


def _outcome_of_probabilistic(
    method: Probabilistic, comparison: Comparison, tree: Tree, duel: Duel, n_clicks: int
) -> float:
    n, owned = n_clicks, tree.owned[n_clicks]
    difference = 0.0
    for m in range((n + 1) // 2):
        difference += owned[n - m] - owned[m]
    return float(vector.sign(difference, _EQUAL))


@kernel
def mean_balance(tree: Tree, length: int) -> float:
    """Return Pr(the first ranker owns more clicks) - Pr(the second does), over users and contributors."""
    total, zero = 0.0, length + 1
    for d in range(2 * length + 3):
        tree.balance[d] = 0.0
    tree.balance[zero] = 1.0
    for k in range(length):
        click, stop, leave = tree.click[k], tree.stop[k], tree.leave[k]
        if click == 0.0 and leave == 0.0:
            continue
        q = tree.q[k] if click > 0.0 else 0.5
        for d in range(zero - k - 1, zero + k + 2):
            arrived = click * (tree.balance[d - 1] * q + tree.balance[d + 1] * (1.0 - q))
            passed = (1.0 - click) * tree.balance[d]
            total += vector.sign(d - zero, 0) * (arrived * stop + passed * leave)
            tree.moved[d] = arrived * (1.0 - stop) + passed * (1.0 - leave)
        for d in range(zero - k - 1, zero + k + 2):
            tree.balance[d] = tree.moved[d]
    for d in range(2 * length + 3):
        total += vector.sign(d - zero, 0) * tree.balance[d]
    return total


class Antithetic(NamedTuple):
    """Two mirrored lists; all users see both."""

    comparison: Comparison
    n_queries: int
    tree: Tree
    uniforms: FloatVector  # (top,) scratch: who contributes, and how deep


def _evaluate_both(evaluator: Antithetic, query: int, first: int, second: int, rng: np.random.Generator) -> float:
    c = evaluator.comparison
    length = min(c.page.shown.shape[0], c.lists.query_ptr[query + 1] - c.lists.query_ptr[query])
    for k in range(length):
        evaluator.uniforms[k] = 2.0 * uniform(rng)
    draw_from_uniforms(c, evaluator.uniforms, query, first, second, length, rng)
    outcome = mean_over_users(c, evaluator.tree, query, first, second, length, rng)
    draw_from_uniforms(c, evaluator.uniforms, query, second, first, length, rng)
    return (outcome + mean_over_users(c, evaluator.tree, query, first, second, length, rng)) / 2.0


@kernel
def draw_from_uniforms(
    comparison: Comparison,
    uniforms: FloatVector,
    query: int,
    low: int,
    high: int,
    length: int,
    rng: np.random.Generator,
) -> None:
    """Fill ``page.shown``: ranker ``low`` contributes where its number is below 1, ``high`` elsewhere.

    A number that falls on a document already shown is drawn again, as in the method itself.
    """
    method, lists, page = comparison.method, comparison.lists, comparison.page
    start = lists.query_ptr[query]
    documents = lists.query_ptr[query + 1] - start
    method.free[0] = 1
    method.free[1] = 1
    for k in range(length):
        place = int(uniforms[k])
        ranker = high if place == 1 else low
        chosen = draw_document(method, lists, ranker, place, start, documents, uniforms[k] - place, rng)
        page.shown[k] = chosen
        method.used[chosen] = 1
    for k in range(length):
        method.used[page.shown[k]] = 0


class Resampled(NamedTuple):
    """Two rankers and one query, with a new order of ties for each evaluation."""

    comparison: Comparison
    n_queries: int
    inner: Any  # an evaluator of the query in `comparison.current`


def resampled(comparison: Comparison, longest: int) -> Comparison:
    """Return a comparison of the rankers and the query in ``comparison.current``, of at most ``longest`` documents."""
    return comparison._replace(lists=comparison.current, relevance=np.zeros(longest, np.int16))


def _evaluate_redrawn(evaluator: Resampled, query: int, first: int, second: int, rng: np.random.Generator) -> float:
    c, alone = evaluator.comparison, evaluator.inner.comparison
    c.pair[0] = first
    c.pair[1] = second
    redraw_ties(c, query, c.pair, 2, rng)
    start = c.lists.query_ptr[query]
    for d in range(c.lists.query_ptr[query + 1] - start):
        alone.relevance[d] = c.relevance[start + d]
    return evaluate(evaluator.inner, 0, 0, 1, rng)


implement(evaluate, Integrated, _evaluate)
implement(evaluate, Antithetic, _evaluate_both)
implement(evaluate, Resampled, _evaluate_redrawn)
implement(mean_outcome, Probabilistic, _mean_of_probabilistic)
implement(note_click, Probabilistic, _note_click_of_probabilistic)
implement(outcome_so_far, Probabilistic, _outcome_of_probabilistic)
