"""Sample sizes: how many impressions an experiment needs to show a difference between two rankers.

There are two sample sizes. One is for a single look at the end of the experiment, and the other is for any number of
looks. Both depend on the effect and on the design effect. The effect is the mean outcome of the pair. The design effect
is the factor by which the variance of the mean increases because outcomes of a user are correlated.

With fewer than 40 users, a sample size is only a lower limit. The true sample size may be up to a third larger.

References
----------
Efron, Morris. JASA 1973. Browne. Statistics in Medicine 1995 (the interval of the design effect).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize, special

from ltr_duel.core import FloatVector, InputError, errors
from ltr_duel.logs.comparison import Comparison
from ltr_duel.logs.sequential import normal_boundary
from ltr_duel.preferences import PreferenceMatrix

FEWEST = 40.0  # effective number of users below which a sample size is a lower limit
_SURE = 0.8  # confidence of the upper bound of the design effect


class PairVariance(NamedTuple):
    """The facts about a pair of rankers that determine its sample sizes.

    Examples
    --------
    >>> PairVariance("old", "new", effect=-0.1, square=0.5).largest
    0.5
    """

    first: str
    second: str
    effect: float  # mean outcome, moved towards 0 as by `shrunk`
    square: float  # mean squared outcome; for wins, losses and ties, the share of impressions without a tie
    design: float = 1.0  # design effect
    size: float = 1.0  # mean number of a user's (or query's) impressions of the pair; frequent users count more
    each: float = 1.0  # impressions of the whole log per impression of the pair
    between: bool = False  # whether some outcomes are fractional, such as credit by expectation

    @property
    def largest(self) -> float:
        """The largest possible effect."""
        return max(self.square**0.5 if self.between else self.square, abs(self.effect))


class SampleSize(NamedTuple):
    """How many impressions, counted over all pairs, an experiment needs to detect an effect of a pair."""

    effect: float
    fixed: float  # for one look at the end
    sequential: float  # for looks at any time
    few_users: bool = False  # whether there are so few users that the numbers are only lower limits


def required_impressions(
    pair: PairVariance, effects: Sequence[float] = (), *, power: float = 0.8, confidence: float = 0.95, tests: int = 1
) -> list[SampleSize]:
    """Return how many impressions an experiment needs to detect effects of given sizes.

    The numbers are valid if users return as often as before, and if the pair keeps its share of the impressions.

    Parameters
    ----------
    pair : PairVariance
        The pair of rankers.
    effects : sequence of float
        The effects to detect: mean outcomes above 0 and at most ``pair.largest``. By default, the effect of ``pair``.
    power : float
        The probability, above 0 and below 1, that an effect of this size is detected.
    confidence : float
        One minus the probability that the experiment finds an effect although there is none.
    tests : int
        The number of pairs that are tested: K (K - 1) / 2 for K rankers. The error probability is divided among them.

    Returns
    -------
    list of SampleSize
        One for each effect.

    Raises
    ------
    InputError
        If a number is out of range, or if an effect is above ``pair.largest``.

    Examples
    --------
    >>> (size,) = required_impressions(PairVariance("old", "new", 0.1, 0.5), power=0.8)
    >>> round(size.fixed), round(size.sequential)
    (410, 858)
    """
    errors.require_between("the power", power, 1e-6, 1 - 1e-6)
    errors.require_between("the confidence", confidence, 1e-9, 1 - 1e-9)
    if pair.square > 1:
        raise InputError(f"outcomes of mean square {pair.square:.3g} are not within -1 to 1")
    sizes = []
    for effect in effects or (abs(pair.effect),):
        errors.require_between("the effect (a mean outcome)", effect, 1e-6, 1)
        if effect > pair.largest * (1 + 1e-12):
            raise InputError(
                f"an effect of {effect:.4g} is impossible: the largest mean outcome of {pair.first} against"
                f" {pair.second} is {pair.largest:.4g}, because their mean square is {pair.square:.4g}"
            )
        fixed, sequential = (_impressions(pair, effect, power, (1 - confidence) / tests, always=k > 0) for k in (0, 1))
        sizes.append(SampleSize(effect, fixed, sequential, fixed / pair.each < FEWEST * pair.size))
    return sizes


def _impressions(pair: PairVariance, effect: float, power: float, level: float, *, always: bool) -> float:
    def missing(log_n: float) -> float:
        return _power_beyond(pair, effect, math.exp(log_n), level, always=always) - float(special.ndtri(power))

    low, high = math.log(2 * pair.size), math.log(1e14)
    if missing(high) < 0:
        return math.inf
    return math.exp(low if missing(low) >= 0 else optimize.brentq(missing, low, high, rtol=1e-10)) * pair.each


def _power_beyond(pair: PairVariance, effect: float, n: float, level: float, *, always: bool) -> float:
    square = max(pair.square, effect)  # a mean of fractional outcomes may exceed their mean square
    added, users = math.sqrt(pair.design * pair.size), n / pair.size
    clustered = n * (square - effect**2) * pair.design
    variance = clustered + 2 * added**2
    normal = float(normal_boundary([variance], level)[0]) if always else -float(special.ndtri(level / 2))
    if special.ndtr(-normal) * 2 < 2.0 ** (1 - users):
        return -math.inf  # even if all users agree, the sign test cannot be significant
    student = -float(special.stdtrit(max(users - 1, 0.5), float(special.ndtr(-normal)))) * math.sqrt(variance)
    signs = normal * math.sqrt(clustered + n * pair.size * effect**2) + pair.design
    chance = n * effect**2 * (1 - 1 / pair.each)  # variance because the number of the pair's impressions is random
    # by how many standard deviations the expected sum exceeds the critical values of Student's test and the sign test
    return (n * effect - max(student, signs)) / math.sqrt(clustered + chance + 1e-300)


def shrunk(mean: FloatVector, error: FloatVector) -> FloatVector:
    """Move the means of pairs towards 0, because large means are often large by chance (empirical Bayes)."""
    finite = np.isfinite(error)
    varies = max(0.0, float(np.mean(mean[finite] ** 2 - error[finite] ** 2))) if finite.any() else 0.0
    total = varies + np.where(finite, error, 1.0) ** 2
    return np.where(finite & (total > 0), mean, 0.0) * varies / np.where(total > 0, total, 1.0)


def pairs_in_log(comparison: Comparison) -> list[PairVariance]:
    """Return the pairs of rankers in a log. The pair with the largest effect comes first."""
    if comparison.adaptive:
        names = " and ".join(comparison.provenance["policies"])
        raise InputError(
            f"{names} chose the rankers of this log by earlier outcomes, so it does not represent an experiment that"
            " shows all pairs equally often: give another log, or simulated users"
        )
    if comparison.ratio:
        raise InputError(f"'{comparison.provenance['events']}' is a ratio: give one of its two outcomes")
    n, means, naive, size = comparison.denominator, comparison.means, comparison.naive, comparison.sizes
    with np.errstate(invalid="ignore", divide="ignore"):
        square = np.where(n > 1, naive.error**2 * (n - 1), 0.0) + means.mean**2
        design = means.error**2 * n / (naive.error**2 * (n - 1))
        # few clusters give an uncertain design effect, so the upper end of its 80% interval is used
        upper = np.where(np.isnan(design), np.inf, design) * means.freedom / special.chdtri(means.freedom, _SURE)
        largest = np.where(size <= 1 + 1e-9, 1.0, size)
        upper = np.clip(upper, 1.0, largest)  # if all users come once, the design effect is 1
    effects = shrunk(comparison.cautious.mean, comparison.cautious.error)
    columns = effects, np.minimum(square, 1.0), upper, np.maximum(size, upper), comparison.impressions / n
    between = comparison.sequences.others > 0
    return _largest_first(comparison.named_pairs, *columns, between, usable=(square > 0) & (means.freedom > 0))


def pairs_in_matrix(matrix: PreferenceMatrix) -> list[PairVariance]:
    """Return the pairs of rankers in a matrix, which must be estimated without variance reduction."""
    first, second = np.triu_indices(len(matrix), 1)
    n, error = matrix.comparisons[first, second], 2 * matrix.standard_error[first, second]
    mean, one = 2 * matrix.p[first, second] - 1, np.ones(len(first))
    columns = shrunk(mean, error), np.minimum(error**2 * (n - 1) + mean**2, 1.0), one, one, one * len(first)
    between = np.full(len(first), matrix.tally is not None and matrix.wins is None)
    names = [(matrix.names[a], matrix.names[b]) for a, b in zip(first, second, strict=True)]
    return _largest_first(names, *columns, between, usable=(n >= 2) & (error > 0) & np.isfinite(error))


def _largest_first(names: Sequence[tuple[str, str]], *columns: Any, usable: Any) -> list[PairVariance]:
    fields = ([*names[k], *(column[k].item() for column in columns)] for k in np.flatnonzero(usable).tolist())
    pairs = list(map(PairVariance._make, fields))
    if not pairs:
        raise InputError("no pair ever had a winner, or one user had all impressions: other data are needed")
    return sorted(pairs, key=lambda pair: -abs(pair.effect))
