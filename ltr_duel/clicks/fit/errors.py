"""Standard errors of fitted parameters: the inverse of the information in the sessions' scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ltr_duel.clicks.fit.em import Fit
from ltr_duel.clicks.fit.forms import Form, Layout
from ltr_duel.clicks.fit.sessions import Sessions
from ltr_duel.clicks.fit.walk import TINY, Work, session_entries, work_for
from ltr_duel.core import FloatMatrix, FloatVector, IntVector, kernel

MOST_PARAMETERS = 1000  # of which the information is inverted
_SINGULAR = 1e-9  # of the largest eigenvalue


def standard_errors(form: Form, fit: Fit, sessions: Sessions) -> FloatVector:
    """Return the standard error of each parameter; nan where the sessions do not tell it.

    Nothing is known of parameters that were never asked for, and no error is stated at the border of 0..1. Where there
    are too many parameters (one for each document), all are nan.
    """
    errors = np.full(fit.layout.size, np.nan)
    if fit.layout.size > MOST_PARAMETERS:
        return errors
    information = np.zeros((fit.layout.size, fit.layout.size))
    touched, scores = np.zeros(fit.layout.size, np.int64), np.zeros(fit.layout.size)
    different, weight = sessions.grouped()
    add_information(
        form.code,
        fit.theta,
        fit.layout,
        different.item,
        different.click,
        different.ptr,
        weight,
        work_for(fit.layout.places),
        touched,
        scores,
        information,
    )
    inside = (fit.theta > 2 * TINY) & (np.abs(fit.theta - 1) > 2 * TINY) & (information.diagonal() > 0)
    if fit.reference >= 0:
        inside[fit.reference] = False
    scale = np.sqrt(information.diagonal()[inside])
    values, vectors = np.linalg.eigh(information[np.ix_(inside, inside)] / np.outer(scale, scale))
    known = values > _SINGULAR * values.max(initial=0)
    variance = (vectors[:, known] ** 2 / values[known]).sum(axis=1)
    unknown = (vectors[:, ~known] ** 2).sum(axis=1) > _SINGULAR**0.5
    errors[inside] = np.where(unknown, np.nan, np.sqrt(variance) / scale)
    return errors


@kernel
def add_information(
    form: int,
    theta: FloatVector,
    layout: Layout,
    item: IntVector,
    click: NDArray[np.bool_],
    ptr: IntVector,
    weight: FloatVector,
    work: Work,
    touched: IntVector,
    scores: FloatVector,
    information: FloatMatrix,
) -> None:
    """Add the square of each session's score, the derivative of its log-likelihood; ``scores`` comes as zeros."""
    for s in range(ptr.shape[0] - 1):
        count, _ = session_entries(form, theta, layout, item, click, ptr[s], ptr[s + 1], work)
        different = 0
        for e in range(count):
            i = work.which[e]
            t = theta[i]
            fresh = True
            for d in range(different):
                if touched[d] == i:
                    fresh = False
            if fresh:
                touched[different] = i
                different += 1
            if abs(t - 1.0) > TINY:
                scores[i] += (work.true[e] - t * work.asked[e]) / (t * (1.0 - t))
        for a in range(different):
            for b in range(different):
                information[touched[a], touched[b]] += weight[s] * scores[touched[a]] * scores[touched[b]]
        for a in range(different):
            scores[touched[a]] = 0.0
