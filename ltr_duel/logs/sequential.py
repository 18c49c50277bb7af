"""Tests that are valid at any number of looks at a running experiment: confidence sequences and e-values.

Two tests, for two kinds of data; which one applies does not depend on the outcomes, so the error is that of one test.

`ClusteredTest`, for logs with users (or queries): S is the sum of a pair's outcomes so far, V its clustered variance.
Seen at the times V, S is close to a Brownian motion, and the normal mixture of Robbins (Annals of Mathematical
Statistics 1970), sqrt(rho / (V + rho)) exp(S^2 / (2 (V + rho))), is an e-value of "the mean is 0". Half of the weight
is at the rho whose boundary is narrowest at V = 1000, the rest is spread over eleven powers of 4, because V varies from
30 to 100,000 (asymptotically valid: Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas. Annals of Statistics 2024).
Positive correlation within users makes a crossing less likely (Slepian's inequality, Bell System Technical Journal
1962). With few users, S^2 / V is replaced by the square of the normal deviate that has the p-value of `compare_log`.

`BettingTest`, for outcomes whose expectation, given the past, is the mean: logs of policies (first impressions of users
only), live experiments, independent impressions. A gambler bets a share l < 1 / 2 of the capital that the mean is above
m; each outcome y multiplies the capital by 1 + l (y - m). If the mean is at most m, the capital ever reaches 1 / alpha
times its initial value with probability at most alpha (Ville's inequality), also for a mixture of bets. The values m
that no side refutes form the confidence sequence (Waudby-Smith, Ramdas. JRSS B 2024). Sums suffice: wins (1), losses
(-1) and ties (0) multiply the capital by 1 + l (1 - m), 1 - l (1 + m) and 1 - l m; for other outcomes, with x = y - m,
1 + l x >= exp(l x - psi(l) x^2), psi(l) = (-log(1 - 2 l) - 2 l) / 4 (Fan's inequality, as in Howard, Ramdas, McAuliffe,
Sekhon. Annals of Statistics 2021). Half of the weight has the distribution of their Proposition 9, the other half is
uniform over log l.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ltr_duel.core import FloatMatrix, FloatVector, errors, statistics
from ltr_duel.logs.clusters import Means
from ltr_duel.logs.sums import Sequences

TUNED_AT = 1000.0  # sum of squared deviations at which half of either mixture is narrowest
_LONGEST = 1e6  # a pair that needs more than this multiple of the log's length counts as never decided
_HALVINGS = 50
_SHARES = 0.49 * 1.08 ** -np.arange(110.0)[::-1]  # from 1e-4 to 0.49
_PSI = (-np.log1p(-2 * _SHARES) - 2 * _SHARES) / 4
_RHO = 4.0 ** np.arange(11)  # values of rho that share half of the weight evenly
_LOG_WEIGHT = np.log(np.append(np.full(len(_RHO), 0.5 / len(_RHO)), 0.5))


class ConfidenceSequence(NamedTuple):
    """A confidence sequence of several pairs at one time; each field has one entry per pair."""

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
) -> ConfidenceSequence:
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
    ConfidenceSequence

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
    sums = Sequences(*np.broadcast_arrays(*(np.asarray(part, np.float64) for part in parts)))
    bets, level = _bets(confidence, tests, tuned_at)
    log_e = np.maximum(bets.log_capital(sums, 0.0), bets.log_capital(sums.mirrored(), 0.0)) - np.log(2)
    return ConfidenceSequence(bets.low(sums, level), -bets.low(sums.mirrored(), level), log_e)


class Bets(NamedTuple):
    """A mixture of bets that the mean is above m, described by the logarithm of each share's weight."""

    log_weight: FloatVector

    @classmethod
    def tuned(cls, spread: float, alpha: float, *, tuned_part: float = 0.5) -> Bets:
        """Return a mixture for the error ``alpha``; ``tuned_part`` of its weight is optimal at the sum ``spread``."""
        two = 2 * alpha
        shape = spread / (2 * np.log(1 / two) + np.log(1 + 2 * np.log(1 / two))) / 4
        edges = np.concatenate([[0.0], np.sqrt(_SHARES[1:] * _SHARES[:-1]), [0.5]])
        above = special.gammainc(shape, shape * (1 - 2 * edges)) / special.gammainc(shape, shape)
        weight = -tuned_part * np.diff(above) + (1 - tuned_part) / len(_SHARES)
        with np.errstate(divide="ignore"):
            return cls(np.log(weight))

    def log_capital(self, sums: Sequences, m: ArrayLike) -> FloatVector:
        """Return the logarithm of the capital of bets that the mean is above ``m``."""
        return _log_sum(self.log_gain(sums, m) + self.log_weight)

    def log_gain(self, sums: Sequences, m: ArrayLike) -> FloatMatrix:
        """Return the logarithm of the capital for each share, shape (..., shares); it is linear in ``sums``."""
        wins, losses, ties, others, lead, square = (np.asarray(part, np.float64)[..., None] for part in sums)
        m = np.asarray(m, np.float64)[..., None]
        logs = (
            wins * np.log1p(_SHARES * (1 - m)) + losses * np.log1p(-_SHARES * (1 + m)) + ties * np.log1p(-_SHARES * m)
        )
        if others.any():
            logs = logs + _SHARES * (lead - others * m) - _PSI * (square - 2 * m * lead + others * m**2)
        return np.asarray(logs, np.float64)

    def low(self, sums: Sequences, log_level: float) -> FloatVector:
        """Return the largest mean that is refuted because the capital reaches the level; -1 if none is.

        All smaller means are refuted too, because bets against smaller means gain more.
        """
        mean = np.asarray(sums.mean, np.float64)
        return _bisected(lambda m: self.log_capital(sums, m) >= log_level, np.full(mean.shape, -1.0), mean)[0]


def _bets(confidence: float, tests: float, tuned_at: float = TUNED_AT) -> tuple[Bets, float]:
    """Return the bets, and the logarithm of the capital that either side must reach."""
    alpha = (1 - confidence) / (2 * tests)
    return Bets.tuned(tuned_at, alpha), float(-np.log(alpha))


class BettingTest(NamedTuple):
    """The test of observations whose expectation does not depend on the past; each field has one entry per pair."""

    sums: Sequences

    @property
    def n(self) -> FloatVector:
        """Number of observations of each pair."""
        return self.sums.n

    @property
    def mean(self) -> FloatVector:
        """Mean of the observations of each pair."""
        return self.sums.mean

    @property
    def effective(self) -> FloatVector:
        """Effective number of independent observations."""
        return self.sums.n

    def sequence(self, confidence: float, tests: float) -> ConfidenceSequence:
        """Return the confidence sequence."""
        return confidence_sequence(*self.sums, confidence=confidence, tests=tests)

    def growth(self, confidence: float, tests: float, margin: float = 0.0) -> FloatVector:
        """Return the factor by which observations must increase to decide each pair, if the pair's mean persists."""
        bets, level = _bets(confidence, tests)
        ahead, within = ([bets.log_gain(sums, m) for sums in (self.sums, self.sums.mirrored())] for m in (0.0, -margin))

        def decided(times: FloatVector) -> NDArray[np.bool_]:
            def reached(gain: FloatMatrix) -> Any:
                return _log_sum(gain * times[:, None] + bets.log_weight) >= level

            first, second = map(reached, ahead)
            same = reached(within[0]) & reached(within[1]) if margin > 0 else False
            return np.asarray(first | second | same)

        return _smallest_factor(decided, len(self.n))

    def select(self, pairs: Any) -> BettingTest:
        """Return the data of some of the pairs."""
        return BettingTest(Sequences(*(part[pairs] for part in self.sums)))


class ClusteredTest(NamedTuple):
    """The test of all impressions, clustered by users or queries; each field has one entry per pair."""

    means: Means  # means and errors for intervals, with one won and one lost cluster added
    p: FloatVector  # p-value of a single look
    n: FloatVector  # number of impressions; for a ratio of outcomes, the sum of the denominator
    mean: FloatVector  # mean of the impressions
    bound: float = 1.0  # largest possible mean

    @property
    def effective(self) -> FloatVector:
        """Effective number of clusters."""
        return self.means.freedom + 1

    def sequence(self, confidence: float, tests: float) -> ConfidenceSequence:
        """Return e-values, and intervals of the mean over impressions; the intervals hold at all looks."""
        alpha = (1 - confidence) / tests
        log_e = self._log_e(np.ones(len(self.n)), alpha)
        normal, freedom = normal_boundary(self._variance(), alpha), self.means.freedom
        quantile = -statistics.student_quantile(special.ndtr(-normal), np.where(freedom > 0, freedom, 1.0))
        half = np.where(freedom > 0, quantile * self.means.error, np.inf)
        mean = np.where(np.isfinite(half), self.means.mean, 0.0)
        inside = log_e < -np.log(alpha)
        low, high = np.maximum(mean - half, -self.bound), np.minimum(mean + half, self.bound)
        return ConfidenceSequence(
            np.where(inside, np.minimum(low, 0.0), low), np.where(inside, np.maximum(high, 0.0), high), log_e
        )

    def growth(self, confidence: float, tests: float, margin: float = 0.0) -> FloatVector:
        """Return the factor by which impressions must grow to decide each pair, if its mean and variance persist."""
        alpha = (1 - confidence) / tests

        def decided(times: FloatVector) -> NDArray[np.bool_]:
            ahead = self._log_e(times, alpha) >= -np.log(alpha)
            return np.asarray(ahead | self._within(times, alpha, margin) if margin > 0 else ahead)

        return _smallest_factor(decided, len(self.n))

    def select(self, pairs: Any) -> ClusteredTest:
        """Return the data of some of the pairs."""
        means = Means(*(part[pairs] for part in self.means))
        return ClusteredTest(means, self.p[pairs], self.n[pairs], self.mean[pairs], self.bound)

    def _variance(self) -> FloatVector:
        finite = np.isfinite(self.means.error)  # infinite for a pair without impressions
        return np.multiply(self.means.error, self.n, out=np.ones(len(self.n)), where=finite) ** 2

    def _log_e(self, times: FloatVector, alpha: float) -> FloatVector:
        """Return the logarithm of the e-value of "the mean is 0" if impressions grow by the factor `times`."""
        square = special.ndtri(self.p / 2) ** 2 * times
        return np.where(self.means.freedom > 0, self._mixture(square, times, alpha), 0.0)

    def _mixture(self, square: FloatVector, times: FloatVector, alpha: float) -> FloatVector:
        constant, slope = _components(self._variance() * times, alpha)
        return _log_sum(constant + slope * square[..., None])

    def _within(self, times: FloatVector, alpha: float, margin: float) -> NDArray[np.bool_]:
        """Return whether the interval is within the margin: the e-values refute both ends of the margin."""
        room = np.maximum(margin - np.abs(self.means.mean), 0.0)
        several = self.means.freedom > 0
        error = np.where(several, self.means.error, np.inf) / np.sqrt(times)
        p = statistics.student_p(room, error, np.where(several, self.means.freedom * times, 1.0))
        return self._mixture(special.ndtri(p / 2) ** 2, times, alpha) > -np.log(alpha)


def normal_boundary(variance: ArrayLike, alpha: float) -> FloatVector:
    """Return the two-sided boundary of a sum at level ``alpha``, in standard deviations of the sum."""
    constant, slope = _components(variance, alpha)
    highest = ((-np.log(alpha) - constant) / slope).min(axis=-1)

    def below(square: FloatVector) -> NDArray[np.bool_]:
        return np.asarray(_log_sum(constant + slope * square[..., None]) < -np.log(alpha))

    return np.asarray(np.sqrt(_bisected(below, np.zeros(constant.shape[:-1]), highest)[1]), np.float64)


def _components(variance: ArrayLike, alpha: float) -> tuple[FloatMatrix, FloatMatrix]:
    """Return the logarithm of each mixture component: a constant, and the slope in the squared deviation."""
    log = -2 * np.log(alpha)
    narrowest = TUNED_AT / (log + np.log(1 + log))  # about the rho whose boundary is the narrowest at this variance
    ratio = np.asarray(variance, np.float64)[..., None] / np.append(_RHO, narrowest)
    return _LOG_WEIGHT - np.log1p(ratio) / 2, ratio / (1 + ratio) / 2


def _smallest_factor(decided: Callable[[FloatVector], NDArray[np.bool_]], size: int) -> FloatVector:
    """Return for each pair the smallest factor, from 1, by which it is decided; infinity above `_LONGEST`."""
    longest = np.full(size, np.log(_LONGEST))
    never = ~decided(np.exp(longest))
    high = _bisected(lambda log_factor: ~decided(np.exp(log_factor)), np.zeros(size), longest)[1]
    return np.where(never, np.inf, np.exp(high))


def _bisected(
    below: Callable[[FloatVector], NDArray[np.bool_]], low: FloatVector, high: FloatVector
) -> tuple[FloatVector, FloatVector]:
    """Return the ends of the short interval in which ``below`` changes from true to false."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        under = below(middle)
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    return low, high


def _log_sum(logs: FloatMatrix) -> FloatVector:
    """Return the logarithm of the sum of each row, given the logarithms of its entries."""
    most = logs.max(axis=-1)
    return np.asarray(most + np.log(np.exp(logs - most[..., None]).sum(axis=-1)), np.float64)
