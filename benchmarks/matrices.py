"""Preference matrices of a corpus shaped like Yahoo set 1: 519 rankers, 2,000 queries of 24 documents."""

from __future__ import annotations

from functools import partial

from benchmarks.row import Row

RANKERS, PAIRS = 519, 519 * 518 // 2


def rows() -> list[Row]:
    """Return the rows: 4,000 and 400 comparisons, and variance reduction with fewer comparisons and the same errors."""
    return [
        row("519-400", 400, "none"),
        row("519-32-variance", 32, "auto"),
        row("519-4000", 4000, "none", when="asked"),
        row("519-324-variance", 324, "auto", when="asked"),
    ]


def row(name: str, comparisons: int, reduction: str, when: str = "usual") -> Row:
    """Return the row of an estimate of all pairs on all cores."""
    way = f", variance_reduction={reduction!r}"
    return Row(
        name,
        f'estimate_preferences(rankings, clicks="navigational", comparisons={comparisons}{way})',
        comparisons * PAIRS,
        "comparisons",
        partial(prepare, comparisons, reduction),
        {"K": RANKERS, "comparisons a pair": comparisons, "variance reduction": reduction},
        clock="wall",
        when=when,
    )


def prepare(comparisons: int, reduction: str):
    """Make the corpus, and compile."""
    from ltr_duel import estimate_preferences, feature_rankers
    from ltr_duel.data import make_corpus

    corpus = make_corpus(
        queries=2000, documents=24, features=RANKERS, dead=0, constant=0, seed=1, name="yahoo-set-1-shaped"
    )
    rankings = feature_rankers(corpus, drop_constant=False)
    options = {"clicks": "navigational", "variance_reduction": reduction}
    estimate_preferences(rankings[[0, 1]], comparisons=8, **options)
    return lambda: estimate_preferences(rankings, comparisons=comparisons, **options)
