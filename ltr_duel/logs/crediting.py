"""Convert rows of a log to the arrays that the methods' kernels read, and credit the rows by these kernels.

A document's number is its index in the first ranking of the row. Kernels compare document ids byte by byte.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import FloatMatrix, IntVector, SignMatrix, interpreted, kernel
from ltr_duel.interleaving import Lists, Method, Shown, Size, credit_pair, credit_slate, room_for
from ltr_duel.logs.hashing import Spans, find_text, spans_of, table_for
from ltr_duel.logs.table import ragged

MOST_DOCUMENTS, MOST_RANKERS = 10_000, 200
_NO_LIST, _TWICE, _OTHERS, _UNKNOWN = 1, 2, 3, 4  # codes of row faults
_WRONG = {
    _NO_LIST: f"'rankings' must contain lists of 1 to {MOST_DOCUMENTS:,} documents",
    _TWICE: "a ranking contains a document twice",
    _OTHERS: "the rankings differ in their documents: give the page token, in the column 'page'",
}


class Ranked(NamedTuple):
    """The rankings of some rows: row n has the lists ``ptr[n]:stop[n]``; list m has the ids ``begin[m]:end[m]``."""

    ptr: IntVector
    stop: IntVector
    begin: IntVector
    end: IntVector
    ids: Spans  # ids of the documents of all lists
    shown: Spans  # ids of the shown documents

    def of(self, rows: Any) -> Ranked:
        """Return the rankings of the given rows."""
        return self._replace(ptr=self.ptr[rows], stop=self.stop[rows])


class RowLists(NamedTuple):
    """The rankings of some rows, as `Lists` with one query per row, and the numbers of the shown documents."""

    lists: Lists
    numbers: IntVector  # numbers of the shown documents of all rows of the batch
    wrong: IntVector  # code of the fault of each row; 0 for rows without a fault
    where: IntVector  # for each row, index of a shown document that is in no ranking of the row, if there is one


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
    """Return the error messages of faulty rows; ``lists`` has the number of rankings of each row."""
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
    """Write the lists of the rows to ``found``; ``table`` and ``seen`` (documents,) are zeroed scratch arrays."""
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


class Clicked(NamedTuple):
    """Rows to credit, within the arrays of their batch."""

    rows: IntVector
    query: IntVector  # (rows,) index of the row's query in the lists
    ptr: IntVector  # row r shows the entries ptr[r]:ptr[r + 1] of numbers and owners
    numbers: IntVector  # numbers of the shown documents
    owners: NDArray[np.int32]
    click_ptr: IntVector
    clicks: NDArray[np.int32]  # positions from 1, in any order


def credit_rows(method: Method, params: Any, outcome: str, lists: Lists, clicked: Clicked, rankers: int) -> FloatMatrix:
    """Return the outcomes of each pair a < b of the rankers, shape (rows, rankers (rankers - 1) / 2).

    Rows are credited together if they have the same list length and the same capacity for documents (`room_for`). The
    kernel state is created for exactly this length and capacity, as for a single page. The other rows therefore do not
    change any bit of a row's outcome.
    """
    out = np.zeros((len(clicked.rows), rankers * (rankers - 1) // 2))
    some = np.flatnonzero(np.diff(clicked.click_ptr)[clicked.rows])
    rows, query = clicked.rows[some], clicked.query[some]
    tops = np.diff(clicked.ptr)[rows]
    sizes = np.diff(lists.query_ptr)
    rooms = np.array([room_for(size) for size in range(int(sizes.max(initial=0)) + 1)])
    kinds = tops << 32 | rooms[sizes[query]]
    for kind in np.unique(kinds).tolist():
        top, room = kind >> 32, kind & 0xFFFFFFFF
        same = kinds == kind
        part = clicked._replace(rows=rows[same], query=query[same])
        state = method.init(Size(top, room, rankers), params, outcome)
        page = Shown(*(np.zeros(top, np.int64) for _ in Shown._fields))
        y = np.zeros((len(part.rows), out.shape[1]))
        if rankers == 2 and method.pairs:
            run: Any = credit_pairs if method.compiled else interpreted(credit_pairs)
            run(state, lists, page, part, y)
        else:
            run = credit_slates if method.compiled else interpreted(credit_slates)
            run(state, lists, page, part, np.arange(rankers), np.zeros((rankers, rankers), np.int8), y)
        out[some[same]] = y
    return out


@kernel
def fill_page(clicked: Clicked, row: int, page: Shown) -> int:
    """Write a row to the page, with its distinct clicks in ascending order; return the number of clicks."""
    start = clicked.ptr[row]
    for k in range(clicked.ptr[row + 1] - start):
        page.shown[k] = clicked.numbers[start + k]
        page.owner[k] = clicked.owners[start + k]
    n = 0
    for c in range(clicked.click_ptr[row], clicked.click_ptr[row + 1]):
        place = clicked.clicks[c] - 1
        k = n
        while k > 0 and page.clicks[k - 1] > place:
            k -= 1
        if k > 0 and page.clicks[k - 1] == place:
            continue
        for m in range(n, k, -1):
            page.clicks[m] = page.clicks[m - 1]
        page.clicks[k] = place
        n += 1
    return n


@kernel
def credit_pairs(state: Any, lists: Lists, page: Shown, clicked: Clicked, out: FloatMatrix) -> None:
    """Credit rows that interleave two rankers."""
    for n in range(clicked.rows.shape[0]):
        row = clicked.rows[n]
        n_clicks = fill_page(clicked, row, page)
        if n_clicks > 0:
            length = clicked.ptr[row + 1] - clicked.ptr[row]
            out[n, 0] = credit_pair(state, lists, clicked.query[n], 0, 1, page, length, n_clicks)


@kernel
def credit_slates(
    state: Any, lists: Lists, page: Shown, clicked: Clicked, slate: IntVector, won: SignMatrix, out: FloatMatrix
) -> None:
    """Credit rows that interleave a set of rankers."""
    size = slate.shape[0]
    for n in range(clicked.rows.shape[0]):
        row = clicked.rows[n]
        n_clicks = fill_page(clicked, row, page)
        if n_clicks > 0:
            length = clicked.ptr[row + 1] - clicked.ptr[row]
            credit_slate(state, lists, clicked.query[n], slate, size, page, length, n_clicks, won)
            c = 0
            for a in range(size):
                for b in range(a + 1, size):
                    out[n, c] = won[a, b]
                    c += 1
