"""Comparisons a second, each with query, list, clicks and credit: the package beside literal versions."""

from __future__ import annotations

import numpy as np

from benchmarks.timing import rate, short, table
from ltr_duel.clicks.model import click_model
from ltr_duel.core.jit import kernel
from ltr_duel.core.random import random_below, stream
from ltr_duel.interleaving.comparison import Comparer, compare_slate
from ltr_duel.interleaving.probabilistic import OUTCOMES
from tests.conftest import random_rankings
from tests.driving import pairs_often as compare_often
from tests.reference.interleaving import ownership_by_enumeration, softmax

TAU = 3.0

DOCUMENTS, QUERIES, TOP = 100, 100, 10


@kernel
def multileave_often(comparison, slate, size, times, won, rng):
    n_queries = comparison.lists.query_ptr.shape[0] - 1
    for _ in range(times):
        compare_slate(comparison, random_below(n_queries, rng), slate, size, won, rng, rng)


def literal(rankings, model, times, rng):
    """The method as the paper says it: draw from dictionaries, then enumerate all 2^10 assignments."""
    for _ in range(times):
        query = random_below(rankings.n_queries, rng)
        rows = slice(rankings.query_ptr[query], rankings.query_ptr[query + 1])
        orders = [tuple(order[rows].tolist()) for order in rankings.order[:2]]
        distributions = [softmax(order, TAU) for order in orders]
        shown: list[int] = []
        for _ in range(TOP):
            p = distributions[random_below(2, rng)]
            left = {d: q for d, q in p.items() if d not in shown}
            u = rng.random() * sum(left.values())
            shown.append(next(d for d, mass in zip(left, np.cumsum(list(left.values())), strict=True) if mass > u))
        clicks = []
        for k, d in enumerate(shown):
            grade = rankings.relevance[rows][d]
            if rng.random() < model.p_click[grade]:
                clicks.append(k)
                if rng.random() < model.p_stop[grade]:
                    break
        if clicks:
            ownership_by_enumeration(*orders, tuple(shown), tuple(clicks), TAU)


def main() -> None:
    rankings = random_rankings(100, QUERIES, DOCUMENTS)
    totals, rng = np.zeros(2), stream(0, "benchmark")
    rows = []
    for name in ("perfect", "navigational", "informational"):
        model = click_model(name, 5)
        for rule in OUTCOMES:
            c = Comparer(rankings, model, outcome=rule).open()
            speed = rate(lambda n, c=c: compare_often(c, 0, 1, n, rng, totals), 500_000)
            rows.append([f"probabilistic, {rule}", name, "2", short(speed)])
        c = Comparer(rankings, model, method="sosm").open()
        for size in (2, 10, 100):
            slate, won = np.arange(size), np.zeros((size, size), np.int8)
            speed = rate(lambda n, c=c, s=slate, w=won: multileave_often(c, s, len(s), n, w, rng), 2_000_000 // size)
            rows.append(["sosm, all pairwise wins", name, str(size), short(speed)])
    speed = rate(lambda n: literal(rankings, click_model("informational", 5), n, rng), 20, best_of=1)
    rows.append(["probabilistic, literal (2^10 assignments)", "informational", "2", short(speed)])
    title = f"Comparisons a second, one core: {DOCUMENTS} documents, top {TOP}, query + list + clicks + credit"
    table(title, ["method", "clicks", "rankers", "per second"], rows)
