"""Lines of a log that cannot be used: each has a sentence, and so many may be passed over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ltr_duel.core import InputError, errors

Wrong: TypeAlias = str | Callable[[Any], str]  # what is wrong with a line, given where it stands
_KEPT = 20


class BadLines:
    """Counts the bad lines of a log.

    Parameters
    ----------
    find : callable
        Returns where a line of the log stands.
    allowed : int or None
        How many may be skipped; None for any number.
    """

    def __init__(self, find: Callable[[int], Any], allowed: int | None) -> None:
        self.allowed, self._find = allowed, find
        self.count = 0
        self.repeated = 0  # of these, rows whose impression had been there before
        self.first: list[str] = []  # the first ones, as sentences

    def add(self, line: int, wrong: Wrong) -> None:
        """Count one more, or give up.

        Raises
        ------
        InputError
            If there are more than are allowed.
        """
        self.count += 1
        too_many = self.allowed is not None and self.count > self.allowed
        if not too_many and len(self.first) >= _KEPT:
            return
        found = self._find(line)
        sentence = f"{found}: {wrong if isinstance(wrong, str) else wrong(found)}"
        if too_many:
            beyond = f" ({self.count:,} bad lines; {self.allowed:,} may be skipped)" if self.allowed else ""
            raise InputError(sentence + beyond)
        self.first.append(errors.in_one_line(sentence))
