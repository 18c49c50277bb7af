"""Pages and credits per second in Python: plain lists of ids, compared with a reference in plain Python.

The library `interleaving` (github.com/mpkato/interleaving) is measured too if it can be imported.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.studies.timing import rate, table
from benchmarks.words import number as short
from ltr_duel import interleave
from ltr_duel.core import InputError
from ltr_duel.interleaving import METHODS
from tests.reference.interleaving import team_draft_page

IDS = [f"https://example.org/document/{k}" for k in range(20)]
CASES = {
    "same documents": {"one": IDS[:10], "other": IDS[9::-1]},
    "half in common": {"one": IDS[:10], "other": IDS[5:15]},
    "four rankers": {f"ranker {k}": IDS[3 * k : 3 * k + 10] for k in range(4)},
}


def speeds(method: str, rankings: dict[str, list[str]], amount: int) -> tuple[float, float]:
    """Return pages and credits per second."""
    rng = np.random.default_rng(0)
    page = interleave(rankings, method, rng=rng)
    clicks = [page.shown[0], page.shown[3]]
    page.credit(clicks)  # compiles

    def draw(times: int) -> None:
        for _ in range(times):
            interleave(rankings, method, rng=rng)

    def credit(times: int) -> None:
        for _ in range(times):
            page.credit(clicks)

    return rate(draw, amount, best_of=5), rate(credit, amount, best_of=5)


def reference(rankings: dict[str, list[str]], amount: int) -> tuple[float, float]:
    """Return pages and credits per second of team draft in plain Python."""
    rng = np.random.default_rng(0)
    lists = list(rankings.values())
    shown, owners = team_draft_page(lists, 10, rng)
    clicks = [shown[0], shown[3]]

    def draw(times: int) -> None:
        for _ in range(times):
            team_draft_page(lists, 10, rng)

    def credit(times: int) -> None:
        for _ in range(times):
            owned = [owners[shown.index(document)] for document in clicks]
            counts = [owned.count(ranker) for ranker in range(len(lists))]
            {(a, b): counts[a] - counts[b] for a in range(len(lists)) for b in range(a)}

    return rate(draw, amount, best_of=5), rate(credit, amount, best_of=5)


def ours(method: str, rankings: dict[str, list[str]]) -> Callable[[int], None]:
    """Return a function that makes pages and credits two clicks on each page."""
    rng = np.random.default_rng(0)

    def work(times: int) -> None:
        for _ in range(times):
            page = interleave(rankings, method, rng=rng)
            page.credit([page.shown[0], page.shown[3]])

    return work


def theirs(method: Any, rankings: dict[str, list[str]]) -> Callable[[int], None]:
    """Return the same for a class of the library `interleaving`, which takes the positions of the clicks."""
    lists = list(rankings.values())

    def work(times: int) -> None:
        for _ in range(times):
            method.evaluate(method(lists, 10).interleave(), [0, 3])

    return work


def beside_peer() -> None:
    """Measure both libraries in turn: pages with their credit per second."""
    rankings = CASES["half in common"]
    try:
        peer: Any = importlib.import_module("interleaving")
    except ImportError:
        peer = None
    pairs = [
        ("team_draft", "TeamDraft", 1000),
        ("probabilistic", "Probabilistic", 5),
    ]  # a probabilistic page of the library takes 0.1 s
    rows = []
    for method, named, amount in pairs:
        own = rate(ours(method, rankings), 10_000, best_of=5)
        rows.append([f"{method}, ltr_duel", short(own), ""])
        if peer is not None:
            other = rate(theirs(getattr(peer, named), rankings), amount, best_of=5)
            rows.append([f"{method}, interleaving", short(other), f"{own / other:,.0f}"])
    table(
        "Pages with the credit of two clicks per second: two lists of ten, half in common", ["", "pages", "ratio"], rows
    )
    if peer is None:
        print("  The library interleaving is not installed; its rows are left out.")


def main() -> None:
    beside_peer()
    print()
    rows = []
    for case, rankings in CASES.items():
        for method in METHODS:
            amount = 10_000 if method.compiled else 20  # the other methods solve linear programs
            try:
                pages, credits = speeds(method.name, rankings, amount)
            except InputError:  # the method compares only two rankers
                continue
            rows.append([method.name, case, short(pages), short(credits)])
        pages, credits = reference(rankings, 10_000)
        rows.append(["team draft, reference implementation", case, short(pages), short(credits)])
    table(
        "Plain lists per second, one core: lists of ten ids, ten shown", ["method", "lists", "pages", "credits"], rows
    )
    print(
        "  Optimized methods solve a linear program for each new set of complete orders. Lists with different documents"
    )
    print("  are completed at random, so most pages need a new program; lists with the same documents need only one.")


if __name__ == "__main__":
    main()
