"""Comparisons (query, list, clicks, credit): two rankers by `estimate_preferences`, sets by `compare_slate`."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.row import Row
from ltr_duel.clicks import click_model
from ltr_duel.core import kernel, random_below, stream
from ltr_duel.interleaving import Comparer, compare_slate

PAIRS = ("probabilistic", "team_draft", "balanced", "document_constraints")
SETS = ("team_draft", "sosm", "probabilistic", "pairwise_preference")
QUERIES, TOP, DOCUMENTS = 100, 10, (10, 100)
_PROGRAMMES = 100


@kernel
def slates_often(comparison, slate, size, times, won, rng):
    """Compare a set of rankers many times, each time with the outcomes of all its pairs."""
    n_queries = comparison.lists.query_ptr.shape[0] - 1
    for _ in range(times):
        compare_slate(comparison, random_below(n_queries, rng), slate, size, won, rng, rng)


def rows() -> list[Row]:
    """Return the rows: each method with two rankers, then with sets of 10 and 100 rankers."""
    made = [pair(method, documents) for method in PAIRS for documents in DOCUMENTS]
    made += [programmes(documents) for documents in DOCUMENTS]
    return made + [slate(method, size) for method in SETS for size in (10, 100)]


def pair(method: str, documents: int) -> Row:
    """Return the row of a method with two rankers."""
    times = 500_000
    return Row(
        f"{method}-2-{documents}",
        f'estimate_preferences(rankings, method="{method}", variance_reduction="none", comparisons={times}, jobs=1)',
        times,
        "comparisons",
        partial(prepare_pair, method, documents, times),
        {"method": method, "rankers": 2, "documents": documents},
        when="quick" if method == "probabilistic" else "usual",
    )


def prepare_pair(method: str, documents: int, times: int):
    """Compile."""
    from ltr_duel import estimate_preferences

    rankings = corpus(2, documents, QUERIES)
    options = {"clicks": "navigational", "method": method, "variance_reduction": "none", "jobs": 1}
    estimate_preferences(rankings, comparisons=10, **options)
    return lambda: estimate_preferences(rankings, comparisons=times, **options)


def programmes(documents: int) -> Row:
    """Return the row of optimized interleave on new queries, so that each comparison solves a linear program."""
    return Row(
        f"optimized-programmes-2-{documents}",
        f'estimate_preferences(rankings, method="optimized", variance_reduction="none", comparisons={_PROGRAMMES})',
        _PROGRAMMES,
        "programmes",
        partial(prepare_programmes, documents),
        {"method": "optimized, a programme each", "rankers": 2, "documents": documents},
    )


def prepare_programmes(documents: int):
    """Make so many new queries for each try that nearly every comparison has a different query."""
    from ltr_duel import estimate_preferences

    every = [corpus(2, documents, 100 * _PROGRAMMES, seed) for seed in range(3)]
    options = {"clicks": "navigational", "method": "optimized", "variance_reduction": "none", "jobs": 1}
    estimate_preferences(corpus(2, documents, 5), comparisons=5, **options)
    return lambda: estimate_preferences(every.pop(), comparisons=_PROGRAMMES, **options)


def slate(method: str, size: int) -> Row:
    """Return the row of a method with a set of rankers and the outcomes of all pairs."""
    times = 2_000_000 // size
    return Row(
        f"{method}-{size}-100",
        "compare_slate(comparison, query, slate, size, won, rng, rng)",
        times,
        "comparisons",
        partial(prepare_slate, method, size, times),
        {"method": method, "rankers": size, "documents": 100},
    )


def prepare_slate(method: str, size: int, times: int):
    """Compile."""
    rankings = corpus(size, 100, QUERIES)
    comparison = Comparer(rankings, click_model("navigational", rankings.grades), method=method).open()
    everybody, won, rng = np.arange(size), np.zeros((size, size), np.int8), stream(0, "benchmark")
    slates_often(comparison, everybody, size, 5, won, rng)
    return lambda: slates_often(comparison, everybody, size, times, won, rng)


def corpus(rankers: int, documents: int, queries: int, seed: int = 1):
    """Return rankers of a synthetic corpus with five grades."""
    from ltr_duel import feature_rankers
    from ltr_duel.data import make_corpus

    made = make_corpus(queries=queries, documents=documents, features=rankers, dead=0, constant=0, seed=seed)
    return feature_rankers(made)
