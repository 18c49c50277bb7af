"""Lines of a log that cannot be used: each has a sentence, and so many may be passed over."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

from ltr_duel.core import InputError, errors

Wrong: TypeAlias = str | Callable[[Any], str]  # what is wrong with a line, given where it stands
_KEPT = 20  # reasons
_VALUES = re.compile(r"(?<!^)'[^']*'|\[.*\]|\{.*\}|-?\d[\w.:-]*")  # what differs between lines that are wrong alike


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
        self._reasons: dict[str, tuple[str, int]] = {}  # sentence without values -> the first one, and how many
        self._other = 0  # lines wrong for still other reasons

    @property
    def sentences(self) -> list[str]:
        """One sentence for each reason: the first line that is wrong for it, and how many are."""
        listed = [first + (f"; {n:,} such lines" if n > 1 else "") for first, n in self._reasons.values()]
        return [*listed, f"{self._other:,} lines are wrong for other reasons"] if self._other else listed

    def add(self, line: int, wrong: Wrong) -> None:
        """Count one more, or give up.

        Raises
        ------
        InputError
            If there are more than are allowed.
        """
        self.count += 1
        found = self._find(line)
        reason = wrong if isinstance(wrong, str) else wrong(found)
        sentence = errors.in_one_line(f"{found}: {reason}")
        if self.allowed is not None and self.count > self.allowed:
            beyond = f" ({self.count:,} bad lines; {self.allowed:,} may be skipped)" if self.allowed else ""
            raise InputError(sentence + beyond)
        kind = _VALUES.sub("", reason)
        if kind in self._reasons or len(self._reasons) < _KEPT:
            first, n = self._reasons.get(kind, (sentence, 0))
            self._reasons[kind] = first, n + 1
        else:
            self._other += 1
