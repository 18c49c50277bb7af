"""Checks of the rows of a log from any source: each has a condition for the engine, and SQL of an error message.

The engine finds the unusable rows in one scan, which also counts the kinds of rows. Messages are made in DuckDB, from
the values of the first row of each reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import InputError, IntVector, errors
from ltr_duel.logs.attribution import Outcome
from ltr_duel.logs.bad_lines import Bad, Faults
from ltr_duel.logs.engine import Relation, named, quoted
from ltr_duel.logs.table import EARLIEST, FIRST_HOUR, LATEST, LOG_COLUMNS, NO_RANKER, NO_RANKERS, date_words

Row = dict[str, Any]
SHOWN_AGAIN = " (rows of an impression may differ in time only; keep the first, or skip the others with --skip-bad)"
_GRADES = 1000  # largest grade
_LARGEST = "100000000000"  # value of an event; 64 bits contain millionths of the sum of 92 such values
_UNIT = "must be in seconds or milliseconds since 1970"
_FACTS: dict[str, Callable[..., Any]] = {"n": sum, "named": sum, "clicked": max, "first": min, "last": max}


class Check(NamedTuple):
    """A condition that makes a row unusable."""

    columns: tuple[str, ...]  # columns that the check reads; if one is absent, the check is omitted
    wrong: str  # SQL condition, given the columns of rows and of `Engine.measured`
    sentence: str  # SQL of the message


def _said(text: str) -> str:
    """Return the SQL of a message, whose values ``{value}`` are SQL."""
    parts = re.split(r"[{}]", text)
    values = [f"coalesce(({part})::VARCHAR, 'null')" for part in parts[1::2]]
    return " || ".join(part for pair in zip(map(quoted, parts[::2]), [*values, "''"], strict=True) for part in pair)


def _outside(name: str, low: int, high: str) -> str:
    """Return the condition that a list of integers contains null or a number outside the limits."""
    return f"list_min({name}) < {low} OR list_max({name}) > {high} OR list_count({name}) < len({name})"


def _first(name: str, wrong: str) -> str:
    """Return the SQL of the first entry ``e`` of a list for which a condition holds."""
    return f"list_filter({name}, lambda e: {wrong})[1]"


_NO_RANKER = _said(
    "owner {" + _first("owners", "e < -1 OR e >= len(rankers)") + "} is not a ranker: 0 to {len(rankers) - 1} for a"
    " ranker, -1 or null for no ranker"
)
_FROM_0 = "do positions count from 0, or is this a list of flags? position 1 is the top"
_ZERO = "len(list_filter(clicks, lambda e: e = 0)) > 0"
_NEGATIVE = "e IS NULL OR isnan(e) OR e < 0"
_CHECKS = (
    Check(("fault",), "fault IS NOT NULL", "fault"),
    *(
        Check(
            (name,),
            f"{named(name)} IS NULL",
            _said(f"'{name}' is missing" + "; an empty list if nothing was clicked" * (name == "clicks")),
        )
        for name, column in LOG_COLUMNS.items()
        if column.needed
    ),
    Check(("time",), "NOT (time BETWEEN -1e300 AND 1e300)", _said("'time' must be a finite number, not {time}")),
    Check(("time",), f"time >= {LATEST}", _said(f"'time' {_UNIT}, not {{(time * 1000)::HUGEINT}}")),
    Check(("shown",), "length = 0", _said("'shown' is empty")),
    Check(
        ("shown",),
        "different < length",
        _said("document '{list_filter(shown, lambda e, k: list_position(shown, e) < k)[-1]}' is shown twice"),
    ),
    Check(("owners", "rankers"), "owners IS NOT NULL AND rankers IS NULL", _said(NO_RANKERS)),
    Check(("owners", "rankers"), f"low = {NO_RANKER}", _said("owner of an item is not a ranker")),
    Check(("owners", "rankers"), "low < -1 OR high >= array_length(rankers)", _NO_RANKER),
    Check(("owners", "shown"), "owned <> length", _said("{owned} owners for {length} shown documents")),
    Check(("clicks",), _ZERO, quoted(f"a click at position 0: {_FROM_0}")),
    Check(
        ("clicks",),
        _outside("clicks", 1, "length"),
        _said(
            "a click at position {" + _first("clicks", "e IS NULL OR e < 1 OR e > length") + "} is not on the list of"
            " {length} (1 is the top)"
        ),
    ),
    Check(
        ("grades",),
        _outside("grades", 0, str(_GRADES)),
        _said(f"{{{_first('grades', f'e IS NULL OR e < 0 OR e > {_GRADES}')}}} is not a grade (0 to {_GRADES})"),
    ),
    Check(("grades",), "len(grades) <> length", _said("{len(grades)} grades for {length} shown documents")),
    Check(
        ("propensity",),
        "NOT (propensity > 0 AND propensity <= 1)",
        _said("'propensity' must be above 0 and at most 1, not {propensity}"),
    ),
    Check(
        ("dwell", "clicks"),
        "len(dwell) <> len(clicks)",
        _said("{len(dwell)} dwell times for {len(clicks)} clicks"),
    ),
    Check(
        ("dwell", "clicks"),
        f"len(list_filter(dwell, lambda e: {_NEGATIVE})) > 0",
        _said(f"a dwell time must be at least 0 seconds, not {{{_first('dwell', _NEGATIVE)}}}"),
    ),
)


def faults_of(engine: Any, rows: Relation, given: str, find: Callable[[int], Any], *, documents: bool = True) -> Faults:
    """Return the lines that repeat an impression or fail a check; arguments as for `checked` and `BadLines`."""
    equal, bad, repeated = np.zeros(0, np.int64), list[Bad](), 0
    if "impression" in rows.columns and any_repeats(engine, rows):
        again = repeating(engine, rows)
        names = [name for name in rows.columns if name not in ("line", "row", "origin", "time")]
        equal = delivered_twice(engine, rows, again, names)
        first = {row["line"]: row for row in engine.rows("SELECT * FROM t", t=again)}
        lines = np.setdiff1d(np.array([*first], np.int64), equal)
        repeated = len(lines)

        def sentence(line: int) -> str:
            here, before = find(line), find(first[line]["first"])
            where = f"line {before.row}" if before.file == here.file else before
            return f"impression '{first[line]['impression']}' repeats {where}{SHOWN_AGAIN}"

        bad.append(Bad(lines, ["again"] * repeated, sentence))
    kinds, more = checked(engine, rows, given, documents=documents)
    return Faults(kinds, [*bad, *more], equal, repeated)


def checked(engine: Any, rows: Relation, given: str, *, documents: bool = True) -> tuple[list[Row], list[Bad]]:
    """Check all rows in one scan; return the kinds of rows (see `kinds_of`), and the bad lines.

    rows: columns of a log, ``line``, and perhaps ``fault``.
    given: SQL of whether a row has owners.
    documents: whether a document must not be shown twice.
    """
    checks = [check for check in _CHECKS if set(check.columns) <= set(rows.columns)]
    checks = [check for check in checks if documents or "different" not in check.wrong]  # takes longest by far
    code = f"CASE {' '.join(f'WHEN {check.wrong} THEN {k}' for k, check in enumerate(checks))} ELSE -1 END"
    coded = engine.view(f"SELECT *, {code if checks else -1} AS code FROM t", t=engine.measured(rows))
    kinds, bad = kinds_of(engine, coded, given, "code"), list[Bad]()
    if any(row["code"] >= 0 for row in kinds):
        fault = "regexp_replace(fault, ', not .*|[0-9]', '', 'g')" if "fault" in rows.columns else "''"
        same = f"CASE code WHEN 0 THEN {fault} ELSE CAST(code AS VARCHAR) END"
        cases = f"CASE code {' '.join(f'WHEN {k} THEN {check.sentence}' for k, check in enumerate(checks))} END"
        wrong = engine.view(f"SELECT *, {same} AS reason FROM t WHERE code >= 0", t=coded)
        zero = next((k for k, check in enumerate(checks) if check.wrong == _ZERO), -1)
        if any(row["code"] == zero >= 0 for row in kinds):
            first = engine.view(f"SELECT * FROM t WHERE code = {zero}", t=wrong)
            bad.append(bad_lines(engine, first, cases)._replace(whole=True))
        bad.append(bad_lines(engine, wrong, cases))
    kinds = [row for row in kinds if row["code"] < 0]
    times = [row[name] for row in kinds for name in ("first", "last") if "time" in rows.columns]
    if times and (wrong := implausible(min(times), max(times))):
        odd = engine.view(f"SELECT line, time, '{_UNIT}' AS reason FROM t WHERE {wrong}", t=rows)
        date = "strftime(make_timestamp((time * 1e6)::BIGINT), '%Y-%m-%d %H:%M:%S')"
        bad.append(bad_lines(engine, odd, _said(f"'time' {_UNIT}, or a date, not {{time}}, which is {{{date}}}")))
    return kinds, bad


def kinds_of(engine: Any, rows: Relation, given: str, *more: str) -> list[Row]:
    """Return the kinds of rows: rankers, method, outcome, ``given`` and ``more``, with first lines and facts."""
    keys = [name for name in ("rankers", "method", "outcome") if name in rows.columns]
    facts = {
        "first_line": "min(line)",
        "n": "count(*)",
        "named": 'count("user")' if "user" in rows.columns else "0",
        "clicked": "max(CASE WHEN array_length(clicks) > 0 THEN 1 ELSE 0 END)" if "clicks" in rows.columns else "0",
        "first": "min(time)" if "time" in rows.columns else "0",
        "last": "max(time)" if "time" in rows.columns else "0",
    }
    chosen = [*keys, f"{given} AS given", *more, *(f"{value} AS {name}" for name, value in facts.items())]
    sql = f"SELECT {', '.join(chosen)} FROM t GROUP BY {', '.join([*keys, given, *more])}"
    return list(engine.rows(sql, t=rows))


def facts_of(kinds: Sequence[Row]) -> Row:
    """Return facts of all rows: their number, rows with a user, whether any has a click, and first and last time."""
    return {name: combine(kind[name] for kind in kinds) for name, combine in _FACTS.items()}


def implausible(first: float, last: float) -> str:
    """Return the SQL condition of times in another unit, given the first and last time; "" if there are none.

    Times either count from 0 (in simulations), or they are dates between 1990 and 2100.
    """
    if last >= EARLIEST:
        return f"time < {EARLIEST}" if first < EARLIEST else ""
    return "" if 0 <= first < FIRST_HOUR else "1 = 1"


def bad_lines(engine: Any, rows: Relation, sentence: str) -> Bad:
    """Return the lines of bad rows, which have a column ``reason``; ``sentence``: SQL of a row's message."""
    found = engine.query("SELECT line, reason FROM t", t=rows)

    def message(line: int) -> str:
        import duckdb

        row = engine.query(f"SELECT * FROM t WHERE line = {line}", t=rows)
        with duckdb.connect() as small:
            small.register("t", row)
            return str(small.sql(f"SELECT {sentence} FROM t").fetchall()[0][0])

    return Bad(found["line"].to_numpy(), found["reason"].to_pylist(), message)


def going_back(engine: Any, rows: Relation) -> Bad:
    """Return the lines whose time is before that of an earlier row; DuckDB keeps the order of a file's rows."""
    earlier = "max(time) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    timed = f"SELECT line, time, {earlier} AS before FROM t WHERE time < {LATEST}"
    back = engine.view(f"SELECT *, 'back' AS reason FROM ({timed}) WHERE time < before", t=rows)
    date = "{{strftime(make_timestamp(({} * 1e6)::BIGINT), '%Y-%m-%d %H:%M:%S.%g')}}".format
    said = f"the time goes back, from {date('before')} to {date('time')}; rows must be sorted by time"
    return bad_lines(engine, back, _said(said))


def without(engine: Any, rows: Relation, lines: Collection[int]) -> Relation:
    """Return a relation without some of its lines."""
    if not len(lines):
        return rows
    bad = engine.small({"line": np.unique(np.array(list(lines), np.int64))})
    return engine.view("SELECT * FROM t WHERE line NOT IN (SELECT line FROM bad)", t=rows, bad=bad)


def any_repeats(engine: Any, rows: Relation) -> bool:
    """Return whether any impression has several rows."""
    (row,) = engine.rows("SELECT count(impression) > count(DISTINCT impression) AS again FROM t", t=rows)
    return bool(row["again"])


def repeating(engine: Any, rows: Relation) -> Relation:
    """Return the lines that repeat an impression, with the ``first`` line of that impression."""
    often = "SELECT impression, min(line) AS first FROM t GROUP BY impression HAVING count(*) > 1"
    sql = f"SELECT t.line, t.impression, o.first FROM t JOIN ({often}) AS o ON t.impression = o.impression"
    return engine.view(f"{sql} WHERE t.line > o.first", t=rows)


def delivered_twice(engine: Any, rows: Relation, again: Relation, columns: Sequence[str]) -> IntVector:
    """Return the lines that equal, in these columns, the first line of their impression."""
    alike = " AND ".join(f"a.{named(name)} IS NOT DISTINCT FROM b.{named(name)}" for name in columns)
    joined = "again r JOIN t a ON a.line = r.line JOIN t b ON b.line = r.first"
    found = engine.query(f"SELECT r.line FROM {joined} WHERE {alike}", again=again, t=rows)
    return np.asarray(found["line"].to_numpy())


def check_values(engine: Any, events: Relation, outcomes: Sequence[Outcome], find: Any) -> None:
    """Raise `InputError` for the first event whose value is infinite or too large to be added up exactly."""
    origin = ", origin" * ("origin" in events.columns)
    for outcome in outcomes:
        wrong = f"({outcome.where or '1 = 1'}) AND abs({outcome.value}) > {_LARGEST}"
        sql = f"SELECT CAST({outcome.value} AS VARCHAR) AS value{origin} FROM t WHERE {wrong} LIMIT 1"
        for row in engine.rows(sql, t=events) if outcome.value else ():
            at = f"{find(row['origin'])}: " if find and origin else ""
            said = f"an event's value ({outcome.name}) must be a number up to 1e11, not {row['value']}"
            raise InputError(f"{at}{said}")


def check_events(engine: Any, events: Relation, about: Row, first: float | None, find: Any, mapped: Row) -> None:
    """Raise `InputError` for the first event with an unreadable value or a time in another unit.

    Such events would silently not count.

    Parameters
    ----------
    about : dict
        ``first`` and ``last`` time of all events, ``faulty``, the row of the first unreadable value, and ``lowest``,
        the lowest position on a list.
    first : float or None
        The first time of the exposures.
    find : callable or None
        Returns the position of an event, given its ``origin``.
    mapped : dict
        Expressions of a mapping, for the message.
    """
    low, high = about["first"], about["last"]
    wrong = f"origin = {about['faulty']}" if about.get("faulty") is not None else ""
    if high is not None and high >= LATEST:
        wrong = f"time >= {LATEST}"
    elif low is not None and low < EARLIEST <= (first or 0):
        wrong = f"time < {EARLIEST}"
    elif about.get("lowest") == 0:
        wrong = "position = 0 AND impression IS NOT NULL"
    if not wrong:
        return
    columns = ", ".join(name for name in ("time", "origin", "fault") if name in events.columns)
    row = engine.rows(f"SELECT {columns} FROM t WHERE {wrong} ORDER BY {columns} LIMIT 1", t=events)[0]
    at = f"{find(row['origin'])}: " if find and "origin" in row else ""
    if wrong.startswith("position"):
        raise InputError(f"{at}an event at position 0: {_FROM_0}; for positions from 0 map position + 1 with --source")
    if not wrong.startswith("origin"):
        time = row["time"]
        value = f"{time * 1000:.0f}" if time >= LATEST else f"{time:.15g}, which is {date_words(time)}"
        raise InputError(f"{at}'time' of an event {_UNIT}, not {value}")
    name, value = row["fault"].split("'")[1], row["fault"].partition(", not ")[2]
    column, hint = mapped.get(name, name), ""
    if name == "position" and "[" in value:
        hint = f'; for a column of lists map position = "unnest({column})"'
    elif name == "time":
        hint = f"; for another form map time = \"strptime({column}, '%d.%m.%Y %H:%M:%S')\""
    elif "," in value:
        hint = f"; for a decimal comma map {name} = \"replace({column}, ',', '.')\""
    raise InputError(errors.in_one_line(f"{at}{row['fault']}{hint}"))
