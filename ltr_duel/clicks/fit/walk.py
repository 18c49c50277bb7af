"""One session as a walk down its list: its likelihood, and what is expected of its hidden events given its clicks.

A place is reached or not. Given that it is, the document is noticed with probability ``notice`` and then clicked with
probability ``attract``; the user goes on with ``after_click`` or ``after_skip``. What comes out of a session is a short
list of entries (parameter, how often it came true, how often it was asked), each an expectation given the clicks;
sums of them are what EM divides, and the score of a parameter t is ``(true - t * asked) / (t * (1 - t))`` (Fisher).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ltr_duel.clicks.fit.forms import CASCADE, CCM, DBN, DCM, PBM, SDBN, TABLE, UBM, Layout
from ltr_duel.core import FloatVector, IntVector, kernel, uniform

TINY = 1e-6  # the probability of what a model holds impossible
SMALL = 1e-200  # of a product of probabilities, before its logarithm is taken
PER_PLACE = 3  # entries that a place has at most


class Work(NamedTuple):
    """Room for one session, and for its entries."""

    reached: FloatVector  # (places + 1,) probability to be reached, given the clicks above
    rest: FloatVector  # (places + 1,) probability of no click from here on, if reached
    which: IntVector  # (PER_PLACE * places,) parameter of each entry
    true: FloatVector
    asked: FloatVector


def work_for(places: int) -> Work:
    """Return room for lists of up to so many places."""
    n = PER_PLACE * places
    return Work(np.empty(places + 1), np.empty(places + 1), np.empty(n, np.int64), np.empty(n), np.empty(n))


@kernel
def attention_cell(form: int, layout: Layout, k: int, last: int) -> int:
    """Return the parameter of the attention at place k after a click at ``last`` (-1: none)."""
    if form == UBM:
        return layout.place + k * layout.places + (last if last >= 0 else layout.places - 1)
    return layout.place + k


@kernel
def step(
    form: int, theta: FloatVector, layout: Layout, item: int, k: int, last: int
) -> tuple[float, float, float, float]:
    """Return attract, notice, after_click and after_skip of an item at place k, the last click being at ``last``."""
    attract, notice, after_click, after_skip = theta[item], 1.0, 1.0, 1.0
    if form in (PBM, UBM, TABLE):
        notice = theta[attention_cell(form, layout, k, last)]
    if form == CASCADE:
        after_click = 0.0
    elif form == DCM:
        after_click = theta[layout.place + k]
    elif form in (SDBN, TABLE):
        after_click = 1.0 - theta[layout.satisfaction + item]
    elif form == DBN:
        after_skip = theta[layout.shared]
        after_click = after_skip * (1.0 - theta[layout.satisfaction + item])
    elif form == CCM:
        after_skip = theta[layout.shared]
        after_click = (1.0 - attract) * theta[layout.shared + 1] + attract * theta[layout.shared + 2]
    return attract, notice, after_click, after_skip


@kernel
def session_entries(
    form: int, theta: FloatVector, layout: Layout, item: IntVector, click: NDArray[np.bool_], start: int, stop: int,
    work: Work,
) -> tuple[int, float]:  # fmt: skip
    """Write the entries of the session at ``start`` to ``stop``; return how many, and its log-likelihood."""
    n = stop - start
    reached, rest = work.reached, work.rest
    likelihood, product, last = 0.0, 1.0, -1
    reached[0] = 1.0
    for k in range(n):
        attract, notice, after_click, after_skip = step(form, theta, layout, item[start + k], k, last)
        p = reached[k] * attract * notice
        if click[start + k]:
            product *= max(p, TINY * TINY)
            reached[k + 1] = after_click
            last = k
        else:
            product *= 1.0 - p
            reached[k + 1] = reached[k] * (1.0 - attract * notice) * after_skip / (1.0 - p)
        if product < SMALL:  # a logarithm costs more than all the rest of a step
            likelihood += np.log(product)
            product = 1.0
    likelihood += np.log(product)
    final = last
    rest[n] = 1.0
    for k in range(n - 1, final, -1):
        attract, notice, _, after_skip = step(form, theta, layout, item[start + k], k, final)
        rest[k] = (1.0 - attract * notice) * (after_skip * rest[k + 1] + 1.0 - after_skip)
    count, last = 0, -1
    for k in range(n):
        i, clicked, ends = item[start + k], click[start + k], k == n - 1
        attract, notice, after_click, after_skip = step(form, theta, layout, i, k, last)
        there = 1.0  # probability that the place was reached, given all clicks
        if k > final and reached[k] < 1.0:
            there = reached[k] * rest[k] / (reached[k] * rest[k] + 1.0 - reached[k])
        go_on = after_click if clicked else after_skip
        went_on = 1.0
        if k >= final and go_on < 1.0:
            went_on = go_on * rest[k + 1] / (go_on * rest[k + 1] + 1.0 - go_on)
        missed = 0.0
        work.which[count], work.true[count], work.asked[count] = i, 1.0, 1.0
        if not clicked:
            missed = there / (1.0 - attract * notice)
            work.true[count], work.asked[count] = missed * attract * (1.0 - notice), there
        if form == CCM and clicked and not ends:
            on, off = 1.0, 0.0  # probability of the clicks below if the user went on, and if not
            if k == final:
                on, off = rest[k + 1], 1.0
            after = after_click * on + (1.0 - after_click) * off
            relevant = theta[layout.shared + 2]
            irrelevant = theta[layout.shared + 1]
            liked = attract * (relevant * on + (1.0 - relevant) * off) / after
            work.true[count] += liked
            work.asked[count] += 1.0
            work.which[count + 1] = layout.shared + 1
            work.true[count + 1] = (1.0 - attract) * irrelevant * on / after
            work.asked[count + 1] = 1.0 - liked
            work.which[count + 2] = layout.shared + 2
            work.true[count + 2] = attract * relevant * on / after
            work.asked[count + 2] = liked
            count += 2
        count += 1
        if form in (PBM, UBM, TABLE):
            work.which[count] = attention_cell(form, layout, k, last)
            work.true[count] = 1.0 if clicked else missed * notice * (1.0 - attract)
            work.asked[count] = there
            count += 1
        if not ends and clicked and (form in (SDBN, TABLE)):
            work.which[count], work.true[count], work.asked[count] = layout.satisfaction + i, 1.0 - went_on, 1.0
            count += 1
        elif not ends and clicked and form == DCM:
            work.which[count], work.true[count], work.asked[count] = layout.place + k, went_on, 1.0
            count += 1
        elif not ends and clicked and form == DBN:
            pleased = (1.0 - went_on) * theta[layout.satisfaction + i] / (1.0 - after_click)
            work.which[count], work.true[count], work.asked[count] = layout.satisfaction + i, pleased, 1.0
            work.which[count + 1] = layout.shared
            work.true[count + 1], work.asked[count + 1] = went_on, 1.0 - pleased
            count += 2
        elif not ends and not clicked and (form in (DBN, CCM)):
            work.which[count], work.true[count], work.asked[count] = layout.shared, there * went_on, there
            count += 1
        if clicked:
            last = k
            if form == CASCADE:
                break
    return count, likelihood


@kernel
def draw_clicks(
    code: int,
    theta: FloatVector,
    layout: Layout,
    item: IntVector,
    ptr: IntVector,
    click: NDArray[np.bool_],
    rng: Generator,
) -> None:
    """Write whether each place is clicked; session s has the places ``ptr[s]:ptr[s + 1]``, at most `Layout.places`."""
    for s in range(ptr.shape[0] - 1):
        last, on = -1, True
        for k in range(ptr[s + 1] - ptr[s]):
            attract, notice, after_click, after_skip = step(code, theta, layout, item[ptr[s] + k], k, last)
            clicked = on and uniform(rng) < attract * notice
            click[ptr[s] + k] = clicked
            if clicked:
                last = k
            on = on and uniform(rng) < (after_click if clicked else after_skip)
