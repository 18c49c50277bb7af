"""What must hold in every row of a log, whatever it comes from: a condition for the engine, and a sentence.

The engine finds the rows that cannot be used; their sentences are made from their values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ltr_duel.logs.engine import NO_RANKER
from ltr_duel.logs.table import LOG_COLUMNS, date_words
from ltr_duel.logs.text import LEGAL, short

Row = dict[str, Any]
_GRADES = 1000  # the largest
_LATEST = 1e11  # where times in milliseconds have been made seconds, what is still so large is neither


class Check(NamedTuple):
    """Something that makes a row wrong."""

    columns: tuple[str, ...]  # that it looks at; without them there is nothing to check
    wrong: Callable[[Any], Any]  # of a relation with `ready` columns
    sentence: Callable[[Row], str]


def ready(rows: Any) -> Any:
    """Return the relation with the length of each list that was shown."""
    import ibis

    more: Row = {"length": ibis.null("int64")}
    if "shown" in rows.columns:
        more["length"] = rows.shown.length()
    elif "owners" in rows.columns:
        more["length"] = rows.owners.length()
    return rows.mutate(**more)


def going_back(rows: Any) -> Any:
    """Return the lines whose time is before that of the row before; DuckDB keeps the rows of a file in their order."""
    timed = rows.select("line", "time").filter(lambda t: ~t.time.isnan())
    timed = timed.mutate(before=timed.time.lag())
    return timed.filter(timed.time < timed.before)


def kinds_of(rows: Any, **more: Any) -> Any:
    """Return the expression of the different rankers and methods of rows, and the line that has each first."""
    keys = [name for name in ("rankers", "method", "outcome") if name in rows.columns]
    return rows.group_by(*keys, given=rows.owners.notnull(), **more).agg(first=rows.line.min())


def back_sentence(row: Row) -> str:
    """Say that time goes back."""
    before, time = (date_words(row[name], "milliseconds") for name in ("before", "time"))
    return f"the time goes back, from {before} to {time}; rows must be sorted by time"


def sentence_of(check: Check, row: Row, found: Any) -> str:
    """Say what a check refuses in a row, by its values as the file gives them where a log could not read them."""
    name, given = check.columns[0], found.given
    if given.get(name) is not None and (row[name] is None or row[name] != row[name]):
        return f"'{name}' must be {LEGAL[name]}, not {short(given[name])}"
    return check.sentence(row | {"given": given})


def checks_of(columns: tuple[str, ...]) -> list[Check]:
    """Return the checks of a relation with these columns, in the order in which they are said."""
    needed = [_needed(name) for name, column in LOG_COLUMNS.items() if column.needed]
    return [check for check in (*needed, *_CHECKS) if set(check.columns) <= set(columns)]


def _needed(name: str) -> Check:
    return Check((name,), lambda t: t[name].isnull(), lambda row: f"'{name}' is missing")


def _outside(name: str, low: int, high: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the condition that a list of whole numbers has one outside of the limits, or null."""

    def wrong(t: Any) -> Any:
        top = high(t)
        return t[name].filter(lambda k: k.isnull() | (k < low) | (k > top)).length() > 0

    return wrong


def _first(values: list[int | None], low: int, high: float, null: int = 0) -> int:
    """Return the first number outside of the limits; null counts as a number."""
    return next(k for k in (null if v is None else v for v in values) if not low <= k <= high)


def _last_repeat(shown: list[str]) -> str:
    return next(one for k, one in reversed(list(enumerate(shown))) if one in shown[:k])


def _owner(row: Row) -> str:
    high = len(row["rankers"]) - 1
    value = _first(row["owners"], -1, high, -1)
    if value == NO_RANKER:
        names = [one for one in row["given"].get("owners") or () if isinstance(one, str) and one not in row["rankers"]]
        return f"owner {short(names[0]) if names else 'of an item'} is not a ranker ({', '.join(row['rankers'])})"
    return f"owner {value} is not a ranker: -1 for nobody, 0 to {high} for the rankers"


_CHECKS = (
    Check(
        ("time",),
        lambda t: t.time.isnan() | t.time.isinf(),
        lambda row: f"'time' must be a finite number, not {row['time']}",
    ),
    Check(
        ("time",),
        lambda t: t.time >= _LATEST,
        lambda row: (
            f"'time' must be in seconds or milliseconds since 1970, not {row['given'].get('time', row['time'] * 1000)}"
        ),
    ),
    Check(("shown",), lambda t: t.shown.length() == 0, lambda row: "'shown' is empty"),
    Check(
        ("shown",),
        lambda t: t.shown.unique().length() < t.shown.length(),
        lambda row: f"document '{_last_repeat(row['shown'])}' is shown twice",
    ),
    Check(("owners", "rankers"), lambda t: t.owners.notnull() & t.rankers.isnull(), lambda row: "'rankers' is missing"),
    Check(
        ("owners", "rankers"),
        lambda t: (t.owners.mins() < -1) | (t.owners.maxs() >= t.rankers.length()),
        _owner,
    ),
    Check(
        ("owners", "shown"),
        lambda t: t.owners.length() != t.shown.length(),
        lambda row: f"{len(row['owners'])} owners for {len(row['shown'])} shown documents",
    ),
    Check(
        ("clicks",),
        _outside("clicks", 1, lambda t: t.length),
        lambda row: (
            f"a click at place {_first(row['clicks'], 1, row['length'])} is not on the list of {row['length']}"
            " (1 is the top)"
        ),
    ),
    Check(
        ("grades",),
        _outside("grades", 0, lambda t: _GRADES),
        lambda row: f"{_first(row['grades'], 0, _GRADES)} is not a grade (0 to {_GRADES})",
    ),
    Check(
        ("grades",),
        lambda t: t.grades.length() != t.length,
        lambda row: f"{len(row['grades'])} grades for {row['length']} shown documents",
    ),
    Check(
        ("propensity",),
        lambda t: ~((t.propensity > 0) & (t.propensity <= 1)),
        lambda row: f"'propensity' must be above 0 and at most 1, not {row['propensity']}",
    ),
    Check(
        ("dwell", "clicks"),
        lambda t: t.dwell.length() != t.clicks.length(),
        lambda row: f"{len(row['dwell'])} dwell times for {len(row['clicks'])} clicks",
    ),
    Check(
        ("dwell", "clicks"),
        lambda t: t.dwell.filter(lambda s: s.isnull() | s.isnan() | (s < 0)).length() > 0,
        lambda row: f"a dwell time must be at least 0 seconds, not {_negative(row['dwell'])}",
    ),
)


def _negative(values: list[float | None]) -> float:
    return next(v for v in (math.nan if one is None else one for one in values) if not v >= 0)
