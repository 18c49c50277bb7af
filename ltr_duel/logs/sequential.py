"""Looking at a running experiment as often as one likes: confidence sequences and e-values.

The means that the bets of `ltr_duel.logs.bets` do not refute are the confidence sequence.

Needed is that an observation's expectation, given all earlier ones, is the mean. A user who comes back breaks that: who
clicked in favour of a ranker yesterday is likely to do so today. So by default each user counts once, by the first
impression of the pair; where impressions are those of users who never return, each one counts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ltr_duel.core import FloatVector, IntVector, errors
from ltr_duel.logs.bets import AT_ONCE, Bets
from ltr_duel.logs.sums import Sequences

TUNED_AT = 1000.0  # sum of squared surprises at which half of the mixture is narrowest


class Sequence(NamedTuple):
    """A confidence sequence at one time, of several pairs.

    Examples
    --------
    >>> now = confidence_sequence([250], [150], [600])
    >>> now.low.round(3), now.high.round(3)
    (array([0.03]), array([0.169]))
    """

    low: FloatVector
    high: FloatVector
    log_e: FloatVector  # natural logarithm of the e-value of "the mean is 0", both sides


def confidence_sequence(
    wins: ArrayLike,
    losses: ArrayLike,
    ties: ArrayLike,
    others: ArrayLike = 0.0,
    lead: ArrayLike = 0.0,
    square: ArrayLike = 0.0,
    *,
    confidence: float = 0.95,
    tests: float = 1,
    tuned_at: float = TUNED_AT,
) -> Sequence:
    """Return intervals for the mean outcome that hold at all times together, and e-values.

    Parameters
    ----------
    wins, losses, ties : array of float, shape (pairs,)
        Observations that are 1, -1 and 0.
    others, lead, square : array of float, shape (pairs,)
        Observations in between, their sum, and the sum of their squares.
    confidence : float
        Above 0 and below 1: the chance that all intervals hold, whenever one looks.
    tests : float
        Pairs that are tested together; the error is shared among them (Bonferroni). Half a pair has one side.
    tuned_at : float
        The sum of squared distances from the mean at which a half of the mixture of bets is narrowest; to be chosen
        before the data are seen.

    Returns
    -------
    Sequence

    Raises
    ------
    InputError
        For a confidence out of range, or a place of tuning that is not positive.

    Examples
    --------
    >>> wide, narrow = (confidence_sequence([3 * n], [2 * n], [5 * n]) for n in (10, 1_000))
    >>> bool(wide.low[0] < 0 < narrow.low[0])
    True
    """
    errors.require_between("the confidence", confidence, 1e-9, 1 - 1e-9)
    errors.require_between("the place of tuning", tuned_at, 1e-6)
    parts = (wins, losses, ties, others, lead, square)
    seen = Sequences(*np.broadcast_arrays(*(np.asarray(part, np.float64) for part in parts)))
    bets, level = _settings(confidence, tests, tuned_at)
    log_e = np.maximum(bets.log_value(seen, 0.0), bets.log_value(seen.mirrored(), 0.0)) - np.log(2)
    return Sequence(bets.low(seen, level), -bets.low(seen.mirrored(), level), log_e)


def _settings(confidence: float, tests: float, tuned_at: float) -> tuple[Bets, float]:
    """Return the bets, and the log of what they must reach on either side."""
    alpha = (1 - confidence) / (2 * tests)
    return Bets.tuned(tuned_at, alpha), float(-np.log(alpha))


def observations_needed(
    each: Sequences,
    *,
    confidence: float = 0.95,
    tests: float = 1,
    tuned_at: float = TUNED_AT,
    margin: float = 0.0,
) -> FloatVector:
    """Return after how many observations a sequence shows who is ahead.

    each: What the sums are taken to grow by with each observation; fields of shape (pairs,).
    confidence, tests, tuned_at: As of `confidence_sequence`.
    margin: If positive, it is enough to know that the mean is within -margin..margin.

    The result is infinity where it would take more than 10^12.

    Examples
    --------
    >>> d, ties, none = np.array([0.1, 0.05, 0.0]), np.full(3, 0.4), np.zeros(3)
    >>> large, small, never = observations_needed(Sequences(0.3 + d, 0.3 - d, ties, none, none, none))
    >>> bool(large < small < never)
    True
    """
    bets, level = _settings(confidence, tests, tuned_at)
    flat = [np.ravel(part).astype(np.float64) for part in np.broadcast_arrays(*each)]
    needed = np.empty(len(flat[0]))
    for start in range(0, len(needed), AT_ONCE):
        some = Sequences(*(part[start : start + AT_ONCE] for part in flat))
        found = np.minimum(*(bets.first_reached(one, 0.0, level) for one in (some, some.mirrored())))
        if margin > 0:
            inside = np.maximum(*(bets.first_reached(one, -margin, level) for one in (some, some.mirrored())))
            found = np.minimum(found, inside)
        needed[start : start + AT_ONCE] = found
    return np.where(needed > 1e12, np.inf, np.maximum(np.ceil(needed), 1.0)).reshape(np.shape(each.n))


class Observed(NamedTuple):
    """What a look sees of sequences of observations, as `Clustered` is of all impressions."""

    sequences: Sequences

    def sequence(self, confidence: float, tests: float, tuned_at: float = TUNED_AT) -> Sequence:
        """Return the confidence sequence."""
        return confidence_sequence(*self.sequences, confidence=confidence, tests=tests, tuned_at=tuned_at)

    def ahead(self, confidence: float, tests: float, tuned_at: float = TUNED_AT) -> NDArray[np.int64]:
        """Return the sign of each mean that is refuted to be 0, and 0 for the others."""
        bets, level = _settings(confidence, tests, tuned_at)
        above, below = (bets.log_value(side, 0.0) >= level for side in (self.sequences, self.sequences.mirrored()))
        return np.asarray(above, np.int64) - np.asarray(below, np.int64)

    def further(self, confidence: float, tests: float, margin: float = 0.0, tuned_at: float = TUNED_AT) -> FloatVector:
        """Return by how many times as many observations a pair is decided, if its mean stays as it is."""
        n = np.maximum(self.sequences.n, 1)
        each = Sequences(*(part / n for part in self.sequences))
        needed = observations_needed(each, confidence=confidence, tests=tests, margin=margin, tuned_at=tuned_at)
        return np.maximum(needed, n + 1) / n

    def of(self, pairs: IntVector) -> Observed:
        """Return what it sees of some pairs."""
        return Observed(Sequences(*(part[pairs] for part in self.sequences)))
