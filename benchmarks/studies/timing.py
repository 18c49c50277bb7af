"""Timing of functions, and printed tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence


def rate(work: Callable[[int], object], amount: int, *, best_of: int = 3) -> float:
    """Return the units per second of ``work(amount)``: the best of several tries after a small warm-up.

    Only the processor time of this thread counts, so that other processes distort the rate less.
    """
    work(max(1, amount // 1000))
    seconds = []
    for _ in range(best_of):
        began = time.thread_time()
        work(amount)
        seconds.append(time.thread_time() - began)
    return amount / min(seconds)


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table with a left-aligned first column."""
    widths = [max(len(row[k]) for row in [header, *rows]) for k in range(len(header))]
    print(title)
    for row in [header, *rows]:
        cells = [
            cell.rjust(width) if k else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  " + "  ".join(cells).rstrip())
