"""Show runs done, duels per second and time left of an experiment: in a bar on a terminal, else in plain lines."""

from __future__ import annotations

import time

from tqdm import tqdm

from ltr_duel.core import progress


class Progress:
    """Shows the progress of an experiment.

    total: number of runs of the plan.
    known: number of runs that exist already or have failed.
    """

    def __init__(self, total: int, known: int = 0) -> None:
        self._total, self._known, self._done, self._duels = total, known, 0, 0
        self._began = time.monotonic()
        self._line = progress.PlainLine()
        self._bar = progress.progress_bar(total=total, initial=known, unit="run", bar_format=self._drawn())

    def already_done(self, runs: int) -> None:
        """Count runs that another process finished."""
        self._known += runs

    def done(self, duels: int) -> None:
        """Count a run that this process finished."""
        self._done += 1
        self._duels += duels
        self.tick()

    def tick(self) -> None:
        """Update the line if enough time has passed."""
        if not self._bar.disable:
            self._show()
        elif self._line.due():
            self._line.show(self.sentence())

    def sentence(self) -> str:
        """Return the text of the line."""
        seconds = max(1e-9, time.monotonic() - self._began)
        known = self._known + self._done
        left = f", {duration(seconds / self._done * (self._total - known))} left" if self._done else ""
        return f"{known:,} of {self._total:,} runs, {tqdm.format_sizeof(self._duels / seconds)} duels/s{left}"

    def close(self) -> None:
        """End the line."""
        self._show()
        self._bar.close()

    def _drawn(self) -> str:
        """Return the format of the bar, which contains the text because a {postfix} of tqdm begins with ", "."""
        return f"{{l_bar}}{{bar}}| {self.sentence()}"

    def _show(self) -> None:
        if not self._bar.disable:
            self._bar.n = self._known + self._done
            self._bar.bar_format = self._drawn()
            self._bar.refresh()


def duration(seconds: float) -> str:
    """Format a time in its two largest units.

    Parameters
    ----------
    seconds : float
        Negative values count as 0.

    Returns
    -------
    str

    Examples
    --------
    >>> duration(42), duration(200), duration(18_600)
    ('42 s', '3 min 20 s', '5 h 10 min')
    """
    units = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))
    whole = max(0, round(seconds))
    for (name, size), (smaller, part) in zip(units, [*units[1:], ("", 1)], strict=True):
        if whole >= size:
            rest = whole % size // part
            return f"{whole // size} {name}" + (f" {rest} {smaller}" if smaller and rest else "")
    return "0 s"
