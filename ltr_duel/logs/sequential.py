"""Confidence sequences and e-values, for any number of looks at a running experiment.

The means that the bets of `ltr_duel.logs.bets` do not reject form the confidence sequence.

The sequence is valid if the expectation of an observation, given all earlier ones, is the mean. Returning users violate
this: a user whose clicks favoured a ranker yesterday is likely to favour it today. So by default each user counts once,
by the first impression of the pair; if users never return, every impression counts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ltr_duel.core import FloatVector, IntVector, errors
from ltr_duel.logs.bets import AT_ONCE, Bets
from ltr_duel.logs.sums import Sequences

TUNED_AT = 1000.0  # sum of squared deviations at which half of the mixture is narrowest


class Sequence(NamedTuple):
    """A confidence sequence of several pairs at one time.

    Examples
    --------
    >>> now = confidence_sequence([250], [150], [600])
    >>> now.low.round(3), now.high.round(3)
    (array([0.03]), array([0.169]))
    """

    low: FloatVector
    high: FloatVector
    log_e: FloatVector  # natural logarithm of the two-sided e-value of "the mean is 0"


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
    """Return intervals of the mean outcome that hold simultaneously at all times, and e-values.

    Parameters
    ----------
    wins, losses, ties : array of float, shape (pairs,)
        Observations that are 1, -1 and 0.
    others, lead, square : array of float, shape (pairs,)
        Number of observations with other values, their sum, and the sum of their squares.
    confidence : float
        Probability that all intervals hold at all looks; above 0 and below 1.
    tests : float
        Number of pairs that share the error (Bonferroni). A pair tested on one side counts as half.
    tuned_at : float
        Sum of squared deviations from the mean at which half of the mixture of bets is narrowest; it must be chosen
        before the data are seen.

    Returns
    -------
    Sequence

    Raises
    ------
    InputError
        For a confidence out of range, or if `tuned_at` is not positive.

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
    """Return the bets, and the logarithm of the capital that either side must reach."""
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
    """Return the observations after which a sequence decides; ``each`` has its increments per observation."""
    bets, level = _settings(confidence, tests, tuned_at)
    flat = Sequences(*(np.ravel(part).astype(np.float64) for part in np.broadcast_arrays(*each)))
    needed = np.empty(len(flat.wins))
    for start in range(0, len(needed), AT_ONCE):
        some = flat.of(slice(start, start + AT_ONCE))
        found = np.minimum(*(bets.first_reached(one, 0.0, level) for one in (some, some.mirrored())))
        if margin > 0:
            inside = np.maximum(*(bets.first_reached(one, -margin, level) for one in (some, some.mirrored())))
            found = np.minimum(found, inside)
        needed[start : start + AT_ONCE] = found
    return np.where(needed > 1e12, np.inf, np.maximum(np.ceil(needed), 1.0)).reshape(np.shape(each.n))


class Observed(NamedTuple):
    """The sums of sequences of observations at a look; `Clustered` is its counterpart for all impressions."""

    sequences: Sequences

    def sequence(self, confidence: float, tests: float, tuned_at: float = TUNED_AT) -> Sequence:
        """Return the confidence sequence."""
        return confidence_sequence(*self.sequences, confidence=confidence, tests=tests, tuned_at=tuned_at)

    def ahead(self, confidence: float, tests: float, tuned_at: float = TUNED_AT) -> NDArray[np.int64]:
        """Return the sign of each mean for which 0 is rejected, and 0 for the others."""
        bets, level = _settings(confidence, tests, tuned_at)
        above, below = (bets.log_value(side, 0.0) >= level for side in (self.sequences, self.sequences.mirrored()))
        return np.asarray(above, np.int64) - np.asarray(below, np.int64)

    def further(self, confidence: float, tests: float, margin: float = 0.0, tuned_at: float = TUNED_AT) -> FloatVector:
        """Return the factor of observations after which each pair is decided, if its mean persists."""
        n = np.maximum(self.sequences.n, 1)
        each = Sequences(*(part / n for part in self.sequences))
        needed = observations_needed(each, confidence=confidence, tests=tests, margin=margin, tuned_at=tuned_at)
        return np.maximum(needed, n + 1) / n

    def of(self, pairs: IntVector) -> Observed:
        """Return the data of some of the pairs."""
        return Observed(self.sequences.of(pairs))
