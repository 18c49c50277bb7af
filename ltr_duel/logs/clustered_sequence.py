"""Sequential test for any number of looks at a running experiment, with all impressions of returning users.

At a look, S is the sum of a pair's n outcomes and V the variance of S, clustered by users. If each user came once, the
looks would observe a Brownian motion at the times V, and the normal mixture of Robbins (Annals of Mathematical
Statistics 1970), sqrt(rho / (V + rho)) exp(S^2 / (2 (V + rho))), would be an e-value. It is narrowest where V is about
eight times rho, but V varies from 30 to 100,000. So half of the weight is at one rho, and half is spread evenly over
eleven powers of 4; no rho depends on outcomes, so the mixture is an e-value too, asymptotically (Waudby-Smith, Arbour,
Sinha, Kennedy, Ramdas. Annals of Statistics 2024). If users return and the outcomes of a user are positively
correlated, S is less likely ever to cross the boundary (Slepian's inequality, Bell System Technical Journal 1962), so
the error bound holds; it would not if a user's outcomes alternated.

With few users S is not normal. S^2 / V is therefore replaced by the square of the normal deviate with the p-value of
`compare_log`, which has the degrees of freedom of the users and is never below that of an exact test.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ltr_duel.core import FloatMatrix, FloatVector, IntVector, statistics
from ltr_duel.logs.bets import log_sum
from ltr_duel.logs.clusters import Means
from ltr_duel.logs.sequential import TUNED_AT, Sequence

_LONGEST = 1e6  # multiple of the log's length beyond which a pair counts as never decided
_EVEN = 4.0 ** np.arange(11)  # values of rho that share half of the weight evenly
_LOG_WEIGHT = np.log(np.append(np.full(len(_EVEN), 0.5 / len(_EVEN)), 0.5))
_STEPS = 50


class Clustered(NamedTuple):
    """The data of several pairs at a look; each field has one entry per pair."""

    means: Means  # see `cautious_means`
    p: FloatVector  # p-value of a single look
    n: FloatVector  # impressions

    def sequence(self, confidence: float, tests: float, tuned_at: float = TUNED_AT) -> Sequence:
        """Return e-values, and intervals of the mean over impressions that hold at all looks."""
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
        """Return the factor of impressions after which each pair is decided, if its mean and variance persist."""
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

    The logarithm of the mixture is convex in the square of the boundary. So Newton's method converges from above if it
    starts at the square for which a single component reaches the level.
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
    """Return the rho with about the narrowest boundary where the variance of the sum is ``tuned_at``."""
    log = -2 * np.log(alpha)
    return float(tuned_at / (log + np.log(1 + log)))
