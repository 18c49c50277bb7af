"""What must hold in every row of a log, whatever file it comes from; one sentence for each row where it does not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import IntVector, kernel, words
from ltr_duel.logs.hashing import HashVector, hash_texts
from ltr_duel.logs.table import LOG_COLUMNS, Impressions, Texts, ragged, texts_of

Wrong = dict[int, str]  # row -> what is wrong with it; the first thing only


class RowChecks:
    """Checks batch after batch; it remembers what the next batch must go on from."""

    def __init__(self) -> None:
        self._time = -math.inf
        self._name: Any = None

    def __call__(self, batch: Impressions) -> Wrong:
        """Return the rows that cannot be used."""
        wrong: Wrong = {}
        table, n = batch.table, batch.table.num_rows
        have = {name: table.column(name) for name in table.schema.names}
        for name, column in have.items():
            if LOG_COLUMNS[name].needed and column.null_count:
                for r in np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)):
                    wrong.setdefault(int(r), f"'{name}' is missing")
        if "time" in have:
            self._times(have["time"], wrong)
        if "impression" in have:
            self._names(have["impression"], wrong)
        lengths = np.full(n, np.iinfo(np.int32).max)
        if "shown" in have:
            lengths = _shown(have["shown"], wrong)
        if "owners" in have and "rankers" in have:
            known = have["owners"].is_valid().to_numpy(zero_copy_only=False)
            for r in np.flatnonzero(known & have["rankers"].is_null().to_numpy(zero_copy_only=False)):
                wrong.setdefault(int(r), "'rankers' is missing")
            _owners(have["owners"], have["rankers"], known, lengths if "shown" in have else None, wrong)
            if "shown" not in have:
                lengths = np.where(known, np.diff(ragged(have["owners"])[1]), lengths)
        if "clicks" in have:
            _outside(have["clicks"], 1, lengths, "a click at place {value} is not on the list of {high}", wrong)
        if "grades" in have:
            _outside(have["grades"], 0, np.full(n, 1000), "{value} is not a grade (0 to 1000)", wrong)
            _same_length(have["grades"], lengths, "{size} grades for {want} shown documents", wrong)
        if "propensity" in have:
            _chances(have["propensity"], wrong)
        if "dwell" in have and "clicks" in have:
            clicked = np.diff(ragged(have["clicks"])[1])
            _same_length(have["dwell"], clicked, "{size} dwell times for {want} clicks", wrong)
            _negative(have["dwell"], wrong)
        return wrong

    def _times(self, column: Any, wrong: Wrong) -> None:
        times = column.to_numpy(zero_copy_only=False)
        for r in np.flatnonzero(~np.isfinite(times)):
            wrong.setdefault(int(r), f"'time' must be a finite number, not {times[r]}")
        before = np.concatenate([[self._time], times[:-1]])
        for r in np.flatnonzero(times < before):
            wrong.setdefault(
                int(r), f"the time goes back, from {before[r]:.3f} to {times[r]:.3f}; rows must be sorted by time"
            )
        if len(times) and np.isfinite(times[-1]):
            self._time = float(times[-1])

    def _names(self, column: Any, wrong: Wrong) -> None:
        hashes = hash_texts(column)
        same = np.flatnonzero(hashes[1:] == hashes[:-1]) + 1
        if len(hashes) and self._name == column[0].as_py():
            same = np.concatenate([[0], same])
        for r in same:
            if column[int(r)].is_valid:
                wrong.setdefault(int(r), f"impression '{column[int(r)]}' is that of the row before")
        if len(hashes):
            self._name = column[len(hashes) - 1].as_py()


def _shown(column: Any, wrong: Wrong) -> IntVector:
    """Check the shown lists, and return their lengths."""
    ids, ptr = ragged(column)
    lengths = np.diff(ptr)
    for r in np.flatnonzero(lengths == 0):
        wrong.setdefault(int(r), "'shown' is empty")
    found = np.empty(len(lengths), np.int64)
    first_repeat(ptr, texts_of(ids), np.zeros(int(lengths.max(initial=0)), np.uint64), found)
    for r in np.flatnonzero(found >= 0):
        wrong.setdefault(int(r), f"document '{ids[int(found[r])]}' is shown twice")
    return lengths


def _owners(column: Any, rankers: Any, known: NDArray[np.bool_], lengths: IntVector | None, wrong: Wrong) -> None:
    highest = np.diff(ragged(rankers)[1]) - 1
    text = "owner {value} is not a ranker: -1 for nobody, 0 to {high} for the rankers"
    _outside(column, -1, highest, text, wrong, missing=-1)
    if lengths is not None:
        wanted = np.where(known, lengths, 0)
        _same_length(column, wanted, "{size} owners for {want} shown documents", wrong)


def _outside(column: Any, low: int, high: IntVector, text: str, wrong: Wrong, missing: int = 0) -> None:
    values, ptr = ragged(column, missing)
    found = np.empty(len(ptr) - 1, np.int64)
    first_outside(ptr, values, low, high, found)
    for r in np.flatnonzero(found >= 0):
        wrong.setdefault(int(r), text.format(value=values[found[r]], high=high[r]))


def _same_length(column: Any, wanted: IntVector, text: str, wrong: Wrong) -> None:
    sizes = np.diff(ragged(column)[1])
    known = ~column.is_null().to_numpy(zero_copy_only=False)
    for r in np.flatnonzero(known & (sizes != wanted)):
        wrong.setdefault(int(r), text.format(size=sizes[r], want=wanted[r]))


def _chances(column: Any, wrong: Wrong) -> None:
    values = column.to_numpy(zero_copy_only=False)
    for r in np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False) & ~((values > 0) & (values <= 1))):
        wrong.setdefault(int(r), f"'propensity' must be above 0 and at most 1, not {values[r]}")


def _negative(column: Any, wrong: Wrong) -> None:
    values, ptr = ragged(column, math.nan)
    bad = np.flatnonzero(~(values >= 0))
    for r, e in zip(np.searchsorted(ptr, bad, "right") - 1, bad, strict=True):
        if 0 <= r < len(ptr) - 1:
            wrong.setdefault(int(r), f"a dwell time must be at least 0 seconds, not {values[e]}")


@kernel
def first_outside(ptr: IntVector, values: NDArray[np.int32], low: int, high: IntVector, found: IntVector) -> None:
    """Write where each row has an entry outside ``[low, high[row]]``, or -1."""
    for r in range(found.shape[0]):
        found[r] = -1
        for k in range(ptr[r], ptr[r + 1]):
            if values[k] < low or values[k] > high[r]:
                found[r] = k
                break


@kernel
def first_repeat(ptr: IntVector, texts: Texts, last: HashVector, found: IntVector) -> None:
    """Write where each row repeats a text, or -1; ``last`` (entries of a row,) is scratch: the last eight bytes."""
    for r in range(found.shape[0]):
        found[r] = -1
        for k in range(ptr[r], ptr[r + 1]):
            start, stop = texts.ptr[k], texts.ptr[k + 1]
            word = words.word_at(texts.data, max(start, stop - 8), stop)
            last[k - ptr[r]] = word
            for m in range(ptr[r], k):
                if last[m - ptr[r]] == word:
                    size, other = stop - start, texts.ptr[m]
                    if texts.ptr[m + 1] - other == size and words.same_bytes(
                        texts.data, start, texts.data, other, size
                    ):
                        found[r] = k
        # rows are short: a list that is shown
