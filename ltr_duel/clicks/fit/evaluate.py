"""How well a fitted model predicts sessions, usually held-out sessions: log-likelihood and perplexity."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ltr_duel.clicks.fit.forms import UBM
from ltr_duel.clicks.fit.sessions import Sessions
from ltr_duel.clicks.fit.walk import SMALL, TINY, Lists, Model, lists_of, step
from ltr_duel.core import FloatVector, kernel


class Score(NamedTuple):
    """The scores of a model on some sessions.

    by_place: shape (places,); for each position, 2 to the power of the mean of -log2 Pr(click or not), where the
        probability is not conditional on the clicks above.
    """

    log_likelihood: float  # log Pr(click or not | clicks above), averaged over positions, then over sessions
    perplexity: float  # mean of `by_place`; 1 for an oracle, 2 for a coin
    by_place: FloatVector
    sessions: int


def score(model: Model, sessions: Sessions) -> Score:
    """Return the scores of a model."""
    bits, shown, chances = np.zeros((3, model.layout.places))
    product = np.ones(model.layout.places)
    likelihood = add_likelihoods(model, lists_of(sessions), chances, product, bits, shown)
    bits -= np.log2(product)
    by_place = 2 ** (bits[shown > 0] / shown[shown > 0])
    return Score(likelihood / sessions.number, float(by_place.mean()), by_place, sessions.number)


@kernel
def add_likelihoods(
    model: Model, lists: Lists, chances: FloatVector, product: FloatVector, bits: FloatVector, shown: FloatVector
) -> float:
    """Add the bits of each position; return the sum, over sessions, of the mean log-likelihood of a position."""
    whole = 0.0  # logarithms take longer than all other steps, so products are accumulated first
    for s in range(lists.ptr.shape[0] - 1):
        start, n = lists.ptr[s], lists.ptr[s + 1] - lists.ptr[s]
        click_chances(model, lists, s, chances)
        whole += log_likelihood(model, lists, s) / n
        for k in range(n):
            p = chances[k] if lists.click[start + k] else 1.0 - chances[k]
            product[k] *= max(p, TINY * TINY)
            if product[k] < SMALL:
                bits[k] -= np.log2(product[k])
                product[k] = 1.0
            shown[k] += 1.0
    return whole


@kernel
def log_likelihood(model: Model, lists: Lists, s: int) -> float:
    """Return the log-likelihood of a session's clicks; an impossible event has probability TINY."""
    on, off, last, mean = 1.0, 0.0, -1, 0.0  # on: Pr(clicks so far, not stopped); off: Pr(clicks so far, stopped)
    start = lists.ptr[s]
    for k in range(lists.ptr[s + 1] - start):
        attract, notice, after_click, after_skip = step(model, lists.item[start + k], k, last)
        p = on * (attract * notice)
        if lists.click[start + k]:
            p = max(p, TINY * (on + off))
            on, off, last = p * after_click, p * (1.0 - after_click), k
        else:
            p = on - p
            on, off = p * after_skip, off + p * (1.0 - after_skip)
        if on + off < SMALL:
            mean += np.log(on + off)
            on, off = on / (on + off), off / (on + off)
    return mean + np.log(on + off)


@kernel
def click_chances(model: Model, lists: Lists, s: int, chances: FloatVector) -> None:
    """Write the probability of a click at each position of session s, not conditional on the clicks above."""
    start, n = lists.ptr[s], lists.ptr[s + 1] - lists.ptr[s]
    if model.form == UBM:
        for k in range(n):
            chances[k] = 0.0
        for last in range(-1, n):  # sum over the previous click: Pr(click at last) Pr(no click in between)
            between = 1.0 if last < 0 else chances[last]
            for k in range(last + 1, n):
                attract, notice, _, _ = step(model, lists.item[start + k], k, last)
                chances[k] += between * attract * notice
                between *= 1.0 - attract * notice
        return
    reached = 1.0
    for k in range(n):
        attract, notice, after_click, after_skip = step(model, lists.item[start + k], k, -1)
        p = attract * notice
        chances[k] = reached * p
        reached *= p * after_click + (1.0 - p) * after_skip
