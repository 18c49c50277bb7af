"""Looks that a team named before the experiment: fewer than any time, so each needs less evidence.

At a look after so many days, S is the sum of a pair's outcomes until then. The boundaries follow from the covariance of
S between the looks that have been, by clusters: sums over clusters of products of their residuals. Error is spent by
the part of the planned days that is over, so a look that has been keeps its boundary whatever comes later. A look is
made once the log reaches its day, on what came before; so it says the same whenever, and however often, it is asked.
Intervals at the boundaries hold at all looks together (Jennison, Turnbull. Interim analyses: the repeated confidence
interval approach. JRSS B 1989).
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
from ltr_duel.logs.sums import sorted_columns

_KEYS = {"user": "user", "query": "query", "impression": "line"}


class NamedLook(NamedTuple):
    """What a look says of a pair."""

    first: str
    second: str
    day: float
    impressions: int  # of the pair
    mean: float  # mean outcome of the impressions until then
    low: float  # interval that holds at all looks
    high: float
    deviations: float  # of the mean from 0, by p of the look; with the sign of the mean
    boundary: float  # from which on, in either direction, there is a winner
    winner: str  # by this look alone; empty for none


def look_at_days(
    log: ClickLog,
    days: Sequence[float],
    confidence: float = 0.95,
    *,
    cluster: str = "user",
    rankers: Collection[str] = (),
    any_time: bool = False,
) -> list[NamedLook]:
    r"""Say of each pair what was known at looks that were named beforehand, as far as the log reaches.

    log: Of rankers that were not chosen by outcomes.
    days: Days from the first impression to each look, increasing; the last one ends the experiment. They were chosen
    before the data were seen.
    confidence: Above 0 and below 1: the chance that none of the decisions on any pair, at any look, is wrong.
    cluster: {"user", "query", "impression"}; what outcomes may go together by.
    rankers: The only legal ones, or none for any. All their pairs share the error.
    any_time: Whether days from two weeks on may be within a week.

    They come by pair, and by look.

    Raises `InputError` for days that do not increase or are within a week, another cluster, numbers out of range, and
    as `compare_log`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> row = '{"impression": %d, "time": %d, "query": "q", "user": %d, "shown": ["a", "b"], "clicks": [2],'
    >>> row += ' "rankers": ["old", "new"], "owners": ["old", "new"]}'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "clicks.jsonl"
    ...     _ = path.write_text("\n".join(row % (k, k * 8640, k) for k in range(150)))
    ...     looks = look_at_days(ClickLog(path), [7, 14, 21])
    >>> [(look.day, look.winner, round(look.boundary, 2)) for look in looks]
    [(7, 'new', 3.71), (14, 'new', 2.51)]
    """
    errors.require_between("the confidence", confidence, 1e-9, 1 - 1e-9)
    if cluster not in _KEYS:
        raise InputError(f"named looks are clustered by user, query or impression, not '{cluster}'")
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
    for pair, (i, j) in enumerate(found.creditor.pairs):
        own = {name: values[classes["pair"] == pair] for name, values in classes.items()}
        looks += looks_at_pair(own, (names[i], names[j]), been, spent)
    return looks


def looks_made(days: Sequence[float], reached: float) -> list[float]:
    """Return the days of the looks that a log which reaches so many days has made.

    None is early: with what is known a little before its day a look would be taken again and again.
    """
    return [day for day in days if day <= reached]


def require_days(days: Sequence[float], *, any_time: bool) -> None:
    """Refuse days that cannot be those of looks.

    From two weeks on a look is at the end of a week, within a day. A log may go on within a week, as only what came
    until a look counts for it. So no decision of looks waits.
    """
    if not days or not days[0] > 0 or not np.all(np.diff(days) > 0):
        raise InputError(f"days of looks are above 0 and increase, which {', '.join(f'{d:g}' for d in days)} do not")
    within = [day for day in days if not any_time and days_to_a_whole_week(day)]
    if within:
        week = within[0] // 7 * 7
        raise InputError(
            f"from two weeks on looks are at whole weeks, and day {within[0]:g} is not: name day {week:g} or"
            f" {week + 7:g}, or give --any-time"
        )


def _classes(outcomes: Any, ends: list[float], key: str) -> Any:
    """Return the expression that counts a pair's clusters with the same numbers and sums of outcomes at all looks."""
    t = outcomes.filter(outcomes.time < ends[-1])
    sums: dict[str, Any] = {}
    for k, end in enumerate(ends):
        until = t.time < end
        sums |= {
            f"n{k}": t.count(where=until),
            f"total{k}": t.y.sum(where=until),
            f"square{k}": t.square.sum(where=until),
        }
    own = {"own": t.user.isnull().ifelse(t.line, -1)} if key == "user" else {}
    each = t.group_by("pair", key, **own).agg(**{name: sum_.coalesce(0).cast("int64") for name, sum_ in sums.items()})
    same = [name for name in sums if not name.startswith("square")]
    squares = {name: each[name].sum().cast("int64") for name in sums if name.startswith("square")}
    return each.group_by("pair", *same).agg(clusters=each.count(), **squares)


def looks_at_pair(classes: dict[str, Any], names: tuple[str, str], days: list[float], spent: Any) -> list[NamedLook]:
    """Return the looks at one pair."""
    number, looks = classes["clusters"], range(len(days))
    count, total = (np.stack([classes[f"{name}{k}"] for k in looks]) for name in ("n", "total"))
    square = np.array([classes[f"square{k}"].sum() / UNIT for k in looks])
    seen = [_alike(n, y, number) for n, y in zip(count, total, strict=True)]
    each = [cautious_means(n, y, square[k : k + 1], times) for k, (n, y, times) in enumerate(seen)]
    means = Means(*(np.concatenate(parts) for parts in zip(*each, strict=True)))
    n, sums = count @ number, total @ number / UNIT
    signs = np.array([statistics.sign_flip_p(y[0], times) for _, y, times in seen])
    deviations = -special.ndtri(np.maximum(statistics.student_p(*means), signs) / 2)
    bounds = statistics.look_boundaries(_covariance(count, total / UNIT, number), spent)
    freedom = np.where(means.freedom > 0, means.freedom, 1.0)
    reach = -statistics.student_quantile(special.ndtr(-bounds), freedom) * means.error
    ends = np.where(np.isfinite(reach), means.mean - reach, -1), np.where(np.isfinite(reach), means.mean + reach, 1)
    out = []
    for k, day in enumerate(days):
        winner = names[0 if sums[k] > 0 else 1] if deviations[k] >= bounds[k] else ""
        mean = float(sums[k] / n[k]) if n[k] else 0.0
        out.append(
            NamedLook(
                *names,
                day,
                int(n[k]),
                mean,
                max(float(ends[0][k]), -1.0),
                min(float(ends[1][k]), 1.0),
                float(np.copysign(deviations[k], sums[k])),
                float(bounds[k]),
                winner,
            )
        )
    return out


def _alike(n: Any, total: Any, number: Any) -> tuple[FloatMatrix, FloatMatrix, Any]:
    """Return numbers and sums of outcomes at a look, and how many clusters have them, whatever comes later."""
    different, of = np.unique([n, total], axis=1, return_inverse=True)
    return different[:1].astype(np.float64), different[1:] / UNIT, np.bincount(of.ravel(), number).astype(np.int64)


def _covariance(count: Any, total: FloatMatrix, number: Any) -> FloatMatrix:
    """Return the covariance of sums between looks, shape (looks, looks), by clusters.

    Where all outcomes are alike at a look, so that they say nothing of it, sums are taken to have independent
    increments: what returning users make more alike is then not used.
    """
    n = (count @ number)[:, None]
    residual = total - count * ((total @ number)[:, None] / np.maximum(n, 1))
    covariance = residual * number @ residual.T
    return covariance if np.diag(covariance).min() > 0 else np.minimum(n, n.T) + 1.0
