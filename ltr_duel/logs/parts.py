"""Division of a log: by day or week, by new and returning users, by users' frequency, or by any column.

Each function returns the outcomes with a column ``part``, and the name of each part. If the log is not divided, there
is at most one name.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from ltr_duel.core import InputError
from ltr_duel.logs.log import ClickLog

DAY = 86_400
_MOST = 20  # maximum number of parts if a log is divided by a column; the last part contains all rare values
Labels = list[str]
_VISITS = ["first 24 hours", "later"]  # names of the parts of a user's impressions
USUAL = ("day", "week", "new", "heavy")


def divided(log: ClickLog, rows: Any, outcomes: Any, by: str) -> tuple[Any, Labels]:
    """Divide the outcomes of a log; see `sliced`."""
    return _WAYS.get(by, _by_column)(log, rows, outcomes, by)


def usual_parts(first: float, last: float) -> list[str]:
    """Return a report's default divisions: by day (up to two months), by week (13 days or more), and by user."""
    days = (last - first) / DAY
    return ["day"] * (days <= 62) + ["week"] * (days >= 13) + ["new", "heavy"]


def _by_time(log: ClickLog, rows: Any, outcomes: Any, by: str) -> tuple[Any, Labels]:
    days = 7 if by == "week" else 1
    ends = log.engine.run(rows.aggregate(first=rows.time.min(), last=rows.time.max())).to_pylist()[0]
    first, last = int(ends["first"] // DAY), int(ends["last"] // DAY)
    part = (((outcomes.time / DAY).floor() - first) / days).floor().cast("int64")
    labels = [_dates(day, min(day + days - 1, last)) for day in range(first, last + 1, days)]
    return outcomes.mutate(part=part), labels


def _dates(first: int, last: int) -> str:
    begin, end = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=day) for day in (first, last))
    return f"{begin:%Y-%m-%d}" + (f" to {end:%m-%d}" if last > first else "")


def _by_visit(log: ClickLog, rows: Any, outcomes: Any, by: str) -> tuple[Any, Labels]:
    """Divide by the time since the user's first impression in the log."""
    if "user" not in rows.columns:
        return outcomes, []
    start = rows.filter(rows.user.notnull()).group_by("user").agg(start=lambda t: t.time.min())
    t = outcomes.left_join(start, "user").drop("user_right")
    return _present(log, t.mutate(part=(t.time >= t.start + DAY).fill_null(False).cast("int64")), _VISITS)


def _by_frequency(log: ClickLog, rows: Any, outcomes: Any, by: str) -> tuple[Any, Labels]:
    """Divide by users' frequency: the most frequent users, who have half of the impressions, and the others."""
    if "user" not in rows.columns:
        return outcomes, []
    each = rows.filter(rows.user.notnull()).group_by("user").agg(times=lambda t: t.count())
    found = log.engine.run(each.group_by("times").agg(users=lambda t: t.count()).order_by("times")).to_pydict()
    times, users = np.array(found["times"], np.int64), np.array(found["users"], np.int64)
    above = np.cumsum((times * users)[::-1])[::-1]  # impressions of users with at least this frequency
    least = times[above * 2 >= above[0]][-1] if len(times) > 1 else 1
    number = users[times >= least].sum()
    labels = [f"{least:,} or more times ({number:,} users)", f"less often ({users.sum() - number:,} users)"]
    t = outcomes.left_join(each, "user").drop("user_right")
    return _present(log, t.mutate(part=(t.times.coalesce(1) < int(least)).cast("int64")), labels)


def _by_column(log: ClickLog, rows: Any, outcomes: Any, by: str) -> tuple[Any, Labels]:
    if by not in rows.columns:
        raise InputError(f"{log.path}: there is no column '{by}' to slice by (or give day, week, new or heavy)")
    value = rows[by].cast("string").coalesce("(none)")
    counts = log.engine.run(rows.group_by(value=value).agg(n=rows.count())).to_pylist()
    labels = [row["value"] for row in sorted(counts, key=lambda row: (-row["n"], row["value"]))]
    known = log.engine.small({"value": labels, "part": [min(k, _MOST - 1) for k in range(len(labels))]})
    part = rows.select("line", value=value).join(known, "value").select("line", "part")
    t = outcomes.join(part, "line")
    if len(labels) > _MOST:
        labels = [*labels[: _MOST - 1], f"(others: {len(labels) - _MOST + 1:,})"]
    return t, labels


def _present(log: ClickLog, t: Any, labels: Labels) -> tuple[Any, Labels]:
    """Return outcomes and labels, or no labels if all outcomes are in one part."""
    return t, labels if log.engine.value(t.part.nunique()) > 1 else []


_WAYS: dict[str, Callable[[ClickLog, Any, Any, str], tuple[Any, Labels]]] = {
    "day": _by_time, "week": _by_time, "new": _by_visit, "heavy": _by_frequency,
}  # fmt: skip
