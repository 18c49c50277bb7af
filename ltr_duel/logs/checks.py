"""Checks of the rows of a log and of its events: each has a condition for the engine, and SQL of a message.

The engine finds unusable rows in one scan, which also counts the kinds of rows. Messages are made in DuckDB, from the
values of the first row of each reason. Unusable rows may be skipped; an unusable event is an error.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from ltr_duel.core import InputError, errors
from ltr_duel.logs.engine import Relation, named, quoted
from ltr_duel.logs.table import EARLIEST, FIRST_HOUR, LATEST, LOG_COLUMNS, NO_RANKER, NO_RANKERS

Row = dict[str, Any]
_AGAIN = " (rows of an impression may differ in time only; keep the first, or skip the others with --skip-bad)"
_GRADES = 1000  # largest grade
_UNIT = "must be in seconds or milliseconds since 1970"
_MILLIS = "{coalesce(try_cast(time * 1000 AS HUGEINT)::VARCHAR, (time * 1000)::VARCHAR)}"
_DATE = "strftime(make_timestamp((time * 1e6)::BIGINT), '%Y-%m-%d %H:%M:%S')"
_REPEATED = "repeats an impression"
_FROM_0 = "do positions count from 0, or is this a list of flags? position 1 is the top"


class Check(NamedTuple):
    """A condition that makes a row unusable."""

    columns: tuple[str, ...]  # columns that the check reads; if one is absent, the check is omitted
    wrong: str  # SQL condition, given the columns of rows and of `Engine.measured`
    sentence: str  # SQL of the message


def said(text: str) -> str:
    """Return the SQL of a message, whose values ``{value}`` are SQL."""
    parts = re.split(r"[{}]", text)
    values = [f"coalesce(({part})::VARCHAR, 'null')" for part in parts[1::2]]
    return " || ".join(part for pair in zip(map(quoted, parts[::2]), [*values, "''"], strict=True) for part in pair)


def _outside(name: str, low: int, high: str) -> str:
    """Return the condition that a list of integers contains null or a number outside the limits."""
    return f"list_min({name}) < {low} OR list_max({name}) > {high} OR list_count({name}) < len({name})"


def _first(name: str, wrong: str) -> str:
    """Return the first entry ``e`` of a list for which a condition holds, as a value of `said`."""
    return f"{{list_filter({name}, lambda e: {wrong})[1]}}"


_ANOTHER_UNIT = said(f"'time' {_UNIT}, or a date, not {{time}}, which is {{{_DATE}}}")
_NEGATIVE = "e IS NULL OR isnan(e) OR e < 0"
_STRANGE = f"owner {_first('owners', 'e < -1 OR e >= len(rankers)')} is not a ranker: 0 to {{len(rankers) - 1}}"
_ZERO = Check(("clicks",), "len(list_filter(clicks, lambda e: e = 0)) > 0", quoted(f"a click at position 0: {_FROM_0}"))
_FAULT = Check(("fault",), "fault IS NOT NULL", "fault")
_CHECKS = (
    _FAULT,
    *(
        Check((name,), f"{named(name)} IS NULL", said(f"'{name}' is missing{more}"))
        for name, column in LOG_COLUMNS.items()
        if column.needed
        for more in ["; an empty list if nothing was clicked" * (name == "clicks")]
    ),
    Check(("time",), "NOT (time BETWEEN -1e300 AND 1e300)", said("'time' must be a finite number, not {time}")),
    Check(("time",), f"time >= {LATEST}", said(f"'time' {_UNIT}, not {_MILLIS}")),
    Check(("shown",), "length = 0", said("'shown' is empty")),
    Check(
        ("shown",), "different < length",
        "CASE WHEN list_count(shown) < length THEN 'a document of ''shown'' is missing' ELSE "
        + said("document '{list_filter(shown, lambda e, k: list_position(shown, e) < k)[-1]}' is shown twice")
        + " END",
    ),
    Check(("owners", "rankers"), "owners IS NOT NULL AND rankers IS NULL", said(NO_RANKERS)),
    Check(("owners", "rankers"), f"low = {NO_RANKER}", said("owner of an item is not a ranker")),
    Check(
        ("owners", "rankers"), "low < -1 OR high >= array_length(rankers)",
        said(f"{_STRANGE} for a ranker, -1 or null for no ranker"),
    ),
    Check(("owners", "shown"), "owned <> length", said("{owned} owners for {length} shown documents")),
    _ZERO,
    Check(
        ("clicks",), _outside("clicks", 1, "length"),
        said(f"a click at position {_first('clicks', 'e IS NULL OR e < 1 OR e > length')} is not on the list of"
             " {length} (1 is the top)"),
    ),
    Check(
        ("grades",), _outside("grades", 0, str(_GRADES)),
        said(f"{_first('grades', f'e IS NULL OR e < 0 OR e > {_GRADES}')} is not a grade (0 to {_GRADES})"),
    ),
    Check(("grades",), "len(grades) <> length", said("{len(grades)} grades for {length} shown documents")),
    Check(
        ("propensity",), "NOT (propensity > 0 AND propensity <= 1)",
        said("'propensity' must be above 0 and at most 1, not {propensity}"),
    ),
    Check(("dwell", "clicks"), "len(dwell) <> len(clicks)", said("{len(dwell)} dwell times for {len(clicks)} clicks")),
    Check(
        ("dwell", "clicks"), f"len(list_filter(dwell, lambda e: {_NEGATIVE})) > 0",
        said(f"a dwell time must be at least 0 seconds, not {_first('dwell', _NEGATIVE)}"),
    ),
)  # fmt: skip


class Checked(NamedTuple):
    """The lines of a log that are not read, and the kinds of the others."""

    kinds: list[Row]  # different ``rankers``, ``method``, ``outcome`` and ``given``, with ``first_line``
    equal: list[int]  # lines that equal an earlier line but for the time: shown again, and counted once
    reasons: dict[int, str]  # why a line is bad; lines with equal texts are bad for one reason
    sentence: Callable[[int], str]  # returns the message on a bad line

    @property
    def lines(self) -> list[int]:
        """All lines that are not read."""
        return [*self.equal, *self.reasons]


class BadLines:
    """Counter of the bad lines of a log; ``allowed`` is the maximum number, None for no limit."""

    def __init__(self, find: Callable[[int], Any], allowed: int | None, checked: Checked | None = None) -> None:
        self.allowed, self._find, self._reason = allowed, find, dict[int, str]()  # line -> reason
        self._sentence: dict[str, str] = {}  # reason -> message on its first line
        self.equal = len(checked.equal) if checked else 0  # number of lines that count once with an earlier line
        if checked:
            self.add(checked.reasons, checked.sentence)

    @property
    def count(self) -> int:
        """Number of bad lines."""
        return len(self._reason)

    @property
    def repeated(self) -> int:
        """Number of bad lines that repeat an impression."""
        return sum(reason == _REPEATED for reason in self._reason.values())

    @property
    def sentences(self) -> list[str]:
        """One message per reason: the first line that is bad for this reason, and the number of such lines."""
        number = Counter(self._reason.values())
        return [
            first + f"; {number[reason]:,} such lines" * (number[reason] > 1)
            for reason, first in self._sentence.items()
        ]

    def add(self, reasons: dict[int, str], sentence: Callable[[int], str]) -> None:
        """Count bad lines, given their reasons; raise `InputError` if there are more than allowed."""

        def said(line: int) -> str:
            return errors.in_one_line(f"{self._find(line)}: {sentence(line)}")

        before, lines = self.count, sorted(reasons.keys() - self._reason.keys())
        if self.allowed is not None and before + len(lines) > self.allowed:
            beyond = f" ({self.allowed + 1:,} bad lines; {self.allowed:,} may be skipped)" if self.allowed else ""
            raise InputError(said(lines[self.allowed - before]) + beyond)
        for line in lines:
            reason = self._reason[line] = reasons[line]
            if reason not in self._sentence:
                self._sentence[reason] = said(line)


def given_owners(columns: Collection[str], *, by_event: bool) -> str:
    """Return the SQL of whether a row has owners; they may also be those of its events."""
    return "owners IS NOT NULL" if "owners" in columns else f"1 = {int(by_event)}"


def checked(engine: Any, rows: Relation, given: str, find: Callable[[int], Any], *, documents: bool = True) -> Checked:
    """Check all rows of a relation with columns of a log, ``line``, and perhaps ``fault``.

    given: SQL of whether a row has owners.
    documents: whether a document must not be shown twice.
    """
    equal, first = _repeated(engine, rows) if "impression" in rows.columns else ([], {})
    reasons = dict.fromkeys(first, _REPEATED)
    checks = [check for check in _CHECKS if set(check.columns) <= set(rows.columns)]
    checks = [check for check in checks if documents or "different" not in check.wrong]  # takes longest by far
    coded = code_rows(engine, engine.measured(rows), checks)
    times = {"first": "min(time)", "last": "max(time)"} if "time" in rows.columns else {}
    kinds = kinds_of(engine, coded, given, {"code": "code"}, times)
    codes = {row["code"] for row in kinds if row["code"] >= 0}
    sound = [row for row in kinds if row["code"] < 0]
    if _ZERO in checks and (zero := checks.index(_ZERO)) in codes:  # the clicks of all rows mean something else
        (row,) = engine.rows(f"SELECT min(line) AS line FROM t WHERE code = {zero}", t=coded)
        raise InputError(f"{find(row['line'])}: a click at position 0: {_FROM_0}")
    if codes:
        fault = (
            "CASE WHEN code = 0 THEN regexp_replace(fault, ', not .*|[0-9]', '', 'g') END"
            if _FAULT in checks
            else "NULL"
        )
        sql = f"SELECT line, coalesce({fault}, CAST(code AS VARCHAR)) AS reason FROM t WHERE code >= 0"
        reasons = _reasons(engine.query(sql, t=coded)) | reasons
    if sound and times and (wrong := _implausible(min(k["first"] for k in sound), max(k["last"] for k in sound))):
        odd = _reasons(engine.query(f"SELECT line, '{_UNIT}' AS reason FROM t WHERE {wrong} AND code < 0", t=coded))
        reasons = odd | reasons

    def sentence(line: int) -> str:
        row = engine.query(f"SELECT * FROM t WHERE line = {line}", t=coded)
        if line in first:
            here, before = find(line), find(first[line])
            row_there = f"line {before.row}" if isinstance(before.row, int) else before.row
            where = row_there if before.file == here.file else before
            return f"impression '{row['impression'][0]}' repeats {where}{_AGAIN}"
        code = row["code"][0].as_py()
        return message(row, checks[code].sentence if code >= 0 else _ANOTHER_UNIT)

    return Checked(sound, equal, reasons, sentence)


def _reasons(table: Any) -> dict[int, str]:
    return dict(zip(*(column.to_pylist() for column in table.columns), strict=True))


def kinds_of(
    engine: Any, rows: Relation, given: str, more: dict[str, str] | None = None, facts: dict[str, str] | None = None
) -> list[Row]:
    """Return the kinds of rows: rankers, method, outcome, ``given`` and ``more``, in the order of their first lines."""
    keys = {name: name for name in ("rankers", "method", "outcome") if name in rows.columns} | {"given": given}
    keys |= more or {}
    chosen = keys | {"first_line": "min(line)"} | (facts or {})
    sql = f"SELECT {', '.join(f'{value} AS {name}' for name, value in chosen.items())} FROM t"
    kinds = engine.rows(f"{sql} GROUP BY {', '.join(keys.values())}", t=rows)
    return sorted(kinds, key=lambda kind: kind["first_line"])


def code_rows(engine: Any, rows: Relation, checks: Sequence[Check]) -> Relation:
    """Return rows with ``code``, the number of the first check that a row fails, or -1."""
    cases = " ".join(f"WHEN {check.wrong} THEN {k}" for k, check in enumerate(checks))
    return engine.view(f"SELECT *, {f'CASE {cases} ELSE -1 END' if cases else -1} AS code FROM t", t=rows)


def message(row: Any, sentence: str) -> str:
    """Return the message on a row, an Arrow table; ``sentence``: its SQL."""
    import duckdb

    with duckdb.connect() as small:
        small.register("t", row)
        return str(small.sql(f"SELECT {sentence} FROM t").fetchall()[0][0])


def _repeated(engine: Any, rows: Relation) -> tuple[list[int], dict[int, int]]:
    """Return the lines that equal the first line of their impression but for the time; of others, that first line."""
    (again,) = engine.rows("SELECT count(impression) > count(DISTINCT impression) AS again FROM t", t=rows)
    if not again["again"]:
        return [], {}
    compared = [name for name in rows.columns if name not in ("line", "row", "origin", "time")]
    alike = " AND ".join(f"a.{named(name)} IS NOT DISTINCT FROM b.{named(name)}" for name in compared)
    sql = f"""SELECT a.line, o.first, CASE WHEN {alike} THEN 1 ELSE 0 END AS alike
      FROM t a JOIN (SELECT impression, min(line) AS first FROM t GROUP BY impression HAVING count(*) > 1) AS o
        ON a.impression = o.impression JOIN t b ON b.line = o.first
      WHERE a.line > o.first"""
    lines = list(zip(*(column.to_pylist() for column in engine.query(sql, t=rows).columns), strict=True))
    return [line for line, _, alike in lines if alike], {line: first for line, first, alike in lines if not alike}


def _implausible(first: float, last: float) -> str:
    """Return the SQL condition of times in another unit, given the first and last time; "" if there are none.

    Times either count from 0 (in simulations), or they are dates between 1990 and 2100.
    """
    if last >= EARLIEST:
        return f"time < {EARLIEST}" if first < EARLIEST else ""
    return "" if 0 <= first < FIRST_HOUR else "1 = 1"


def without(engine: Any, rows: Relation, lines: Collection[int]) -> Relation:
    """Return a relation without some of its lines."""
    if not len(lines):
        return rows
    bad = engine.small({"line": sorted(lines)})
    return engine.view("SELECT * FROM t WHERE line NOT IN (SELECT line FROM bad)", t=rows, bad=bad)


def event_checks(columns: Collection[str], positions: str, first: float | None) -> list[Check]:
    """Return the checks of events whose exposures begin at the time ``first``.

    positions: SQL of whether the position of an event is a place of a list.
    """
    zero = f"an event at position 0: {_FROM_0}; for positions from 0 map position::int + 1 with --source"
    late = said(f"'time' of an event {_UNIT}, not {_MILLIS}")
    early = said(f"'time' of an event {_UNIT}, not {{printf('%.15g', time)}}, which is {{{_DATE}}}")
    checks = [
        _FAULT,
        Check(("time",), f"time >= {LATEST}", late),
        Check((), f"({positions}) AND position = 0", quoted(zero)),
    ]
    if (first or 0) >= EARLIEST:
        checks.append(Check(("time",), f"time < {EARLIEST}", early))
    return [check for check in checks if set(check.columns) <= set(columns)]
