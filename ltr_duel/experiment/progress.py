"""Show runs done, duels per second and time left of an experiment: in a bar on a terminal, else in plain lines."""

from __future__ import annotations

import time

from tqdm import tqdm

from ltr_duel.core import progress


class Progress:
    """Shows the progress of an experiment.

    total: number of runs of the schedule.
    finished: number of runs that exist already or have failed.
    """

    def __init__(self, total: int, finished: int) -> None:
        self._total, self._before, self._finished, self._duels = total, finished, finished, 0
        self._began = time.monotonic()
        self._line = progress.PlainLine()
        self._bar = progress.progress_bar(total=total, initial=finished, unit="run", bar_format=self._drawn())

    def add(self, duels: int) -> None:
        """Count the duels of runs that this process has finished."""
        self._duels += duels

    def show(self, finished: int) -> None:
        """Update the line, if enough time has passed; ``finished`` counts runs as in the constructor."""
        self._finished = finished
        if not self._bar.disable:
            self._draw()
        elif self._line.due():
            self._line.show(self.sentence())

    def sentence(self) -> str:
        """Return the text of the line."""
        seconds = max(1e-9, time.monotonic() - self._began)
        done = self._finished - self._before
        left = f", {duration(seconds / done * (self._total - self._finished))} left" if done else ""
        return f"{self._finished:,} of {self._total:,} runs, {tqdm.format_sizeof(self._duels / seconds)} duels/s{left}"

    def close(self) -> None:
        """End the line."""
        if not self._bar.disable:
            self._draw()
        self._bar.close()

    def _drawn(self) -> str:
        """Return the format of the bar, which contains the text because a {postfix} of tqdm begins with ", "."""
        return f"{{l_bar}}{{bar}}| {self.sentence()}"

    def _draw(self) -> None:
        self._bar.n = self._finished
        self._bar.bar_format = self._drawn()
        self._bar.refresh()


def duration(seconds: float) -> str:
    """Format a time in its two largest units: ``5 h 10 min``; negative times count as 0."""
    units = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))
    whole = max(0, round(seconds))
    for (name, size), (smaller, part) in zip(units, [*units[1:], ("", 1)], strict=True):
        if whole >= size:
            rest = whole % size // part
            return f"{whole // size} {name}" + (f" {rest} {smaller}" if smaller and rest else "")
    return "0 s"
