"""How many different texts there are in a stream, and which one is the most frequent, in fixed memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ltr_duel.logs.hashing import HashVector, hash_texts

_BITS, _GROUPS = 24, 1 << 16


class Distinct:
    """Counts the different texts of a column, batch after batch.

    Linear counting (Whang, Vander-Zanden, Taylor, TODS 1990) with 2^24 marks: exact to a few parts in a thousand for up
    to 50 million texts, and to the last one for a few hundred. The most frequent text is told by the counts of 65,536
    groups of texts: its own, but for the chance that another frequent one shares its group.
    """

    def __init__(self) -> None:
        self._seen = np.zeros(1 << _BITS, np.bool_)
        self._counts = np.zeros(_GROUPS, np.int64)
        self._names: dict[int, str] = {}  # group -> the text that was frequent in a batch

    def add(self, column: Any, hashes: HashVector | None = None) -> None:
        """Count the texts of a column, whose hashes may be known; those that are null do not count."""
        hashes = hash_texts(column) if hashes is None else hashes
        if column.null_count:
            known = column.is_valid().to_numpy(zero_copy_only=False)
            column, hashes = column.drop_null(), hashes[known]
        if len(column) == 0:
            return
        self._seen[(hashes >> np.uint64(64 - _BITS)).astype(np.int64)] = True
        groups = (hashes & np.uint64(_GROUPS - 1)).astype(np.int64)
        counts = np.bincount(groups, minlength=_GROUPS)
        self._counts += counts
        group = int(counts.argmax())
        self._names.setdefault(group, column[int((groups == group).argmax())].as_py())

    @property
    def number(self) -> int:
        """About how many different texts there were."""
        free = self._seen.size - int(np.count_nonzero(self._seen))
        return round(self._seen.size * math.log(self._seen.size / max(free, 1)))

    @property
    def largest(self) -> tuple[str, int]:
        """The most frequent text, and how often it was there."""
        group = max(self._names, key=lambda one: (self._counts[one], -one), default=-1)
        return (self._names[group], int(self._counts[group])) if group >= 0 else ("", 0)
