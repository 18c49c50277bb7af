"""Weighted outcomes with a click model: weights correct what the model gets wrong, so one of the two may be wrong.

The model predicts the outcome m of each list. The estimate is the mean of m over lists of the rankers wanted, plus the
mean of ``w (y - m)`` over the log (Dudík, Langford, Li, ICML 2011). The better the model, the less the weights matter.
It is fitted to one half of the users and predicts for the other, and the other way round, so that no outcome has a part
in its own prediction (Chernozhukov et al., Econometrics Journal 2018).

All rows that carry the estimate are held in memory, about 30 bytes for each shown document.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ltr_duel.clicks import FORMS, Sessions
from ltr_duel.clicks.fit.em import Fit, fit_by_em
from ltr_duel.clicks.fit.forms import Form
from ltr_duel.clicks.fit.sessions import check_sessions
from ltr_duel.clicks.fit.walk import draw_clicks
from ltr_duel.core import FloatVector, IntVector
from ltr_duel.logs.crediting import Clicked
from ltr_duel.logs.hashing import HashVector
from ltr_duel.logs.mixtures import Mixtures, Reach

_TIMES = 10  # clicks drawn on each list of the log: a tenth more variance than the exact prediction has
_TIMES_DRAWN = 4  # and on each list that was drawn for the rankers wanted
_FOLD = np.uint64(40)  # bit of a user's hash; the lower ones say the group
Credit = Callable[[Clicked, IntVector], FloatVector]  # outcomes of rows, and the cell of each


class Rows(NamedTuple):
    """The rows that carry an estimate."""

    users: HashVector
    cell: IntVector
    weight: FloatVector
    y: FloatVector
    ptr: IntVector  # row n shows ``numbers[ptr[n]:ptr[n + 1]]``
    numbers: IntVector
    click: NDArray[np.bool_]


class Residuals(NamedTuple):
    """What a doubly robust estimate is made of."""

    value: FloatVector  # (rows,) whose mean is the estimate, of lists within reach
    scatter: float  # weighted mean square of y - m
    beyond: float  # the model's share of the mean outcome from lists out of reach


def residuals(rows: Rows, mixtures: Mixtures, within: Reach, model: str, credit: Credit, rng: Generator) -> Residuals:
    """Fit the model twice, and return the terms of the estimate.

    rows: With weights of 0 out of reach.
    model: A click model that `fit_clicks` fits, by document.
    """
    second = (rows.users >> _FOLD & np.uint64(1)).astype(np.bool_)
    cells, lengths = len(mixtures.query), mixtures.length[within.cell]
    flat = np.concatenate([[0], np.cumsum(lengths)])
    drawn = within.drawn[np.arange(within.drawn.shape[1]) < lengths[:, None]]
    inside = within.weight <= within.cap
    value, beyond = np.zeros(len(rows.y)), 0.0
    predicted = np.zeros(len(rows.y))
    for mine in (second, ~second):
        if not mine.any():
            continue
        fitted = _fitted(rows, mixtures, ~mine if (~mine).any() else mine, FORMS[model])
        part = _part(rows, mine)
        predicted[mine] = _outcomes(fitted, mixtures, part.cell, part.ptr, part.numbers, credit, _TIMES, rng)
        wanted = _outcomes(fitted, mixtures, within.cell, flat, drawn, credit, _TIMES_DRAWN, rng)
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


def _items(mixtures: Mixtures, cell: IntVector, ptr: IntVector, numbers: IntVector) -> IntVector:
    """Return a number for each shown document, over all queries."""
    return numbers + np.repeat(mixtures.lists.query_ptr[mixtures.query[cell]], np.diff(ptr))


def _fitted(rows: Rows, mixtures: Mixtures, chosen: NDArray[np.bool_], form: Form) -> tuple[Form, Fit]:
    """Fit the model by document; a document that no row shows is as attractive as the mean.

    Standard errors, half of the time of `fit_clicks`, are not needed.
    """
    part = _part(rows, chosen)
    item, documents = _items(mixtures, part.cell, part.ptr, part.numbers), int(mixtures.lists.query_ptr[-1])
    sessions = Sessions(part.ptr, item, part.click, mixtures.query[part.cell], documents, False)
    check_sessions(sessions)
    fit = fit_by_em(form, sessions, iterations=1000, tolerance=1e-9, smoothing=1.0)  # as `fit_clicks` does
    seen = np.bincount(item, minlength=documents) > 0
    for first in (0, documents)[: 1 + form.satisfies]:
        of_items = fit.theta[first : first + documents]
        of_items[~seen] = of_items[seen].mean()
    return form, fit


def _outcomes(
    fitted: tuple[Form, Fit],
    mixtures: Mixtures,
    cell: IntVector,
    ptr: IntVector,
    numbers: IntVector,
    credit: Credit,
    times: int,
    rng: Generator,
) -> FloatVector:
    """Return the mean outcome of each list, of clicks drawn so many times."""
    item, total = _items(mixtures, cell, ptr, numbers), np.zeros(len(cell))
    form, fit = fitted
    for _ in range(times):
        click = np.zeros(len(item), np.bool_)
        draw_clicks(form.code, fit.theta, fit.layout, item, ptr, click, rng)
        total += credit(clicked_rows(ptr, numbers, click), cell)
    return total / times


def clicked_rows(ptr: IntVector, numbers: IntVector, click: NDArray[np.bool_]) -> Clicked:
    """Return rows to credit, from marks of the places that were clicked."""
    n = len(ptr) - 1
    row = np.repeat(np.arange(n), np.diff(ptr))[click]
    places = (np.flatnonzero(click) - ptr[row] + 1).astype(np.int32)
    click_ptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n))])
    owners = np.full(len(numbers), -1, np.int32)
    return Clicked(np.arange(n), np.zeros(n, np.int64), ptr, numbers, owners, click_ptr, places)


def joined(parts: list[Rows]) -> Rows:
    """Put rows of several batches together."""
    sizes = np.concatenate([np.diff(part.ptr) for part in parts])
    whole: list[Any] = [np.concatenate(columns) for columns in zip(*parts, strict=True)]
    return Rows(*whole)._replace(ptr=np.concatenate([[0], np.cumsum(sizes)]))
