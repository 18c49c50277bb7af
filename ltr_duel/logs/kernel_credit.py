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
    clicks: NDArray[np.int32]  # different positions from 1, in ascending order
    kept: FloatVector  # (rows of the batch,) the value that the method stored with each list; (0,) if it stores none


def credit_rows(method: Method, params: Any, outcome: str, lists: Lists, clicked: Clicked, rankers: int) -> FloatMatrix:
    """Return the outcomes of each pair a < b of the rankers, shape (rows, rankers (rankers - 1) / 2).

    Rows with the same list length and the same capacity for documents (`room_for`) are credited together, by a state
    for exactly this length and capacity, as for a single page. So the other rows do not change any bit of an outcome.
    """
    out = np.zeros((len(clicked.rows), rankers * (rankers - 1) // 2))
    some = np.flatnonzero(np.diff(clicked.click_ptr)[clicked.rows])
    tops, sizes = np.diff(clicked.ptr)[clicked.rows[some]], np.diff(lists.query_ptr)[clicked.query[some]]
    rooms = np.array([room_for(size) for size in range(int(sizes.max(initial=0)) + 1)])[sizes]
    by_pair = rankers == 2 and method.pairs
    run: Any = credit_pairs if by_pair else credit_slates
    run = run if method.compiled else interpreted(run)
    for top, room in np.unique(np.stack([tops, rooms]), axis=1).T.tolist():
        same = some[(tops == top) & (rooms == room)]
        part = clicked._replace(rows=clicked.rows[same], query=clicked.query[same])
        state = method.init(Size(top, room, rankers), params, outcome)
        page = Shown(*(np.zeros(top, np.int64) for _ in Shown._fields))
        kept = getattr(state, "kept", clicked.kept) if len(clicked.kept) else clicked.kept
        y = np.zeros((len(same), out.shape[1]))
        more = () if by_pair else (np.arange(rankers), np.zeros((rankers, rankers), np.int8))
        run(state, kept, lists, page, part, y, *more)
        out[same] = y
    return out


@kernel
def fill_page(clicked: Clicked, row: int, page: Shown, kept: FloatVector) -> int:
    """Write a row to the page, and the value stored with its list to the state's array; return the number of clicks."""
    start, first = clicked.ptr[row], clicked.click_ptr[row]
    for k in range(clicked.ptr[row + 1] - start):
        page.shown[k], page.owner[k] = clicked.numbers[start + k], clicked.owners[start + k]
    n_clicks = clicked.click_ptr[row + 1] - first
    for k in range(n_clicks):
        page.clicks[k] = clicked.clicks[first + k] - 1
    for k in range(kept.shape[0]):
        kept[k] = clicked.kept[row]
    return int(n_clicks)


@kernel
def credit_pairs(state: Any, kept: FloatVector, lists: Lists, page: Shown, clicked: Clicked, out: FloatMatrix) -> None:
    """Credit rows that interleave two rankers."""
    for n in range(clicked.rows.shape[0]):
        row = clicked.rows[n]
        n_clicks = fill_page(clicked, row, page, kept)
        length = clicked.ptr[row + 1] - clicked.ptr[row]
        out[n, 0] = credit_pair(state, lists, clicked.query[n], 0, 1, page, length, n_clicks)


@kernel
def credit_slates(
    state: Any, kept: FloatVector, lists: Lists, page: Shown, clicked: Clicked, out: FloatMatrix, slate: IntVector,
    won: SignMatrix,
) -> None:  # fmt: skip
    """Credit rows that interleave a set of rankers."""
    for n in range(clicked.rows.shape[0]):
        row, c = clicked.rows[n], 0
        n_clicks = fill_page(clicked, row, page, kept)
        length = clicked.ptr[row + 1] - clicked.ptr[row]
        credit_slate(state, lists, clicked.query[n], slate, slate.shape[0], page, length, n_clicks, won)
        for a in range(slate.shape[0]):
            for b in range(a + 1, slate.shape[0]):
                out[n, c] = won[a, b]
                c += 1
