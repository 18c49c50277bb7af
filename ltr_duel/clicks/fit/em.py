"""Expectation maximisation: each step sets every parameter to its expected successes divided by its expected trials."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ltr_duel.clicks.fit.forms import CASCADE, Form, Layout, layout_of
from ltr_duel.clicks.fit.sessions import Sessions
from ltr_duel.clicks.fit.walk import TINY, Lists, Model, Work, attention_cell, lists_of, session_entries, work_for
from ltr_duel.core import FloatVector, kernel

_BEGIN = 0.5  # value of every probability before the first step


class Fit(NamedTuple):
    """The result of EM."""

    theta: FloatVector
    layout: Layout
    asked: FloatVector  # expected number of trials of each parameter
    iterations: int
    reference: int  # number of the attention parameter that is scaled to 1; -1 for none


def fit_by_em(form: Form, sessions: Sessions, iterations: int, tolerance: float, smoothing: float) -> Fit:
    """Fit one model; see `fit_clicks` for the settings."""
    layout = layout_of(form, sessions.items, sessions.places)
    theta = np.full(layout.size, _BEGIN)
    true, asked = np.empty(layout.size), np.empty(layout.size)
    work = work_for(layout.places)
    if form.code == CASCADE:
        true[:], asked[:] = 0.0, 0.0
        count_cascade(lists_of(sessions), true, asked)
        return Fit(divided(true, asked, smoothing), layout, asked, 1, -1)
    lists = lists_of(*sessions.grouped()) if iterations > 1 else lists_of(sessions)
    before, steps = -np.inf, 0
    while steps < iterations:
        steps += 1
        true[:], asked[:] = 0.0, 0.0
        likelihood = add_entries(Model(form.code, theta, layout), lists, work, true, asked)
        likelihood += smoothing * (np.log(theta).sum() + np.log1p(-theta).sum())
        theta = divided(true, asked, smoothing)
        if abs(likelihood - before) < tolerance * sessions.number:
            break
        before = likelihood
    reference = _scale(Model(form.code, theta, layout), sessions) if "attention" in form.by_place else -1
    return Fit(theta, layout, asked, steps, reference)


def divided(true: FloatVector, asked: FloatVector, smoothing: float) -> FloatVector:
    """Return the share of successes among the trials of each parameter."""
    whole = asked + 2 * smoothing
    theta = np.where(whole > 0, (true + smoothing) / np.where(whole > 0, whole, 1), _BEGIN)
    return np.clip(theta, TINY, 1 - TINY)


def _scale(model: Model, sessions: Sessions) -> int:
    """Scale the attention with most clicks to 1, because only the product of attention and attraction is identified."""
    theta, layout = model.theta, model.layout
    clicks = np.zeros(layout.size)
    count_cells(model, lists_of(sessions), clicks)
    reference = int(clicks.argmax())
    attention = theta[reference]
    theta[layout.place : layout.shared] /= attention
    theta[: layout.satisfaction] *= attention
    return reference


@kernel
def add_entries(model: Model, lists: Lists, work: Work, true: FloatVector, asked: FloatVector) -> float:
    """Add the entries of all sessions (see `walk`) to ``true`` and ``asked``; return the log-likelihood.

    A session's entries and log-likelihood are multiplied by its frequency.
    """
    whole = 0.0
    for s in range(lists.ptr.shape[0] - 1):
        count, likelihood = session_entries(model, lists, s, work)
        weight = lists.weight[s]
        whole += weight * likelihood
        for e in range(count):
            true[work.which[e]] += weight * work.true[e]
            asked[work.which[e]] += weight * work.asked[e]
    return whole


@kernel
def count_cascade(lists: Lists, true: FloatVector, asked: FloatVector) -> None:
    """Count examinations and clicks of each item; users of the cascade model stop at their first click."""
    for s in range(lists.ptr.shape[0] - 1):
        for k in range(lists.ptr[s], lists.ptr[s + 1]):
            asked[lists.item[k]] += 1.0
            if lists.click[k]:
                true[lists.item[k]] += 1.0
                break


@kernel
def count_cells(model: Model, lists: Lists, clicks: FloatVector) -> None:
    """Count the clicks to which each attention parameter applies."""
    for s in range(lists.ptr.shape[0] - 1):
        start, last = lists.ptr[s], -1
        for k in range(lists.ptr[s + 1] - start):
            if lists.click[start + k]:
                clicks[attention_cell(model, k, last)] += 1.0
                last = k
