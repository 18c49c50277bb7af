"""The lines of a log that are not read: counted by reason, with a message on the first line of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import InputError, IntVector, errors

_KEPT = 20  # maximum number of reasons that are counted separately


class Bad(NamedTuple):
    """Unusable lines."""

    lines: IntVector
    reasons: Any  # (lines,) lines with equal texts are bad for one reason
    sentence: Callable[[int], str]  # returns the error message of a line
    whole: bool = False  # whether the log is misread as a whole, so that no such line may be skipped


class BadLines:
    """Counter of the bad lines of a log; ``allowed`` is the maximum number, None for no limit."""

    def __init__(self, find: Callable[[int], Any], allowed: int | None) -> None:
        self.allowed, self._find = allowed, find
        self.count = 0
        self.repeated = 0  # number of bad lines that repeat an impression
        self.equal = 0  # number of lines that equal an earlier line but for the time: shown again, and counted once
        self.lines = np.zeros(0, np.int64)  # all lines that are not read
        self._reasons: dict[str, list[Any]] = {}  # reason -> message on its first line, number of lines

    @property
    def removed(self) -> int:
        """Number of lines that are not read: bad lines, and equal lines after the first."""
        return self.count + self.equal

    @property
    def sentences(self) -> list[str]:
        """One message per reason: the first line that is bad for this reason, and the number of such lines."""
        return [first + (f"; {n:,} such lines" if n > 1 else "") for first, n in self._reasons.values()]

    def add(self, *parts: Bad) -> None:
        """Count bad lines; raise `InputError` if there are more than allowed. A line has its first reason only."""
        every = np.concatenate([np.zeros(0, np.int64), *(part.lines for part in parts)])
        lines, index = np.unique(every, return_index=True)
        fresh = ~np.isin(lines, self.lines)
        lines, index = lines[fresh], index[fresh]
        part = np.repeat(np.arange(len(parts)), [len(one.lines) for one in parts])[index]
        if (misread := next((k for k in range(len(lines)) if parts[part[k]].whole), None)) is not None:
            raise InputError(f"{self._find(int(lines[misread]))}: {parts[part[misread]].sentence(int(lines[misread]))}")
        before, self.count = self.count, self.count + len(lines)
        self.lines = np.union1d(self.lines, lines)

        def sentence(k: int) -> str:
            line = int(lines[k])
            return errors.in_one_line(f"{self._find(line)}: {parts[part[k]].sentence(line)}")

        if self.allowed is not None and self.count > self.allowed:
            beyond = f" ({self.allowed + 1:,} bad lines; {self.allowed:,} may be skipped)" if self.allowed else ""
            raise InputError(sentence(self.allowed - before) + beyond)
        if not len(lines):
            return
        texts = np.concatenate([np.asarray(one.reasons, object) for one in parts])[index]
        reasons, first, number = np.unique(texts.astype(str), return_index=True, return_counts=True)
        for k in np.argsort(first):
            reason = str(reasons[k])
            if reason not in self._reasons:
                full = len(self._reasons) >= _KEPT
                reason = "other" if full else reason
                self._reasons.setdefault(reason, ["lines are bad for other reasons" if full else sentence(first[k]), 0])
            self._reasons[reason][1] += int(number[k])


class Faults(NamedTuple):
    """The lines of a log that are not read, and the kinds of the others."""

    kinds: list[dict[str, Any]]  # see `rows.kinds_of`
    bad: list[Bad]
    equal: IntVector  # lines that equal an earlier line but for the time
    repeated: int  # number of bad lines that repeat an impression

    @property
    def lines(self) -> IntVector:
        """All lines that are not read."""
        return np.unique(np.concatenate([self.equal, *(part.lines for part in self.bad)]))
