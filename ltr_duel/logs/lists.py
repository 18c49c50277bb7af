"""Rankings that rows of a log carry, as the lists that the kernels of the methods read.

The documents of a row have the numbers of their places in its first ranking. A kernel tells texts apart by their bytes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import IntVector, kernel
from ltr_duel.interleaving import Lists
from ltr_duel.logs.hashing import Spans, find_text, spans_of, table_for
from ltr_duel.logs.table import ragged

MOST_DOCUMENTS, MOST_RANKERS = 10_000, 200
_NO_LIST, _TWICE, _OTHERS, _UNKNOWN = 1, 2, 3, 4  # what is wrong with a row
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
    shown: Spans  # and those that were shown

    def of(self, rows: Any) -> Ranked:
        """Return some of the rows."""
        return self._replace(ptr=self.ptr[rows], stop=self.stop[rows])


class RowLists(NamedTuple):
    """The lists of some rows, each as a query of its own, and what was shown."""

    lists: Lists
    numbers: IntVector  # the shown documents, of all rows of the batch
    wrong: IntVector  # what is wrong with each row, 0 if nothing
    where: IntVector  # the shown document that is in no ranking


def ranked(column: Any, shown: Any) -> Ranked:
    """Return the column ``rankings`` of a batch whose shown documents are these texts."""
    lists, ptr = ragged(column)
    texts, bounds = ragged(lists)
    return Ranked(ptr[:-1], ptr[1:], bounds[:-1], bounds[1:], spans_of(texts), spans_of(shown))


def number_rows(rows: Ranked, rankers: int, first: IntVector, last: IntVector) -> RowLists:
    """Number the documents of rows that interleave so many rankers.

    rankers: Of a row; the lists of one that has another number of them are checked alone.
    first, last: Row n shows ``rows.shown[first[n]:last[n]]``.
    """
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
    """Say what is wrong with rows, of which ``lists`` counts the rankings."""
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
    """Fill in the lists of the rows; ``table`` and ``seen`` (documents,) are scratch, all zero."""
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
