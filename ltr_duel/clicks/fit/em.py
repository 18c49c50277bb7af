"""Fit click models by expectation maximisation (EM).

Each step divides the expected number of successes of a parameter by its expected number of trials.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ltr_duel.clicks.fit.form import TINY, Form
from ltr_duel.clicks.fit.likelihood import Lists, Work, lists_of, session_entries, work_for
from ltr_duel.clicks.fit.sessions import Sessions
from ltr_duel.core import FloatVector, kernel

_BEGIN = 0.5  # value of every probability before the first step


class Fit(NamedTuple):
    """The result of EM."""

    model: Any  # the form's ``Model`` with the fitted parameters
    trials: FloatVector  # expected number of trials of each parameter
    iterations: int
    converged: bool  # False if EM stopped because it reached the largest number of steps
    reference: int  # index of the attention parameter that is scaled to 1; -1 for none
    smoothing: float  # number of successes, and of failures, that each parameter had before the fit


def fit_by_em(form: Form, sessions: Sessions, iterations: int, tolerance: float, smoothing: float) -> Fit:
    """Fit one model to sessions."""
    items, ranks = sessions.items, sessions.longest
    blocks = dict(form.slices(items, ranks))
    size = max(block.stop for block in blocks.values())
    model, work = form.model(np.full(size, _BEGIN), items, ranks), work_for(ranks)
    lists = lists_of(*sessions.distinct())
    before, steps, converged = -np.inf, 0, False
    while steps < iterations and not converged:
        steps += 1
        successes, trials = np.zeros((2, size))
        likelihood = add_entries(model, lists, work, successes, trials)
        likelihood += smoothing * (np.log(model.theta).sum() + np.log1p(-model.theta).sum())
        smoothed = trials + 2 * smoothing
        theta = np.divide(successes + smoothing, smoothed, out=np.full(size, _BEGIN), where=smoothed > 0)
        model = model._replace(theta=np.clip(theta, TINY, 1 - TINY))
        converged = bool(abs(likelihood - before) < tolerance * sessions.number)
        before = likelihood
    reference = -1
    if attention := next((block for name, block in blocks.items() if name.startswith("attention")), None):
        # clicks determine only the product of attention and attraction, so the attention with most clicks is set to 1
        clicks = np.zeros(size)
        add_clicks(model, lists, work, clicks)
        clicks[: attention.start] = 0
        reference = int(clicks.argmax())
        scale = model.theta[reference]
        model.theta[attention] /= scale
        model.theta[blocks["attraction"]] *= scale
    return Fit(model, trials, steps, converged, reference, smoothing)


@kernel
def add_entries(model: Any, lists: Lists, work: Work, successes: FloatVector, trials: FloatVector) -> float:
    """Add the successes and trials of all sessions, and return the log-likelihood."""
    total = 0.0
    for s in range(lists.ptr.shape[0] - 1):
        count, likelihood = session_entries(model, lists, s, work)
        weight = lists.weight[s]
        total += weight * likelihood
        for e in range(count):
            successes[work.out.which[e]] += weight * work.out.successes[e]
            trials[work.out.which[e]] += weight * work.out.trials[e]
    return total


@kernel
def add_clicks(model: Any, lists: Lists, work: Work, clicks: FloatVector) -> None:
    """Count the clicks at the rank of each attention parameter."""
    for s in range(lists.ptr.shape[0] - 1):
        count, _ = session_entries(model, lists, s, work)
        for e in range(count):
            if work.out.successes[e] == 1.0:  # a click shows for certain that the document was noticed
                clicks[work.out.which[e]] += lists.weight[s]
