"""Tests that are valid at any number of looks at a running experiment: confidence sequences and e-values.

Which of two tests applies does not depend on the outcomes, so the error is that of one test.

`clustered_sequence`, for logs with users (or queries), is the normal mixture of Robbins (Annals of Mathematical
Statistics 1970) of S, the sum of a pair's outcomes, with its clustered variance V; it is asymptotically valid
(Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas. Annals of Statistics 2024). With few users, S^2 / V is replaced by the
square of the normal deviate that has the p-value of one look.

`confidence_sequence`, for outcomes whose expectation, given the past, is the mean (logs of policies, live experiments,
independent impressions), are the values m that no bet refutes: a bet of a share l < 1 / 2 of the capital that the mean
is above m multiplies it by 1 + l (y - m) (Waudby-Smith, Ramdas. JRSS B 2024). Of outcomes y other than 1, -1 and 0,
sums suffice by Fan's inequality, 1 + l x >= exp(l x - psi(l) x^2), psi(l) = (-log(1 - 2 l) - 2 l) / 4. Half of the
weight has the distribution of Proposition 9 of Howard, Ramdas, McAuliffe, Sekhon (Annals of Statistics 2021), the other
half is uniform over log l.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ltr_duel.core import FloatMatrix, FloatVector, IntVector, errors, statistics
from ltr_duel.logs.clusters import Means, clipped_ends, naive_means
from ltr_duel.logs.sums import Sequences

TUNED_AT = 1000.0  # sum of squared deviations at which half of either mixture is narrowest
_LONGEST = 1e6  # a pair that needs more than this multiple of the log's length counts as never decided
_HALVINGS = 50
_SHARES = 0.49 * 1.08 ** -np.arange(110.0)[::-1]  # from 1e-4 to 0.49
_PSI = (-np.log1p(-2 * _SHARES) - 2 * _SHARES) / 4
_RHO = 4.0 ** np.arange(11)  # values of rho that share half of the weight evenly
_LOG_WEIGHT = np.log(np.append(np.full(len(_RHO), 0.5 / len(_RHO)), 0.5))


class Intervals(NamedTuple):
    """Means with intervals and tests that hold together; each field has one entry per pair."""

    n: FloatVector  # number of observations; of a ratio, the sum of the denominator
    mean: FloatVector
    low: FloatVector
    high: FloatVector
    p: FloatVector  # p-value of "the mean is 0", corrected for the number of tests (Bonferroni)
    log_e: FloatVector  # natural logarithm of its e-value; NaN at one planned look
    error: FloatVector  # standard error
    deviation: FloatVector  # the mean in standard errors; in small samples, the normal deviate with the same p-value
    effective: FloatVector  # effective number of independent observations

    def facing(self, signs: IntVector) -> Intervals:
        """Return the intervals with the two rankers exchanged in each pair whose sign is -1."""
        low, high = np.sort([signs * self.low, signs * self.high], axis=0)
        return self._replace(mean=signs * self.mean, low=low, high=high)

    def growth(self, alpha: float, margin: float | None = None) -> FloatVector:
        """Return about the factor by which observations must grow until 0, or all outside of the margin, is refuted.

        Means and variances are assumed to persist, and both tests to have the boundary of the normal mixture.
        """
        square = self.deviation**2
        if margin is not None:
            square = (np.maximum(margin - np.abs(self.mean), 0.0) / self.error) ** 2
        finite, variance = np.isfinite(self.error), _variance(self.error, self.n)

        def is_open(log_times: FloatVector) -> NDArray[np.bool_]:
            times = np.exp(log_times)
            return np.asarray(~finite | (_log_e(square * times, variance * times, alpha) < -np.log(alpha)))

        longest = np.full(len(square), np.log(_LONGEST))
        high = np.exp(_bisected(is_open, np.zeros(len(square)), longest)[1])
        return np.where(is_open(longest), np.inf, high)


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
) -> Intervals:
    """Return intervals of the mean outcome that hold simultaneously at all times, and e-values.

    wins, losses, ties: numbers of observations that are 1, -1 and 0; others, lead, square: number of the others, their
    sum, and the sum of their squares; tests: number of pairs that share the error (a one-sided test counts as half).
    """
    errors.require_between("the confidence", confidence, 1e-9, 1 - 1e-9)
    parts = np.broadcast_arrays(*np.atleast_1d(wins, losses, ties, others, lead, square))
    sums = Sequences(*(part.astype(np.float64) for part in parts))
    alpha, mirrored, n = (1 - confidence) / (2 * tests), sums.mirrored(), sums.n
    bets, level = Bets.tuned(tuned_at, alpha), float(-np.log(alpha))
    log_e = np.maximum(bets.log_capital(sums, 0.0), bets.log_capital(mirrored, 0.0)) - np.log(2)
    spread = naive_means(n + 2, sums.mean * n, sums.wins + sums.losses + sums.square + 2)
    return Intervals(
        n, sums.mean, bets.low(sums, level), -bets.low(mirrored, level), np.minimum(tests * np.exp(-log_e), 1.0), log_e,
        spread.error, spread.mean / spread.error, n,
    )  # fmt: skip


class Bets(NamedTuple):
    """A mixture of bets that the mean is above m, described by the logarithm of each share's weight."""

    log_weight: FloatVector

    @classmethod
    def tuned(cls, spread: float, alpha: float, *, tuned_part: float = 0.5) -> Bets:
        """Return a mixture for the error ``alpha``; ``tuned_part`` of its weight is optimal at the sum ``spread``."""
        log = np.log(1 / (2 * alpha))
        shape = spread / (2 * log + np.log(1 + 2 * log)) / 4
        edges = np.concatenate([[0.0], np.sqrt(_SHARES[1:] * _SHARES[:-1]), [0.5]])
        above = special.gammainc(shape, shape * (1 - 2 * edges)) / special.gammainc(shape, shape)
        with np.errstate(divide="ignore"):
            return cls(np.log(-tuned_part * np.diff(above) + (1 - tuned_part) / len(_SHARES)))

    def log_capital(self, sums: Sequences, m: ArrayLike) -> FloatVector:
        """Return the logarithm of the capital of bets that the mean is above ``m``."""
        wins, losses, ties, others, lead, square = (np.asarray(part, np.float64)[..., None] for part in sums)
        m = np.asarray(m, np.float64)[..., None]
        logs = (
            wins * np.log1p(_SHARES * (1 - m)) + losses * np.log1p(-_SHARES * (1 + m)) + ties * np.log1p(-_SHARES * m)
        )
        if others.any():
            logs = logs + _SHARES * (lead - others * m) - _PSI * (square - 2 * m * lead + others * m**2)
        return _log_sum(logs + self.log_weight)

    def low(self, sums: Sequences, log_level: float) -> FloatVector:
        """Return the largest mean that is refuted, as all smaller ones are: the capital reaches the level; else -1."""
        mean = np.asarray(sums.mean, np.float64)
        return _bisected(lambda m: self.log_capital(sums, m) >= log_level, np.full(mean.shape, -1.0), mean)[0]


def clustered_sequence(
    cautious: Means, p: FloatVector, n: FloatVector, mean: FloatVector, *, confidence: float, tests: float = 1,
    bound: float = 1.0,
) -> Intervals:  # fmt: skip
    """Return the intervals that hold at all looks, and e-values.

    cautious: means and errors for intervals; p: p-value of one look; n, mean: of the impressions (of a ratio, n is the
    sum of the denominator); bound: the largest possible mean.
    """
    alpha, several = (1 - confidence) / tests, cautious.freedom > 0
    variance, deviation = _variance(cautious.error, n), special.ndtri(p / 2)
    log_e = np.where(several, _log_e(deviation**2, variance, alpha), 0.0)
    tail = special.ndtr(-normal_boundary(variance, alpha))
    quantile = -statistics.student_quantile(tail, np.where(several, cautious.freedom, 1.0))
    half = np.where(several, quantile * cautious.error, np.inf)
    ends = clipped_ends(cautious.mean, half, log_e >= -np.log(alpha), bound)
    corrected = np.minimum(tests * np.exp(-log_e), 1.0)
    return Intervals(n, mean, *ends, corrected, log_e, cautious.error, deviation, cautious.freedom + 1)


def normal_boundary(variance: ArrayLike, alpha: float) -> FloatVector:
    """Return the two-sided boundary of a sum at level ``alpha``, in standard deviations of the sum."""
    constant, slope = _components(variance, alpha)
    highest = ((-np.log(alpha) - constant) / slope).min(axis=-1)

    def below(square: FloatVector) -> NDArray[np.bool_]:
        return np.asarray(_log_sum(constant + slope * square[..., None]) < -np.log(alpha))

    return np.asarray(np.sqrt(_bisected(below, np.zeros(constant.shape[:-1]), highest)[1]), np.float64)


def _variance(error: FloatVector, n: FloatVector) -> FloatVector:
    """Return the variance of a sum of n observations; 1 for a pair without an error."""
    return np.asarray(np.multiply(error, n, out=np.ones(len(n)), where=np.isfinite(error)) ** 2)


def _log_e(square: FloatVector, variance: FloatVector, alpha: float) -> FloatVector:
    """Return the logarithm of the e-value of a sum with this squared deviation, in variances, and this variance."""
    constant, slope = _components(variance, alpha)
    return _log_sum(constant + slope * square[..., None])


def _components(variance: ArrayLike, alpha: float) -> tuple[FloatMatrix, FloatMatrix]:
    """Return the logarithm of each mixture component: a constant, and the slope in the squared deviation."""
    log = -2 * np.log(alpha)
    narrowest = TUNED_AT / (log + np.log(1 + log))  # about the rho whose boundary is the narrowest at this variance
    ratio = np.asarray(variance, np.float64)[..., None] / np.append(_RHO, narrowest)
    return _LOG_WEIGHT - np.log1p(ratio) / 2, ratio / (1 + ratio) / 2


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
