"""Count the unusable lines of a log, grouped by reason, and raise an error if there are more than allowed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import InputError, IntVector, errors

_KEPT = 20  # maximum number of reasons that are counted separately
_VALUES = re.compile(
    r"(?<!^)'[^']*'|\[.*\]|\{.*\}|-?\d[\w.:-]*"
)  # values that differ between lines with the same fault


class Refused(NamedTuple):
    """Unusable lines."""

    lines: IntVector
    reasons: list[tuple[int, int]]  # first line and number of lines of each reason
    sentences: Callable[[list[int]], dict[int, str]]  # returns the error message of each given line


def refused(wrong: dict[int, str]) -> Refused:
    """Group unusable lines by reason, given their error messages."""
    reasons: dict[str, list[int]] = {}
    for line in sorted(wrong):
        reasons.setdefault(_VALUES.sub("", wrong[line]), []).append(line)
    lines = np.array(sorted(wrong), np.int64)
    return Refused(lines, [(one[0], len(one)) for one in reasons.values()], lambda some: {k: wrong[k] for k in some})


class BadLines:
    """Counter of the bad lines of a log; ``allowed`` is the maximum number, None for no limit."""

    def __init__(self, find: Callable[[int], Any], allowed: int | None) -> None:
        self.allowed, self._find = allowed, find
        self.count = 0
        self.repeated = 0  # number of bad lines that repeat an impression
        self.equal = 0  # number of lines that equal an earlier line: delivered twice, and counted once
        self._reasons: dict[str, tuple[str, int]] = {}  # message without values -> first message, number of lines
        self._other = 0  # number of lines with reasons after the first `_KEPT`

    @property
    def removed(self) -> int:
        """Number of lines that are not read: bad lines, and equal lines after the first."""
        return self.count + self.equal

    @property
    def sentences(self) -> list[str]:
        """One message per reason: the first line that is bad for this reason, and the number of such lines."""
        listed = [first + (f"; {n:,} such lines" if n > 1 else "") for first, n in self._reasons.values()]
        return [*listed, f"{self._other:,} lines are bad for other reasons"] if self._other else listed

    def add(self, *parts: Refused) -> None:
        """Count bad lines, and build one message per reason; raise `InputError` if there are more than allowed."""
        if not any(len(part.lines) for part in parts):
            return
        lines, before = np.sort(np.concatenate([part.lines for part in parts])), self.count
        self.count += len(lines)
        if self.allowed is not None and self.count > self.allowed:
            line = int(lines[self.allowed - before])
            (part,) = (part for part in parts if line in part.lines)
            beyond = f" ({self.allowed + 1:,} bad lines; {self.allowed:,} may be skipped)" if self.allowed else ""
            raise InputError(self._sentence(line, part.sentences([line])[line]) + beyond)
        reasons = sorted((first, n, k) for k, part in enumerate(parts) for first, n in part.reasons)
        self._other += sum(n for _, n, _ in reasons[_KEPT:])
        said: dict[int, str] = {}
        for k, part in enumerate(parts):
            wanted = [first for first, _, of in reasons[:_KEPT] if of == k]
            said |= part.sentences(wanted) if wanted else {}
        for line, n, _ in reasons[:_KEPT]:
            kind = _VALUES.sub("", said[line])
            if kind in self._reasons or len(self._reasons) < _KEPT:
                first, earlier = self._reasons.get(kind) or (self._sentence(line, said[line]), 0)
                self._reasons[kind] = first, earlier + n
            else:
                self._other += n

    def _sentence(self, line: int, wrong: str) -> str:
        return errors.in_one_line(f"{self._find(line)}: {wrong}")
