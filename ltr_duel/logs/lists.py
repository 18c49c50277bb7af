"""Conversion of the rankings in rows of a log to the lists that the methods' kernels read.

A document's number is its index in the first ranking of the row. A kernel compares texts by their bytes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import IntVector, kernel
from ltr_duel.interleaving import Lists
from ltr_duel.logs.hashing import Spans, find_text, spans_of, table_for
from ltr_duel.logs.table import ragged

MOST_DOCUMENTS, MOST_RANKERS = 10_000, 200
_NO_LIST, _TWICE, _OTHERS, _UNKNOWN = 1, 2, 3, 4  # codes of the faults of a row
_WRONG = {
    _NO_LIST: f"'rankings' must hold lists of 1 to {MOST_DOCUMENTS:,} documents",
    _TWICE: "a document is twice in a ranking",
    _OTHERS: "the rankings differ in their documents; only a page token says where missing ones were put",
}


class Ranked(NamedTuple):
    """The rankings of some rows: row n has lists ``ptr[n]:stop[n]``; list m has documents ``begin[m]:end[m]``."""

    ptr: IntVector
    stop: IntVector
    begin: IntVector
    end: IntVector
    ids: Spans  # the documents of the lists of all rows
    shown: Spans  # texts of the shown documents

    def of(self, rows: Any) -> Ranked:
        """Return some of the rows."""
        return self._replace(ptr=self.ptr[rows], stop=self.stop[rows])


class RowLists(NamedTuple):
    """The lists of some rows, one query per row, and the shown documents."""

    lists: Lists
    numbers: IntVector  # numbers of the shown documents, for all rows of the batch
    wrong: IntVector  # code of the fault of each row, 0 if none
    where: IntVector  # the shown document that no ranking has


def ranked(column: Any, shown: Any) -> Ranked:
    """Return the rankings of a batch, given its columns ``rankings`` and ``shown``."""
    lists, ptr = ragged(column)
    texts, bounds = ragged(lists)
    return Ranked(ptr[:-1], ptr[1:], bounds[:-1], bounds[1:], spans_of(texts), spans_of(shown))


def number_rows(rows: Ranked, rankers: int, first: IntVector, last: IntVector) -> RowLists:
    """Number the documents of rows that interleave `rankers` rankers and show ``rows.shown[first[n]:last[n]]``."""
    some = rows.stop > rows.ptr
    head = np.where(some, rows.ptr, 0)
    sizes = np.where(some, rows.end[head] - rows.begin[head], 0) if len(rows.end) else np.zeros(len(head), np.int64)
    sizes[sizes > MOST_DOCUMENTS] = 0
    ptr = np.concatenate([[0], np.cumsum(sizes)])
    order, rank = (np.empty((rankers, int(ptr[-1])), np.int16) for _ in range(2))
    wrong, where = np.zeros(len(sizes), np.int64), np.zeros(len(sizes), np.int64)
    found = RowLists(Lists(order, rank, ptr), np.zeros(len(rows.shown.begin), np.int64), wrong, where)
    most = sizes.max(initial=1)
    number_documents(rows, first, last, table_for(most), np.zeros(most, np.int64), found)
    return found


def wrong_rows(found: RowLists, rows: IntVector, lists: IntVector, rankers: int, shown: Any) -> dict[int, str]:
    """Return error messages for faulty rows; ``lists`` has the number of rankings of each row."""
    wrong = {}
    for n in np.flatnonzero((found.wrong > 0) | (lists != rankers)):
        code = int(found.wrong[n])
        if code in _WRONG:
            sentence = _WRONG[code]
        elif lists[n] != rankers:
            sentence = f"{lists[n]} rankings for {rankers} rankers"
        else:
            sentence = f"the shown document '{shown[int(found.where[n])]}' is in no ranking"
        wrong[int(rows[n])] = sentence
    return wrong


@kernel
def number_documents(
    rows: Ranked, first: IntVector, last: IntVector, table: IntVector, seen: IntVector, found: RowLists
) -> None:
    """Fill in the lists of the rows; ``table`` and ``seen`` (documents,) are zeroed scratch."""
    ids, shown = rows.ids, rows.shown
    rankers, lists = found.lists.order.shape[0], 0
    for n in range(rows.ptr.shape[0]):
        start = found.lists.query_ptr[n]
        size = found.lists.query_ptr[n + 1] - start
        base = rows.begin[rows.ptr[n]] if size > 0 else 0
        wrong = 0 if size > 0 else _NO_LIST
        for m in range(rows.ptr[n], rows.stop[n]):
            if wrong > 0:
                break
            a = m - rows.ptr[n]
            lists += 1
            if rows.end[m] - rows.begin[m] != size:
                wrong = _OTHERS
                break
            for r in range(size):
                k = rows.begin[m] + r
                d = find_text(ids.data, ids.begin[k], ids.stop[k], ids, base, table, n + 1)
                if a == 0:
                    if d >= 0:
                        wrong = _TWICE
                        break
                    table[-1 - d] = (n + 1) << 32 | r
                    d = r
                if d < 0 or seen[d] == lists:
                    wrong = _OTHERS
                    break
                seen[d] = lists
                if a < rankers:
                    found.lists.order[a, start + r] = d
                    found.lists.rank[a, start + d] = r + 1
        for k in range(first[n], last[n]):
            if wrong == 0:
                d = find_text(shown.data, shown.begin[k], shown.stop[k], ids, base, table, n + 1)
                found.numbers[k] = max(d, 0)
                if d < 0:
                    wrong = _UNKNOWN
                    found.where[n] = k
        found.wrong[n] = wrong
