"""Clicks integrated out: the mean outcome of a shown list over all users who might see it.

One impression then says more than one user can. The mean of the outcome over lists is unchanged, so the estimate is
unbiased for the same rule.

The users of a list form a tree: click or not, stop or not, place after place. `walk_users` goes through it. A branch
that fewer than one user in 16 takes is not split further: one of its users is drawn, and speaks for the branch. That
keeps the mean exact in expectation and bounds the time. Where the outcome depends on the balance of owned clicks alone
(all rules of probabilistic interleave but ``marginal_sign``) a dynamic programme over that balance
integrates clicks and contributors exactly.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import FloatMatrix, FloatVector, IntVector, dispatched, implement, kernel, sign, uniform
from ltr_duel.interleaving import OUTCOMES, Comparison, Probabilistic, credit_pair, draw_pair, trace_clicks
from ltr_duel.preferences.estimate.blocks import evaluate

RARE = 1 / 16  # a branch of fewer users than this is represented by one of them
_MARGINAL_SIGN = OUTCOMES.index("marginal_sign")
_EQUAL = 1e-12  # closer posteriors are a tie, as in the method itself


class Tree(NamedTuple):
    """Scratch of a walk, indexed by the number of clicks so far, and of the dynamic programme."""

    rare: float
    mass: FloatVector  # (top + 1,) share of all users that are on this branch
    place: IntVector  # (top + 1,) the next document they look at
    outcome: FloatVector  # (top + 1,) what their clicks so far amount to
    q: FloatVector  # (top,) Pr(the first ranker contributed place k), given the list
    owned: FloatMatrix  # (top + 1, top + 1) owned[n, m] = Pr(the first ranker owns m of the first n clicks)
    balance: FloatVector  # (2 top + 3,) share of users whose owned clicks differ by index - top - 1
    moved: FloatVector  # (2 top + 3,)


class Integrated(NamedTuple):
    """All users see the list."""

    comparison: Comparison
    n_queries: int
    tree: Tree


def open_tree(top: int, rare: float = RARE) -> Tree:
    """Allocate for lists of up to ``top`` documents; ``rare = 0`` walks the whole tree."""
    return Tree(
        rare,
        np.zeros(top + 1),
        np.zeros(top + 1, np.int64),
        np.zeros(top + 1),
        np.zeros(top),
        np.zeros((top + 1, top + 1)),
        np.zeros(2 * top + 3),
        np.zeros(2 * top + 3),
    )


def _evaluate(evaluator: Integrated, query: int, first: int, second: int, rng: np.random.Generator) -> float:
    c = evaluator.comparison
    length = draw_pair(c.method, c.lists, query, first, second, c.page, rng)
    return mean_outcome(c.method, c, evaluator.tree, query, first, second, length, rng)


@dispatched
def mean_outcome(
    method: Any,
    comparison: Comparison,
    tree: Tree,
    query: int,
    first: int,
    second: int,
    length: int,
    rng: np.random.Generator,
) -> float:
    """Return the mean outcome of the list on the page over its users, or an unbiased estimate of it."""
    return walk_users(comparison, tree, query, first, second, length, rng)


@dispatched
def outcome_so_far(
    method: Any, comparison: Comparison, tree: Tree, query: int, first: int, second: int, length: int, n_clicks: int
) -> float:
    """Return the outcome of the first ``n_clicks`` clicks on the page; called anew with each further click."""
    return credit_pair(method, comparison.lists, query, first, second, comparison.page, length, n_clicks)


@kernel
def walk_users(
    comparison: Comparison, tree: Tree, query: int, first: int, second: int, length: int, rng: np.random.Generator
) -> float:
    """Sum outcome times share over the tree of users, depth first, as `mean_outcome`."""
    c = comparison
    start = c.lists.query_ptr[query]
    total, n = 0.0, 0  # n clicks so far
    tree.mass[0] = 1.0
    tree.place[0] = 0
    tree.outcome[0] = 0.0
    while n >= 0:
        k, mass = tree.place[n], tree.mass[n]
        if k == length or mass == 0.0:
            total += mass * tree.outcome[n]
            n -= 1
            continue
        grade = c.relevance[start + c.page.shown[k]]
        clicked = mass * c.users.p_click[grade] * c.users.attention[k]
        if 0.0 < clicked < mass and mass < tree.rare:
            clicked = mass * int(uniform(rng) * mass < clicked)
        left = mass - clicked
        leaving = left * c.users.p_leave[grade]
        if 0.0 < leaving < left < tree.rare:
            leaving = left * int(uniform(rng) * left < leaving)
        total += leaving * tree.outcome[n]
        tree.mass[n] = left - leaving
        tree.place[n] = k + 1
        if clicked > 0.0:
            c.page.clicks[n] = k
            n += 1
            tree.outcome[n] = outcome_so_far(c.method, c, tree, query, first, second, length, n)
            stopping = clicked * c.users.p_stop[grade]
            if 0.0 < stopping < clicked < tree.rare:
                stopping = clicked * int(uniform(rng) * clicked < stopping)
            total += stopping * tree.outcome[n]
            tree.mass[n] = clicked - stopping
            tree.place[n] = k + 1
    return total


def _mean_of_probabilistic(
    method: Probabilistic,
    comparison: Comparison,
    tree: Tree,
    query: int,
    first: int,
    second: int,
    length: int,
    rng: np.random.Generator,
) -> float:
    find_contributors(method, comparison, tree, query, first, second, length)
    if method.rule == _MARGINAL_SIGN:
        tree.owned[0, 0] = 1.0
        return walk_users(comparison, tree, query, first, second, length, rng)
    return mean_balance(comparison, tree, query, length)


@kernel
def find_contributors(
    method: Probabilistic, comparison: Comparison, tree: Tree, query: int, first: int, second: int, length: int
) -> None:
    """Fill ``tree.q``, for the places that can be clicked: the credit of a user who clicks all of these."""
    c = comparison
    start = c.lists.query_ptr[query]
    n = 0
    for k in range(length):
        if c.users.p_click[c.relevance[start + c.page.shown[k]]] > 0.0:
            c.page.clicks[n] = k
            n += 1
    if n > 0:
        method.pair[0] = first
        method.pair[1] = second
        trace_clicks(method, c.lists, query, method.pair, 2, c.page, n)
    for m in range(n):
        tree.q[c.page.clicks[m]] = method.source[m, 0]


def _outcome_of_probabilistic(
    method: Probabilistic,
    comparison: Comparison,
    tree: Tree,
    query: int,
    first: int,
    second: int,
    length: int,
    n_clicks: int,
) -> float:
    q = tree.q[comparison.page.clicks[n_clicks - 1]]
    n, before, after = n_clicks, tree.owned[n_clicks - 1], tree.owned[n_clicks]
    after[0] = before[0] * (1.0 - q)
    for m in range(1, n):
        after[m] = before[m] * (1.0 - q) + before[m - 1] * q
    after[n] = before[n - 1] * q
    difference = 0.0
    for m in range((n + 1) // 2):
        difference -= after[m]
    for m in range(n // 2 + 1, n + 1):
        difference += after[m]
    return float(sign(difference, _EQUAL))


@kernel
def mean_balance(comparison: Comparison, tree: Tree, query: int, length: int) -> float:
    """Return Pr(the first ranker owns more clicks) - Pr(the second does), over users and contributors."""
    c = comparison
    start = c.lists.query_ptr[query]
    total, zero = 0.0, length + 1
    for d in range(2 * length + 3):
        tree.balance[d] = 0.0
    tree.balance[zero] = 1.0
    for k in range(length):
        grade = c.relevance[start + c.page.shown[k]]
        click = c.users.p_click[grade] * c.users.attention[k]
        stop, leave = c.users.p_stop[grade], c.users.p_leave[grade]
        if click == 0.0 and leave == 0.0:
            continue
        q = tree.q[k] if click > 0.0 else 0.5
        for d in range(zero - k - 1, zero + k + 2):
            arrived = click * (tree.balance[d - 1] * q + tree.balance[d + 1] * (1.0 - q))
            passed = (1.0 - click) * tree.balance[d]
            total += sign(d - zero, 0) * (arrived * stop + passed * leave)
            tree.moved[d] = arrived * (1.0 - stop) + passed * (1.0 - leave)
        for d in range(zero - k - 1, zero + k + 2):
            tree.balance[d] = tree.moved[d]
    for d in range(2 * length + 3):
        total += sign(d - zero, 0) * tree.balance[d]
    return total


implement(evaluate, Integrated, _evaluate)
implement(mean_outcome, Probabilistic, _mean_of_probabilistic)
implement(outcome_so_far, Probabilistic, _outcome_of_probabilistic)
