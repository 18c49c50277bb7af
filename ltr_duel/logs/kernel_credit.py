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


def number_rows(
    rankings: Any, rows: IntVector, shown: Any, shown_ptr: IntVector, rankers: int
) -> tuple[Lists, IntVector, dict[int, str]]:
    """Return the lists of rows that interleave equally many rankers, the numbers of all shown documents, and faults.

    Row n is query n of the lists. ``shown`` are the ids of the shown documents of all rows of the batch.
    """
    lists, list_ptr = ragged(rankings)
    ids, begin = ragged(lists)
    encoded = pa.concat_arrays([ids, shown]).dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy().astype(np.int64)
    one = np.int64(len(encoded.dictionary) + 1)  # key of a document in a row: n * one + code
    length, number = np.diff(begin), np.diff(list_ptr)[rows]
    first = np.minimum(list_ptr[rows], max(len(length) - 1, 0))
    sizes = np.where(number > 0, length[first] if len(length) else 0, 0)
    wrong = np.where((sizes < 1) | (sizes > MOST_DOCUMENTS), _NO_LIST, 0)
    keys, documents = _of_rows(np.arange(len(rows)), begin[first], np.where(wrong > 0, 0, sizes), codes, one)
    order = np.argsort(keys, kind="stable")
    again = keys[order][1:] == keys[order][:-1]
    wrong[documents[0][order[1:][again]]] = _TWICE
    ptr = np.concatenate([[0], np.cumsum(np.where(wrong > 0, 0, sizes))])

    def numbered(row: IntVector, at: IntVector, count: IntVector) -> tuple[IntVector, ...]:
        """Return row, place in the list, and number (-1 if unknown) of each document of lists of these rows."""
        wanted, (owner, place) = _of_rows(row, at, count, codes, one)
        index = np.minimum(np.searchsorted(keys[order], wanted), max(len(keys) - 1, 0))
        same = keys[order][index] == wanted if len(keys) else np.zeros(len(wanted), np.bool_)
        return owner, place, np.where(same, documents[1][order[index]] if len(keys) else 0, -1)

    wide = (rankers, int(ptr[-1]))
    made = Lists(np.zeros(wide, np.int16), np.zeros(wide, np.int16), ptr)
    for a in range(rankers):
        here = np.flatnonzero((wrong == 0) & (number > a))
        at = list_ptr[rows[here]] + a
        wrong[here[length[at] != sizes[here]]] = _OTHERS
        here = here[wrong[here] == 0]
        owner, place, found = numbered(here, begin[list_ptr[rows[here]] + a], sizes[here])
        wrong[owner[found < 0]] = _OTHERS
        good = found >= 0
        made.order[a, ptr[owner[good]] + place[good]] = found[good]
        made.rank[a, ptr[owner[good]] + found[good]] = place[good] + 1
        empty = np.concatenate([[0], np.cumsum(made.rank[a] == 0)])[ptr]
        lacks = np.diff(empty) > 0
        wrong[here[lacks[here] & (wrong[here] == 0)]] = _OTHERS
    numbers = np.zeros(len(shown), np.int64)
    here = np.flatnonzero(wrong == 0)
    count = shown_ptr[rows[here] + 1] - shown_ptr[rows[here]]
    owner, place, found = numbered(here, shown_ptr[rows[here]] + len(ids), count)
    numbers[shown_ptr[rows[owner]] + place] = np.maximum(found, 0)
    faults = {int(rows[n]): _WRONG[int(wrong[n])] for n in np.flatnonzero(wrong)}
    for n in np.flatnonzero((wrong == 0) & (number != rankers)):
        faults[int(rows[n])] = f"{number[n]} rankings for {rankers} rankers"
    for k in np.flatnonzero(found < 0)[::-1]:
        row = int(rows[owner[k]])
        if row not in faults or "is in no ranking" in faults[row]:
            faults[row] = f"the shown document '{shown[int(shown_ptr[row] + place[k])]}' is in no ranking"
    return made, numbers, faults


def _of_rows(
    row: IntVector, begin: IntVector, count: IntVector, codes: IntVector, one: np.int64
) -> tuple[IntVector, tuple[IntVector, IntVector]]:
    """Return for each document of the lists ``codes[begin:begin + count]`` its key, its row, and its place."""
    owner = np.repeat(row, count)
    place = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    return owner * one + codes[np.repeat(begin, count) + place], (owner, place)


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
