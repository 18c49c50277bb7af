"""Compare two rankers on a query: by the clicks of one user (`Played`), or by a mean over all users (`Integrated`).

Some comparison methods can draw two mirrored lists from the same random numbers (`Antithetic`). If chance favours one
ranker in the first list, it favours the other ranker in the second list. The mean over both lists therefore varies much
less than the mean over two independent lists.

Under the tie rule ``resample``, tied documents get a new random order before each evaluation (`Resampled`).

References
----------
Hammersley, Morton. A New Monte Carlo Technique: Antithetic Variates. 1956.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import FloatMatrix, FloatVector, IntVector, dispatched, implement, kernel, random_below, uniform
from ltr_duel.interleaving import Comparison, compare_pair, draw_mirrored, draw_pair, redraw_ties
from ltr_duel.preferences.estimate.settings import Settings
from ltr_duel.preferences.estimate.users import PairList, Tree, mean_over_users, open_tree
from ltr_duel.preferences.tally import SCALE

NO_CORRECTIONS = np.zeros((0, 0))


@dispatched
def evaluate(evaluator: Any, query: int, first: int, second: int, rng: np.random.Generator) -> float:
    """Return the outcome of one evaluation on a query, from -1 (``second`` is better) to +1 (``first`` is better)."""
    raise TypeError("this evaluator cannot evaluate lists")


class Played(NamedTuple):
    """Evaluate by the clicks of one user on one list."""

    comparison: Comparison
    n_queries: int


def _play(evaluator: Played, query: int, first: int, second: int, rng: np.random.Generator) -> float:
    return compare_pair(evaluator.comparison, query, first, second, rng, rng)


class Integrated(NamedTuple):
    """Evaluate by the mean over all users who might see a list."""

    comparison: Comparison
    n_queries: int
    tree: Tree


def _integrate(evaluator: Integrated, query: int, first: int, second: int, rng: np.random.Generator) -> float:
    c = evaluator.comparison
    length = draw_pair(c.method, c.lists, query, first, second, c.page, rng)
    return mean_over_users(c, evaluator.tree, PairList(query, first, second, length), rng)


class Antithetic(NamedTuple):
    """Evaluate by the mean over two mirrored lists and all users who might see them."""

    comparison: Comparison
    n_queries: int
    tree: Tree
    uniforms: FloatVector  # (top,) scratch memory for the random numbers from which both lists are drawn


def _integrate_both(evaluator: Antithetic, query: int, first: int, second: int, rng: np.random.Generator) -> float:
    c = evaluator.comparison
    for k in range(min(c.page.shown.shape[0], c.lists.query_ptr[query + 1] - c.lists.query_ptr[query])):
        evaluator.uniforms[k] = uniform(rng)
    length = draw_mirrored(c.method, c.lists, query, first, second, c.page, evaluator.uniforms, rng)
    shown = PairList(query, first, second, length)
    outcome = mean_over_users(c, evaluator.tree, shown, rng)
    draw_mirrored(c.method, c.lists, query, second, first, c.page, evaluator.uniforms, rng)
    return (outcome + mean_over_users(c, evaluator.tree, shown, rng)) / 2.0


class Resampled(NamedTuple):
    """Reorder the ties of both rankers, then evaluate by another evaluator."""

    comparison: Comparison
    n_queries: int
    inner: Any  # the other evaluator, for the reordered query in `comparison.current`


def _evaluate_redrawn(evaluator: Resampled, query: int, first: int, second: int, rng: np.random.Generator) -> float:
    c, copied = evaluator.comparison, evaluator.inner.comparison
    c.pair[0] = first
    c.pair[1] = second
    redraw_ties(c, query, c.pair, 2, rng)
    start = c.lists.query_ptr[query]
    for d in range(c.lists.query_ptr[query + 1] - start):
        copied.relevance[d] = c.relevance[start + d]
    return evaluate(evaluator.inner, 0, 0, 1, rng)


implement(evaluate, Played, _play)
implement(evaluate, Integrated, _integrate)
implement(evaluate, Antithetic, _integrate_both)
implement(evaluate, Resampled, _evaluate_redrawn)


def open_evaluator(settings: Settings) -> Played | Integrated | Antithetic | Resampled:
    """Return an evaluator for one thread, with scratch memory of its own."""
    comparison, n_queries = settings.comparer.open(), settings.rankings.n_queries
    if not settings.integrated:
        return Played(comparison, n_queries)
    resampled, queries = comparison, n_queries
    if redraws := settings.rankings.provenance.get("ties") == "resample":
        relevance = np.zeros(settings.rankings.longest_query, np.int16)
        resampled, queries = comparison._replace(lists=comparison.current, relevance=relevance), 1
    tree = open_tree(settings.comparer)
    inner: Integrated | Antithetic = Integrated(resampled, queries, tree)
    if settings.antithetic:
        inner = Antithetic(resampled, queries, tree, np.zeros(settings.comparer.top))
    return Resampled(comparison, n_queries, inner) if redraws else inner


class BlockPlan(NamedTuple):
    """How the comparisons of a block are made."""

    evaluator: Any
    queries: IntVector  # the query of each unit; empty if queries are drawn at random
    corrections: FloatMatrix  # (K, n_queries), or `NO_CORRECTIONS`; see `ltr_duel.preferences.estimate.control`
    lists: int  # number of lists of an evaluation
    evaluations: int  # number of evaluations of a unit


@kernel
def count_block(
    plan: BlockPlan, first: int, second: int, begin: int, end: int, rng: np.random.Generator, row: IntVector
) -> None:
    """Make the comparisons of a block from ``begin`` to ``end``, and add their counts to ``row``.

    ``row`` has the counts of one pair, in the order of `ltr_duel.preferences.tally.Tally`. The comparisons before
    ``begin`` are repeated without counting them, because they use up random numbers.
    """
    evaluator, queries, corrections = plan.evaluator, plan.queries, plan.corrections
    lists = plan.lists * plan.evaluations
    for unit in range(end // lists):
        if queries.shape[0] == 0:
            query = random_below(evaluator.n_queries, rng)
        else:
            query = queries[unit]
        mean = evaluate(evaluator, query, first, second, rng)
        spread = 0.0
        if plan.evaluations == 2:
            other = evaluate(evaluator, query, first, second, rng)
            spread = (mean - other) * (mean - other) / 2.0
            mean = (mean + other) / 2.0
        if corrections.shape[0] > 0:
            mean -= corrections[first, query] - corrections[second, query]
        if unit * lists >= begin:
            row[0] += lists
            row[1] += int(np.floor(lists * mean * SCALE + 0.5))
            row[2] += int(np.floor(mean * mean * SCALE + 0.5))
            row[3] += int(np.floor(spread * SCALE + 0.5))
