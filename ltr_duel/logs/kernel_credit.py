"""Convert rows of a log to the arrays that the methods' kernels read, and credit the rows by these kernels.

A document's number is its index in the first ranking of the row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ltr_duel.core import FloatMatrix, FloatVector, IntVector, SignMatrix, interpreted, kernel
from ltr_duel.interleaving import MOST_DOCUMENTS, Lists, Method, Shown, Size, credit_pair, credit_slate, room_for
from ltr_duel.logs.table import ragged

_NO_LIST, _TWICE, _OTHERS, _UNKNOWN = 1, 2, 3, 4  # codes of row faults
_WRONG = {
    _NO_LIST: f"'rankings' must contain lists of 1 to {MOST_DOCUMENTS:,} documents",
    _TWICE: "a ranking contains a document twice",
    _OTHERS: "the rankings differ in their documents: give the page token, in the column 'page'",
}


class Ranked(NamedTuple):
    """Rankings of rows: row n has the lists ``ptr[n]:ptr[n + 1]``; list m has the documents ``begin[m]:begin[m + 1]``.

    Documents are codes: equal ids have equal codes.
    """

    ptr: IntVector
    begin: IntVector
    documents: IntVector
    shown: IntVector  # codes of the shown documents
    codes: int  # number of different codes

    @classmethod
    def of(cls, rankings: Any, shown: Any) -> Ranked:
        """Return the rankings of a batch, given the column ``rankings`` and the ids of the column ``shown``."""
        lists, ptr = ragged(rankings)
        ids, begin = ragged(lists)
        encoded = pa.concat_arrays([ids, shown]).dictionary_encode()
        codes = encoded.indices.fill_null(-1).to_numpy().astype(np.int64)
        return cls(ptr, begin, codes[: len(ids)], codes[len(ids) :], len(encoded.dictionary))


def number_rows(
    ranked: Ranked, rows: IntVector, shown_ptr: IntVector, rankers: int, names: Any
) -> tuple[Lists, IntVector, dict[int, str]]:
    """Return the lists of rows that interleave equally many rankers, the numbers of all shown documents, and faults.

    Row n is query n of the lists. ``names`` are the ids of the shown documents, for the faults by row.
    """
    number = np.diff(ranked.ptr)[rows]
    first = ranked.ptr[rows]
    sizes = np.where(number > 0, ranked.begin[np.minimum(first + 1, len(ranked.begin) - 1)] - ranked.begin[first], 0)
    sizes[sizes > MOST_DOCUMENTS] = 0
    ptr = np.concatenate([[0], np.cumsum(sizes)])
    order, rank = (np.empty((rankers, int(ptr[-1])), np.int16) for _ in range(2))
    wrong, where = np.zeros((2, len(rows)), np.int64)
    numbers, lists = np.zeros(len(ranked.shown), np.int64), Lists(order, rank, ptr)
    stamp, number_of_code = np.zeros((2, ranked.codes + 1), np.int64)
    seen = np.zeros(sizes.max(initial=1), np.int64)
    number_documents(ranked, rows, shown_ptr, stamp, number_of_code, seen, lists, numbers, wrong, where)
    faults = {}
    for n in np.flatnonzero((wrong > 0) | (number != rankers)):
        code = int(wrong[n])
        if code in _WRONG:
            faults[int(rows[n])] = _WRONG[code]
        elif number[n] != rankers:
            faults[int(rows[n])] = f"{number[n]} rankings for {rankers} rankers"
        else:
            faults[int(rows[n])] = f"the shown document '{names[int(where[n])]}' is in no ranking"
    return lists, numbers, faults


@kernel
def number_documents(
    ranked: Ranked, rows: IntVector, shown_ptr: IntVector, stamp: IntVector, number: IntVector, seen: IntVector,
    lists: Lists, numbers: IntVector, wrong: IntVector, where: IntVector,
) -> None:  # fmt: skip
    """Fill the outputs; ``stamp`` and ``number`` (codes + 1,) and ``seen`` (documents,) are zeroed scratch arrays."""
    rankers, visited = lists.order.shape[0], 0
    for n in range(rows.shape[0]):
        row, start = rows[n], lists.query_ptr[n]
        size = lists.query_ptr[n + 1] - start
        fault = 0 if size > 0 else _NO_LIST
        for m in range(ranked.ptr[row], ranked.ptr[row + 1]):
            if fault > 0:
                break
            a, visited = m - ranked.ptr[row], visited + 1
            if ranked.begin[m + 1] - ranked.begin[m] != size:
                fault = _OTHERS
                break
            for r in range(size):
                code = ranked.documents[ranked.begin[m] + r]
                if a == 0:
                    if stamp[code] == n + 1:
                        fault = _TWICE
                        break
                    stamp[code], number[code] = n + 1, r
                d = number[code]
                if stamp[code] != n + 1 or seen[d] == visited:
                    fault = _OTHERS
                    break
                seen[d] = visited
                if a < rankers:
                    lists.order[a, start + r] = d
                    lists.rank[a, start + d] = r + 1
        for k in range(shown_ptr[row], shown_ptr[row + 1]):
            if fault == 0:
                code = ranked.shown[k]
                if stamp[code] == n + 1:
                    numbers[k] = number[code]
                else:
                    fault, where[n] = _UNKNOWN, k
        wrong[n] = fault


class Clicked(NamedTuple):
    """Rows to credit, within the arrays of their batch."""

    rows: IntVector
    query: IntVector  # (rows,) index of the row's query in the lists
    ptr: IntVector  # row r shows the entries ptr[r]:ptr[r + 1] of numbers and owners
    numbers: IntVector  # numbers of the shown documents
    owners: NDArray[np.int32]
    click_ptr: IntVector
    clicks: NDArray[np.int32]  # positions from 1, in any order
    kept: FloatVector  # (rows of the batch,) the value that the method stored with each list; (0,) if it stores none


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
        kept = getattr(state, "kept", clicked.kept) if len(clicked.kept) else clicked.kept
        if rankers == 2 and method.pairs:
            run: Any = credit_pairs if method.compiled else interpreted(credit_pairs)
            run(state, kept, lists, page, part, y)
        else:
            run = credit_slates if method.compiled else interpreted(credit_slates)
            run(state, kept, lists, page, part, np.arange(rankers), np.zeros((rankers, rankers), np.int8), y)
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
def credit_pairs(
    state: Any, kept: FloatVector, lists: Lists, page: Shown, clicked: Clicked, out: FloatMatrix
) -> None:  # fmt: skip
    """Credit rows that interleave two rankers; ``kept`` is the state's array of stored values."""
    for n in range(clicked.rows.shape[0]):
        row = clicked.rows[n]
        n_clicks = fill_page(clicked, row, page)
        if n_clicks > 0:
            for k in range(kept.shape[0]):
                kept[k] = clicked.kept[row]
            length = clicked.ptr[row + 1] - clicked.ptr[row]
            out[n, 0] = credit_pair(state, lists, clicked.query[n], 0, 1, page, length, n_clicks)


@kernel
def credit_slates(
    state: Any, kept: FloatVector, lists: Lists, page: Shown, clicked: Clicked, slate: IntVector, won: SignMatrix,
    out: FloatMatrix,
) -> None:  # fmt: skip
    """Credit rows that interleave a set of rankers; ``kept`` is the state's array of stored values."""
    size = slate.shape[0]
    for n in range(clicked.rows.shape[0]):
        row = clicked.rows[n]
        n_clicks = fill_page(clicked, row, page)
        if n_clicks > 0:
            for k in range(kept.shape[0]):
                kept[k] = clicked.kept[row]
            length = clicked.ptr[row + 1] - clicked.ptr[row]
            credit_slate(state, lists, clicked.query[n], slate, size, page, length, n_clicks, won)
            c = 0
            for a in range(size):
                for b in range(a + 1, size):
                    out[n, c] = won[a, b]
                    c += 1
