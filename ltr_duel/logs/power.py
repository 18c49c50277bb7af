"""Sample sizes: the numbers of impressions needed by a test at the end, and by a test with any number of looks.

Sample sizes depend on two moments of an outcome y in [-1, 1]: the mean (the effect) and the mean square (approximately
the share of impressions without a tie). The moments are estimated from a log, or from comparisons on simulated users
(see `spread`). All sample sizes are impressions of the whole log: with K rankers, each pair receives only part of the
impressions, and the error probability is divided among all pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import special, stats

from ltr_duel.core import FloatVector, InputError, errors, statistics, stream
from ltr_duel.logs.bets import Bets
from ltr_duel.logs.clusters import naive_means
from ltr_duel.logs.returning_users import Looking, Returning, clustered_times, impressions_needed, stopping_times
from ltr_duel.logs.sequential import TUNED_AT
from ltr_duel.logs.spread import Spread

_NORMAL = 1500.0  # above this number of impressions, both p-values of `found_by` are close to that of a normal test
_CLEAREST = 5.0  # maximum effect in standard deviations
_LONGEST = 64.0  # multiple of the fixed test's impressions at which a simulated sequence is abandoned


class ImpressionPlan(NamedTuple):
    """Impressions of the whole log, over all pairs, that are needed to detect one effect of one pair."""

    effect: float
    fixed: float  # number of impressions for a test at the end
    sequential_mean: float  # mean number of impressions until the sequential test stops
    sequential_power: float  # number of impressions within which the sequential test stops with the requested power
    by_factors: float = math.nan  # fixed test by the normal approximation, with unlimited users


def plan_impressions(
    spread: Spread,
    effects: Sequence[float] = (),
    *,
    power: float = 0.8,
    confidence: float = 0.95,
    tests: int = 1,
    every: float = 0.0,
    tuned_at: float = TUNED_AT,
    draws: int = 4000,
    seed: int = 0,
) -> list[ImpressionPlan]:
    """Return the numbers of impressions needed to detect effects of given sizes.

    The fixed test is the test of `compare_log`; the sequential test is the test of `stopping_decisions`, simulated.
    Independently for each impression, there is a fixed probability that it compares the pair. Users are assumed to
    return as often as in the log so far.

    Parameters
    ----------
    spread : Spread
    effects : sequence of float
        Mean outcomes, above 0 and at most ``spread.largest``; by default the effect of ``spread``.
    power : float
        Probability of detecting the effect, above 0 and below 1.
    confidence : float
        One minus the probability of an error if there is no effect.
    tests : int
        Number of pairs among which the error probability is divided, K (K - 1) / 2 (Bonferroni; Holm's correction in
        `compare_log` never needs more impressions).
    every : float
        Impressions of the log between two looks of the sequential test; 0 for a look after each impression.
    tuned_at : float
        See `confidence_sequence`.
    draws : int
        Number of simulated sequences.
    seed : int

    Returns
    -------
    list of ImpressionPlan
        One plan for each effect.

    Raises
    ------
    InputError
        For numbers out of range, or an effect that is impossible for outcomes with this spread.

    Examples
    --------
    >>> (plan,) = plan_impressions(Spread("old", "new", 0.1, 0.5), power=0.8)
    >>> round(plan.fixed), plan.sequential_mean < plan.sequential_power
    (408, True)
    """
    errors.require_between("the power", power, 1e-6, 1 - 1e-6)
    errors.require_between("the confidence", confidence, 1e-9, 1 - 1e-9)
    plans = []
    for effect in effects or (abs(spread.effect),):
        errors.require_between("the effect (a mean outcome)", effect, 1e-6, 1)
        if spread.square > 1:
            raise InputError(f"outcomes of mean square {spread.square:.3g} are not within -1 to 1")
        if effect > max(spread.largest, abs(spread.effect)):
            why = "which is the largest mean outcome, reached if every impression except ties is won"
            if spread.between:
                why = f"whose root, {spread.largest:.4g}, is the largest mean outcome, reached if all credit is equal"
            raise InputError(
                f"an effect of {effect:.4g} is impossible: outcomes of {spread.first} against {spread.second} have a"
                f" mean square of {spread.square:.4g}, {why}"
            )
        square = _square(spread, effect)
        alpha, rng = (1 - confidence) / tests, stream(seed, "logs", "power", str(effect))
        fixed = _fixed(spread, effect, power, alpha, rng)
        if spread.returning:
            users = Returning.of(spread, effect, square)
            looking = Looking(every / spread.each, (_LONGEST * fixed + every) / spread.each, draws)
            times, right = clustered_times(users, alpha, tuned_at, looking, rng)
            times *= spread.each
        else:
            bets, looking = Bets.tuned(tuned_at, alpha / 2), Looking(every, _LONGEST * fixed + every, draws)
            times, right = stopping_times(effect, square, bets, alpha / 2, looking, rng, 1 / spread.each)
        late = float(np.sort(np.where(right, times, np.inf))[int(np.ceil(power * draws)) - 1])
        reach = special.ndtri(1 - alpha / 2) + special.ndtri(power)
        by_factors = (reach / effect) ** 2 * (square - effect**2) * spread.design * spread.each
        plans.append(ImpressionPlan(effect, fixed, float(times.mean()), late, float(by_factors)))
    return plans


def _square(spread: Spread, effect: float) -> float:
    return max(spread.square, effect, abs(spread.effect))  # a mean of fractional outcomes may exceed their mean square


def _fixed(spread: Spread, effect: float, power: float, alpha: float, rng: np.random.Generator) -> float:
    """Return the number of impressions of the log that the fixed test needs."""
    square = _square(spread, effect)
    if not spread.returning:
        return fixed_test(effect, square, power, alpha, 1 / spread.each)
    return spread.each * impressions_needed(Returning.of(spread, effect, square), power, alpha, rng)


def smallest_effects(
    spread: Spread,
    impressions: float,
    *,
    power: float = 0.8,
    confidence: float = 0.95,
    tests: int = 1,
    every: float = 0.0,
    seed: int = 0,
) -> tuple[float, float]:
    """Return the smallest effects that the fixed and the sequential test detect with these impressions of the log."""
    errors.require_between("the number of impressions", impressions, 1)
    settings = {"power": power, "confidence": confidence, "tests": tests, "every": every, "seed": seed, "draws": 1000}

    def fixed(effect: float) -> float:
        rng = stream(seed, "logs", "power", str(effect))
        return _fixed(spread, effect, power, (1 - confidence) / tests, rng)

    def sequential(effect: float) -> float:
        return plan_impressions(spread, [effect], **settings)[0].sequential_power  # type: ignore[arg-type]  # each value has the type of its parameter

    largest = max(spread.largest, abs(spread.effect))
    return _smallest(fixed, largest, impressions), _smallest(sequential, largest, impressions)


def least_effect(spread: Spread, impressions: int, *, power: float, confidence: float, tests: int) -> float:
    """Return the smallest effect that further impressions of the same clusters can detect; 0 if there is no limit.

    If the outcomes within each of N clusters have the correlation rho, the variance of a mean is at least rho / N times
    the variance of an outcome.
    """
    if not spread.returning or spread.visits <= 1:
        return 0.0
    clusters = impressions / spread.each / spread.visits
    floor = max(spread.correlation, 0.0) * max(spread.square - spread.effect**2, 0.0) / clusters
    reach = special.ndtri(1 - (1 - confidence) / tests / 2) + special.ndtri(power)
    return float(reach * floor**0.5)


def _smallest(needed: Callable[[float], float], largest: float, impressions: float) -> float:
    """Return the smallest effect that needs at most `impressions`, to within 1%; infinity if no effect does."""
    low, high = float(np.log(1e-4)), float(np.log(largest))
    if needed(largest) > impressions:
        return float("inf")
    while high - low > 0.01:
        middle = (low + high) / 2
        low, high = (low, middle) if needed(float(np.exp(middle))) <= impressions else (middle, high)
    return float(min(np.exp(high), largest))


def fixed_test(effect: float, square: float, power: float, alpha: float, share: float = 1.0) -> float:
    """Return the impressions that the test of `compare_log` requires; a ``share`` of them compares the pair."""
    ratio = effect / max(square - effect**2, effect**2 / _CLEAREST**2) ** 0.5
    about = ((special.ndtri(1 - alpha / 2) + special.ndtri(power)) / ratio) ** 2
    if about > _NORMAL:
        return float(about / share)
    low, high = 1.0, np.ceil(about / share)
    while found_by(effect, square, high, alpha, share) < power:
        low, high = high, np.ceil(1.2 * high)
    while high - low > max(1.0, high / 300):
        middle = float(np.round((low + high) / 2))
        enough = found_by(effect, square, middle, alpha, share) >= power
        low, high = (low, middle) if enough else (middle, high)
    return float(high)


def found_by(effect: float, square: float, n: float, alpha: float, share: float = 1.0) -> float:
    """Return the power with n impressions: a sum over likely wins and losses, with the mean number of ties."""
    decided = _within(n, square * share)
    wins = np.arange(decided[0] // 2, _within(decided[-1], (1 + effect / square) / 2)[-1] + 1)
    d, w = (one.ravel() for one in np.meshgrid(decided, wins, indexing="ij"))
    d, w = d[w <= d], w[w <= d]
    chance = stats.binom.pmf(d, n, square * share) * stats.binom.pmf(w, d, (1 + effect / square) / 2)
    p = statistics.sign_p(w, d - w, 2 * w - d, d)
    ties = (n - d) * share * (1 - square) / max(1 - square * share, 1e-9)
    means = naive_means(d + ties + 2, (2 * w - d), d + 2.0)
    p = np.maximum(p, statistics.student_p(means.mean, means.error, np.maximum(d + ties - 1, 1e-9)))
    return float(chance[(p < alpha) & (2 * w > d)].sum())


def _within(n: float, chance: float) -> FloatVector:
    """Return the numbers of successes in n trials within 4.5 standard deviations of the mean."""
    reach = 4.5 * (n * chance * (1 - chance)) ** 0.5 + 4
    return np.arange(max(0.0, np.floor(n * chance - reach)), min(n, np.ceil(n * chance + reach)) + 1)


def plans_table(plans: Sequence[ImpressionPlan]) -> pd.DataFrame:
    """Return the plans as a table of formatted strings."""
    return pd.DataFrame(
        [
            {
                "effect": f"{plan.effect:.4g}",
                "fixed test": _amount(plan.fixed),
                "sequential, mean": _amount(plan.sequential_mean),
                "sequential, requested power": _amount(plan.sequential_power),
            }
            for plan in plans
        ]
    )


def _amount(number: float) -> str:
    return f"{np.ceil(number):,.0f}" if np.isfinite(number) else "too many"
