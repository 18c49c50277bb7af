"""Control variates: reduce the variance of outcomes by subtracting what the query alone predicts.

The gain of a ranker for a query says how likely its first ``top`` documents are to be clicked. It is the sum of
Pr(click | grade) / rank over these documents. If one ranker has a larger gain than its rival, it often wins for this
query. Therefore, an outcome is replaced by

    outcome - slope x (difference of the gains for this query - mean difference of the gains over all queries)

For any slope, the corrected outcome has the same mean as the original outcome. With a good slope, the corrected outcome
varies less. The slope is fitted to rankers that order documents at random, so it does not depend on the comparisons
that it corrects.

References
----------
Owen. Monte Carlo Theory, Methods and Examples. 2013, section 8.9.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ltr_duel.clicks import users_of
from ltr_duel.core import FloatMatrix, FloatVector, IntVector, SmallIntVector, interpreted, kernel, mapped, stream
from ltr_duel.interleaving import Comparer
from ltr_duel.preferences.estimate.evaluators import NO_CORRECTIONS, BlockPlan, count_block, open_evaluator
from ltr_duel.preferences.estimate.settings import Settings
from ltr_duel.preferences.tally import FARTHEST, SCALE
from ltr_duel.rankers import Rankings

_QUERIES, _RANKERS = 256, 8  # numbers of queries and of random rankers, for the fit of the slope
_EVALUATIONS = 1024  # for the fit. Its error is then a few percent, and even 10 % would be harmless
_STEPS = 1024.0  # slopes are rounded to multiples of 1 / 1024, so that rounding errors of sums do not matter
_MOST_GAIN = (FARTHEST - 1.0) / 2


def corrections_of(settings: Settings) -> FloatMatrix:
    """Return a correction for each ranker and query. `count_block` applies the corrections to the outcomes."""
    corrections = gains_of(settings.comparer)
    centre(corrections, fitted_slope(settings), _MOST_GAIN)
    return corrections


def fitted_slope(settings: Settings) -> float:
    """Return the regression slope of outcomes on differences of gains, fitted to random rankers."""
    rng = stream(settings.seed, "preferences", "control")
    comparer = random_rankers(settings.comparer, rng)
    sample = replace(settings, comparer=comparer, stratified=False)
    evaluator, gains = open_evaluator(sample), gains_of(comparer)
    count = count_block if comparer.compiled else interpreted(count_block)
    lists, row = sample.lists, np.zeros(4, np.int64)
    above = below = 0.0
    for n in range(_EVALUATIONS):
        query, first = n % gains.shape[1], 2 * (n // gains.shape[1] % (_RANKERS // 2))
        row[:] = 0
        plan = BlockPlan(evaluator, np.array([query]), NO_CORRECTIONS, lists, 1)
        count(plan, first, first + 1, 0, lists, rng, row)
        difference = float(gains[first, query] - gains[first + 1, query])
        above += difference * float(row[1]) / (lists * SCALE)
        below += difference * difference
    return round(max(above, 0.0) / below * _STEPS) / _STEPS if below > 0.0 else 0.0


def random_rankers(comparer: Comparer, rng: np.random.Generator) -> Comparer:
    """Return a comparer for rankers that order documents at random, on a sample of the queries."""
    corpus = comparer.rankings
    queries = rng.permutation(corpus.n_queries)[:_QUERIES]
    spans = [np.arange(corpus.query_ptr[q], corpus.query_ptr[q + 1]) for q in queries]
    orders = [rng.permuted(np.tile(np.arange(len(span)), (_RANKERS, 1)), axis=1) for span in spans]
    order = np.concatenate(orders, axis=1).astype(np.int16)
    rank = np.concatenate([np.argsort(order, axis=1) + 1 for order in orders], axis=1).astype(np.int16)
    ends, relevance = np.cumsum([0, *map(len, spans)]), corpus.relevance[np.concatenate(spans)]
    names = tuple(f"random {k}" for k in range(_RANKERS))
    sample = Rankings(names, order, rank, relevance, ends, corpus.grades, {})
    return Comparer(sample, comparer.clicks, comparer.method, comparer.outcome, comparer.top)


def gains_of(comparer: Comparer) -> FloatMatrix:
    """Return the gain of each ranker for each query, shape (K, n_queries)."""
    rankings = comparer.rankings
    gains = np.zeros((len(rankings), rankings.n_queries))
    p_click = users_of(comparer.clicks, comparer.top).p_click
    for order, row in zip(rankings.order, gains, strict=True):
        add_gains(order, rankings.relevance, rankings.query_ptr, p_click, comparer.top, row)
        mapped.release_pages(order)
    return gains


@kernel
def add_gains(
    order: SmallIntVector,
    relevance: SmallIntVector,
    query_ptr: IntVector,
    p_click: FloatVector,
    top: int,
    gains: FloatVector,
) -> None:
    """Add the gain of one ranker for each query to ``gains``."""
    for query in range(gains.shape[0]):
        start = query_ptr[query]
        for r in range(min(top, query_ptr[query + 1] - start)):
            gains[query] += p_click[relevance[start + order[start + r]]] / (r + 1)


@kernel
def centre(gains: FloatMatrix, slope: float, most: float) -> None:
    """Turn gains into corrections: multiply by ``slope``, limit to ``most``, and subtract the mean over queries."""
    for ranker in range(gains.shape[0]):
        total = 0.0
        for query in range(gains.shape[1]):
            gains[ranker, query] = min(slope * gains[ranker, query], most)
            total += gains[ranker, query]
        for query in range(gains.shape[1]):
            gains[ranker, query] -= total / gains.shape[1]
