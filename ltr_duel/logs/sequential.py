"""Confidence sequences and e-values, for any number of looks at a running experiment.

Outcomes y are in [-1, 1]. A gambler who bets a share l of the capital, 0 < l < 1 / 2, that the mean is above m,
multiplies it by 1 + l (y - m) with each outcome. If the mean is at most m, the expected gain is not positive, so the
probability that the capital ever reaches 1 / alpha times the initial capital is at most alpha (Ville). The same holds
for a mixture of such bets: its capital is an e-value, valid after every observation. The means that are not rejected
form the confidence sequence. Each of the two sides is tested at alpha / 2. Waudby-Smith, Ramdas. Estimating means of
bounded random variables by betting. JRSS B 2024.

In their method the next share depends on the past, and each m needs all observations again. A mixture of fixed shares
needs only sums: after wins (1), losses (-1) and ties (0) the capital of a share is

    (1 + l (1 - m))^wins  (1 - l (1 + m))^losses  (1 - l m)^ties

and the factors of other outcomes are bounded from below, as 1 + l x >= exp(l x - psi(l) x^2) for x >= -2 with psi(l) =
(-log(1 - 2 l) - 2 l) / 4 (Fan's inequality, as in Howard, Ramdas, McAuliffe, Sekhon. Time-uniform, nonparametric,
nonasymptotic confidence sequences. Annals of Statistics 2021). Half of the mixture has the weights of their Proposition
9, which are optimal at one length of the log; the other half is uniform over log l, for larger and smaller effects.

The sequence is valid if the expectation of an observation, given all earlier ones, is the mean. Returning users violate
this: a user whose clicks favoured a ranker yesterday is likely to favour it today. So by default each user counts once,
by the first impression of the pair; if users never return, every impression counts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ltr_duel.core import FloatMatrix, FloatVector, IntVector, errors
from ltr_duel.logs.sums import Sequences

TUNED_AT = 1000.0  # sum of squared deviations at which half of the mixture is narrowest
_SHARES = 0.49 * 1.08 ** -np.arange(110.0)[::-1]  # down to 1e-4
_PSI = (-np.log1p(-2 * _SHARES) - 2 * _SHARES) / 4
_HALVINGS = 50
_AT_ONCE = 1024  # pairs in a block, so that intermediate arrays stay in the processor's cache
_CLOSE = 1e-13


class Bets(NamedTuple):
    """A mixture of bets that the mean is above m; the field has the logarithm of each share's weight."""

    log_weight: FloatVector

    @classmethod
    def tuned(cls, spread: float, alpha: float, *, tuned_part: float = 0.5) -> Bets:
        """Return a mixture; a part of it has about its narrowest bound, at one-sided error ``alpha``, at ``spread``.

        In that part, u = 1 - 2 l is distributed as Gamma(rho / 4, rho / 4), truncated at 1.
        """
        two = 2 * alpha
        shape = spread / (2 * np.log(1 / two) + np.log(1 + 2 * np.log(1 / two))) / 4
        edges = np.concatenate([[0.0], np.sqrt(_SHARES[1:] * _SHARES[:-1]), [0.5]])
        above = special.gammainc(shape, shape * (1 - 2 * edges)) / special.gammainc(shape, shape)
        weight = -tuned_part * np.diff(above) + (1 - tuned_part) / len(_SHARES)
        with np.errstate(divide="ignore"):
            return cls(np.log(weight))

    def log_value(self, seen: Sequences, m: ArrayLike) -> FloatVector:
        """Return the logarithm of the capital of bets that the mean is above ``m``."""
        return log_sum(self.log_gain(seen, m) + self.log_weight)

    def log_gain(self, seen: Sequences, m: ArrayLike) -> FloatMatrix:
        """Return the logarithm of the capital of each single share, shape (..., shares); it is linear in the sums."""
        wins, losses, ties, others, lead, square = (np.asarray(part, np.float64)[..., None] for part in seen)
        m = np.asarray(m, np.float64)[..., None]
        logs = (
            wins * np.log1p(_SHARES * (1 - m)) + losses * np.log1p(-_SHARES * (1 + m)) + ties * np.log1p(-_SHARES * m)
        )
        if others.any():
            logs = logs + _SHARES * (lead - others * m) - _PSI * (square - 2 * m * lead + others * m**2)
        return np.asarray(logs, np.float64)

    def low(self, seen: Sequences, log_level: float) -> FloatVector:
        """Return the lower bound: the largest mean that is rejected because the capital reaches the level; -1 if none.

        A bet against a smaller mean gains more, so all smaller means are rejected too, even where the bound on the
        capital does not decrease in m.
        """
        flat = [np.ravel(part) for part in np.broadcast_arrays(*seen)]
        low = np.full(len(flat[0]), -1.0)
        for start in range(0, len(low), _AT_ONCE):
            here = slice(start, start + _AT_ONCE)
            some = Sequences(*(part[here] for part in flat))
            exact = some.others == 0
            falls = exact & (self.log_value(some, -1.0) >= log_level)
            low[here][falls] = self._low_of_falling(_rows(some, falls), log_level)
            low[here][~exact] = self._low_by_halves(_rows(some, ~exact), log_level)
        return low.reshape(np.shape(seen.n))

    def _low_of_falling(self, seen: Sequences, log_level: float) -> FloatVector:
        """Return `low` where the capital decreases in m and reaches the level at -1.

        The logarithm of the capital is about a parabola in m with its minimum at the mean. So Newton's method on the
        square root of the height converges in few steps from the normal approximation; a step that leaves the bracket
        is replaced by bisection.
        """
        mean, n = np.asarray(seen.mean, np.float64), np.asarray(seen.n, np.float64)
        least = self.log_value(seen, mean)
        height = np.sqrt(log_level - least)
        spread = (seen.wins + seen.losses) / n - mean**2 + 1 / n
        left, right = np.full(len(n), -1.0), mean.copy()
        low = np.maximum(mean - height * np.sqrt(2 * spread / n), (mean - 1) / 2)
        open_ones = np.arange(len(n))
        for _ in range(_HALVINGS):
            some, m = _rows(seen, open_ones), low[open_ones]
            value, slope = self._value_and_slope(some, m)
            root = np.sqrt(np.maximum(value - least[open_ones], 0))
            refuted = value >= log_level
            left[open_ones[refuted]], right[open_ones[~refuted]] = m[refuted], m[~refuted]
            with np.errstate(divide="ignore", invalid="ignore"):
                better = m - (root - height[open_ones]) * 2 * root / slope
            a, b = left[open_ones], right[open_ones]
            better = np.where((a <= better) & (better <= b), better, (a + b) / 2)
            low[open_ones] = better
            open_ones = open_ones[np.abs(better - m) > _CLOSE]
            if not len(open_ones):
                break
        return low - _CLOSE

    def _value_and_slope(self, seen: Sequences, m: FloatVector) -> tuple[FloatVector, FloatVector]:
        """Return `log_value` for wins, losses and ties, and its derivative with respect to m."""
        wins, losses, ties = (part[:, None] for part in seen[:3])
        if_won, if_lost, if_tied = (_SHARES * (y - m[:, None]) for y in (1, -1, 0))
        logs = wins * np.log1p(if_won) + losses * np.log1p(if_lost) + ties * np.log1p(if_tied) + self.log_weight
        most = logs.max(axis=-1)
        parts = np.exp(logs - most[:, None])
        slopes = -_SHARES * (wins / (1 + if_won) + losses / (1 + if_lost) + ties / (1 + if_tied))
        total = parts.sum(axis=-1)
        return most + np.log(total), (parts * slopes).sum(axis=-1) / total

    def _low_by_halves(self, seen: Sequences, log_level: float) -> FloatVector:
        """Return `low` for any sums, by bisection."""
        high = np.asarray(seen.mean, np.float64)
        low = np.full(high.shape, -1.0)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            refuted = self.log_value(seen, middle) >= log_level
            low, high = np.where(refuted, middle, low), np.where(refuted, high, middle)
        return low

    def first_reached(self, each: Sequences, m: float, log_level: float) -> FloatVector:
        """Return the multiple of ``each`` at which the capital against ``m`` reaches the level; infinity if never.

        The logarithm of the capital is convex in the multiple, and below the level at 0. So Newton's method converges
        from above; the best single share gives the starting point.
        """
        gain = self.log_gain(each, m)
        with np.errstate(divide="ignore", invalid="ignore"):
            times = np.where(gain > 0, (log_level - self.log_weight) / gain, np.inf).min(axis=-1)
        for _ in range(_HALVINGS):
            open_ones = np.isfinite(times)
            logs = gain[open_ones] * times[open_ones, None] + self.log_weight
            most = logs.max(axis=-1)
            parts = np.exp(logs - most[:, None])
            total = parts.sum(axis=-1)
            step = (most + np.log(total) - log_level) / ((parts * gain[open_ones]).sum(axis=-1) / total)
            times[open_ones] -= step
            if (np.abs(step) <= 1e-12 * times[open_ones]).all():
                break
        return np.asarray(times, np.float64)

    def lead_needed(self, decided: ArrayLike, log_level: float) -> FloatVector:
        """Return the lead in `decided` wins and losses that rejects a mean of 0; infinity if none does."""
        d = np.asarray(decided, np.float64)
        none = np.zeros_like(d)

        def reached(lead: FloatVector) -> ArrayLike:
            seen = Sequences((d + lead) / 2, (d - lead) / 2, none, none, none, none)
            return self.log_value(seen, 0.0) >= log_level

        low, high = none, d
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = np.where(reached(middle), low, middle), np.where(reached(middle), middle, high)
        return np.asarray(np.where(reached(d), high, np.inf), np.float64)


def log_sum(logs: FloatMatrix) -> FloatVector:
    """Return the logarithm of the sum of each row, given logarithms."""
    most = logs.max(axis=-1)
    return np.asarray(most + np.log(np.exp(logs - most[..., None]).sum(axis=-1)), np.float64)


def _rows(seen: Sequences, chosen: NDArray[Any]) -> Sequences:
    """Return the sums of some of the pairs."""
    return Sequences(*(part[chosen] for part in seen))


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
    """Return the number of observations after which a sequence shows the better ranker.

    each: Assumed increments of the sums per observation; fields of shape (pairs,).
    confidence, tests, tuned_at: See `confidence_sequence`.
    margin: If positive, a mean that is shown to be within -margin..margin is also enough.

    The result is infinity above 10^12.

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
    for start in range(0, len(needed), _AT_ONCE):
        some = Sequences(*(part[start : start + _AT_ONCE] for part in flat))
        found = np.minimum(*(bets.first_reached(one, 0.0, level) for one in (some, some.mirrored())))
        if margin > 0:
            inside = np.maximum(*(bets.first_reached(one, -margin, level) for one in (some, some.mirrored())))
            found = np.minimum(found, inside)
        needed[start : start + _AT_ONCE] = found
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
        return Observed(Sequences(*(part[pairs] for part in self.sequences)))
