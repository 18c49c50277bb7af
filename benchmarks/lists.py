"""Plain lists of ids in Python: pages of ten documents from two rankers, and the credit of two clicks."""

from __future__ import annotations

from functools import partial

from benchmarks.row import Row

METHODS = ("team_draft", "probabilistic", "balanced", "sosm", "pairwise_preference")
IDS = [f"https://example.org/document/{k}" for k in range(20)]
RANKINGS = {"one": IDS[:10], "other": IDS[5:15]}
_TIMES = 10_000


def rows() -> list[Row]:
    """Return the rows: pages and credits of each method."""
    calls = {"pages": "interleave(rankings, {!r}, rng=rng)", "credits": "page.credit(clicks)  # made by {!r}"}
    return [
        Row(
            f"{method}-{unit}",
            calls[unit].format(method),
            _TIMES,
            unit,
            partial(prepare, method, unit),
            {"method": method},
            when="quick" if method == "team_draft" else "usual",
        )
        for method in METHODS
        for unit in calls
    ]


def prepare(method: str, unit: str):
    """Compile."""
    import numpy as np

    from ltr_duel import interleave

    rng = np.random.default_rng(0)
    page = interleave(RANKINGS, method, rng=rng)
    clicks = [page.shown[0], page.shown[3]]
    page.credit(clicks)

    def pages() -> None:
        for _ in range(_TIMES):
            interleave(RANKINGS, method, rng=rng)

    def credits() -> None:
        for _ in range(_TIMES):
            page.credit(clicks)

    return pages if unit == "pages" else credits
