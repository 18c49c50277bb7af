"""Comparison of two rankers that were never shown together, by importance weights on the lists of other rankers.

Probabilistic interleaving can show every list, each with a known probability, and the user's clicks depend only on the
list. An impression of the rankers r therefore counts as an impression of the target rankers t with the weight
P(list | t) / P(list | r). Its outcome is the credit that its clicks would give if the list had been sampled for t.

Hofmann, Schuth, Whiteson, de Rijke. Reusing Historical Interaction Data for Faster Online Learning to Rank for IR. WSDM
2013.

The estimand is the mean outcome of t over the impressions of the log whose query has both rankings, so each query
counts as often as in the log. Some lists of t are out of reach: the log lacks these lists, or shows them too rarely.
The outcomes of these lists may be anything from -1 to 1, so the interval is widened on each side by the share of these
lists. If this share is above a tenth, the estimate is refused. The mean weight must equal its expectation from the
known probabilities (`ltr_duel.logs.mixtures`); otherwise the lists were not sampled by the method that the log names.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import special

from ltr_duel.clicks import FORMS
from ltr_duel.core import FloatMatrix, FloatVector, InputError, errors, stream
from ltr_duel.logs.clusters import Means, clustered_means, reach
from ltr_duel.logs.designs import Design, rows_of
from ltr_duel.logs.doubly_robust import Residuals, Rows, joined, residuals
from ltr_duel.logs.hashing import HashVector
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.mixtures import Reach, reach_of

_GROUPS = 4096  # clusters, see `ltr_duel.logs.clusters`
FEWEST = 100.0  # minimum effective sample size, in impressions
FEWEST_USERS = 20.0  # minimum effective number of users; with fewer users, intervals are too narrow
MISSING = 0.1  # maximum share of the target lists out of reach
FARTHEST = 3.0  # maximum difference of the mean weight from its expectation, in standard errors


class WeightedOutcome(NamedTuple):
    """Estimate of the outcome of two rankers by importance weights."""

    first: str
    second: str
    impressions: int  # impressions in the estimate; for their queries, the log has rankings by both rankers
    log_impressions: int
    queries: int  # queries of the impressions in the estimate
    log_queries: int
    effective: float  # effective sample size (sum w)^2 / sum w^2, in expectation
    weight: float  # mean weight of the lists within reach
    expected_weight: float  # expectation of ``weight``: the share of the target lists within reach
    weight_error: float  # standard error of the mean weight
    mean: float  # mean outcome, from -1 to 1; lists out of reach count with the mean of the others, or as predicted
    error: float  # standard error of the mean
    low: float  # interval of the mean outcome of all lists
    high: float
    click_model: str  # click model of a doubly robust estimate; "" for weights alone
    refused: str  # reason why the estimate is not valid; "" if it is
    confidence: float = 0.95  # confidence of the interval
    caution: str = ""  # caution about the outcome rule


def weigh_outcomes(
    log: ClickLog, first: str, second: str, *, confidence: float = 0.95, click_model: str = "", seed: int = 0
) -> WeightedOutcome:
    """Estimate the outcome of two rankers from probabilistic interleaving of other rankers.

    The log is read three times: for the rankings of all rankers, which may be in any row of the same query; for the
    sets of rankers that were interleaved for each query; and for the outcomes.

    Parameters
    ----------
    log : ClickLog
        Log of the method ``probabilistic``, with the columns ``rankers`` and ``rankings``, or with page tokens.
    first, second : str
        Names of rankers in the log.
    confidence : float
        Confidence of the interval.
    click_model : str
        For a doubly robust estimate, the click model (see `fit_clicks`) that is fitted to the log by document; all rows
        are then kept in memory. Empty for an estimate by weights alone.
    seed : int
        Seed of the samples: lists, which show what part of the two rankers' lists is within reach; and clicks of the
        click model.

    Returns
    -------
    WeightedOutcome
        ``refused`` contains a reason if a policy chose the rankers by earlier outcomes, lists repeat more often than
        independent draws, the effective sample size is below 100 impressions or 20 users, more than a tenth of the
        target lists is out of reach, or the mean weight is more than three standard errors from its expectation.

    Raises
    ------
    InputError
        If the rankers are not in the log, the log has a different method, or more lines are bad than may be skipped.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ltr_duel.data import make_corpus
    >>> from ltr_duel.logs import simulate_log
    >>> from ltr_duel.rankers import feature_rankers
    >>> rankings = feature_rankers(make_corpus(queries=20, documents=5, features=3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "clicks.parquet"
    ...     _ = simulate_log(path, rankings, pairs="probabilistic:tau=0.5", horizon=2000)
    ...     found = weigh_outcomes(ClickLog(path), "1", "3")
    >>> found.refused, found.impressions == found.log_impressions, found.effective < found.impressions
    ('', True, True)
    """
    errors.require_between("the confidence", confidence, 1e-9, 1 - 1e-9)
    if click_model:
        errors.require_one_of("click model to fit", click_model, FORMS)
    if first == second:
        raise InputError("give two different rankers")
    names = (first, second)
    design = Design(log, names)
    quantile = float(special.ndtri((1 + confidence) / 2))
    within = reach_of(design.mixtures, design.state, quantile, stream(seed, "logs", "weigh"))
    total, parts = Totals(), list[Rows]()
    for used in design.rows():
        weights, y = design.weighed(used)
        weights[weights > within.cap] = 0.0
        total.add(used.users, weights, y)
        if click_model:
            parts.append(rows_of(used, weights, y))
    rows = design.mixtures.rows
    n = rows.sum()
    expected = float(rows @ within.covered / n)
    effective = float((rows @ within.covered) ** 2 / (rows @ within.square)) if expected > 0 else 0.0
    weight_error = math.sqrt(rows @ (within.square - within.covered**2)) / n
    estimate = total.estimate(expected, effective, confidence)
    if click_model and total.weight > 0:
        credit, rng = design.credit, stream(seed, "logs", "weigh", "clicks")
        together = joined(parts)
        found = residuals(together, design.mixtures, within, click_model, credit, rng)
        estimate = robust_estimate(together.users, found, effective / expected**2, confidence)
    mean, near, error, half = estimate
    return WeightedOutcome(
        first,
        second,
        int(n),
        design.log_rows,
        len(design.mixtures.lists.query_ptr) - 1,
        design.log_queries,
        effective,
        total.weight / n,
        expected,
        weight_error,
        mean,
        error,
        max(near - half - within.missing, -1.0),
        min(near + half + within.missing, 1.0),
        click_model,
        _chosen(design.policies)
        or design.repeats.refusal()
        or _refusal(effective, n, within, total.weight / n - expected, weight_error, total.users),
        confidence,
        design.method.caution(design.rule),
    )


class Estimate(NamedTuple):
    """The estimate for all lists (``mean``), and its part from lists within reach (``near`` ± ``half``)."""

    mean: float
    near: float
    error: float
    half: float


def _by_group(users: HashVector, values: FloatVector) -> FloatMatrix:
    """Return the sums of values by groups of users, shape (1, groups)."""
    groups = (users & np.uint64(_GROUPS - 1)).astype(np.int64)
    return np.asarray(np.bincount(groups, values, _GROUPS)[None], np.float64)


class Totals:
    """Sums of weights and weighted outcomes, by groups of users."""

    def __init__(self) -> None:
        self._count, self._total = np.zeros((1, _GROUPS)), np.zeros((1, _GROUPS))
        self._square = 0.0  # sum of w y^2

    @property
    def weight(self) -> float:
        """The sum of the weights."""
        return float(self._count.sum())

    @property
    def users(self) -> float:
        """The effective number of users: (sum W)^2 / sum W^2, where W is the total weight of a user."""
        return float(self._count.sum() ** 2 / max((self._count**2).sum(), 1e-300))

    def add(self, users: HashVector, weights: FloatVector, y: FloatVector) -> None:
        """Add rows."""
        self._count += _by_group(users, weights)
        self._total += _by_group(users, weights * y)
        self._square += float(weights @ (y * y))

    def estimate(self, expected: float, effective: float, confidence: float) -> Estimate:
        """Return the weighted mean, and for ``near`` the same mean multiplied by the share of lists within reach."""
        if not self.weight > 0:
            return Estimate(0.0, 0.0, math.inf, math.inf)
        means = clustered_means(self._count, self._total)
        mean = float(means.mean[0])
        error, half = _error_and_reach(means, self._square / self.weight - mean**2, effective, confidence)
        return Estimate(mean, mean * expected, error * expected, half * expected)


def _error_and_reach(means: Means, scatter: float, effective: float, confidence: float) -> tuple[float, float]:
    """Return the error and half the interval; both are at least those of ``effective`` independent impressions."""
    floor = math.sqrt((max(scatter, 0.0) * effective + 2) / (effective + 2) / effective)
    half = max(float(reach(means, confidence)[0]), float(special.ndtri((1 + confidence) / 2)) * floor)
    return max(float(means.error[0]), floor), half


def robust_estimate(users: HashVector, found: Residuals, effective: float, confidence: float) -> Estimate:
    """Return the doubly robust estimate; ``effective`` is n^2 over the expected sum of squared weights."""
    means = clustered_means(_by_group(users, np.ones(len(users))), _by_group(users, found.value))
    near = float(means.mean[0])
    return Estimate(near + found.beyond, near, *_error_and_reach(means, found.scatter, effective, confidence))


def _chosen(policies: list[str]) -> str:
    """Return a sentence if policies chose the rankers by outcomes, else ""."""
    names = " and ".join(f"'{name}'" for name in policies)
    why = "chose the rankers of this log by earlier outcomes, and the weights assume that they were chosen beforehand"
    return f"{names} {why}" if names else ""


def _refusal(effective: float, n: float, within: Reach, away: float, error: float, users: float) -> str:
    """Return the reason why the estimate is not valid, or ""."""
    if abs(away) > FARTHEST * error + 1e-9:
        return (
            f"the mean weight is {abs(away) / max(error, 1e-12):.1f} standard errors from its expectation:"
            " the lists were not sampled by the method that the log names"
        )
    if within.missing > MISSING:
        return (
            f"{within.missing:.0%} of the two rankers' lists are missing from the log or too rare in it"
            f" (limit: {MISSING:.0%}), and the rest of the log gives no information on them"
        )
    if effective < FEWEST:
        return f"by their weights, {n:,.0f} impressions are worth {effective:.1f}; at least {FEWEST:.0f} are needed"
    if users < FEWEST_USERS:
        return f"the impressions are worth {users:.1f} users of equal weight; at least {FEWEST_USERS:.0f} are needed"
    return ""


def weighted_lines(found: WeightedOutcome) -> list[str]:
    """Return the estimate as lines of text."""
    lines = [
        f"{found.first} against {found.second}, over the {found.queries:,} of {found.log_queries:,} queries"
        f" ({found.impressions:,} of {found.log_impressions:,} impressions) for which the log has the rankings of both",
        f"worth {found.effective:,.1f} impressions; mean weight {found.weight:.3f} ± {found.weight_error:.3f},"
        f" expected {found.expected_weight:.3f} (1 if all lists were within reach)",
    ]
    if found.refused:
        return [*lines, f"refused: {found.refused}"]
    sign = 1 if found.mean >= 0 else -1
    ahead, behind = (found.first, found.second)[::sign]
    low, high = sorted((sign * found.low, sign * found.high))
    how = f" (doubly robust, with {found.click_model})" if found.click_model else ""
    says = f"{ahead} is ahead" if low > 0 else "not clear which is ahead"
    return [
        *lines,
        *([f"note: {found.caution}"] if found.caution else []),
        f"{ahead} > {behind}: mean outcome {sign * found.mean:+z.4f}{how}, interval of {100 * found.confidence:g}%"
        f" {low:+z.4f} to {high:+z.4f}: {says}",
    ]
