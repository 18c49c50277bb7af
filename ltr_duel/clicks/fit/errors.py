"""Standard errors of fitted parameters. They are also valid if users return, or if the model is only approximate.

Sessions of one user or one query resemble each other, so they form a cluster. A cluster is a query if parameters belong
to relevance grades, and a user if they belong to documents. Let C be the curvature of the log-likelihood, which is
minus its matrix of second derivatives. The scores are the first derivatives of the log-likelihood. Let S be the
covariance matrix of the scores, after they were added up for each cluster. Then the covariance matrix of the parameters
is C^-1 S C^-1 (Liang and Zeger, Biometrika 1986).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ltr_duel.clicks.fit.em import Fit
from ltr_duel.clicks.fit.form import TINY
from ltr_duel.clicks.fit.likelihood import Lists, Work, lists_of, session_entries, work_for
from ltr_duel.clicks.fit.sessions import Sessions
from ltr_duel.core import FloatMatrix, FloatVector, IntVector, kernel

MOST_PARAMETERS = 300  # for more parameters, no errors are computed
_MOST_NUMBERS = 10**8  # largest number of clusters times parameters
_SINGULAR = 1e-9  # an eigenvalue below this share of the largest eigenvalue counts as 0
_STEP = 1e-5  # step for derivatives, as a share of the distance of a parameter from 0 or 1


class Errors(NamedTuple):
    """Standard errors of all parameters, and the clusters from which they were computed."""

    values: FloatVector  # nan if the sessions do not determine the error
    cluster: str  # what a cluster is: "query", "user" or "session"
    clusters: int  # number of clusters


def standard_errors(fit: Fit, sessions: Sessions) -> Errors:
    """Return the standard error of each parameter.

    An error is nan if the sessions do not determine it. All errors are nan if there are more than `MOST_PARAMETERS`
    parameters, or only one cluster.
    """
    user, cluster, keys = sessions.user, "session", np.arange(sessions.number)
    if sessions.graded and len(np.unique(sessions.query)) > 1:
        cluster, keys = "query", sessions.query
    elif user is not None:
        cluster, keys = "user", np.where(user < 0, -1 - keys, user)
    clusters, index = np.unique(keys, return_inverse=True)
    theta, (model, *_), work = fit.model.theta.copy(), fit, work_for(fit.model.ranks)
    n, number, distinct = len(theta), len(clusters), lists_of(*sessions.distinct())
    values = np.full(n, np.nan)
    if number == 1 or n > MOST_PARAMETERS or n * number > _MOST_NUMBERS:
        return Errors(values, cluster, number)
    curvature = np.zeros((n, n))
    inside = _is_inside(fit)
    for i in np.flatnonzero(inside):
        step = _STEP * min(theta[i], abs(1 - theta[i]))
        for sign in (-1, 1):
            moved = theta.copy()
            moved[i] += sign * step
            curvature[i] -= sign * _scores(model._replace(theta=moved), distinct, work)[0] / (2 * step)
    inside &= curvature.diagonal() > 0
    scores = np.zeros((number, n))
    add_scores(model, lists_of(sessions), index, work, scores, np.zeros(n))
    spread = scores[:, inside].T @ scores[:, inside] * number / (number - 1)
    values[inside] = np.sqrt(_sandwich(curvature[np.ix_(inside, inside)], spread))
    return Errors(values, cluster, number)


def own_errors(fit: Fit, sessions: Sessions) -> FloatVector:
    """Return the error that each parameter would have if all other parameters were known.

    The error is nan for parameters with the value 0 or 1.
    """
    # A session's likelihood is linear in a document's attraction, so its log has the squared score as curvature.
    own, inside = _scores(fit.model, lists_of(*sessions.distinct()), work_for(fit.model.ranks))[1], _is_inside(fit)
    theta = np.where(inside, fit.model.theta, 0.5)
    own += fit.smoothing * (theta**-2 + (1 - theta) ** -2)
    return np.where(inside & (own > 0), own, np.nan) ** -0.5


def _scores(model: Any, lists: Lists, work: Work) -> FloatMatrix:
    both = np.zeros((2, len(model.theta)))
    add_scores(model, lists, np.zeros(len(lists.weight), np.int64), work, both[:1], both[1])
    return both


def _is_inside(fit: Fit) -> Any:
    theta = fit.model.theta
    return (theta > 2 * TINY) & (np.abs(theta - 1) > 2 * TINY) & (np.arange(len(theta)) != fit.reference)


def _sandwich(curvature: FloatMatrix, spread: FloatMatrix) -> FloatVector:
    scale = np.sqrt(curvature.diagonal())
    both = np.outer(scale, scale)
    values, vectors = np.linalg.eigh((curvature + curvature.T) / (2 * both))
    regular = values > _SINGULAR * values.max(initial=0)
    inverse = (vectors[:, regular] / values[regular]) @ vectors[:, regular].T
    variance = (inverse @ (spread / both) * inverse).sum(axis=1)
    unknown = (vectors[:, ~regular] ** 2).sum(axis=1) > _SINGULAR**0.5
    return np.asarray(np.where(unknown, np.nan, np.maximum(variance, 0) / scale**2), np.float64)


@kernel
def add_scores(
    model: Any, lists: Lists, cluster: IntVector, work: Work, scores: FloatMatrix, squares: FloatVector
) -> None:
    """Add the scores of each session to the row of its cluster in ``scores``, and their squares to ``squares``."""
    for s in range(lists.ptr.shape[0] - 1):
        count, _ = session_entries(model, lists, s, work)
        for e in range(count):
            i = work.out.which[e]
            t = model.theta[i]
            if abs(t - 1.0) > TINY:
                score = (work.out.successes[e] - t * work.out.trials[e]) / (t * (1.0 - t))
                scores[cluster[s], i] += lists.weight[s] * score
                squares[i] += lists.weight[s] * score * score
