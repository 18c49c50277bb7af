"""A mixture of bets that a mean is above a given value; the capital of the mixture is an e-value at every time.

Outcomes y are in [-1, 1]. A gambler bets a share l of the capital, 0 < l < 1 / 2, that the mean is above m. Each
outcome then multiplies the capital by 1 + l (y - m). If the mean is at most m, the expected gain is not positive, so
the probability that the capital ever reaches 1 / alpha times the initial capital is at most alpha (Ville's inequality).
The same is true of a mixture of such bets: its capital is an e-value, valid after every observation. A value of m is
rejected once the capital reaches 1 / alpha. The values that are not rejected form the confidence sequence; each of its
two ends is tested at alpha / 2. Waudby-Smith, Ramdas. Estimating means of bounded random variables by betting. JRSS B
2024.

In the method of Waudby-Smith and Ramdas, the next share depends on the past, so each m requires a pass over all
observations. A mixture of fixed shares requires only sums: after wins (1), losses (-1) and ties (0), the capital of
bets of the share l is

    (1 + l (1 - m))^wins  (1 - l (1 + m))^losses  (1 - l m)^ties

For other outcomes, with x = y - m, the factor is bounded from below: 1 + l x >= exp(l x - psi(l) x^2) for x >= -2,
where psi(l) = (-log(1 - 2 l) - 2 l) / 4 (Fan's inequality, as in Howard, Ramdas, McAuliffe, Sekhon. Time-uniform,
nonparametric, nonasymptotic confidence sequences. Annals of Statistics 2021). Half of the weight of the mixture has the
distribution of Proposition 9 of Howard et al., which is optimal for one length of the log. The other half is uniform
over log l, for larger and smaller effects.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from ltr_duel.core import FloatMatrix, FloatVector
from ltr_duel.logs.sums import Sequences

AT_ONCE = 1024  # pairs in a block, so that intermediate arrays stay in the processor's cache
_SHARES = 0.49 * 1.08 ** -np.arange(110.0)[::-1]  # from 1e-4 to 0.49
_PSI = (-np.log1p(-2 * _SHARES) - 2 * _SHARES) / 4
_HALVINGS = 50
_CLOSE = 1e-13


class Bets(NamedTuple):
    """A mixture of bets that the mean is above m, described by the logarithm of each share's weight."""

    log_weight: FloatVector

    @classmethod
    def tuned(cls, spread: float, alpha: float, *, tuned_part: float = 0.5) -> Bets:
        """Return a mixture of bets for the error ``alpha``, tuned to the sum ``spread`` of squared deviations.

        The part ``tuned_part`` of the weight is optimal if the squared deviations have this sum. The rest of the weight
        is uniform over the logarithms of the shares.
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
        """Return the logarithm of the capital for each share, shape (..., shares); it is linear in ``seen``."""
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

        All smaller means are rejected too, because bets against smaller means gain more. This also holds for outcomes
        other than 1, 0 and -1, although the lower bounds of their factors may increase with m.
        """
        flat = Sequences(*map(np.ravel, np.broadcast_arrays(*seen)))
        low = np.full(len(flat.wins), -1.0)
        for start in range(0, len(low), AT_ONCE):
            here = slice(start, start + AT_ONCE)
            some = flat.of(here)
            exact = some.others == 0
            falls = exact & (self.log_value(some, -1.0) >= log_level)
            low[here][falls] = self._low_of_falling(some.of(falls), log_level)
            low[here][~exact] = self._low_by_halves(some.of(~exact), log_level)
        return low.reshape(np.shape(seen.n))

    def _low_of_falling(self, seen: Sequences, log_level: float) -> FloatVector:
        """Return `low` for pairs whose capital decreases in m and reaches the level at m = -1.

        The logarithm of the capital is nearly a parabola in m with its minimum at the mean. Newton's method is
        therefore applied to the square root of the height above the minimum. It starts at the normal approximation, and
        converges in few steps. A step that leaves the interval known to contain the solution is replaced by bisection.
        """
        mean, n = np.asarray(seen.mean, np.float64), np.asarray(seen.n, np.float64)
        least = self.log_value(seen, mean)
        height = np.sqrt(log_level - least)
        spread = (seen.wins + seen.losses) / n - mean**2 + 1 / n
        left, right = np.full(len(n), -1.0), mean.copy()
        low = np.maximum(mean - height * np.sqrt(2 * spread / n), (mean - 1) / 2)
        open_ones = np.arange(len(n))
        for _ in range(_HALVINGS):
            some, m = seen.of(open_ones), low[open_ones]
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
        """Return `log_value` and its derivative with respect to m, for outcomes that are wins, losses or ties."""
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
        """Return the multiple of the sums ``each`` at which the capital reaches the level; infinity if it never does.

        The logarithm of the capital is convex in the multiple, and it is below the level if the multiple is 0. Newton's
        method therefore converges from above; it starts at the smallest multiple at which a single share reaches the
        level.
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
        """Return the smallest lead (wins minus losses) in `decided` outcomes that rejects 0; infinity if none."""
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
    """Return the logarithm of the sum of each row, given the logarithms of its entries."""
    most = logs.max(axis=-1)
    return np.asarray(most + np.log(np.exp(logs - most[..., None]).sum(axis=-1)), np.float64)
