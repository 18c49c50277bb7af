"""Steps of the clock: after one, an open page keeps the time that it had left.

Deadlines are times of the clock. The clock steps if a machine is suspended, if it is set, and, for the pages of a
store, while no service runs. After a step of s seconds the deadlines of all earlier pages move by s. The store keeps
the steps for the next process.
"""

from __future__ import annotations

import json
from collections.abc import Callable

_SLACK = 5.0  # seconds by which the clocks may differ from how they were at the latest step, or at the start
_KEPT = 50  # steps that are kept for pages that are closed: how long they are shown again goes by their deadlines


class Steps:
    """Compares the clock with one that never jumps.

    kept: the earlier steps, from `text`.
    latest: the time of the clock when the store was used last.
    monotonic: returns seconds, of a clock that never jumps. Without it a step of the clock is time that has passed.
    """

    def __init__(self, kept: str, latest: float | None, monotonic: Callable[[], float] | None) -> None:
        self._monotonic, self._latest = monotonic, latest
        self._steps: list[tuple[int, int]] = [(page, step) for page, step in json.loads(kept)]
        self._apart: float | None = None  # how far the clocks are from each other
        self.delay = 0.0  # seconds that the clock has stepped since the start, and from the last use of the store on
        self.unsaved = False  # whether the store lacks a step

    def look(self, now: float, pages: int, first_open: Callable[[], int]) -> bool:
        """Take the time of the clock; return whether it has stepped.

        pages: number of the last page.
        first_open: returns the number of the earliest open page; steps before it are forgotten, but for the latest
            ones.
        """
        if self._monotonic is None:
            return False
        apart = now - self._monotonic()
        if self._apart is not None:
            step = apart - self._apart
        else:
            step, self._apart = 0.0 if self._latest is None else now - self._latest, apart
        if abs(step) <= _SLACK:  # small ones add up: what is compared with stays
            return False
        self._apart = apart
        first = first_open()
        old = [one for one in self._steps[:-_KEPT] if one[0] >= first]
        self._steps = [*old, *self._steps[-_KEPT:], (pages, round(step * 1000))]
        self.delay += step
        self.unsaved = True
        return True

    def moved(self, page: int) -> int:
        """Return by how many milliseconds the deadline of a page is later."""
        return sum(step for last, step in self._steps if page <= last)

    def text(self) -> str:
        """Return the steps as JSON."""
        return json.dumps(self._steps)
