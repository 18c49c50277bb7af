"""Integrate over clicks: compute the mean outcome of a shown list over all users who might see it.

The mean over all users has less variance than the outcome of one user, and the same expectation, so integration adds no
bias. For any method, the users are enumerated as a tree (`estimate.tree`). Two special cases are faster
(`ltr_duel.interleaving.hooks`). If the contributors of documents do not depend on clicks, `find_contributors` finds the
contributors once for a list. The outcome may, in addition, depend only on the balance, which is the number of clicks
that the first ranker owns minus the number that the second owns. In this case, a dynamic programme over the balance
integrates over clicks and contributors exactly.

A method with `draw_mirrored` can draw lists in mirrored pairs (`Antithetic`); both lists of a pair are drawn from the
same uniform numbers. If one ranker has a chance advantage in one list, the other ranker has the same advantage in the
mirrored list, so the mean of the two lists varies much less than the mean of two independent lists (Hammersley and
Morton, A New Monte Carlo Technique: Antithetic Variates, 1956).

If ties are reordered for each list (``resample``), both rankings of the query are copied to scratch arrays before each
evaluation, with ties in a new random order, and the evaluation uses the copies. For each order of ties, the expected
outcome over lists is unchanged, so the expected outcome over all orders is unchanged too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import FloatVector, dispatched, implement, kernel, uniform, vector
from ltr_duel.interleaving import (
    Comparison,
    draw_mirrored,
    draw_pair,
    find_contributors,
    redraw_ties,
)
from ltr_duel.preferences.estimate.blocks import Played, evaluate
from ltr_duel.preferences.estimate.settings import Settings
from ltr_duel.preferences.estimate.tree import ByBalance, ByPosterior, Duel, Tree, open_tree, walk_users


class Integrated(NamedTuple):
    """Evaluator that averages over all users of a list."""

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
    """Return the mean outcome of the shown list over all users, or an unbiased estimate of this mean."""
    c = comparison
    start = c.lists.query_ptr[query]
    for k in range(length):
        grade = c.relevance[start + c.page.shown[k]]
        tree.click[k] = c.users.p_click[grade] * c.users.attention[k]
        tree.stop[k] = c.users.p_stop[grade]
        tree.leave[k] = c.users.p_leave[grade]
        tree.go_on[k] = (1.0 - tree.click[k]) * (1.0 - tree.leave[k])
    return mean_outcome(tree.credit, c, tree, Duel(query, first, second, length), rng)


@dispatched
def mean_outcome(credit: Any, comparison: Comparison, tree: Tree, duel: Duel, rng: np.random.Generator) -> float:
    """Return the result of `mean_over_users`, given the click, stop and leave probabilities at each rank."""
    return walk_users(comparison, tree, duel, rng)


def _mean_by_posterior(
    credit: ByPosterior, comparison: Comparison, tree: Tree, duel: Duel, rng: np.random.Generator
) -> float:
    find_places(comparison, tree, duel)
    tree.owned[0, 0] = 1.0
    return walk_users(comparison, tree, duel, rng)


def _mean_by_balance(
    credit: ByBalance, comparison: Comparison, tree: Tree, duel: Duel, rng: np.random.Generator
) -> float:
    find_places(comparison, tree, duel)
    return mean_balance(tree, duel.length)


@kernel
def find_places(comparison: Comparison, tree: Tree, duel: Duel) -> None:
    """Fill ``tree.q`` for the ranks that can be clicked."""
    c, n = comparison, 0
    for k in range(duel.length):
        if tree.click[k] > 0.0:
            c.page.clicks[n] = k
            n += 1
    if n > 0:
        find_contributors(c.method, c.lists, duel.query, duel.first, duel.second, c.page, n, tree.q)


@kernel
def mean_balance(tree: Tree, length: int) -> float:
    """Return Pr(the first ranker owns more clicks) - Pr(the second ranker does), over users and contributors."""
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
    """Evaluator that averages over all users of two mirrored lists."""

    comparison: Comparison
    n_queries: int
    tree: Tree
    uniforms: FloatVector  # (top,) scratch for the uniform numbers that determine contributors and documents


def _evaluate_both(evaluator: Antithetic, query: int, first: int, second: int, rng: np.random.Generator) -> float:
    c = evaluator.comparison
    for k in range(min(c.page.shown.shape[0], c.lists.query_ptr[query + 1] - c.lists.query_ptr[query])):
        evaluator.uniforms[k] = uniform(rng)
    length = draw_mirrored(c.method, c.lists, query, first, second, c.page, evaluator.uniforms, rng)
    outcome = mean_over_users(c, evaluator.tree, query, first, second, length, rng)
    draw_mirrored(c.method, c.lists, query, second, first, c.page, evaluator.uniforms, rng)
    return (outcome + mean_over_users(c, evaluator.tree, query, first, second, length, rng)) / 2.0


class Resampled(NamedTuple):
    """Evaluator that gives two rankers a new order of ties for each evaluation of a query."""

    comparison: Comparison
    n_queries: int
    inner: Any  # an evaluator of the query in `comparison.current`


def resampled(comparison: Comparison, longest: int) -> Comparison:
    """Return a comparison of the two rankings in ``comparison.current``, which have at most ``longest`` documents."""
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


def open_evaluator(settings: Settings) -> Played | Integrated | Antithetic | Resampled:
    """Return the evaluator of one worker, with its scratch arrays."""
    comparison, n_queries = settings.comparer.open(), settings.rankings.n_queries
    if not settings.integrated:
        return Played(comparison, n_queries)
    if settings.rankings.provenance.get("ties") == "resample":
        alone = resampled(comparison, settings.rankings.longest_query)
        return Resampled(comparison, n_queries, _integrating(settings, alone, 1))
    return _integrating(settings, comparison, n_queries)


def _integrating(settings: Settings, comparison: Comparison, n_queries: int) -> Integrated | Antithetic:
    tree = open_tree(settings.comparer)
    if settings.antithetic:
        return Antithetic(comparison, n_queries, tree, np.zeros(settings.comparer.top))
    return Integrated(comparison, n_queries, tree)


implement(evaluate, Integrated, _evaluate)
implement(evaluate, Antithetic, _evaluate_both)
implement(evaluate, Resampled, _evaluate_redrawn)
implement(mean_outcome, ByPosterior, _mean_by_posterior)
implement(mean_outcome, ByBalance, _mean_by_balance)
