"""Compute how likely the clicks of a session are under a click model, and what they say about its parameters.

A parameter is a probability, for example the probability that a document attracts a user. Each user who reaches the
document is a trial, and each user whom the document attracts is a success. A log shows only the clicks, and not which
documents a user reached. This module therefore computes the expected numbers of trials and successes, given the clicks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.clicks.fit.form import PER_RANK, TINY, Entries, Rank, enter, entries, step
from ltr_duel.clicks.fit.sessions import Sessions
from ltr_duel.core import FloatVector, IntVector, kernel

# The derivative of the log-likelihood by a parameter t is the sum of (successes - t * trials) / (t * (1 - t)).
_SMALL = 1e-200  # the logarithm of a product of probabilities is taken before the product becomes too small


class Lists(NamedTuple):
    """Arrays of sessions that compiled functions read."""

    ptr: IntVector  # session s has the entries ``ptr[s]:ptr[s + 1]``
    item: IntVector
    click: NDArray[np.bool_]
    weight: FloatVector  # how often each session occurred


class Work(NamedTuple):
    """Memory to which compiled functions write what they compute for a session."""

    reached: FloatVector  # (ranks + 1,) probability that the rank is reached, given the clicks above
    rest: FloatVector  # (ranks + 1,) probability that a user who reaches the rank does not click from there on
    out: Entries


def lists_of(sessions: Sessions, weight: FloatVector | None = None) -> Lists:
    """Return sessions as arrays for compiled functions."""
    return Lists(*sessions[:3], np.ones(sessions.number) if weight is None else weight)


def work_for(ranks: int) -> Work:
    """Return memory for sessions with lists of up to ``ranks`` documents."""
    n = PER_RANK * ranks
    return Work(np.empty(ranks + 1), np.empty(ranks + 1), Entries(np.empty(n, np.int64), np.empty(n), np.empty(n)))


@kernel
def session_entries(model: Any, lists: Lists, s: int, work: Work) -> tuple[int, float]:
    """Write to ``work.out`` what session ``s`` says about the parameters.

    Return the number of entries in ``work.out``, and the log-likelihood of the session.
    """
    start, n = lists.ptr[s], lists.ptr[s + 1] - lists.ptr[s]
    reached, rest = work.reached, work.rest
    likelihood, final = walk_down(model, lists, s, work)
    walk_up(model, lists, s, final, work)
    count, last = 0, -1
    for k in range(n):
        item, clicked = lists.item[start + k], lists.click[start + k]
        attract, notice, after_click, after_skip = step(model, item, k, last)
        there = 1.0  # probability that the rank was reached, given all clicks
        if k > final and reached[k] < 1.0:
            there = reached[k] * rest[k] / (reached[k] * rest[k] + 1.0 - reached[k])
        go_on = after_click if clicked else after_skip
        went_on = 1.0
        if k >= final and go_on < 1.0:
            went_on = go_on * rest[k + 1] / (go_on * rest[k + 1] + 1.0 - go_on)
        noticed = 1.0
        if clicked:
            count = enter(work.out, count, item, 1.0, 1.0)
        else:
            missed = there / (1.0 - attract * notice)
            noticed = missed * notice * (1.0 - attract)
            count = enter(work.out, count, item, missed * attract * (1.0 - notice), there)
        count = entries(model, Rank(item, k, last, clicked, k == n - 1, there, noticed, went_on), work.out, count)
        if clicked:
            last = k
            if after_click == 0.0:
                break
    return count, likelihood


@kernel
def walk_down(model: Any, lists: Lists, s: int, work: Work) -> tuple[float, int]:
    """Return the log-likelihood of session ``s``, and the rank of its last click or -1. Fill ``work.reached``."""
    start, reached = lists.ptr[s], work.reached
    likelihood, product, last = 0.0, 1.0, -1
    reached[0] = 1.0
    for k in range(lists.ptr[s + 1] - start):
        attract, notice, after_click, after_skip = step(model, lists.item[start + k], k, last)
        p = reached[k] * attract * notice
        if lists.click[start + k]:
            product *= max(p, TINY)
            reached[k + 1] = after_click
            last = k
        else:
            product *= 1.0 - p
            reached[k + 1] = reached[k] * (1.0 - attract * notice) * after_skip / (1.0 - p)
        if product < _SMALL:  # a logarithm at each rank would take longer than the rest of the loop
            likelihood += np.log(product)
            product = 1.0
    return likelihood + np.log(product), last


@kernel
def walk_up(model: Any, lists: Lists, s: int, last: int, work: Work) -> None:
    """Fill ``work.rest`` for all ranks below the last click of session ``s``."""
    start, n, rest = lists.ptr[s], lists.ptr[s + 1] - lists.ptr[s], work.rest
    rest[n] = 1.0
    for k in range(n - 1, last, -1):
        attract, notice, _, after_skip = step(model, lists.item[start + k], k, last)
        rest[k] = (1.0 - attract * notice) * (after_skip * rest[k + 1] + 1.0 - after_skip)


class Score(NamedTuple):
    """A measure of how well a model predicts sessions."""

    log_likelihood: float  # log-probability of a click or no click at a rank; mean over ranks, then over sessions
    sessions: int


def score(model: Any, sessions: Sessions) -> Score:
    """Measure how well a model predicts sessions."""
    return Score(add_likelihoods(model, lists_of(sessions), work_for(model.ranks)) / sessions.number, sessions.number)


@kernel
def add_likelihoods(model: Any, lists: Lists, work: Work) -> float:
    """Return the sum of the log-likelihoods of all sessions, each divided by the length of its list."""
    total = 0.0
    for s in range(lists.ptr.shape[0] - 1):
        total += walk_down(model, lists, s, work)[0] / (lists.ptr[s + 1] - lists.ptr[s])
    return total
