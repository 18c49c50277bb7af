"""Lines of a log that cannot be used: each has a sentence, and so many may be passed over."""

from __future__ import annotations

from pathlib import Path

from ltr_duel.core import InputError

_KEPT = 20


class BadLines:
    """Counts the bad lines of a log.

    Parameters
    ----------
    path : Path
    allowed : int or None
        How many may be skipped; None for any number.
    """

    def __init__(self, path: Path, allowed: int | None) -> None:
        self.path, self.allowed = path, allowed
        self.count = 0
        self.repeated = 0  # of these, rows whose impression had been there before
        self.first: list[str] = []  # the first ones, as sentences

    def add(self, line: int, wrong: str) -> None:
        """Count one more, or give up.

        Raises
        ------
        InputError
            If there are more than are allowed.
        """
        self.count += 1
        sentence = f"{self.path}:{line}: {wrong}"
        if self.allowed is not None and self.count > self.allowed:
            beyond = f" ({self.count:,} bad lines; {self.allowed:,} may be skipped)" if self.allowed else ""
            raise InputError(sentence + beyond)
        if len(self.first) < _KEPT:
            self.first.append(sentence)
