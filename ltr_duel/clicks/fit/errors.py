"""Standard errors of fitted parameters; they are also valid if users return or the model is only approximate.

The method is the sandwich estimator of Liang and Zeger (Biometrika 1986). The score is summed over the sessions of each
user, because users are independent; without users, sessions are treated as independent. The variance of these sums is
multiplied on both sides by the inverse of the observed curvature of the log-likelihood. If users behave exactly like
the model, variance and curvature are equal, and the sandwich is the inverse curvature.

Errors by users apply to other users with the same queries. Documents of the same grade are not equally attractive, so
parameters differ between queries; errors by queries include this variation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.clicks.fit.em import Fit
from ltr_duel.clicks.fit.form import TINY, Entries
from ltr_duel.clicks.fit.likelihood import Lists, Work, lists_of, session_entries, work_for
from ltr_duel.clicks.fit.sessions import Sessions
from ltr_duel.core import FloatMatrix, FloatVector, IntVector, kernel

MOST_PARAMETERS = 1000  # maximum number of parameters for which the curvature is inverted
_SINGULAR = 1e-9  # threshold for eigenvalues, as a share of the largest eigenvalue
_STEP = 1e-5  # step size, as a share of the distance of a parameter from 0 or 1


class Errors(NamedTuple):
    """Standard errors of all parameters, and the number of independent users (0: sessions are independent)."""

    values: FloatVector  # nan if the sessions do not determine the error
    users: int


class Scores(NamedTuple):
    """The score of some sessions; it is zero except for the *touched* parameters, which occur in these sessions."""

    values: FloatVector  # (parameters,)
    touched: IntVector  # (parameters,) the first ``size`` entries: numbers of the touched parameters
    is_touched: NDArray[np.bool_]  # (parameters,)


def standard_errors(fit: Fit, sessions: Sessions, cluster: str = "user") -> Errors:
    """Return the standard error of each parameter.

    The error is nan for parameters that have no trials or are at the border of 0..1, and for the attention that defines
    the scale. All errors are nan for more than `MOST_PARAMETERS` parameters, and for a single cluster.
    """
    n, user = len(fit.asked), sessions.user
    values = np.full(n, np.nan)
    users = 0 if user is None else len(np.unique(user[user >= 0])) + int((user < 0).sum())
    number = len(np.unique(sessions.query)) if cluster == "query" else users or sessions.number
    if n > MOST_PARAMETERS or number == 1:
        return Errors(values, users)
    different = lists_of(*sessions.distinct())
    inside, curvature, work, scores = _curvature(fit, different, n)
    inside &= curvature.diagonal() > 0
    known = np.ix_(inside, inside)
    lists, keys = lists_of(sessions), sessions.query
    if cluster == "user" and user is not None:
        keys = np.where(user < 0, -1 - np.arange(len(user)), user)
    elif cluster == "user":
        lists, keys = different, np.arange(len(different.weight))
    spread = np.zeros((n, n))
    add_spread(fit.model, lists, keys, np.argsort(keys, kind="stable"), work, scores, spread)
    values[inside] = np.sqrt(_sandwich(curvature[known], spread[known] * (number / max(number - 1, 1))))
    return Errors(values, users)


def own_errors(fit: Fit, sessions: Sessions, smoothing: float) -> FloatVector:
    """Return an error of each parameter from its own curvature: as if all other parameters were known.

    The curvature is that of the log posterior, so it includes the additional successes and failures. The error is nan
    for parameters at the border of 0..1.
    """
    inside, curvature, *_ = _curvature(fit, lists_of(*sessions.distinct()), 1)
    theta = fit.model.theta[inside]
    own = curvature[inside, 0] + smoothing / theta**2 + smoothing / (1 - theta) ** 2
    errors = np.full(len(inside), np.nan)
    errors[inside] = np.sqrt(1 / np.where(own > 0, own, np.nan))
    return errors


def _curvature(fit: Fit, lists: Lists, columns: int) -> tuple[NDArray[np.bool_], FloatMatrix, Work, Scores]:
    """Return the parameters inside 0..1 and the curvature matrix, or with one column only its diagonal."""
    theta = fit.model.theta.copy()
    n = len(theta)
    scores = Scores(np.zeros(n), np.zeros(n, np.int64), np.zeros(n, np.bool_))
    inside = (theta > 2 * TINY) & (np.abs(theta - 1) > 2 * TINY)
    if fit.reference >= 0:
        inside[fit.reference] = False
    curvature, work = np.zeros((n, columns)), work_for(fit.model.ranks)
    add_curvature(fit.model._replace(theta=theta), lists, inside, work, scores, curvature)
    return inside, curvature, work, scores


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
def add_scores(theta: FloatVector, out: Entries, count: int, factor: float, scores: Scores, size: int) -> int:
    """Add the score of a session's entries, times a factor; return the number of touched parameters."""
    for e in range(count):
        i = out.which[e]
        t = theta[i]
        if not scores.is_touched[i]:
            scores.is_touched[i] = True
            scores.touched[size] = i
            size += 1
        if abs(t - 1.0) > TINY:
            scores.values[i] += factor * (out.true[e] - t * out.asked[e]) / (t * (1.0 - t))
    return size


@kernel
def clear(scores: Scores, size: int) -> None:
    """Reset all scores."""
    for a in range(size):
        scores.values[scores.touched[a]] = 0.0
        scores.is_touched[scores.touched[a]] = False


@kernel
def add_curvature(
    model: Any, lists: Lists, inside: NDArray[np.bool_], work: Work, scores: Scores, curvature: FloatMatrix
) -> None:
    """Add the negated second derivatives of all sessions' log-likelihoods, by finite differences of scores.

    A session touches few parameters, so only these are varied; ``theta`` is restored afterwards.
    """
    theta, full = model.theta, curvature.shape[1] > 1
    for s in range(lists.ptr.shape[0] - 1):
        count, _ = session_entries(model, lists, s, work)
        size = add_scores(theta, work.out, count, 0.0, scores, 0)
        for a in range(size):
            i = scores.touched[a]
            if not inside[i]:
                continue
            t = theta[i]
            step = _STEP * min(t, abs(1.0 - t))
            for sign in (-1.0, 1.0):
                theta[i] = t + sign * step
                count, _ = session_entries(model, lists, s, work)
                add_scores(theta, work.out, count, -sign * lists.weight[s] / (2.0 * step), scores, size)
            theta[i] = t
            for b in range(size):
                j = scores.touched[b]
                if full or i == j:
                    curvature[i, j if full else 0] += scores.values[j]
                scores.values[j] = 0.0
        clear(scores, size)


@kernel
def add_spread(
    model: Any, lists: Lists, cluster: IntVector, order: IntVector, work: Work, scores: Scores, spread: FloatMatrix
) -> None:
    """Add the outer product of each cluster's score with itself; ``order`` sorts the sessions by cluster."""
    size = 0
    for o in range(order.shape[0]):
        s = order[o]
        count, _ = session_entries(model, lists, s, work)
        size = add_scores(model.theta, work.out, count, 1.0, scores, size)
        if o + 1 < order.shape[0] and cluster[order[o + 1]] == cluster[s]:
            continue
        for a in range(size):
            for b in range(size):
                i, j = scores.touched[a], scores.touched[b]
                spread[i, j] += lists.weight[s] * scores.values[i] * scores.values[j]
        clear(scores, size)
        size = 0
