"""Looking at a running experiment as often as one likes: confidence sequences and e-values.

Outcomes y lie in [-1, 1]. Let S be the sum of the first n observations less n times the mean in question, and V the sum
of (y - guess)^2, where each guess is made from earlier observations only. S is sub-exponential with variance process V
and scale 2, the range of y: Howard, Ramdas, McAuliffe, Sekhon. Time-uniform, nonparametric, nonasymptotic confidence
sequences. Annals of Statistics 2021, Theorem 4. So the gamma-exponential mixture of their Proposition 9,

    M(S, V) = integral over 0 <= l < 1 / 2 of exp(l S - psi(l) V) dF(l),    psi(l) = (-log(1 - 2 l) - 2 l) / 4

is a supermartingale that starts at 1. If the mean is right, the chance that M is ever 1 / alpha or more is at most
alpha: an e-value that may be looked at after every observation. The means that are not refuted are the confidence
sequence. Two sides share the error: each is tested at alpha / 2.

Needed is that an observation's expectation, given all earlier ones, is the mean. A user who comes back breaks that: who
clicked in favour of a ranker yesterday is likely to do so today. So by default each user counts once, by the first
impression of the pair; where impressions are those of users who never return, each one counts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from ltr_duel.core import FloatVector, require_between

SCALE = 2.0  # the range of an outcome
TUNED_AT = 1000.0  # sum of squared surprises at which the sequence is narrowest


class Mixture(NamedTuple):
    """A gamma-exponential mixture: its scale, and where it is tight.

    Examples
    --------
    >>> round(float(Mixture.tuned(100, 0.05).log_value(10, 100)), 7)  # as in the authors' reference
    -0.2490165
    """

    rho: float
    scale: float = SCALE

    @classmethod
    def tuned(cls, spread: float, alpha: float, scale: float = SCALE) -> Mixture:
        """Return the mixture whose bound at one-sided error ``alpha`` is about narrowest at ``spread``."""
        two = 2 * alpha
        return cls(spread / (2 * np.log(1 / two) + np.log(1 + 2 * np.log(1 / two))), scale)

    def log_value(self, lead: ArrayLike, spread: ArrayLike) -> FloatVector:
        """Return log M for S = ``lead`` and V = ``spread``: the e-value, on one side, of "the mean is not larger"."""
        s, v = np.asarray(lead, np.float64), np.asarray(spread, np.float64)
        c2 = self.scale**2
        a, b = (v + self.rho) / c2, (self.scale * s + v + self.rho) / c2
        base = self.rho / c2
        start = base * np.log(base) - special.gammaln(base) - np.log(special.gammainc(base, base))
        with np.errstate(divide="ignore", invalid="ignore"):
            tail = special.gammaln(a) + np.log(special.gammainc(a, b)) - a * np.log(b)
            value = np.where(b > 0, start + tail + (self.scale * s + v) / c2, -np.inf)
        return np.asarray(value, np.float64)

    def bound(self, spread: ArrayLike, log_level: float) -> FloatVector:
        """Return the smallest S >= 0 with log M(S, V) >= ``log_level``, to a relative 1e-12."""
        v = np.asarray(spread, np.float64)
        high = np.sqrt(2 * (v + self.rho) * log_level) + self.scale * log_level
        while (short := self.log_value(high, v) < log_level).any():
            high = np.where(short, 2 * high, high)
        low = np.zeros_like(high)
        for _ in range(60):
            middle = (low + high) / 2
            under = self.log_value(middle, v) < log_level
            low, high = np.where(under, middle, low), np.where(under, high, middle)
        return np.asarray(high, np.float64)


class Sequence(NamedTuple):
    """A confidence sequence at one time, of several pairs.

    Examples
    --------
    >>> now = confidence_sequence([1000], [100], [400])
    >>> now.low.round(3), now.high.round(3)
    (array([0.029]), array([0.171]))
    """

    low: FloatVector
    high: FloatVector
    log_e: FloatVector  # natural logarithm of the e-value of "the mean is 0", both sides


def confidence_sequence(
    n: ArrayLike,
    lead: ArrayLike,
    spread: ArrayLike,
    *,
    confidence: float = 0.95,
    tests: int = 1,
    tuned_at: float = TUNED_AT,
) -> Sequence:
    """Return intervals for the mean outcome that hold at all times together, and e-values.

    Parameters
    ----------
    n, lead, spread : array of float, shape (pairs,)
        Observations, their sum, and the sum of (y - mean of the earlier ones)^2; each y in [-1, 1].
    confidence : float
        Above 0 and below 1: the chance that all intervals hold, whenever one looks.
    tests : int
        Pairs that are tested together; the error is shared among them (Bonferroni).
    tuned_at : float
        The spread at which the sequence is narrowest; to be chosen before the data are seen.

    Returns
    -------
    Sequence

    Raises
    ------
    InputError
        For a confidence out of range, or a place of tuning that is not positive.

    Examples
    --------
    >>> wide, narrow = (confidence_sequence([n], [0.1 * n], [0.4 * n]) for n in (100, 10_000))
    >>> bool(wide.low[0] < 0 < narrow.low[0])
    True
    """
    require_between("the confidence", confidence, 1e-9, 1 - 1e-9)
    require_between("the place of tuning", tuned_at, 1e-6)
    n, lead, spread = (np.asarray(x, np.float64) for x in (n, lead, spread))
    mixture, level = _settings(confidence, tests, tuned_at)
    some = np.maximum(n, 1)
    half = np.where(n > 0, mixture.bound(spread, level) / some, np.inf)
    mean = lead / some
    log_e = mixture.log_value(np.abs(lead), spread) - np.log(2)
    return Sequence(np.maximum(mean - half, -1), np.minimum(mean + half, 1), log_e)


def _settings(confidence: float, tests: int, tuned_at: float) -> tuple[Mixture, float]:
    """Return the mixture, and the log of what it must reach on either side."""
    alpha = (1 - confidence) / (2 * tests)
    return Mixture.tuned(tuned_at, alpha), float(-np.log(alpha))


def observations_needed(
    mean: float,
    variance: float,
    *,
    confidence: float = 0.95,
    tests: int = 1,
    tuned_at: float = TUNED_AT,
    margin: float = 0.0,
    most: float = 1e12,
) -> float:
    """Return after how many observations a sequence of that mean and variance says who is ahead.

    Parameters
    ----------
    mean, variance : float
        Of an outcome: what the sums are taken to grow by.
    confidence, tests, tuned_at
        As of `confidence_sequence`.
    margin : float
        If positive, it is enough to know that the mean is within -margin..margin.
    most : float
        Where it would take more, infinity is returned.

    Returns
    -------
    float

    Examples
    --------
    >>> observations_needed(0.1, 0.4) < observations_needed(0.05, 0.4) < observations_needed(0.0, 0.4)
    True
    """
    mixture, level = _settings(confidence, tests, tuned_at)
    distance = max(abs(mean), margin - abs(mean))
    if distance <= 0:
        return float("inf")

    def decided(n: float) -> bool:  # whether the bound at n observations is below what they add up to
        return float(mixture.log_value(distance * n, variance * n)) >= level

    low, high = 0.0, 1.0
    while not decided(high):
        low, high = high, 2 * high
        if high > most:
            return float("inf")
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if decided(middle) else (middle, high)
    return float(np.ceil(high))
