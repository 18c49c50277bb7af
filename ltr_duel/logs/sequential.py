"""Looking at a running experiment as often as one likes: confidence sequences and e-values.

Outcomes y lie in [-1, 1]. Who bets a share l of his capital, 0 < l < 1 / 2, that the mean is above m, has
1 + l (y - m) times as much after an outcome. If the mean is m or less he cannot expect to gain, so the chance that he
ever has 1 / alpha times what he began with is at most alpha (Ville). That holds of a mixture of such bets as well: its
capital is an e-value that may be looked at after every observation. The means that are not refuted are the confidence
sequence. Two sides share the error: each is tested at alpha / 2. Waudby-Smith, Ramdas. Estimating means of bounded
random variables by betting. JRSS B 2024.

Theirs choose the next share from the past, and need all observations again for each m. A mixture of fixed shares needs
sums only: after wins (1), losses (-1) and ties (0) the capital of a share is

    (1 + l (1 - m))^wins  (1 - l (1 + m))^losses  (1 - l m)^ties

and other outcomes are bounded from below, as 1 + l x >= exp(l x - psi(l) x^2) for x >= -2 with psi(l) =
(-log(1 - 2 l) - 2 l) / 4 (Fan's inequality, as in Howard, Ramdas, McAuliffe, Sekhon. Time-uniform, nonparametric,
nonasymptotic confidence sequences. Annals of Statistics 2021). Half of the mixture has the weights of their Proposition
9, which is narrowest at one place of the log; the other half is even over log l, for larger and for smaller effects.

Needed is that an observation's expectation, given all earlier ones, is the mean. A user who comes back breaks that: who
clicked in favour of a ranker yesterday is likely to do so today. So by default each user counts once, by the first
impression of the pair; where impressions are those of users who never return, each one counts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ltr_duel.core import FloatVector, errors
from ltr_duel.logs.sums import Sequences

TUNED_AT = 1000.0  # sum of squared surprises at which half of the mixture is narrowest
_SHARES = 0.49 * 1.08 ** -np.arange(110.0)[::-1]  # down to 1e-4
_PSI = (-np.log1p(-2 * _SHARES) - 2 * _SHARES) / 4
_HALVINGS = 50


class Bets(NamedTuple):
    """A mixture of bets that the mean is above m: the logarithm of the weight of each share."""

    log_weight: FloatVector

    @classmethod
    def tuned(cls, spread: float, alpha: float, *, tuned_part: float = 0.5) -> Bets:
        """Return the mixture, of which a part has its bound at one-sided error ``alpha`` about narrowest at ``spread``.

        That part has u = 1 - 2 l distributed as Gamma(rho / 4, rho / 4), truncated at 1.
        """
        two = 2 * alpha
        shape = spread / (2 * np.log(1 / two) + np.log(1 + 2 * np.log(1 / two))) / 4
        edges = np.concatenate([[0.0], np.sqrt(_SHARES[1:] * _SHARES[:-1]), [0.5]])
        above = special.gammainc(shape, shape * (1 - 2 * edges)) / special.gammainc(shape, shape)
        weight = -tuned_part * np.diff(above) + (1 - tuned_part) / len(_SHARES)
        with np.errstate(divide="ignore"):
            return cls(np.log(weight))

    def log_value(self, seen: Sequences, m: ArrayLike) -> FloatVector:
        """Return the logarithm of the capital of who bets that the mean is above ``m``."""
        wins, losses, ties, others, lead, square = (np.asarray(part, np.float64)[..., None] for part in seen)
        m = np.asarray(m, np.float64)[..., None]
        logs = (
            wins * np.log1p(_SHARES * (1 - m)) + losses * np.log1p(-_SHARES * (1 + m)) + ties * np.log1p(-_SHARES * m)
        )
        logs = logs + _SHARES * (lead - others * m) - _PSI * (square - 2 * m * lead + others * m**2)
        logs += self.log_weight
        most = logs.max(axis=-1)
        return np.asarray(most + np.log(np.exp(logs - most[..., None]).sum(axis=-1)), np.float64)

    def low(self, seen: Sequences, log_level: float) -> FloatVector:
        """Return the largest mean that is refuted, with all below it, because the capital reaches the level; or -1.

        Who bets against a smaller mean has more, so the capital need not fall with m itself where it is a bound.
        """
        high = np.asarray(seen.mean, np.float64)
        low = np.full(high.shape, -1.0)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            refuted = self.log_value(seen, middle) >= log_level
            low, high = np.where(refuted, middle, low), np.where(refuted, high, middle)
        return low

    def lead_needed(self, decided: ArrayLike, log_level: float) -> FloatVector:
        """Return by how much wins must lead, of so many wins and losses, to refute a mean of 0; infinity for never."""
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
    most: float = 1e12,
) -> FloatVector:
    """Return after how many observations a sequence shows who is ahead.

    Parameters
    ----------
    each : Sequences
        What the sums are taken to grow by with each observation; numbers, or arrays of several pairs.
    confidence, tests, tuned_at
        As of `confidence_sequence`.
    margin : float
        If positive, it is enough to know that the mean is within -margin..margin.
    most : float
        Where it would take more, infinity is returned.

    Returns
    -------
    ndarray of float64
        Of the shape of the arrays.

    Examples
    --------
    >>> large, small, none = (Sequences(0.3 + d, 0.3 - d, 0.4, 0, 0, 0) for d in (0.1, 0.05, 0.0))
    >>> bool(observations_needed(large) < observations_needed(small) < observations_needed(none))
    True
    """
    bets, level = _settings(confidence, tests, tuned_at)
    one = Sequences(*np.broadcast_arrays(*(np.asarray(part, np.float64) for part in each)))
    ahead = Sequences(*(np.where(one.mean < 0, b, a) for a, b in zip(one, one.mirrored(), strict=True)))

    def decided(n: FloatVector) -> NDArray[np.bool_]:
        grown = Sequences(*(part * n for part in ahead))
        found = bets.log_value(grown, 0.0) >= level
        if margin > 0:
            sides = [bets.log_value(side, -margin) >= level for side in (grown, grown.mirrored())]
            found |= sides[0] & sides[1]
        return np.asarray(found)

    low, high = np.zeros(ahead.wins.shape), np.ones(ahead.wins.shape)
    while not (late := decided(high) | (high > most)).all():
        low, high = np.where(late, low, high), np.where(late, high, 2 * high)
    low = np.where(high > most, high, low)
    while (high - low > 1).any():
        middle = np.ceil((low + high) / 2)
        enough = decided(middle)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.where(high > most, np.inf, high)


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
