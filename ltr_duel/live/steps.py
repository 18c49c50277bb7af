"""Steps of the clock: pages that were open before one keep the time that they were promised."""

from __future__ import annotations

from collections.abc import Callable

_SLACK = 5.0  # seconds between two looks by which clocks may differ


class Steps:
    """Compares the clock with one that never jumps.

    After a step forward (a machine that was suspended, a wrong clock that is set) open pages look past their deadline.
    So deadlines count as that much later until a deadline has passed since; a step back takes the delay away again.

    Parameters
    ----------
    lasts : float
        Seconds for which deadlines count as later: those of a page.
    monotonic : callable
        Returns seconds, of a clock that never jumps.
    """

    def __init__(self, lasts: float, monotonic: Callable[[], float]) -> None:
        self._lasts, self._monotonic = lasts, monotonic
        self._apart: float | None = None  # how far the clocks are from each other
        self._ends = 0.0
        self.delay = 0.0  # seconds

    def look(self, now: float) -> float:
        """Take the time of the clock; return by how much deadlines count as later."""
        steady = self._monotonic()
        apart = now - steady
        step = 0.0 if self._apart is None else apart - self._apart
        if abs(step) > _SLACK:
            self.delay, self._ends = max(0.0, self.delay + step), steady + self._lasts
        elif steady >= self._ends:
            self.delay = 0.0
        self._apart = apart
        return self.delay
