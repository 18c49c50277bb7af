"""Sample sizes: how many impressions an experiment needs to show that one ranker is ahead of all others.

There are two sample sizes. One is for a single look at the end of the experiment, and the other is for any number of
looks. Both depend on the effect and on the design effect. The effect is the mean outcome of a pair. The design effect
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
    """How many impressions, counted over all pairs, an experiment needs to show that a ranker wins."""

    effect: float  # mean outcome of the ranker against its strongest rival
    fixed: float  # for one look at the end
    sequential: float  # for looks at any time
    few_users: bool = False  # whether there are so few users that the numbers are only lower limits


def required_impressions(
    pair: PairVariance | Sequence[PairVariance],
    effects: Sequence[float] = (),
    *,
    power: float = 0.8,
    confidence: float = 0.95,
    tests: int = 0,
) -> list[SampleSize]:
    """Return how many impressions an experiment needs to show that a ranker is ahead of each of its rivals.

    The numbers are valid if users return as often as before, and if the pairs keep their shares of the impressions.

    Parameters
    ----------
    pair : PairVariance or sequence of PairVariance
        The pair of the ranker and its rival. For several rivals, give a pair for each, the strongest rival first.
    effects : sequence of float
        Mean outcomes of the first pair, above 0 and possible in all pairs. The effects of the other pairs are as given,
        or equal to this effect if it is larger. By default, the effect of the first pair.
    power : float
        The probability, above 0 and below 1, that the ranker is found to be ahead of all of its rivals.
    confidence : float
        One minus the probability that the experiment finds an effect although there is none.
    tests : int
        The number of pairs that are tested. The error probability is divided among them. By default, the number of all
        pairs of the ranker and its rivals.

    Returns
    -------
    list of SampleSize
        One for each effect.

    Raises
    ------
    InputError
        If a number is out of range, or if an effect is above ``largest`` of a pair.

    Examples
    --------
    >>> (size,) = required_impressions(PairVariance("old", "new", 0.1, 0.5), power=0.8)
    >>> round(size.fixed), round(size.sequential)
    (410, 858)
    """
    errors.require_between("the power", power, 1e-6, 1 - 1e-6)
    errors.require_between("the confidence", confidence, 1e-9, 1 - 1e-9)
    pairs = [pair] if isinstance(pair, PairVariance) else list(pair)
    level = (1 - confidence) / (tests or len(pairs) * (len(pairs) + 1) // 2)
    for one in pairs:
        if one.square > 1:
            raise InputError(f"outcomes of mean square {one.square:.3g} are not within -1 to 1")
    sizes = []
    for effect in effects or (abs(pairs[0].effect),):
        errors.require_between("the effect (a mean outcome)", effect, 1e-6, 1)
        for one in pairs:
            if effect > one.largest * (1 + 1e-12):
                raise InputError(
                    f"an effect of {effect:.4g} is impossible: the largest mean outcome of {one.first} against"
                    f" {one.second} is {one.largest:.4g}, because their mean square is {one.square:.4g}"
                )
        gaps = [pairs[0]._replace(effect=effect), *(one._replace(effect=max(effect, one.effect)) for one in pairs[1:])]
        fixed, sequential = (_impressions(gaps, power, level, always=k > 0) for k in (0, 1))
        few = any(fixed / one.each < FEWEST * one.size for one in pairs)
        sizes.append(SampleSize(effect, fixed, sequential, few))
    return sizes


def _impressions(pairs: Sequence[PairVariance], power: float, level: float, *, always: bool) -> float:
    def missing(log_n: float) -> float:  # the misses of all pairs together may be at most 1 - power (union bound)
        beyond = [_power_beyond(one, math.exp(log_n) / one.each, level, always=always) for one in pairs]
        return 1 - power - float(special.ndtr(-np.array(beyond)).sum())

    low, high = math.log(2 * max(one.size * one.each for one in pairs)), math.log(1e14)
    if missing(high) < 0:
        return math.inf
    return math.exp(low if missing(low) >= 0 else optimize.brentq(missing, low, high, rtol=1e-10))


def _power_beyond(pair: PairVariance, n: float, level: float, *, always: bool) -> float:
    effect = pair.effect
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
    """Return the pairs of the best ranker in a log. The pair with its strongest rival comes first."""
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
    usable = (square > 0) & (means.freedom > 0)
    return _of_best(len(comparison.names), comparison.named_pairs, *columns, between, usable=usable)


def pairs_in_matrix(matrix: PreferenceMatrix) -> list[PairVariance]:
    """Return the pairs of the best ranker in a matrix, which must be estimated without variance reduction."""
    first, second = np.triu_indices(len(matrix), 1)
    n, error = matrix.comparisons[first, second], 2 * matrix.standard_error[first, second]
    mean, one = 2 * matrix.p[first, second] - 1, np.ones(len(first))
    columns = shrunk(mean, error), np.minimum(error**2 * (n - 1) + mean**2, 1.0), one, one, one * len(first)
    between = np.full(len(first), matrix.tally is not None and matrix.wins is None)
    names = [(matrix.names[a], matrix.names[b]) for a, b in zip(first, second, strict=True)]
    return _of_best(len(matrix), names, *columns, between, usable=(n >= 2) & (error > 0) & np.isfinite(error))


def _of_best(rankers: int, names: Sequence[tuple[str, str]], *columns: Any, usable: Any) -> list[PairVariance]:
    # the best ranker is the one that is farthest ahead of its strongest rival, or least behind
    own: dict[str, list[PairVariance]] = {}
    for k in np.flatnonzero(usable).tolist():
        one = PairVariance(*names[k], *(column[k].item() for column in columns))
        other = one._replace(first=one.second, second=one.first, effect=-one.effect)
        for each in (one, other):
            own.setdefault(each.first, []).append(each)
    complete = [sorted(pairs, key=lambda one: one.effect) for pairs in own.values() if len(pairs) == rankers - 1]
    best = max(complete, key=lambda pairs: pairs[0].effect, default=[])
    if not best or (len(complete) < rankers and best[0].effect <= 0):  # a ranker without some pair may be the best
        reason = "no ranker has a pair with each other ranker that ever had a winner, or one user had all impressions"
        raise InputError(f"{reason}: other data are needed")
    return best
