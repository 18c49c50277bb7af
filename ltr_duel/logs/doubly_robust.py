"""Doubly robust estimate from weighted outcomes and a click model; consistent if the weights or the model are right.

The model predicts the outcome m of each list. In the log, a list has the outcome y and the weight w. The estimate is
the mean of m over lists of the target rankers, plus the mean of ``w (y - m)`` over the log (Dudík, Langford, Li, ICML
2011). The better the model, the smaller the effect of the weights. The model is fitted to one half of the users and
predicts the other half, and vice versa, so that no outcome contributes to its own prediction (Chernozhukov et al.,
Econometrics Journal 2018).

All rows that contribute to the estimate are held in memory, about 30 bytes per shown document.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ltr_duel.clicks import FittedClicks, Sessions, fit_clicks
from ltr_duel.core import FloatVector, IntVector
from ltr_duel.logs.crediting import Clicked
from ltr_duel.logs.hashing import HashVector
from ltr_duel.logs.mixtures import Mixtures, Reach

_TIMES = 10  # click samples per list of the log; with 10, the variance is 10 % larger than with exact predictions
_TIMES_DRAWN = 4  # click samples per list that was sampled for the target rankers
_FOLD = np.uint64(40)  # bit of a user's hash that splits users into halves; lower bits determine the group
Credit = Callable[[Clicked, IntVector], FloatVector]  # returns the outcomes of rows, given the cell of each


class Rows(NamedTuple):
    """Rows that contribute to an estimate."""

    users: HashVector
    cell: IntVector
    weight: FloatVector
    y: FloatVector
    ptr: IntVector  # row n shows ``numbers[ptr[n]:ptr[n + 1]]``
    numbers: IntVector
    click: NDArray[np.bool_]


class ShownLists(NamedTuple):
    """Lists that were shown or sampled: the cell and the documents of each list."""

    cell: IntVector
    ptr: IntVector  # list n shows ``numbers[ptr[n]:ptr[n + 1]]``
    numbers: IntVector

    def items(self, mixtures: Mixtures) -> IntVector:
        """Return the numbers of the shown documents, unique over all queries."""
        first = mixtures.lists.query_ptr[mixtures.query[self.cell]]
        return self.numbers + np.repeat(first, np.diff(self.ptr))


class Residuals(NamedTuple):
    """Terms of the doubly robust estimate."""

    value: FloatVector  # (rows,) their mean is the estimate for lists within reach, see `Reach`
    scatter: float  # weighted mean square of y - m
    beyond: float  # part of the model's mean outcome that comes from lists out of reach


def residuals(rows: Rows, mixtures: Mixtures, within: Reach, model: str, credit: Credit, rng: Generator) -> Residuals:
    """Fit the model to each half of the users, and return the terms; rows out of reach have the weight 0."""
    second = (rows.users >> _FOLD & np.uint64(1)).astype(np.bool_)
    cells, lengths = len(mixtures.query), mixtures.length[within.cell]
    flat = np.concatenate([[0], np.cumsum(lengths)])
    drawn = within.drawn[np.arange(within.drawn.shape[1]) < lengths[:, None]]
    possible = ShownLists(within.cell, flat, drawn)
    inside = within.weight <= within.cap
    value, beyond = np.zeros(len(rows.y)), 0.0
    predicted = np.zeros(len(rows.y))
    for mine in (second, ~second):
        if not mine.any():
            continue
        fitted = _fitted(rows, mixtures, ~mine if (~mine).any() else mine, model)
        part = _part(rows, mine)
        lists = ShownLists(part.cell, part.ptr, part.numbers)
        predicted[mine] = _outcomes(fitted, lists, lists.items(mixtures), credit, _TIMES, rng)
        wanted = _outcomes(fitted, possible, possible.items(mixtures), credit, _TIMES_DRAWN, rng)
        number = np.maximum(np.bincount(within.cell, minlength=cells), 1)
        near, far = (np.bincount(within.cell, wanted * some, cells) / number for some in (inside, ~inside))
        value[mine] = near[part.cell]
        beyond += float(far[part.cell].sum()) / len(rows.y)
    left = rows.y - predicted
    scatter = float(rows.weight @ left**2 / rows.weight.sum())
    return Residuals(value + rows.weight * left, scatter, beyond)


def _part(rows: Rows, chosen: NDArray[np.bool_]) -> Rows:
    sizes = np.diff(rows.ptr)
    inside = np.repeat(chosen, sizes)
    ptr = np.concatenate([[0], np.cumsum(sizes[chosen])])
    return Rows(
        rows.users[chosen],
        rows.cell[chosen],
        rows.weight[chosen],
        rows.y[chosen],
        ptr,
        rows.numbers[inside],
        rows.click[inside],
    )


def _fitted(rows: Rows, mixtures: Mixtures, chosen: NDArray[np.bool_], model: str) -> FittedClicks:
    """Fit the model by document; documents that no row shows get the mean parameters of the shown documents."""
    part = _part(rows, chosen)
    item = ShownLists(part.cell, part.ptr, part.numbers).items(mixtures)
    documents = int(mixtures.lists.query_ptr[-1])
    sessions = Sessions(part.ptr, item, part.click, mixtures.query[part.cell], documents, False)
    found = fit_clicks(sessions, model, errors=False)
    seen = np.bincount(item, minlength=documents) > 0
    for first in (0, documents)[: 1 + found.form.satisfies]:
        of_items = found.fit.theta[first : first + documents]
        of_items[~seen] = of_items[seen].mean()
    return found


def _outcomes(
    fitted: FittedClicks, lists: ShownLists, item: IntVector, credit: Credit, times: int, rng: Generator
) -> FloatVector:
    """Return the mean outcome of each list over `times` samples of clicks. ``item``: see `ShownLists.items`."""
    total = np.zeros(len(lists.cell))
    for _ in range(times):
        click = fitted.draw_clicks(item, lists.ptr, rng)
        total += credit(clicked_rows(lists.ptr, lists.numbers, click), lists.cell)
    return total / times


def clicked_rows(ptr: IntVector, numbers: IntVector, click: NDArray[np.bool_]) -> Clicked:
    """Return rows to credit; ``click`` marks the clicked positions."""
    n = len(ptr) - 1
    row = np.repeat(np.arange(n), np.diff(ptr))[click]
    places = (np.flatnonzero(click) - ptr[row] + 1).astype(np.int32)
    click_ptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n))])
    owners = np.full(len(numbers), -1, np.int32)
    return Clicked(np.arange(n), np.zeros(n, np.int64), ptr, numbers, owners, click_ptr, places)


def joined(parts: list[Rows]) -> Rows:
    """Concatenate the rows of several batches."""
    sizes = np.concatenate([np.diff(part.ptr) for part in parts])
    whole: list[Any] = [np.concatenate(columns) for columns in zip(*parts, strict=True)]
    return Rows(*whole)._replace(ptr=np.concatenate([[0], np.cumsum(sizes)]))
