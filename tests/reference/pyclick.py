"""The updates that the literature and PyClick use where they are not those of maximum likelihood, for comparison.

The dependent click model and the simplified DBN are fitted by counting (`counted`). Of DBN and CCM the library PyClick
(github.com/markovi/PyClick) takes, in a session without clicks, no attraction into account and holds every place for
examined; the chance of the clicks below a place is computed with the items of the top of the list; and the
satisfaction of clicks above the last one counts as asked, not as true. Its figures can only be met with its rules.
Entries are those of `walk.session_entries`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ltr_duel.clicks.fit.forms import CCM, DBN, Layout
from ltr_duel.clicks.fit.walk import Work, session_entries, step
from ltr_duel.core import FloatVector, IntVector, kernel


@kernel
def published_entries(
    form: int,
    theta: FloatVector,
    layout: Layout,
    item: IntVector,
    click: NDArray[np.bool_],
    start: int,
    stop: int,
    work: Work,
) -> tuple[int, float]:
    """Write the entries of a session by the published updates; return how many, and its log-likelihood."""
    if form in (DBN, CCM):
        return _chained(form, theta, layout, item, click, start, stop, work), 0.0
    return session_entries(form, theta, layout, item, click, start, stop, work)


@kernel
def _last_click(click: NDArray[np.bool_], start: int, stop: int) -> int:
    """Return the place of the last click, or the number of places."""
    for k in range(stop - 1, start - 1, -1):
        if click[k]:
            return k - start
    return stop - start


@kernel
def _enter(work: Work, count: int, which: int, true: float, asked: float) -> int:
    work.which[count], work.true[count], work.asked[count] = which, true, asked
    return count + 1


@kernel
def _below(
    form: int,
    theta: FloatVector,
    layout: Layout,
    item: IntVector,
    click: NDArray[np.bool_],
    start: int,
    stop: int,
    first: int,
) -> float:
    """Return the probability of the clicks from place ``first`` on, with the items of the top of the list."""
    likelihood, reached = 1.0, 1.0
    for k in range(stop - start - first):
        attract, _, after_click, after_skip = step(form, theta, layout, item[start + k], k, -1)
        if click[start + first + k]:
            likelihood *= attract * reached
            reached = after_click
        else:
            p = 1.0 - attract * reached
            likelihood *= p
            reached *= after_skip * (1.0 - attract) / p
    return likelihood


@kernel
def _chained(
    form: int,
    theta: FloatVector,
    layout: Layout,
    item: IntVector,
    click: NDArray[np.bool_],
    start: int,
    stop: int,
    work: Work,
) -> int:
    """Enter DBN or CCM: ``reached`` is given the clicks above, ``examined`` given nothing."""
    n, last, count = stop - start, _last_click(click, start, stop), 0
    later = work.rest  # probability of a click here or below, if reached
    later[n] = 0.0
    for k in range(n - 1, -1, -1):
        attract, _, _, after_skip = step(form, theta, layout, item[start + k], k, -1)
        later[k] = attract + (1.0 - attract) * after_skip * later[k + 1]
    reached, examined = 1.0, 1.0
    for k in range(n):
        i, clicked = item[start + k], click[start + k]
        attract, _, after_click, after_skip = step(form, theta, layout, i, k, -1)
        true, asked = 0.0, 1.0
        if clicked:
            true = 1.0
        elif k >= last:
            true = (1.0 - examined) * attract / (1.0 - examined * later[k])
        if clicked and form == CCM:
            asked = 2.0
            if k == last:
                true += attract / (1.0 - after_click * later[k + 1])
        count = _enter(work, count, i, true, asked)
        if clicked and form == DBN:
            satisfied = 0.0
            if k == last:
                satisfied = theta[layout.satisfaction + i] / (1.0 - after_click * later[k + 1])
            count = _enter(work, count, layout.satisfaction + i, satisfied, 1.0)
        on = _below(form, theta, layout, item, click, start, stop, k + 1)  # if the user goes on, and if not
        off = 1.0 if last <= k else 0.0
        if not clicked:
            went, ended = reached * after_skip * on, reached * (1.0 - after_skip) * off
            whole = went + ended + (1.0 - reached) * off
            count = _enter(work, count, layout.shared, went / whole, (went + ended) / whole)
        elif form == DBN:
            satisfied = theta[layout.satisfaction + i]
            went, ended = after_click * on, (1.0 - satisfied) * (1.0 - after_skip) * off
            whole = went + ended + satisfied * off
            count = _enter(work, count, layout.shared, went / whole, (went + ended) / whole)
        else:
            irrelevant, relevant = theta[layout.shared + 1], theta[layout.shared + 2]
            whole = after_click * on + (1.0 - after_click) * off
            bored = (1.0 - attract) * (irrelevant * on + (1.0 - irrelevant) * off) / whole
            liked = attract * (relevant * on + (1.0 - relevant) * off) / whole
            count = _enter(work, count, layout.shared + 1, (1.0 - attract) * irrelevant * on / whole, bored)
            count = _enter(work, count, layout.shared + 2, attract * relevant * on / whole, liked)
        p = attract * reached
        reached = after_click if clicked else reached * (1.0 - attract) * after_skip / (1.0 - p)
        examined *= attract * after_click + (1.0 - attract) * after_skip
    return count
