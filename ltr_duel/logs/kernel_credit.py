"""Credit rows of a log by the kernels of the interleaving methods."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import FloatMatrix, FloatVector, IntVector, SignMatrix, interpreted, kernel
from ltr_duel.interleaving import Lists, Method, Shown, Size, credit_pair, credit_slate, room_for


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
