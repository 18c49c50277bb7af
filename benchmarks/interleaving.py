"""Comparisons a second, each with query, list, clicks and credit: the package beside reference implementations."""

from __future__ import annotations

import numpy as np

from benchmarks.timing import rate, short, table
from ltr_duel.clicks import click_model, simulate_clicks
from ltr_duel.core import kernel, random_below, stream
from ltr_duel.interleaving import OUTCOMES, Comparer, compare_slate, draw_slate, score_slate
from tests.conftest import random_rankings
from tests.driving import fitting, pairs_often
from tests.reference.interleaving import ownership_by_enumeration, softmax

TAU = 3.0

DOCUMENTS, QUERIES, TOP = 100, 100, 10


@kernel
def multileave_often(comparison, slate, size, times, won, rng):
    """Lists, clicks and all pairwise wins."""
    n_queries = comparison.lists.query_ptr.shape[0] - 1
    for _ in range(times):
        compare_slate(comparison, random_below(n_queries, rng), slate, size, won, rng, rng)


@kernel
def score_often(comparison, slate, size, times, rng):
    """Lists, clicks and SOSM's scores, without comparing all pairs of scores."""
    c = comparison
    n_queries = c.lists.query_ptr.shape[0] - 1
    for _ in range(times):
        query = random_below(n_queries, rng)
        length = draw_slate(c.method, c.lists, query, slate, size, c.page, rng)
        start = c.lists.query_ptr[query]
        clicks = simulate_clicks(c.users, c.relevance, start, c.page.shown, length, c.page.clicks, rng)
        if clicks > 0:
            score_slate(c.method, c.lists, query, slate, size, c.page, length, clicks)


def reference(rankings, model, times, rng):
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
    for clicks in ("perfect", "navigational", "informational"):
        model = click_model(clicks, 5)
        pairs = [("probabilistic", rule) for rule in OUTCOMES]
        for name, rule in [
            *pairs,
            ("team_draft", ""),
            ("balanced", ""),
            ("document_constraints", ""),
            ("optimized", ""),
        ]:
            comparer = Comparer(rankings, model, name, rule)
            work, c = fitting(pairs_often, comparer), comparer.open()
            speed = rate(lambda n, c=c, work=work: work(c, 0, 1, n, rng, totals), 500_000, best_of=5)
            rows.append([f"{name} {rule}", clicks, "2", short(speed)])
        for name in ("team_draft", "sosm", "probabilistic", "pairwise_preference"):
            c = Comparer(rankings, model, method=name).open()
            for size in (2, 10, 100):
                slate, won = np.arange(size), np.zeros((size, size), np.int8)
                speed = rate(lambda n, c=c, s=slate, w=won: multileave_often(c, s, len(s), n, w, rng), 200_000 // size)
                rows.append([f"{name}, all pairwise wins", clicks, str(size), short(speed)])
                if name == "sosm":
                    speed = rate(lambda n, c=c, s=slate: score_often(c, s, len(s), n, rng), 1_000_000 // size)
                    rows.append([f"{name}, scores", clicks, str(size), short(speed)])
    speed = rate(lambda n: reference(rankings, click_model("informational", 5), n, rng), 20, best_of=1)
    rows.append(["probabilistic, reference implementation (2^10 assignments)", "informational", "2", short(speed)])
    title = f"Comparisons a second, one core: {DOCUMENTS} documents, top {TOP}, query + list + clicks + credit"
    table(title, ["method", "clicks", "rankers", "per second"], rows)
    print("  The programs of optimized were solved in the warm-up.")
    print("  No interleaving library can be installed from PyPI (the project named interleaving there is empty).")
