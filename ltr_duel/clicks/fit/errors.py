"""Standard errors of fitted parameters; they are also valid if users return or the model is only approximate.

The method is the sandwich estimator of Liang and Zeger (Biometrika 1986). The score, which is the derivative of the
log-likelihood, is summed over the sessions of each user, because users are independent. If no user is known, sessions
are treated as independent. The variance of these sums is multiplied on both sides by the inverse of the observed
curvature of the log-likelihood. If sessions are independent and users behave exactly like the model, variance and
curvature are equal, and the sandwich equals the inverse curvature.

Errors by users apply to other users with the same queries. Documents of the same grade are not equally attractive, so
parameters differ between queries; errors by queries include this variation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.clicks.fit.em import Fit
from ltr_duel.clicks.fit.forms import Form
from ltr_duel.clicks.fit.sessions import Sessions
from ltr_duel.clicks.fit.walk import TINY, Lists, Model, Work, lists_of, session_entries, work_for
from ltr_duel.core import FloatMatrix, FloatVector, IntVector, kernel

MOST_PARAMETERS = 1000  # maximum number of parameters for which the curvature is inverted
_SINGULAR = 1e-9  # threshold for eigenvalues, as a share of the largest eigenvalue
_STEP = 1e-5  # step size, as a share of the distance of a parameter from 0 or 1


class Errors(NamedTuple):
    """Standard errors of all parameters."""

    values: FloatVector  # nan if the sessions do not determine the error
    users: int  # number of independent users; 0 if sessions are treated as independent


class Scores(NamedTuple):
    """The score of some sessions; it is zero except for the *touched* parameters, which occur in these sessions."""

    values: FloatVector  # (parameters,)
    touched: IntVector  # (parameters,) the first ``size`` entries: numbers of the touched parameters
    is_touched: NDArray[np.bool_]  # (parameters,)


def standard_errors(form: Form, fit: Fit, sessions: Sessions, cluster: str = "user") -> Errors:
    """Return the standard error of each parameter; nan if the sessions do not determine it.

    The error is nan for parameters that have no trials or are at the border of 0..1, and for the attention that defines
    the scale. All errors are nan if there are more than `MOST_PARAMETERS` parameters (usual if items are documents), or
    if all sessions belong to one cluster.

    cluster: {"user", "query"}: errors for other users with the same queries, or for other queries with the same users.
    """
    n, user = fit.layout.size, sessions.user
    errors = np.full(n, np.nan)
    users = 0 if user is None else len(np.unique(user[user >= 0])) + int((user < 0).sum())
    number = len(np.unique(sessions.query)) if cluster == "query" else users or sessions.number
    if n > MOST_PARAMETERS or number == 1:
        return Errors(errors, users)
    curvature = np.zeros((n, n))
    theta, work = fit.theta.copy(), work_for(fit.layout.places)
    model = Model(form.code, theta, fit.layout)
    scores = Scores(np.zeros(n), np.zeros(n, np.int64), np.zeros(n, np.bool_))
    different, every = lists_of(*sessions.grouped()), lists_of(sessions)
    inside = (theta > 2 * TINY) & (np.abs(theta - 1) > 2 * TINY)
    if fit.reference >= 0:
        inside[fit.reference] = False
    add_curvature(model, different, inside, work, scores, curvature)
    inside &= curvature.diagonal() > 0
    known = np.ix_(inside, inside)

    lists, keys = every, sessions.query
    if cluster == "user" and user is not None:
        keys = np.where(user < 0, -1 - np.arange(len(user)), user)
    elif cluster == "user":
        lists, keys = different, np.arange(len(different.weight))
    spread = np.zeros((n, n))
    add_spread(model, lists, keys, np.argsort(keys, kind="stable"), work, scores, spread)
    errors[inside] = np.sqrt(_sandwich(curvature[known], spread[known] * (number / max(number - 1, 1))))
    return Errors(errors, users)


def _sandwich(curvature: FloatMatrix, spread: FloatMatrix) -> FloatVector:
    """Return the diagonal of C^-1 S C^-1; nan where C is singular."""
    scale = np.sqrt(curvature.diagonal())
    both = np.outer(scale, scale)
    values, vectors = np.linalg.eigh((curvature + curvature.T) / (2 * both))
    known = values > _SINGULAR * values.max(initial=0)
    inverse = (vectors[:, known] / values[known]) @ vectors[:, known].T
    variance = (inverse @ (spread / both) * inverse).sum(axis=1)
    unknown = (vectors[:, ~known] ** 2).sum(axis=1) > _SINGULAR**0.5
    return np.asarray(np.where(unknown, np.nan, np.maximum(variance, 0) / scale**2), np.float64)


@kernel
def add_scores(theta: FloatVector, work: Work, count: int, factor: float, scores: Scores, size: int) -> int:
    """Add the score of a session's entries, times a factor; return the number of touched parameters."""
    for e in range(count):
        i = work.which[e]
        t = theta[i]
        if not scores.is_touched[i]:
            scores.is_touched[i] = True
            scores.touched[size] = i
            size += 1
        if abs(t - 1.0) > TINY:
            scores.values[i] += factor * (work.true[e] - t * work.asked[e]) / (t * (1.0 - t))
    return size


@kernel
def clear(scores: Scores, size: int) -> None:
    """Reset all scores."""
    for a in range(size):
        scores.values[scores.touched[a]] = 0.0
        scores.is_touched[scores.touched[a]] = False


@kernel
def add_curvature(
    model: Model, lists: Lists, inside: NDArray[np.bool_], work: Work, scores: Scores, curvature: FloatMatrix
) -> None:
    """Add the negated second derivatives of all sessions' log-likelihoods, by finite differences of scores.

    A session touches few parameters, so only these are varied; ``theta`` is restored afterwards.
    """
    theta = model.theta
    for s in range(lists.ptr.shape[0] - 1):
        count, _ = session_entries(model, lists, s, work)
        size = add_scores(theta, work, count, 0.0, scores, 0)
        for a in range(size):
            i = scores.touched[a]
            if not inside[i]:
                continue
            t = theta[i]
            step = _STEP * min(t, abs(1.0 - t))
            for sign in (-1.0, 1.0):
                theta[i] = t + sign * step
                count, _ = session_entries(model, lists, s, work)
                add_scores(theta, work, count, -sign * lists.weight[s] / (2.0 * step), scores, size)
            theta[i] = t
            for b in range(size):
                curvature[i, scores.touched[b]] += scores.values[scores.touched[b]]
                scores.values[scores.touched[b]] = 0.0
        clear(scores, size)


@kernel
def add_spread(
    model: Model, lists: Lists, cluster: IntVector, order: IntVector, work: Work, scores: Scores, spread: FloatMatrix
) -> None:
    """Add the outer product of each cluster's score with itself; ``order`` sorts the sessions by cluster."""
    size = 0
    for o in range(order.shape[0]):
        s = order[o]
        count, _ = session_entries(model, lists, s, work)
        size = add_scores(model.theta, work, count, 1.0, scores, size)
        if o + 1 < order.shape[0] and cluster[order[o + 1]] == cluster[s]:
            continue
        for a in range(size):
            for b in range(size):
                i, j = scores.touched[a], scores.touched[b]
                spread[i, j] += lists.weight[s] * scores.values[i] * scores.values[j]
        clear(scores, size)
        size = 0
