"""Checks of the rows of a log from any source: each check has a condition for the engine, and an error message.

The engine finds the unusable rows; messages are made from the values of these rows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import IntVector
from ltr_duel.logs.bad import Refused
from ltr_duel.logs.engine import NO_RANKER
from ltr_duel.logs.table import LATEST, LEGAL, LOG_COLUMNS, NO_RANKERS, date_words

Row = dict[str, Any]
FACTS: dict[str, Callable[..., Any]] = {"n": sum, "named": sum, "clicked": any, "first": min, "last": max}
SHOWN_AGAIN = (
    " (a page that is shown again is the same impression: keep its first row, or skip the others with --skip-bad)"
)
_AS_JSON = "a list in JSON, such as [1, 3] (lists in another form: --source, see docs/logs.md)"
_GRADES = 1000  # largest grade


class Check(NamedTuple):
    """A condition that makes a row unusable."""

    columns: tuple[str, ...]  # columns that the check reads; if one is absent, the check is omitted
    wrong: Callable[[Any], Any]  # condition, given a relation with `ready` columns
    sentence: Callable[[Row], str]


def ready(rows: Any) -> Any:
    """Return the relation with a column ``length``: the length of each shown list."""
    import ibis

    more: Row = {"length": ibis.null("int64")}
    if "shown" in rows.columns:
        more["length"] = rows.shown.length()
    elif "owners" in rows.columns:
        more["length"] = rows.owners.length()
    return rows.mutate(**more)


def refused_in(engine: Any, rows: Any, sentence: Callable[[Row], str], but: IntVector, *kinds: str) -> Refused:
    """Return the lines of bad rows, except the lines `but`; rows with the same ``kinds`` share one reason."""
    found = engine.run(rows.select("line", *kinds))
    found = found.filter(~np.isin(found["line"].to_numpy(), but))
    alike = found.group_by(list(kinds)).aggregate([("line", "min"), ("line", "count")]).to_pylist() if found else []

    def sentences(lines: list[int]) -> dict[int, str]:
        return {row["line"]: sentence(row) for row in engine.run(rows.filter(rows.line.isin(lines))).to_pylist()}

    return Refused(found["line"].to_numpy(), [(one["line_min"], one["line_count"]) for one in alike], sentences)


def marked(full: Any, conditions: list[Any]) -> Any:
    """Return the rows that fail a check, with ``code``, the number of the check, and ``kind``."""
    import ibis

    code = ibis.cases(*((one, k) for k, one in enumerate(conditions)), else_=-1)
    kind = full.fault.re_replace("[0-9]+|:.*", "") if "fault" in full.columns else ibis.literal("")
    return full.mutate(code=code, kind=kind).filter(lambda t: t.code >= 0)


def going_back(rows: Any) -> Any:
    """Return the lines whose time is before the time of the previous row; DuckDB keeps the order of a file's rows."""
    timed = rows.select("line", "time").filter(lambda t: ~t.time.isnan())
    timed = timed.mutate(before=timed.time.lag())
    return timed.filter(timed.time < timed.before)


def repeating(rows: Any) -> Any:
    """Return the lines that repeat an impression, with the ``first`` line of that impression."""
    often = rows.group_by("impression").agg(first=rows.line.min(), n=rows.count())
    again = rows.join(often.filter(often.n > 1), "impression").select("line", "impression", "first")
    return again.filter(again.line > again.first)


def kinds_of(rows: Any, facts: dict[str, Any] | None = None, **more: Any) -> Any:
    """Return the expression for the distinct rankers and methods of rows, each with its first line, and for facts."""
    keys = [name for name in ("rankers", "method", "outcome") if name in rows.columns]
    return rows.group_by(*keys, given=rows.owners.notnull(), **more).agg(first_line=rows.line.min(), **facts or {})


def facts_of(rows: Any) -> dict[str, Any]:
    """Return the expressions for facts about rows; `FACTS` combines the facts of several parts."""
    named = rows.user.count() if "user" in rows.columns else rows.count() - rows.count()
    clicked = (rows.clicks.length() > 0).any()
    return {"n": rows.count(), "named": named, "clicked": clicked, "first": rows.time.min(), "last": rows.time.max()}


def back_sentence(row: Row) -> str:
    """Return the error message of a row whose time goes back."""
    before, time = (date_words(row[name], "milliseconds") for name in ("before", "time"))
    return f"the time goes back, from {before} to {time}; rows must be sorted by time"


def fault_sentence(row: Row) -> str:
    """Return the error message of a row with a value that cannot be read."""
    given = json.loads(row["fault"])
    if isinstance(given, str):
        return given
    name, value = next(iter(given.items()))
    if name == "owners" and isinstance(value, list) and given.get("rankers"):
        strange = [one for one in value if isinstance(one, str) and one and one not in given["rankers"]]
        if strange:
            hint = "; a position in rankers must be a number, not text" * strange[0].isdecimal()
            return f"owner {short(strange[0])} is not a ranker: {_names(given['rankers'])}{hint}"
    if name == "owners" and not given.get("rankers") and _has_names(value):
        return f"'owners' contains names, but {NO_RANKERS}"
    legal = _AS_JSON if isinstance(value, str) and name in _LISTS else LEGAL[name]
    return f"'{name}' must be {legal}, not {short(value)}"


def _has_names(value: Any) -> bool:
    """Return whether a list, perhaps as JSON, contains strings."""
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    return isinstance(value, list) and any(isinstance(one, str) for one in value)


def short(value: Any) -> str:
    """Return a value as shown in messages."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def checks_of(columns: tuple[str, ...]) -> list[Check]:
    """Return the checks of a relation with these columns, in the order in which faults are reported."""
    needed = [_needed(name) for name, column in LOG_COLUMNS.items() if column.needed]
    return [check for check in (_FAULT, *needed, *_CHECKS) if set(check.columns) <= set(columns)]


def _needed(name: str) -> Check:
    return Check((name,), lambda t: t[name].isnull(), lambda row: f"'{name}' is missing")


def _outside(name: str, low: int, high: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the condition that a list of integers contains null or a number outside the limits."""

    def wrong(t: Any) -> Any:
        top = high(t)
        return t[name].filter(lambda k: k.isnull() | (k < low) | (k > top)).length() > 0

    return wrong


def _first(values: list[int | None], low: int, high: float, null: int = 0) -> int:
    """Return the first number outside the limits; null counts as the number `null`."""
    return next(k for k in (null if v is None else v for v in values) if not low <= k <= high)


def _last_repeat(shown: list[str]) -> str:
    return next(one for k, one in reversed(list(enumerate(shown))) if one in shown[:k])


def _owner(row: Row) -> str:
    high = len(row["rankers"]) - 1
    value = _first(row["owners"], -1, high, -1)
    if value == NO_RANKER:
        return f"{row.get('named', 'owner of an item')} is not a ranker: {_names(row['rankers'])}"
    return f"owner {value} is not a ranker: 0 to {high} for a ranker, -1 or null for no ranker"


def _names(rankers: list[str]) -> str:
    return f"{' or '.join(rankers)}, null for no ranker"


_LISTS = [name for name, column in LOG_COLUMNS.items() if "list" in str(column.kind)]
_FAULT = Check(("fault",), lambda t: t.fault.notnull(), fault_sentence)
_CHECKS = (
    Check(
        ("time",),
        lambda t: t.time.isnan() | t.time.isinf(),
        lambda row: f"'time' must be a finite number, not {row['time']}",
    ),
    Check(
        ("time",),
        lambda t: t.time >= LATEST,
        lambda row: f"'time' must be in seconds or milliseconds since 1970, not {row['time'] * 1000:.0f}",
    ),
    Check(("shown",), lambda t: t.shown.length() == 0, lambda row: "'shown' is empty"),
    Check(
        ("shown",),
        lambda t: t.shown.unique().length() < t.shown.length(),
        lambda row: f"document '{_last_repeat(row['shown'])}' is shown twice",
    ),
    Check(("owners", "rankers"), lambda t: t.owners.notnull() & t.rankers.isnull(), lambda row: NO_RANKERS),
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
            f"a click at position {_first(row['clicks'], 1, row['length'])} is not on the list of {row['length']}"
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
