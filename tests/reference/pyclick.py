"""The updates of PyClick (github.com/markovi/PyClick) that differ from maximum likelihood, to reproduce its figures.

The cascade and the simplified DBN are fitted by counting: positions above the last click were examined, positions below
were not, and the last click satisfied the user; without a click, all positions were examined (Chapelle and Zhang, WWW
2009). Entries are those of `likelihood.session_entries`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ltr_duel.clicks.fit.em import Fit, divided
from ltr_duel.clicks.fit.form import TINY, Entries
from ltr_duel.clicks.fit.forms import FORMS
from ltr_duel.clicks.fit.likelihood import Lists, Score, Work, click_chances, lists_of, score, session_entries, work_for
from ltr_duel.clicks.fit.sessions import Sessions
from ltr_duel.core import FloatVector, kernel


def fit(name: str, sessions: Sessions, iterations: int = 50, smoothing: float = 1.0) -> Fit:
    """Fit one model with the given number of steps."""
    form, items, ranks = FORMS[name], sessions.items, sessions.longest
    size = max(block.stop for _, block in form.slices(items, ranks))
    theta, true, asked = np.full(size, 0.5), np.empty(size), np.empty(size)
    counted = name in ("cascade", "sdbn")
    for _ in range(1 if counted else iterations):
        true[:], asked[:] = 0.0, 0.0
        model = form.model(theta, items, ranks)
        if counted:
            add_counts(name == "cascade", items, lists_of(sessions), true, asked)
        else:
            add_entries(model, lists_of(sessions), work_for(ranks), true, asked)
        theta = divided(true, asked, smoothing)
    return Fit(form.model(theta, items, ranks), asked, iterations, True, -1)


def judged(name: str, found: Fit, sessions: Sessions) -> Score:
    """Return the figures of a model on held-out sessions; for the cascade, impossible sessions count as in PyClick."""
    model = found.model
    known = score(model, sessions)
    if name != "cascade":
        return known
    whole, chances, mass = 0.0, np.empty(model.ranks), np.empty(model.ranks + 1)
    for s, (start, stop) in enumerate(zip(sessions.ptr[:-1], sessions.ptr[1:], strict=True)):
        click_chances(model, lists_of(sessions), s, mass, chances)
        clicked = np.flatnonzero(sessions.click[start:stop])
        first = clicked[0] if len(clicked) else stop - start  # below the first click, no click is possible
        whole += np.log1p(-chances[:first]).sum() / (stop - start)
        if len(clicked):
            below = (stop - start - 1 - first) * np.log(TINY)
            whole += (np.log(max(chances[first], TINY)) + below) / (stop - start)
    return known._replace(log_likelihood=whole / sessions.number)


@kernel
def add_entries(model: Any, lists: Lists, work: Work, true: FloatVector, asked: FloatVector) -> None:
    """Add the entries of all sessions, as maximum likelihood does."""
    for s in range(lists.ptr.shape[0] - 1):
        add_all(work.out, session_entries(model, lists, s, work)[0], true, asked)


@kernel
def add_all(out: Entries, count: int, true: FloatVector, asked: FloatVector) -> None:
    """Add the entries of a session."""
    for e in range(count):
        true[out.which[e]] += out.true[e]
        asked[out.which[e]] += out.asked[e]


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
