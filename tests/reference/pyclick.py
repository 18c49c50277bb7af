"""The updates of the literature and of PyClick that differ from maximum likelihood, to reproduce its figures.

The simplified DBN is fitted by counting: positions above the last click were examined, positions below were not, and
the last click satisfied the user; without a click, all positions were examined (Chapelle and Zhang, WWW 2009). For DBN,
the library PyClick (github.com/markovi/PyClick) ignores attraction in a session without clicks, and treats every
position as examined. It computes the probability of the clicks below a position with the items at the top of the list,
and counts the satisfaction of clicks above the last click as a trial, not as a success. Entries are those of
`likelihood.session_entries`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltr_duel.clicks.fit.form import TINY, Entries, enter, step
from ltr_duel.clicks.fit.forms import FORMS, dbn
from ltr_duel.clicks.fit.likelihood import Lists, Work, lists_of, session_entries, work_for
from ltr_duel.clicks.fit.sessions import Sessions
from ltr_duel.core import FloatVector, kernel


def fit(name: str, sessions: Sessions, iterations: int = 50, smoothing: float = 1.0) -> Any:
    """Return one model, fitted with the given number of steps."""
    form, items, ranks = FORMS[name], sessions.items, sessions.longest
    size = max(block.stop for _, block in form.slices(items, ranks))
    theta, true, asked = np.full(size, 0.5), np.empty(size), np.empty(size)
    counted = name in ("cascade", "sdbn")
    for _ in range(1 if counted else iterations):
        true[:], asked[:] = 0.0, 0.0
        model = form.model(theta, items, ranks)
        if counted:
            add_counts(name == "cascade", items, lists_of(sessions), true, asked)
        elif name == "dbn":
            add_chained(model, lists_of(sessions), work_for(ranks), true, asked)
        else:
            add_entries(model, lists_of(sessions), work_for(ranks), true, asked)
        trials = asked + 2 * smoothing
        theta = np.divide(true + smoothing, trials, out=np.full(size, 0.5), where=trials > 0).clip(TINY, 1 - TINY)
    return form.model(theta, items, ranks)


@kernel
def add_entries(model: Any, lists: Lists, work: Work, true: FloatVector, asked: FloatVector) -> None:
    """Add the entries of all sessions, as maximum likelihood does."""
    for s in range(lists.ptr.shape[0] - 1):
        add_all(work.out, session_entries(model, lists, s, work)[0], true, asked)


@kernel
def add_chained(model: dbn.Model, lists: Lists, work: Work, true: FloatVector, asked: FloatVector) -> None:
    """Add the entries of all sessions by the published updates of DBN."""
    for s in range(lists.ptr.shape[0] - 1):
        add_all(work.out, _chained(model, lists, s, work), true, asked)


@kernel
def add_all(out: Entries, count: int, true: FloatVector, asked: FloatVector) -> None:
    """Add the entries of a session."""
    for e in range(count):
        true[out.which[e]] += out.successes[e]
        asked[out.which[e]] += out.trials[e]


@kernel
def add_counts(cascade: bool, items: int, lists: Lists, true: FloatVector, asked: FloatVector) -> None:
    """Count over all sessions the trials and the successes of each parameter."""
    ptr, item, click, _ = lists
    for s in range(ptr.shape[0] - 1):
        start, end = ptr[s], ptr[s + 1]
        if not cascade:
            while end > start and not click[end - 1]:
                end -= 1
            if end == start:
                end = ptr[s + 1]
        for k in range(start, end):
            i = item[k]
            asked[i] += 1.0
            if not click[k]:
                continue
            true[i] += 1.0
            if cascade:
                break
            is_last = k == end - 1
            asked[items + i] += 1.0
            true[items + i] += 1.0 if is_last else 0.0


@kernel
def _last_click(click: NDArray[np.bool_], start: int, stop: int) -> int:
    """Return the place of the last click, or the number of places."""
    for k in range(stop - 1, start - 1, -1):
        if click[k]:
            return k - start
    return stop - start


@kernel
def _below(model: dbn.Model, lists: Lists, s: int, first: int) -> float:
    """Return the probability of the clicks from place ``first`` on, with the items of the top of the list."""
    start, stop = lists.ptr[s], lists.ptr[s + 1]
    likelihood, reached = 1.0, 1.0
    for k in range(stop - start - first):
        attract, _, after_click, after_skip = step(model, lists.item[start + k], k, -1)
        if lists.click[start + first + k]:
            likelihood *= attract * reached
            reached = after_click
        else:
            p = 1.0 - attract * reached
            likelihood *= p
            reached *= after_skip * (1.0 - attract) / p
    return likelihood


@kernel
def _chained(model: dbn.Model, lists: Lists, s: int, work: Work) -> int:
    """Add the entries of DBN: ``reached`` is conditional on the clicks above, ``examined`` is unconditional."""
    theta, items, _ = model
    start, stop, item, click = lists.ptr[s], lists.ptr[s + 1], lists.item, lists.click
    n, last, count = stop - start, _last_click(click, start, stop), 0
    later = work.rest  # probability of a click here or below, if reached
    later[n] = 0.0
    for k in range(n - 1, -1, -1):
        attract, _, _, after_skip = step(model, item[start + k], k, -1)
        later[k] = attract + (1.0 - attract) * after_skip * later[k + 1]
    reached, examined = 1.0, 1.0
    for k in range(n):
        i, clicked = item[start + k], click[start + k]
        attract, _, after_click, after_skip = step(model, i, k, -1)
        true = 0.0
        if clicked:
            true = 1.0
        elif k >= last:
            true = (1.0 - examined) * attract / (1.0 - examined * later[k])
        count = enter(work.out, count, i, true, 1.0)
        if clicked:
            satisfied = 0.0
            if k == last:
                satisfied = theta[items + i] / (1.0 - after_click * later[k + 1])
            count = enter(work.out, count, items + i, satisfied, 1.0)
        on = _below(model, lists, s, k + 1)  # if the user goes on, and if not
        off = 1.0 if last <= k else 0.0
        if not clicked:
            went, ended = reached * after_skip * on, reached * (1.0 - after_skip) * off
            whole = went + ended + (1.0 - reached) * off
            count = enter(work.out, count, 2 * items, went / whole, (went + ended) / whole)
        else:
            satisfied = theta[items + i]
            went, ended = after_click * on, (1.0 - satisfied) * (1.0 - after_skip) * off
            whole = went + ended + satisfied * off
            count = enter(work.out, count, 2 * items, went / whole, (went + ended) / whole)
        p = attract * reached
        reached = after_click if clicked else reached * (1.0 - attract) * after_skip / (1.0 - p)
        examined *= attract * after_click + (1.0 - attract) * after_skip
    return count
