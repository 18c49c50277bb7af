"""Preference matrices: comparisons a second for a corpus of the shape of Yahoo set 1, and what less variance costs."""

from __future__ import annotations

import resource
import time

import numpy as np

from benchmarks.timing import short, table
from ltr_duel.data import make_corpus
from ltr_duel.preferences import estimate_preferences
from ltr_duel.rankers import Rankings, feature_rankers

ALL = ("stratified", "integrated", "antithetic")
WAYS: tuple[tuple[str, ...], ...] = (
    (), ("common",), ("stratified",), ("integrated",), ("stratified", "integrated"), ("integrated", "antithetic"), ALL,
)  # fmt: skip
PAIRS_OF_519 = 519 * 518 // 2


def yahoo_shaped(rankers: int) -> Rankings:
    """Return live feature rankers on 2,000 queries of about 24 documents."""
    corpus = make_corpus(
        queries=2000, documents=24, features=519, dead=0, constant=0, seed=1, name="yahoo-set-1-shaped"
    )
    return feature_rankers(corpus)[list(range(rankers))]


def size(rankers: int = 519, comparisons: int = 100) -> None:
    """Time all pairs at a fraction of the comparisons; the full size is 4,000 (`full_size`)."""
    rankings = yahoo_shaped(rankers)
    estimate_preferences(rankings[[0, 1]], comparisons=4)
    rows = []
    for jobs in (1, 2):
        wall, cpu = time.perf_counter(), time.process_time()
        tally = estimate_preferences(rankings, comparisons=comparisons, jobs=jobs).tally
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        made = int(tally.lists.sum()) if tally else 0
        rows.append([str(rankers), str(comparisons), str(jobs), f"{wall:.1f}", f"{cpu:.1f}", short(made / wall)])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    table(
        f"All pairs, Yahoo-set-1 shape: 2,000 queries, 24 documents, navigational (peak memory {peak:.2f} GB)",
        ["rankers", "comparisons a pair", "threads", "seconds", "CPU seconds", "comparisons/s"],
        rows,
    )


def full_size() -> None:
    """Do the whole job: 519 rankers, 4,000 comparisons for each of 134,421 pairs."""
    size(519, 4000)


def variance(lists: int = 12_000) -> None:
    """Compare the ways to reduce the variance: lists and time for the same standard error."""
    corpus = make_corpus(queries=300, documents=100, features=24, seed=1)
    rankings = feature_rankers(corpus)[list(range(12))]
    upper = np.triu_indices(12, 1)
    rows = []
    for clicks in ("perfect", "navigational", "informational"):
        for rule in ("marginal_sign", "sampled"):
            base = 0.0, 0.0
            for way in WAYS:
                options = {"clicks": clicks, "outcome": rule, "variance_reduction": way, "jobs": 1}
                estimate_preferences(rankings, comparisons=20, **options)
                cpu = time.process_time()
                error = estimate_preferences(rankings, comparisons=lists, **options).standard_error[upper]
                cpu, spread = time.process_time() - cpu, float((error**2).mean()) * lists
                base = base if base[0] else (spread, cpu)
                fewer = base[0] / spread
                rows.append(
                    [
                        clicks,
                        rule,
                        "+".join(way) or "plain",
                        f"{spread:.4f}",
                        f"{fewer:.1f}",
                        f"{fewer * base[1] / cpu:.1f}",
                    ]
                )
    table(
        "Variance of one list, MSLR-shaped corpus; how many times fewer lists, and less time, for the same error",
        ["clicks", "rule", "way", "variance", "fewer lists", "less time"],
        rows,
    )


def main() -> None:
    """Print both tables."""
    size()
    print()
    variance()
