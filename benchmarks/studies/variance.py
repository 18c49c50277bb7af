"""Preference matrices: time and saved comparisons of variance reduction."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.studies.timing import table
from ltr_duel.data import make_corpus
from ltr_duel.preferences import estimate_preferences
from ltr_duel.rankers import feature_rankers

WAYS: tuple[tuple[str, ...], ...] = (
    (), ("common",), ("stratified",), ("integrated",), ("integrated", "control"), ("stratified", "integrated"),
    ("integrated", "antithetic"), ("integrated", "antithetic", "control"),
    ("stratified", "integrated", "antithetic"),
)  # fmt: skip


def variance(lists: int = 12_000) -> None:
    """Compare the methods of variance reduction: lists and time for the same standard error."""
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
        "Variance of one list, MSLR-shaped corpus; factors by which lists and time decrease for the same error",
        ["clicks", "rule", "way", "variance", "fewer lists", "less time"],
        rows,
    )


if __name__ == "__main__":
    variance()
