"""Expectation maximisation: entries of all sessions, summed and divided, until the likelihood stands still."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.clicks.fit.forms import CASCADE, Form, Layout, layout_of
from ltr_duel.clicks.fit.sessions import Sessions
from ltr_duel.clicks.fit.walk import TINY, Work, attention_cell, session_entries, work_for
from ltr_duel.core import FloatVector, IntVector, kernel

_BEGIN = 0.5  # every probability, before the first step


class Fit(NamedTuple):
    """What EM found."""

    theta: FloatVector
    layout: Layout
    asked: FloatVector  # how often each parameter was asked for, expected
    iterations: int
    reference: int  # the cell of attention that all others are relative to; -1 for none


def fit_by_em(form: Form, sessions: Sessions, iterations: int, tolerance: float, smoothing: float) -> Fit:
    """Fit one model; see `fit_clicks` for the settings."""
    layout = layout_of(form, sessions.items, sessions.places)
    theta = np.full(layout.size, _BEGIN)
    true, asked = np.empty(layout.size), np.empty(layout.size)
    work = work_for(layout.places)
    if form.code == CASCADE:
        true[:], asked[:] = 0.0, 0.0
        count_cascade(sessions.item, sessions.click, sessions.ptr, true, asked)
        return Fit(divided(true, asked, smoothing), layout, asked, 1, -1)
    different, weight = sessions.grouped() if iterations > 1 else (sessions, np.ones(sessions.number))
    before, steps = -np.inf, 0
    while steps < iterations:
        steps += 1
        true[:], asked[:] = 0.0, 0.0
        likelihood = add_entries(
            form.code, theta, layout, different.item, different.click, different.ptr, weight, work, true, asked
        )
        likelihood += smoothing * (np.log(theta).sum() + np.log1p(-theta).sum())
        theta = divided(true, asked, smoothing)
        if abs(likelihood - before) < tolerance * sessions.number:
            break
        before = likelihood
    reference = -1
    if "attention" in form.by_place:
        reference = _scale(form, layout, sessions, theta)
    return Fit(theta, layout, asked, steps, reference)


def divided(true: FloatVector, asked: FloatVector, smoothing: float) -> FloatVector:
    """Return how often each parameter came true of how often it was asked for."""
    whole = asked + 2 * smoothing
    theta = np.where(whole > 0, (true + smoothing) / np.where(whole > 0, whole, 1), _BEGIN)
    return np.clip(theta, TINY, 1 - TINY)


def _scale(form: Form, layout: Layout, sessions: Sessions, theta: FloatVector) -> int:
    """Make the attention of the cell with most clicks 1; only products of attention and attraction are known."""
    clicks = np.zeros(layout.size)
    count_cells(form.code, layout, sessions.click, sessions.ptr, clicks)
    reference = int(clicks.argmax())
    attention = theta[reference]
    theta[layout.place : layout.shared] /= attention
    theta[: layout.satisfaction] *= attention
    return reference


@kernel
def add_entries(
    form: int, theta: FloatVector, layout: Layout, item: IntVector, click: NDArray[np.bool_], ptr: IntVector,
    weight: FloatVector, work: Work, true: FloatVector, asked: FloatVector,
) -> float:  # fmt: skip
    """Add the entries of all sessions, each as often as it occurs; return the log-likelihood."""
    whole = 0.0
    for s in range(ptr.shape[0] - 1):
        count, likelihood = session_entries(form, theta, layout, item, click, ptr[s], ptr[s + 1], work)
        whole += weight[s] * likelihood
        for e in range(count):
            true[work.which[e]] += weight[s] * work.true[e]
            asked[work.which[e]] += weight[s] * work.asked[e]
    return whole


@kernel
def count_cascade(
    item: IntVector, click: NDArray[np.bool_], ptr: IntVector, true: FloatVector, asked: FloatVector
) -> None:
    """Count how often each item was examined and clicked; the users of the cascade stop at their first click."""
    for s in range(ptr.shape[0] - 1):
        for k in range(ptr[s], ptr[s + 1]):
            asked[item[k]] += 1.0
            if click[k]:
                true[item[k]] += 1.0
                break


@kernel
def count_cells(form: int, layout: Layout, click: NDArray[np.bool_], ptr: IntVector, clicks: FloatVector) -> None:
    """Count the clicks in each cell of attention."""
    for s in range(ptr.shape[0] - 1):
        last = -1
        for k in range(ptr[s + 1] - ptr[s]):
            if click[ptr[s] + k]:
                clicks[attention_cell(form, layout, k, last)] += 1.0
                last = k
