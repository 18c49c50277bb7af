"""Show how many runs are finished and how much time is left, as a bar on a terminal and otherwise as lines."""

from __future__ import annotations

import time

from ltr_duel.core import progress


class Progress:
    """Shows the progress of an experiment."""

    def __init__(self, total: int, finished: int) -> None:
        self._total, self._before, self._finished, self._began = total, finished, finished, time.monotonic()
        self._line, self._bar = progress.PlainLine(), progress.progress_bar(total=total, initial=finished, unit="run")

    def show(self, finished: int) -> None:
        """Show that ``finished`` runs have succeeded or failed. Without a bar, print a line from time to time."""
        self._bar.update(finished - self._finished)
        self._finished = finished
        if self._bar.disable and self._line.due():
            done, seconds = finished - self._before, time.monotonic() - self._began
            left = f", {duration(seconds / done * (self._total - finished))} left" if done else ""
            self._line.show(f"{finished:,} of {self._total:,} runs{left}")

    def close(self) -> None:
        """End the bar."""
        self._bar.close()


def duration(seconds: float) -> str:
    """Format a time in its two largest units, for example ``5 h 10 min``. Negative times count as 0."""
    units = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))
    whole = max(0, round(seconds))
    for (name, size), (smaller, part) in zip(units, [*units[1:], ("", 1)], strict=True):
        if whole >= size:
            rest = whole % size // part
            return f"{whole // size} {name}" + (f" {rest} {smaller}" if smaller and rest else "")
    return "0 s"
