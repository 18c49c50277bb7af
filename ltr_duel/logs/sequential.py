"""Intervals and tests of a mean outcome that stay valid however often you look at a running experiment.

A usual 95% interval is valid for one look. If you look every day and stop at the first clear result, you err in more
than 5% of experiments. A confidence sequence has an interval for each look. With a probability of 95%, all these
intervals contain the mean. An e-value measures the evidence against a mean of 0. If the mean is 0, the probability that
the e-value ever reaches 20 is at most 1/20.

`confidence_sequence` is for independent impressions, and for logs in which a policy chose the rankers.
`clustered_sequence` is for all other logs. It allows for correlated outcomes of a user or query.

References
----------
Robbins. Annals of Mathematical Statistics 1970. Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas. Annals of Statistics
2024. Waudby-Smith, Ramdas. JRSS B 2024. Howard, Ramdas, McAuliffe, Sekhon. Annals of Statistics 2021.
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

TUNED_AT = 1000.0  # intervals are narrowest when the sum of squared deviations is about this large
_LONGEST = 1e6  # a pair that needs more than this multiple of the log's length counts as never decided
_HALVINGS = 50
_SHARES = 0.49 * 1.08 ** -np.arange(110.0)[::-1]  # shares of the capital, from 1e-4 to 0.49
# Fan's inequality for a share l and an outcome y, with x = y - m: log(1 + l x) >= l x - psi x^2.
_PSI = (-np.log1p(-2 * _SHARES) - 2 * _SHARES) / 4
_RHO = 4.0 ** np.arange(11)  # values of rho; together they have half of the weight
_LOG_WEIGHT = np.log(np.append(np.full(len(_RHO), 0.5 / len(_RHO)), 0.5))


class Intervals(NamedTuple):
    """The mean outcome of each pair, with intervals and tests that hold for all pairs together.

    Each field has one entry per pair.
    """

    n: FloatVector  # number of observations; for a ratio, the sum of its denominator
    mean: FloatVector
    low: FloatVector
    high: FloatVector
    p: FloatVector  # p-value of "the mean is 0", corrected for the number of tests (Bonferroni)
    log_e: FloatVector  # natural logarithm of the e-value against "the mean is 0"; NaN if only one look is planned
    error: FloatVector  # standard error
    deviation: FloatVector  # the mean divided by its error; in small samples, the normal deviate with the same p-value
    effective: FloatVector  # effective number of independent observations

    def facing(self, signs: IntVector) -> Intervals:
        """Exchange the two rankers of each pair whose sign is -1, and return the intervals."""
        low, high = np.sort([signs * self.low, signs * self.high], axis=0)
        return self._replace(mean=signs * self.mean, low=low, high=high)

    def growth(self, alpha: float, margin: float | None = None) -> FloatVector:
        """Estimate by which factor the number of observations of each pair must grow until the pair is decided.

        By default, a pair is decided when its interval excludes 0. With a margin, a pair is decided when its interval
        lies between -margin and margin. The estimate assumes that means and variances stay as they are.
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
    """Return intervals of mean outcomes that are valid however often you look, for independent outcomes.

    The intervals are also valid in small samples.

    wins, losses, ties: numbers of outcomes that are 1, -1 and 0.
    others, lead, square: number of all other outcomes, their sum, and the sum of their squares.
    tests: number of pairs among which the error probability is divided. A one-sided test counts as half a pair.
    tuned_at: sum of squared deviations at which intervals are narrowest.
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
    """Computes the capital of an imagined gambler, who bets that the mean outcome is above a number m.

    If the mean is at most m, the capital is unlikely to grow much. A large capital therefore shows that the mean is
    above m.
    """

    # The capital is divided among _SHARES by these weights. An outcome y multiplies the capital of a share l by
    # 1 + l (y - m).
    log_weight: FloatVector

    @classmethod
    def tuned(cls, spread: float, alpha: float, *, tuned_part: float = 0.5) -> Bets:
        """Choose the bets that give the narrowest intervals if the squared deviations sum to ``spread``."""
        # the tuned part of the capital is divided as in Proposition 9 of Howard et al., the rest evenly
        log = np.log(1 / (2 * alpha))
        shape = spread / (2 * log + np.log(1 + 2 * log)) / 4
        edges = np.concatenate([[0.0], np.sqrt(_SHARES[1:] * _SHARES[:-1]), [0.5]])
        above = special.gammainc(shape, shape * (1 - 2 * edges)) / special.gammainc(shape, shape)
        with np.errstate(divide="ignore"):
            return cls(np.log(-tuned_part * np.diff(above) + (1 - tuned_part) / len(_SHARES)))

    def log_capital(self, sums: Sequences, m: ArrayLike) -> FloatVector:
        """Return the logarithm of the capital. For outcomes other than 1, -1 and 0, this is a lower bound."""
        wins, losses, ties, others, lead, square = (np.asarray(part, np.float64)[..., None] for part in sums)
        m = np.asarray(m, np.float64)[..., None]
        logs = (
            wins * np.log1p(_SHARES * (1 - m)) + losses * np.log1p(-_SHARES * (1 + m)) + ties * np.log1p(-_SHARES * m)
        )
        if others.any():
            logs = logs + _SHARES * (lead - others * m) - _PSI * (square - 2 * m * lead + others * m**2)
        return _log_sum(logs + self.log_weight)

    def low(self, sums: Sequences, log_level: float) -> FloatVector:
        """Return the lower end of each interval: the largest ``m`` at which the capital reaches the level."""
        mean = np.asarray(sums.mean, np.float64)
        return _bisected(lambda m: self.log_capital(sums, m) >= log_level, np.full(mean.shape, -1.0), mean)[0]


def clustered_sequence(
    cautious: Means, p: FloatVector, n: FloatVector, mean: FloatVector, *, confidence: float, tests: float = 1,
    bound: float = 1.0,
) -> Intervals:  # fmt: skip
    """Return intervals of mean outcomes that are valid however often you look, for correlated outcomes.

    The intervals are valid only in large samples.

    cautious: means and errors for intervals.
    p: p-values of a single look.
    n: number of impressions; for a ratio, the sum of its denominator.
    bound: largest possible mean.
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
    """Return the critical value of a test that is valid however often you look.

    A sum of outcomes is significant at level ``alpha`` if it is at least this number of standard deviations from 0.
    """
    constant, slope = _components(variance, alpha)
    highest = ((-np.log(alpha) - constant) / slope).min(axis=-1)

    def below(square: FloatVector) -> NDArray[np.bool_]:
        return np.asarray(_log_sum(constant + slope * square[..., None]) < -np.log(alpha))

    return np.asarray(np.sqrt(_bisected(below, np.zeros(constant.shape[:-1]), highest)[1]), np.float64)


def _variance(error: FloatVector, n: FloatVector) -> FloatVector:
    return np.asarray(np.multiply(error, n, out=np.ones(len(n)), where=np.isfinite(error)) ** 2)


def _log_e(square: FloatVector, variance: FloatVector, alpha: float) -> FloatVector:
    # the e-value of a sum S with variance V is a weighted mean of sqrt(rho / (V + rho)) exp(S^2 / (2 (V + rho))) over
    # several numbers rho; square = S^2 / V
    constant, slope = _components(variance, alpha)
    return _log_sum(constant + slope * square[..., None])


def _components(variance: ArrayLike, alpha: float) -> tuple[FloatMatrix, FloatMatrix]:
    # the logarithm of each term of the e-value is c + s S^2 / V; the results are c and s
    log = -2 * np.log(alpha)
    narrowest = TUNED_AT / (log + np.log(1 + log))  # rho with about the narrowest intervals at V = TUNED_AT
    ratio = np.asarray(variance, np.float64)[..., None] / np.append(_RHO, narrowest)
    return _LOG_WEIGHT - np.log1p(ratio) / 2, ratio / (1 + ratio) / 2


def _bisected(
    below: Callable[[FloatVector], NDArray[np.bool_]], low: FloatVector, high: FloatVector
) -> tuple[FloatVector, FloatVector]:
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        under = below(middle)
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    return low, high


def _log_sum(logs: FloatMatrix) -> FloatVector:
    most = logs.max(axis=-1)
    return np.asarray(most + np.log(np.exp(logs - most[..., None]).sum(axis=-1)), np.float64)
