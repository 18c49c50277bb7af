"""Looks (interim analyses) that are planned before the experiment; they require less evidence than unlimited looks.

At each look, S is the sum of a pair's outcomes so far. The boundaries follow from the clustered covariance of S between
the looks so far: each cluster's residuals at two looks are multiplied, and the products of all clusters are added. The
error spent by a look depends only on the elapsed part of the planned days, so the boundary of a past look never
changes. A look is computed once the log reaches the day of the look, from the data before that day. The result
therefore does not depend on when, or how often, the log is read. Intervals at the boundaries hold simultaneously at all
looks (Jennison, Turnbull. Interim analyses: the repeated confidence interval approach. JRSS B 1989).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from ltr_duel.core import FloatMatrix, InputError, errors, statistics
from ltr_duel.logs.clusters import Means, cautious_means
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.looks import days_to_a_whole_week
from ltr_duel.logs.outcomes import UNIT, credited
from ltr_duel.logs.sums import own_line, sorted_columns

_KEYS = {"user": "user", "query": "query", "impression": "line"}


class NamedLook(NamedTuple):
    """The result of a look at a pair."""

    first: str
    second: str
    day: float
    impressions: int  # impressions of the pair
    mean: float  # mean outcome of the impressions before the look
    low: float  # interval that holds simultaneously at all looks
    high: float
    deviations: float  # mean in standard deviations, derived from the p-value, with the sign of the mean
    boundary: float  # the pair is decided if ``deviations`` is at least this far from 0
    winner: str  # winner by this look alone; "" if none


def look_at_days(
    log: ClickLog,
    days: Sequence[float],
    confidence: float = 0.95,
    *,
    cluster: str = "user",
    rankers: Collection[str] = (),
    any_time: bool = False,
) -> list[NamedLook]:
    """Return the results of planned looks at each pair, up to the end of the log, ordered by pair, then by look."""
    errors.require_between("the confidence", confidence, 1e-9, 1 - 1e-9)
    if cluster not in _KEYS:
        raise InputError(f"planned looks are clustered by user, query or impression, not '{cluster}'")
    require_days(days, any_time=any_time)
    found = credited(log, rankers)
    first, last = (
        log.engine.run(found.rows.aggregate(a=found.rows.time.min(), b=found.rows.time.max())).to_pylist()[0].values()
    )
    been = looks_made(days, (last - first) / 86_400)
    if not been:
        return []
    classes = sorted_columns(
        log.engine.run(_classes(found.outcomes, [first + d * 86_400 for d in been], _KEYS[cluster]))
    )
    names = found.creditor.names
    tests = len(names) * (len(names) - 1) // 2
    spent = statistics.spent_error(np.array(been) / days[-1], (1 - confidence) / tests)
    looks = []
    for pair, rankers_of in enumerate(found.creditor.named_pairs):
        own = {name: values[classes["pair"] == pair] for name, values in classes.items()}
        looks += looks_at_pair(own, rankers_of, been, spent)
    return looks


def looks_made(days: Sequence[float], reached: float) -> list[float]:
    """Return the days of looks that a log has reached; a look before its day would use incomplete data."""
    return [day for day in days if day <= reached]


def require_days(days: Sequence[float], *, any_time: bool) -> None:
    """Raise `InputError` unless days increase and, from two weeks on, are within a day of the end of a week."""
    if not days or not days[0] > 0 or not np.all(np.diff(days) > 0):
        raise InputError(f"days of looks must be above 0 and increasing, not '{', '.join(f'{d:g}' for d in days)}'")
    within = [day for day in days if not any_time and days_to_a_whole_week(day)]
    if within:
        week = within[0] // 7 * 7
        raise InputError(
            f"from two weeks on, looks must be at whole weeks, and day {within[0]:g} is not: choose day {week:g} or"
            f" {week + 7:g}, or give --any-time"
        )


def _classes(outcomes: Any, ends: list[float], key: str) -> Any:
    """Return the expression that groups each pair's clusters and counts the clusters of a group.

    The clusters of a group have the same number and the same sum of outcomes at each look.
    """
    t = outcomes.filter(outcomes.time < ends[-1])
    sums: dict[str, Any] = {}
    for k, end in enumerate(ends):
        until = t.time < end
        sums |= {
            f"n{k}": t.count(where=until),
            f"total{k}": t.y.sum(where=until),
            f"square{k}": t.square.sum(where=until),
        }
    each = t.group_by("pair", key, **own_line(t, [key]))
    each = each.agg(**{name: sum_.coalesce(0).cast("int64") for name, sum_ in sums.items()})
    same = [name for name in sums if not name.startswith("square")]
    squares = {name: each[name].sum().cast("int64") for name in sums if name.startswith("square")}
    return each.group_by("pair", *same).agg(clusters=each.count(), **squares)


def looks_at_pair(classes: dict[str, Any], names: tuple[str, str], days: list[float], spent: Any) -> list[NamedLook]:
    """Return the looks at one pair."""
    number, looks = classes["clusters"], range(len(days))
    count, total = (np.stack([classes[f"{name}{k}"] for k in looks]) for name in ("n", "total"))
    square = np.array([classes[f"square{k}"].sum() / UNIT for k in looks])
    seen = [_alike(n, y, number) for n, y in zip(count, total, strict=True)]
    means = Means.joined(cautious_means(n, y, square[k : k + 1], times) for k, (n, y, times) in enumerate(seen))
    n, sums = count @ number, total @ number / UNIT
    signs = np.array([statistics.sign_flip_p(y[0], times) for _, y, times in seen])
    deviations = -special.ndtri(np.maximum(statistics.student_p(*means), signs) / 2)
    bounds = statistics.look_boundaries(_covariance(count, total / UNIT, number), spent)
    freedom = np.where(means.freedom > 0, means.freedom, 1.0)
    reach = -statistics.student_quantile(special.ndtr(-bounds), freedom) * means.error
    low, high = (np.where(np.isfinite(reach), means.mean + side * reach, side) for side in (-1, 1))
    columns = (
        n,
        sums / np.maximum(n, 1),
        np.maximum(low, -1),
        np.minimum(high, 1),
        np.copysign(deviations, sums),
        bounds,
    )
    winners = np.where(deviations >= bounds, np.where(sums > 0, *names), "")
    rows = zip(days, *(column.tolist() for column in columns), winners.tolist(), strict=True)
    return [NamedLook(*names, *row) for row in rows]


def _alike(n: Any, total: Any, number: Any) -> tuple[FloatMatrix, FloatMatrix, Any]:
    """Group the clusters with the same number and sum of outcomes up to a look.

    Return for each group the number and the sum of outcomes per cluster, and the number of clusters.
    """
    different, of = np.unique([n, total], axis=1, return_inverse=True)
    return different[:1].astype(np.float64), different[1:] / UNIT, np.bincount(of.ravel(), number).astype(np.int64)


def _covariance(count: Any, total: FloatMatrix, number: Any) -> FloatMatrix:
    """Return the covariance of the sums at all looks.

    If all residuals of a look are 0, the outcomes are treated as independent.
    """
    n = (count @ number)[:, None]
    residual = total - count * ((total @ number)[:, None] / np.maximum(n, 1))
    covariance = residual * number @ residual.T
    return covariance if np.diag(covariance).min() > 0 else np.minimum(n, n.T) + 1.0
