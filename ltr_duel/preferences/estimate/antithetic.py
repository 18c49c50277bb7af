"""Lists in mirrored pairs, for probabilistic interleave with clicks integrated out.

Both lists of a pair are drawn from the same uniform numbers, place by place: where the first ranker chose a document
for one list, the second ranker chooses at the same depth for the other. Each list alone follows the law of the method.
Whatever favoured one ranker by chance favours the other in the mirrored list, so the mean of the two varies much less
than that of two independent lists (Hammersley and Morton, A New Monte Carlo Technique: Antithetic Variates, 1956).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ltr_duel.core import FloatVector, implement, kernel, uniform
from ltr_duel.interleaving import Comparison, draw_document
from ltr_duel.preferences.estimate.blocks import evaluate
from ltr_duel.preferences.estimate.integrated import mean_over_users
from ltr_duel.preferences.estimate.tree import Tree


class Antithetic(NamedTuple):
    """Two mirrored lists; all users see both."""

    comparison: Comparison
    n_queries: int
    tree: Tree
    uniforms: FloatVector  # (top,) scratch: who contributes, and how deep


def _evaluate(evaluator: Antithetic, query: int, first: int, second: int, rng: np.random.Generator) -> float:
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


implement(evaluate, Antithetic, _evaluate)
