"""One session, position by position: its likelihood, and the expectations of its hidden events given its clicks.

A user who reaches a position notices the document with probability ``notice``, and clicks on a noticed document with
probability ``attract``. The user then goes on to the next position with probability ``after_click`` or ``after_skip``.
Given its clicks, a session yields a short list of entries (parameter, expected successes ``true``, expected trials
``asked``). EM divides the sum of the successes by the sum of the trials. The score of a parameter t is the sum of
``(true - t * asked) / (t * (1 - t))`` (Fisher's identity).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.clicks.fit.forms import CASCADE, DBN, PBM, SDBN, TABLE, UBM, Layout
from ltr_duel.clicks.fit.sessions import Sessions
from ltr_duel.core import FloatVector, IntVector, inlined, kernel

TINY = 1e-6  # fitted parameters are from TINY to 1 - TINY; an impossible click has probability TINY^2
SMALL = 1e-200  # a product of probabilities below this limit is replaced by its logarithm
PER_PLACE = 3  # maximum number of entries of a position


class Model(NamedTuple):
    """A click model with its parameters, for kernels."""

    form: int  # number of the form
    theta: FloatVector
    layout: Layout


class Lists(NamedTuple):
    """Shown lists with their clicks; session s has the positions ``ptr[s]:ptr[s + 1]``, at most `Layout.places`."""

    ptr: IntVector
    item: IntVector
    click: NDArray[np.bool_]
    weight: FloatVector  # frequency of each session


class Work(NamedTuple):
    """Scratch memory for one session, and its entries."""

    reached: FloatVector  # (places + 1,) probability that the position is reached, given the clicks above
    rest: FloatVector  # (places + 1,) probability of no click from here on, if reached
    which: IntVector  # (PER_PLACE * places,) parameter of each entry
    true: FloatVector
    asked: FloatVector


def lists_of(sessions: Sessions, weight: FloatVector | None = None) -> Lists:
    """Return the arrays of sessions for kernels; the default weight is 1."""
    return Lists(*sessions[:3], np.ones(sessions.number) if weight is None else weight)


def work_for(places: int) -> Work:
    """Return scratch memory for lists of up to ``places`` positions."""
    n = PER_PLACE * places
    return Work(np.empty(places + 1), np.empty(places + 1), np.empty(n, np.int64), np.empty(n), np.empty(n))


@kernel
def attention_cell(model: Model, k: int, last: int) -> int:
    """Return the parameter of the attention at position k after a click at ``last`` (-1: none)."""
    layout = model.layout
    if model.form == UBM:
        return layout.place + k * layout.places + (last if last >= 0 else layout.places - 1)
    return layout.place + k


@kernel
def step(model: Model, item: int, k: int, last: int) -> tuple[float, float, float, float]:
    """Return attract, notice, after_click and after_skip of an item at position k after a click at ``last``."""
    form, theta, layout = model.form, model.theta, model.layout
    attract, notice, after_click, after_skip = theta[item], 1.0, 1.0, 1.0
    if form in (PBM, UBM, TABLE):
        notice = theta[attention_cell(model, k, last)]
    if form == CASCADE:
        after_click = 0.0
    elif form in (SDBN, TABLE):
        after_click = 1.0 - theta[layout.satisfaction + item]
    elif form == DBN:
        after_skip = theta[layout.shared]
        after_click = after_skip * (1.0 - theta[layout.satisfaction + item])
    return attract, notice, after_click, after_skip


@kernel
def session_entries(model: Model, lists: Lists, s: int, work: Work) -> tuple[int, float]:
    """Write the entries of session s; return their number and the log-likelihood of the session."""
    form, theta, layout = model.form, model.theta, model.layout
    start, n = lists.ptr[s], lists.ptr[s + 1] - lists.ptr[s]
    reached, rest = work.reached, work.rest
    likelihood, final = walk_down(model, lists, s, work)
    walk_up(model, lists, s, final, work)
    count, last = 0, -1
    for k in range(n):
        i, clicked, ends = lists.item[start + k], lists.click[start + k], k == n - 1
        attract, notice, after_click, after_skip = step(model, i, k, last)
        there = 1.0  # probability that the position was reached, given all clicks
        if k > final and reached[k] < 1.0:
            there = reached[k] * rest[k] / (reached[k] * rest[k] + 1.0 - reached[k])
        go_on = after_click if clicked else after_skip
        went_on = 1.0
        if k >= final and go_on < 1.0:
            went_on = go_on * rest[k + 1] / (go_on * rest[k + 1] + 1.0 - go_on)
        missed = 0.0 if clicked else there / (1.0 - attract * notice)
        if clicked:
            count = enter(work, count, i, 1.0, 1.0)
        else:
            count = enter(work, count, i, missed * attract * (1.0 - notice), there)
        if form in (PBM, UBM, TABLE):
            noticed = 1.0 if clicked else missed * notice * (1.0 - attract)
            count = enter(work, count, attention_cell(model, k, last), noticed, there)
        if ends:
            break
        if clicked and form in (SDBN, TABLE):
            count = enter(work, count, layout.satisfaction + i, 1.0 - went_on, 1.0)
        elif clicked and form == DBN:
            pleased = (1.0 - went_on) * theta[layout.satisfaction + i] / (1.0 - after_click)
            count = enter(work, count, layout.satisfaction + i, pleased, 1.0)
            count = enter(work, count, layout.shared, went_on, 1.0 - pleased)
        elif not clicked and form == DBN:
            count = enter(work, count, layout.shared, there * went_on, there)
        if clicked:
            last = k
            if form == CASCADE:
                break
    return count, likelihood


@kernel
def walk_down(model: Model, lists: Lists, s: int, work: Work) -> tuple[float, int]:
    """Fill ``reached``; return the log-likelihood of session s and the position of its last click, or -1."""
    start, reached = lists.ptr[s], work.reached
    likelihood, product, last = 0.0, 1.0, -1
    reached[0] = 1.0
    for k in range(lists.ptr[s + 1] - start):
        attract, notice, after_click, after_skip = step(model, lists.item[start + k], k, last)
        p = reached[k] * attract * notice
        if lists.click[start + k]:
            product *= max(p, TINY * TINY)
            reached[k + 1] = after_click
            last = k
        else:
            product *= 1.0 - p
            reached[k + 1] = reached[k] * (1.0 - attract * notice) * after_skip / (1.0 - p)
        if product < SMALL:  # not at each position, because a logarithm takes longer than the rest of the loop
            likelihood += np.log(product)
            product = 1.0
    return likelihood + np.log(product), last


@kernel
def walk_up(model: Model, lists: Lists, s: int, last: int, work: Work) -> None:
    """Fill ``rest`` below the last click of session s."""
    start, n, rest = lists.ptr[s], lists.ptr[s + 1] - lists.ptr[s], work.rest
    rest[n] = 1.0
    for k in range(n - 1, last, -1):
        attract, notice, _, after_skip = step(model, lists.item[start + k], k, last)
        rest[k] = (1.0 - attract * notice) * (after_skip * rest[k + 1] + 1.0 - after_skip)


@inlined
def enter(work: Work, count: int, which: int, true: float, asked: float) -> int:
    """Write entry number ``count``; return the number of entries."""
    work.which[count], work.true[count], work.asked[count] = which, true, asked
    return count + 1
