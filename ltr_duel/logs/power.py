"""How many impressions it takes: for a test at the end, and for one that may be looked at all the time.

All that matters of an outcome y in [-1, 1] is its mean, the effect, and the mean of its square, about the share of
impressions that are no ties. Both come from a log, or from comparisons on simulated users.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray
from scipy import optimize, stats

from ltr_duel.analysis import COLOURS, DASHES, legend_beside, prepared_axes
from ltr_duel.core import FloatVector, InputError, errors, stream
from ltr_duel.logs.compare import LogComparison
from ltr_duel.logs.sequential import TUNED_AT, Bets
from ltr_duel.preferences import PreferenceMatrix

_GROWTH = 1.003  # simulated sequences are looked at each time they are so much longer
_NORMAL = 1000.0  # impressions from which on a t-test is that of a normal mean
_LONGEST = 64.0  # times the fixed test, after which a simulated sequence is given up


class Spread(NamedTuple):
    """What a plan must know of the outcomes of a pair.

    Examples
    --------
    >>> Spread("old", "new", effect=-0.1, square=0.5).design
    1.0
    """

    first: str
    second: str
    effect: float  # mean outcome
    square: float  # mean squared outcome
    design: float = 1.0  # variance of the mean, as a multiple of what independent impressions would have
    each: float = 1.0  # impressions for one observation of a sequence


class ImpressionPlan(NamedTuple):
    """Impressions of one pair for one effect.

    Examples
    --------
    >>> "fixed" in ImpressionPlan._fields
    True
    """

    effect: float
    fixed: float  # for a test at the end
    sequential_mean: float  # at which the sequential test stops, in the mean
    sequential_power: float  # by which it has stopped with the power that is asked for


def spread_in_log(found: LogComparison, pair: int = 0) -> Spread:
    """Return what a log says of the outcomes of its pair of that number.

    Parameters
    ----------
    found : LogComparison
    pair : int

    Returns
    -------
    Spread

    Raises
    ------
    InputError
        If the pair never had a winner, or all is one cluster's.

    Examples
    --------
    See `plan_impressions`, which takes what it returns.

    >>> callable(spread_in_log)
    True
    """
    first, second = (found.names[k] for k in found.pairs[pair])
    n, mean = float(found.counts[pair]), float(found.means.mean[pair])
    naive, error = float(found.naive.error[pair]), float(found.means.error[pair])
    if not 0 < naive < np.inf or not np.isfinite(error):
        raise InputError(f"{first} against {second}: too few outcomes, or all alike, to say how much they vary")
    square = naive**2 * (n - 1) + mean**2
    return Spread(first, second, mean, square, (error / naive) ** 2, found.impressions / float(found.sequences.n[pair]))


def spreads_in_matrix(matrix: PreferenceMatrix) -> list[Spread]:
    """Return what estimated preferences say of the outcomes of each pair that was compared.

    Parameters
    ----------
    matrix : PreferenceMatrix
        From `estimate_preferences` with ``variance_reduction="none"``.

    Returns
    -------
    list of Spread

    Examples
    --------
    >>> from ltr_duel.data import make_corpus
    >>> from ltr_duel.preferences import estimate_preferences
    >>> from ltr_duel.rankers import feature_rankers
    >>> rankings = feature_rankers(make_corpus(queries=10, documents=8, features=3))
    >>> plain = estimate_preferences(rankings, method="team_draft", comparisons=100, variance_reduction="none")
    >>> len(spreads_in_matrix(plain))
    3
    """
    found = []
    for i in range(len(matrix)):
        for j in range(i + 1, len(matrix)):
            n, error = float(matrix.comparisons[i, j]), float(matrix.standard_error[i, j])
            if n >= 2 and 0 < error < np.inf:
                mean = 2 * float(matrix.p[i, j]) - 1
                found.append(Spread(matrix.names[i], matrix.names[j], mean, (2 * error) ** 2 * (n - 1) + mean**2))
    return found


def plan_impressions(
    spread: Spread,
    effects: Sequence[float] = (),
    *,
    power: float = 0.8,
    confidence: float = 0.95,
    tests: int = 1,
    tuned_at: float = TUNED_AT,
    draws: int = 4000,
    seed: int = 0,
) -> list[ImpressionPlan]:
    """Say how many impressions it takes to find effects of a given size.

    The fixed test is that of `compare_log`; the sequential one that of `stopping_decisions`, simulated.

    Parameters
    ----------
    spread : Spread
    effects : sequence of float
        Mean outcomes, above 0 and below 1; by default that of ``spread``.
    power : float
        The chance to find the effect, above 0 and below 1.
    confidence : float
        One less the chance of an error where there is no effect.
    tests : int
        Pairs that share this error.
    tuned_at : float
        See `confidence_sequence`.
    draws : int
        Simulated sequences.
    seed : int

    Returns
    -------
    list of ImpressionPlan
        One for each effect.

    Raises
    ------
    InputError
        For numbers out of range, or an effect that outcomes of that spread cannot have.

    Examples
    --------
    >>> (plan,) = plan_impressions(Spread("old", "new", 0.1, 0.5), power=0.8)
    >>> round(plan.fixed), plan.sequential_mean < plan.sequential_power
    (387, True)
    """
    errors.require_between("the power", power, 1e-6, 1 - 1e-6)
    errors.require_between("the confidence", confidence, 1e-9, 1 - 1e-9)
    plans = []
    for effect in effects or (abs(spread.effect),):
        errors.require_between("the effect (a mean outcome)", effect, 1e-6, 1)
        square = max(spread.square, effect)  # an effect needs impressions that somebody wins
        if square > 1:
            raise InputError(f"outcomes of mean square {square:.3g} are none from -1 to 1")
        variance = square - effect**2
        single = fixed_test(effect / variance**0.5, power, (1 - confidence) / tests)
        times, right = stopping_times(effect, square, confidence, tests, tuned_at, draws, seed, _LONGEST * single)
        late = float(np.sort(np.where(right, times, np.inf))[int(np.ceil(power * draws)) - 1])
        plans.append(
            ImpressionPlan(effect, single * spread.design, float(times.mean()) * spread.each, late * spread.each)
        )
    return plans


def fixed_test(ratio: float, power: float, alpha: float) -> float:
    """Return the impressions with which a two-sided t-test finds a mean of ``ratio`` standard deviations."""

    def missed(log_n: float) -> float:
        n = float(np.exp(log_n))
        limit = stats.t.ppf(1 - alpha / 2, n - 1)
        return float(stats.nct.cdf(limit, n - 1, ratio * n**0.5)) - (1 - power)

    about = ((stats.norm.ppf(1 - alpha / 2) + stats.norm.ppf(power)) / ratio) ** 2
    if about > _NORMAL:  # there the two tests are the same
        return float(about)
    return float(np.exp(optimize.brentq(missed, np.log(1.5), np.log(10 * about + 100))))


def stopping_times(
    effect: float, square: float, confidence: float, tests: int, tuned_at: float, draws: int, seed: int, most: float
) -> tuple[FloatVector, NDArray[np.bool_]]:
    """Simulate after how many observations sequences stop, infinity for never, and which name the right ranker.

    An outcome is a win, a tie or a loss, with the mean and the mean square that are given.
    """
    rng = stream(seed, "logs", "power", str(effect))
    chances = np.array([(square + effect) / 2, (square - effect) / 2, 1 - square])
    alpha = (1 - confidence) / (2 * tests)
    bets, level = Bets.tuned(tuned_at, alpha), float(-np.log(alpha))
    least = np.arange(1.0, 20 * level)  # some of these wins in a row are enough
    most = max(most, 4.0 * float(bets.lead_needed(least, level).min()) / effect)
    grid = np.unique(np.round(np.geomspace(1, 2 * most, 2000)))
    bound = np.minimum(bets.lead_needed(grid, level), 2 * grid)  # more than there can be where nothing is enough
    looks = np.unique(np.ceil(_GROWTH ** np.arange(np.ceil(np.log(most) / np.log(_GROWTH)) + 1)).astype(np.int64))
    times, right = np.full(draws, np.inf), np.zeros(draws, np.bool_)
    n, lead, decided = 0.0, np.zeros(draws), np.zeros(draws)
    open_ones = np.arange(draws)
    for look in looks:
        new = rng.multinomial(look - int(n), chances, len(open_ones))
        lead += new[:, 0] - new[:, 1]
        decided += new[:, 0] + new[:, 1]
        n = float(look)
        hit = (decided > 0) & (np.abs(lead) >= np.interp(decided, grid, bound))
        times[open_ones[hit]] = n
        right[open_ones[hit]] = lead[hit] > 0
        open_ones, lead, decided = open_ones[~hit], lead[~hit], decided[~hit]
        if len(open_ones) == 0:
            break
    return times, right


def plans_table(plans: Sequence[ImpressionPlan]) -> pd.DataFrame:
    """Return the plans as a table of texts.

    Parameters
    ----------
    plans : sequence of ImpressionPlan

    Returns
    -------
    pandas.DataFrame

    Examples
    --------
    >>> plans_table([ImpressionPlan(0.1, 385.0, 700.0, 1000.0)])["fixed test"].tolist()
    ['385']
    """
    return pd.DataFrame(
        [
            {
                "effect": f"{plan.effect:.4g}",
                "fixed test": _amount(plan.fixed),
                "sequential, in the mean": _amount(plan.sequential_mean),
                "sequential, with that power": _amount(plan.sequential_power),
            }
            for plan in plans
        ]
    )


def _amount(number: float) -> str:
    return f"{np.ceil(number):,.0f}" if np.isfinite(number) else "too many"


def plot_plans(plans: Sequence[ImpressionPlan], ax: Axes | None = None) -> Axes:
    """Draw impressions against the effect.

    Parameters
    ----------
    plans : sequence of ImpressionPlan
    ax : Axes, optional
        A new one by default.

    Returns
    -------
    Axes

    Examples
    --------
    >>> plot_plans([ImpressionPlan(0.1, 385.0, 700.0, 1000.0), ImpressionPlan(0.2, 90.0, 190.0, 300.0)]).get_xlabel()
    'effect (mean outcome)'
    """
    ax = prepared_axes(ax, 7, 4)
    ordered = sorted(plans)
    effects = [plan.effect for plan in ordered]
    for place, (name, label) in enumerate(
        (
            ("fixed", "fixed test"),
            ("sequential_mean", "sequential test, in the mean"),
            ("sequential_power", "sequential test, with the power"),
        )
    ):
        impressions = [getattr(plan, name) for plan in ordered]
        ax.plot(effects, impressions, color=COLOURS[place], ls=DASHES[place], marker="o", ms=3, label=label)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("effect (mean outcome)")
    ax.set_ylabel("impressions")
    legend_beside(ax)
    return ax
