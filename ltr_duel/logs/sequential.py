"""Confidence sequences and e-values, for any number of looks at a running experiment.

The confidence sequence of `Observed` consists of the means that the bets of `ltr_duel.logs.bets` do not reject.

The sequence is valid if the expectation of an observation, given all earlier observations, is the mean. Returning users
violate this condition: a user whose clicks favoured a ranker yesterday is likely to favour it today. In `Observed`,
each user therefore counts once, by the first impression of the pair; if users never return, every impression counts.

`Clustered` uses all impressions. At a look, S is the sum of a pair's n outcomes and V the estimated variance of S, with
clusters by user. If each user came once, the looks would observe a Brownian motion at the times V, and the normal
mixture of Robbins (Annals of Mathematical Statistics 1970), sqrt(rho / (V + rho)) exp(S^2 / (2 (V + rho))), would be an
e-value. Its boundary is narrowest where V is about eight times rho, but V varies from 30 to 100,000. Half of the weight
is therefore at one rho, and the other half is spread evenly over eleven powers of 4. No rho depends on outcomes, so
this mixture is an e-value too, asymptotically (Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas. Annals of Statistics
2024). If users return and the outcomes of a user are positively correlated, S is less likely to cross the boundary at
any time (Slepian's inequality, Bell System Technical Journal 1962), so the error bound holds. The bound would not hold
if a user's outcomes alternated.

With few users, S is not normal. S^2 / V is therefore replaced by the square of the normal deviate that has the p-value
of `compare_log`. This p-value is based on the degrees of freedom of the users, and is never below the p-value of an
exact test.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ltr_duel.core import FloatMatrix, FloatVector, IntVector, errors, statistics
from ltr_duel.logs.bets import AT_ONCE, Bets, log_sum
from ltr_duel.logs.clusters import Means
from ltr_duel.logs.sums import Sequences

TUNED_AT = 1000.0  # sum of squared deviations at which half of the mixture is narrowest
_LONGEST = 1e6  # a pair that needs more than this multiple of the log's length counts as never decided
_EVEN = 4.0 ** np.arange(11)  # values of rho that share half of the weight evenly
_LOG_WEIGHT = np.log(np.append(np.full(len(_EVEN), 0.5 / len(_EVEN)), 0.5))
_STEPS = 50


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
    errors.require_between("the value of tuned_at", tuned_at, 1e-6)
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
    """Return the number of observations until a sequence decides; ``each``: increments of its sums per observation."""
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

    def further(self, confidence: float, tests: float, margin: float = 0.0, tuned_at: float = TUNED_AT) -> FloatVector:
        """Return the factor by which observations must increase to decide each pair, if the pair's mean persists."""
        n = np.maximum(self.sequences.n, 1)
        each = Sequences(*(part / n for part in self.sequences))
        needed = observations_needed(each, confidence=confidence, tests=tests, margin=margin, tuned_at=tuned_at)
        return np.maximum(needed, n + 1) / n

    def of(self, pairs: IntVector) -> Observed:
        """Return the data of some of the pairs."""
        return Observed(self.sequences.of(pairs))


class Clustered(NamedTuple):
    """The data of several pairs at a look; each field has one entry per pair."""

    means: Means  # see `cautious_means`
    p: FloatVector  # p-value of a single look
    n: FloatVector  # number of impressions

    def sequence(self, confidence: float, tests: float, tuned_at: float = TUNED_AT) -> Sequence:
        """Return e-values, and intervals of the mean over impressions; the intervals hold at all looks."""
        alpha = (1 - confidence) / tests
        log_e, reach = self._log_e(np.ones(len(self.n)), alpha, tuned_at), self._reach(alpha, tuned_at)
        mean = np.where(np.isfinite(reach), self.means.mean, 0.0)
        inside = log_e < -np.log(alpha)
        low, high = np.maximum(mean - reach, -1), np.minimum(mean + reach, 1)
        return Sequence(
            np.where(inside, np.minimum(low, 0.0), low), np.where(inside, np.maximum(high, 0.0), high), log_e
        )

    def ahead(self, confidence: float, tests: float, tuned_at: float = TUNED_AT) -> NDArray[np.int64]:
        """Return the sign of each mean for which 0 is rejected, and 0 for the others."""
        alpha = (1 - confidence) / tests
        sure = self._log_e(np.ones(len(self.n)), alpha, tuned_at) >= -np.log(alpha)
        return np.where(sure, np.sign(self.means.mean), 0).astype(np.int64)

    def further(self, confidence: float, tests: float, margin: float = 0.0, tuned_at: float = TUNED_AT) -> FloatVector:
        """Return the factor by which impressions must grow to decide each pair, if its mean and variance persist."""
        alpha = (1 - confidence) / tests

        def decided(times: FloatVector) -> NDArray[np.bool_]:
            found = self._log_e(times, alpha, tuned_at) >= -np.log(alpha)
            return np.asarray(found | self._within(times, alpha, tuned_at, margin) if margin > 0 else found)

        low, high = np.zeros(len(self.n)), np.full(len(self.n), np.log(_LONGEST))
        never = np.logical_not(decided(np.exp(high)))
        for _ in range(40):
            middle = (low + high) / 2
            enough = decided(np.exp(middle))
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return np.where(never, np.inf, np.exp(high))

    def of(self, pairs: IntVector) -> Clustered:
        """Return the data of some of the pairs."""
        return Clustered(self.means.of(pairs), self.p[pairs], self.n[pairs])

    def _variance(self) -> FloatVector:
        known = np.isfinite(self.means.error)  # infinite for a pair without impressions
        return np.multiply(self.means.error, self.n, out=np.ones(len(self.n)), where=known) ** 2

    def _log_e(self, times: FloatVector, alpha: float, tuned_at: float) -> FloatVector:
        """Return the logarithm of the e-value of "the mean is 0" if impressions grow by the factor `times`."""
        square = special.ndtri(self.p / 2) ** 2 * times
        return np.where(self.means.freedom > 0, self._mixture(square, times, alpha, tuned_at), 0.0)

    def _mixture(self, square: FloatVector, times: FloatVector, alpha: float, tuned_at: float) -> FloatVector:
        constant, slope = _components(self._variance() * times, alpha, tuned_at)
        return log_sum(constant + slope * square[..., None])

    def _within(self, times: FloatVector, alpha: float, tuned_at: float, margin: float) -> NDArray[np.bool_]:
        """Return whether the interval is within the margin: the e-values reject both ends of the margin."""
        room = np.maximum(margin - np.abs(self.means.mean), 0.0)
        known = self.means.freedom > 0
        error = np.where(known, self.means.error, np.inf) / np.sqrt(times)
        p = statistics.student_p(room, error, np.where(known, self.means.freedom * times, 1.0))
        return self._mixture(special.ndtri(p / 2) ** 2, times, alpha, tuned_at) > -np.log(alpha)

    def _reach(self, alpha: float, tuned_at: float) -> FloatVector:
        normal, freedom = normal_boundary(self._variance(), alpha, tuned_at), self.means.freedom
        quantile = -statistics.student_quantile(special.ndtr(-normal), np.where(freedom > 0, freedom, 1.0))
        return np.where(freedom > 0, quantile * self.means.error, np.inf)


def normal_boundary(variance: ArrayLike, alpha: float, tuned_at: float) -> FloatVector:
    """Return the two-sided boundary of a sum at level ``alpha``, in standard deviations of the sum.

    The logarithm of the mixture is convex in the square of the boundary. Newton's method therefore converges from above
    if it starts at the smallest square for which a single component reaches the level.
    """
    constant, slope = _components(variance, alpha, tuned_at)
    square = np.asarray(((-np.log(alpha) - constant) / slope).min(axis=-1))
    for _ in range(_STEPS):
        logs = constant + slope * square[..., None]
        above = log_sum(logs) + np.log(alpha)
        parts = np.exp(logs - (above - np.log(alpha))[..., None])
        square -= above / (parts * slope).sum(axis=-1)
        if (above <= 1e-9).all():
            break
    return np.asarray(np.sqrt(square), np.float64)


def _components(variance: ArrayLike, alpha: float, tuned_at: float) -> tuple[FloatMatrix, FloatMatrix]:
    """Return the logarithm of each mixture component: a constant, and the slope in the squared deviation."""
    ratio = np.asarray(variance, np.float64)[..., None] / np.append(_EVEN, _rho(alpha, tuned_at))
    return _LOG_WEIGHT - np.log1p(ratio) / 2, ratio / (1 + ratio) / 2


def _rho(alpha: float, tuned_at: float) -> float:
    """Return the rho whose boundary is about the narrowest if the variance of the sum is ``tuned_at``."""
    log = -2 * np.log(alpha)
    return float(tuned_at / (log + np.log(1 + log)))
