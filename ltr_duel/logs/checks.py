"""Find the rows and events of a log that cannot be used, and say why.

A user may permit that some unusable rows are skipped. An unusable event is always an error.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from ltr_duel.core import InputError, errors, several
from ltr_duel.logs.engine import Relation, named
from ltr_duel.logs.table import EARLIEST, FIRST_HOUR, LATEST, LOG_COLUMNS, NO_RANKER, NO_RANKERS

_AGAIN = " (rows of an impression may differ in time only; keep the first)"
_GRADES = 1000  # largest grade
_UNIT = "must be in seconds or milliseconds since 1970"
_MILLIS = "{coalesce(try_cast(time * 1000 AS HUGEINT)::VARCHAR, (time * 1000)::VARCHAR)}"
_DATE = "which is {strftime(make_timestamp((time * 1e6)::BIGINT), '%Y-%m-%d %H:%M:%S')}"
_REPEATED = "repeats an impression"
EQUAL = "{:,} rows equal an earlier row of their impression, and count once"
_FROM_0 = "do positions count from 0, or is this a list of flags? position 1 is the top"
_TWICE = """CASE WHEN list_count(shown) < length THEN 'a document of ''shown'' is missing' ELSE 'document ''' ||
  list_filter(shown, lambda e, k: list_position(shown, e) < k)[-1] || ''' is shown twice' END"""
Row = dict[str, Any]


class Check(NamedTuple):
    """A check of rows: the condition that makes a row unusable, and the message on a row that meets it."""

    columns: str  # columns that the check reads, separated by spaces; if one is absent, the check is omitted
    wrong: str  # SQL condition; it may also use the columns that `Engine.measured` adds
    message: str  # text of the message; SQL in braces is replaced by its value for the row


def _outside(name: str, low: int, high: str) -> str:
    return f"list_min({name}) < {low} OR list_max({name}) > {high} OR list_count({name}) < len({name})"


def _first(name: str, wrong: str) -> str:
    return f"{{list_filter({name}, lambda e: {wrong})[1]}}"


_STRANGE = f"owner {_first('owners', 'e < -1 OR e >= len(rankers)')} is not a ranker: 0 to {{len(rankers) - 1}}"
_OFF_LIST = f"a click at position {_first('clicks', 'e IS NULL OR e < 1 OR e > length')} is not on the list of"
_FAULT = Check("fault", "fault IS NOT NULL", "{fault}")
_ZERO = Check("clicks", "len(list_filter(clicks, lambda e: e = 0)) > 0", f"a click at position 0: {_FROM_0}")
_EMPTY = {"clicks": "; an empty list if nothing was clicked"}
_CHECKS = (
    _FAULT,
    *(
        Check(name, f"{named(name)} IS NULL", f"'{name}' is missing{_EMPTY.get(name, '')}")
        for name, column in LOG_COLUMNS.items()
        if column.needed
    ),
    Check("time", "NOT (time BETWEEN -1e300 AND 1e300)", "'time' must be a finite number, not {time}"),
    Check("time", f"time >= {LATEST}", f"'time' {_UNIT}, not {_MILLIS}"),
    Check("shown", "length = 0", "'shown' is empty"),
    Check("shown", "different < length", f"{{{_TWICE}}}"),
    Check("owners rankers", "owners IS NOT NULL AND rankers IS NULL", NO_RANKERS),
    Check("owners rankers", f"low = {NO_RANKER}", "owner of an item is not a ranker"),
    Check(
        "owners rankers", "low < -1 OR high >= array_length(rankers)",
        f"{_STRANGE} for a ranker, -1 or null for no ranker",
    ),
    Check("owners shown", "owned <> length", "{owned} owners for {length} shown documents"),
    _ZERO,
    Check("clicks", _outside("clicks", 1, "length"), f"{_OFF_LIST} {{length}} (1 is the top)"),
    Check(
        "grades", _outside("grades", 0, str(_GRADES)),
        f"{_first('grades', f'e IS NULL OR e < 0 OR e > {_GRADES}')} is not a grade (0 to {_GRADES})",
    ),
    Check("grades", "len(grades) <> length", "{len(grades)} grades for {length} shown documents"),
)  # fmt: skip


class Checked(NamedTuple):
    """Result of `checked`."""

    kinds: list[Row]  # combinations of rankers, method, outcome and ``given`` in usable lines, with ``first_line``
    equal: list[int]  # lines that equal an earlier line except for the time, because the page was shown again
    reasons: dict[int, str]  # for each bad line, the reason in short
    sentence: Callable[[int], str]  # returns the message on a bad line

    @property
    def lines(self) -> list[int]:
        """The line numbers of all rows that are not used."""
        return [*self.equal, *self.reasons]


class BadLines:
    """Counts the unusable lines of a log. More than ``allowed`` lines are an error, unless ``allowed`` is None."""

    def __init__(self, find: Callable[[int], Any], allowed: int | None) -> None:
        self._find, self._allowed = find, allowed
        self._reasons: dict[int, str] = {}  # the reason of each bad line
        self._first: dict[str, str] = {}  # message on the first line of each reason
        self.equal = 0  # number of lines that count once with an earlier line

    @property
    def count(self) -> int:
        """Number of bad lines."""
        return len(self._reasons)

    @property
    def repeated(self) -> int:
        """Number of bad lines that repeat an impression."""
        return list(self._reasons.values()).count(_REPEATED)

    @property
    def sentences(self) -> list[str]:
        """One message for each reason: its first bad line, and how many lines are bad for this reason."""
        number = Counter(self._reasons.values())
        return [first + f"; {number[why]:,} such lines" * (number[why] > 1) for why, first in self._first.items()]

    def add(self, reasons: dict[int, str], sentence: Callable[[int], str]) -> None:
        """Count bad lines, each with its reason. Raises `InputError` if the log now has more than are allowed."""

        def message(line: int) -> str:
            return errors.in_one_line(f"{self._find(line)}: {sentence(line)}")

        lines = sorted(reasons.keys() - self._reasons.keys())
        if self._allowed is not None and self.count + len(lines) > self._allowed:
            skipped = f"{self._allowed:,} may be skipped" if self._allowed else "--skip-bad 100 skips up to 100"
            number = several(self.count + len(lines), "bad line")
            raise InputError(f"{message(lines[self._allowed - self.count])} ({number}; {skipped})")
        self._reasons |= {line: reasons[line] for line in lines}
        for line in lines:
            if reasons[line] not in self._first:
                self._first[reasons[line]] = message(line)


def given_owners(columns: Collection[str], *, by_event: bool) -> str:
    """Return an SQL condition that is true if the owners of a row's documents are known."""
    return "owners IS NOT NULL" if "owners" in columns else f"1 = {int(by_event)}"


def checked(engine: Any, rows: Relation, given: str, find: Callable[[int], Any], *, documents: bool = True) -> Checked:
    """Check all rows of a log.

    given: SQL for whether a row has owners.
    documents: whether to check that no document is shown twice. This check takes much longer than all others.
    """
    equal, first = _repeated(engine, rows) if "impression" in rows.columns else ([], {})
    checks = [*_CHECKS, *_unit_of_time(engine, rows)]
    checks = [check for check in _present(checks, rows) if documents or "different" not in check.wrong]
    coded = code_rows(engine, engine.measured(rows), checks)
    kinds = kinds_of(engine, coded, given, "code")
    bad = {row["code"] for row in kinds if row["code"] >= 0}
    if _ZERO in checks and (zero := checks.index(_ZERO)) in bad:  # then the clicks of all rows are wrong
        (row,) = engine.rows(f"SELECT min(line) AS line FROM t WHERE code = {zero}", t=coded)
        raise InputError(f"{find(row['line'])}: {_ZERO.message}")
    reasons: dict[int, str] = {}
    if bad:
        fault = "CASE WHEN code = 0 THEN split_part(fault, ', not ', 1) END" if _FAULT in checks else "NULL"
        sql = f"SELECT line, coalesce({fault}, CAST(code AS VARCHAR)) AS reason FROM t WHERE code >= 0"
        reasons = dict(zip(*(column.to_pylist() for column in engine.query(sql, t=coded).columns), strict=True))

    def sentence(line: int) -> str:
        row = engine.query(f"SELECT * FROM t WHERE line = {line}", t=coded)
        if line not in first:
            return message(row, checks[row["code"][0].as_py()].message)
        place, before = find(line), find(first[line])
        where = f"line {before.row}" if isinstance(before.row, int) else before.row
        return f"impression '{row['impression'][0]}' repeats {where if before.file == place.file else before}{_AGAIN}"

    sound = [row for row in kinds if row["code"] < 0]
    return Checked(sound, equal, dict.fromkeys(first, _REPEATED) | reasons, sentence)


def kinds_of(engine: Any, rows: Relation, given: str, *more: str) -> list[Row]:
    """Return the different combinations of rankers, method, outcome and the columns ``more`` that occur in a log."""
    keys = [*(name for name in ("rankers", "method", "outcome") if name in rows.columns), *more]
    sql = f"SELECT {', '.join([*keys, f'{given} AS given'])}, min(line) AS first_line FROM t"
    return sorted(engine.rows(f"{sql} GROUP BY {', '.join([*keys, given])}", t=rows), key=lambda row: row["first_line"])


def code_rows(engine: Any, rows: Relation, checks: Sequence[Check]) -> Relation:
    """Add a column ``code``: the index of the first check that a row fails, or -1 if it passes all checks."""
    cases = " ".join(f"WHEN {check.wrong} THEN {k}" for k, check in enumerate(checks))
    return engine.view(f"SELECT *, {f'CASE {cases} ELSE -1 END' if cases else -1} AS code FROM t", t=rows)


def message(row: Any, text: str) -> str:
    """Fill in the message of a check with the values of a row, which is an Arrow table."""
    import duckdb

    parts = re.split(r"[{}]", text)
    with duckdb.connect() as small:
        small.register("t", row)
        for k in range(1, len(parts), 2):
            parts[k] = str(small.sql(f"SELECT coalesce(({parts[k]})::VARCHAR, 'null') FROM t").fetchall()[0][0])
    return "".join(parts)


def _present(checks: Sequence[Check], rows: Relation) -> list[Check]:
    return [check for check in checks if set(check.columns.split()) <= set(rows.columns)]


def _repeated(engine: Any, rows: Relation) -> tuple[list[int], dict[int, int]]:
    # the first result: lines that equal the first line of their impression except for the time; the second: all other
    # repeated lines, each with the first line of its impression
    (again,) = engine.rows("SELECT count(impression) > count(DISTINCT impression) AS again FROM t", t=rows)
    if not again["again"]:
        return [], {}
    compared = [name for name in rows.columns if name not in ("line", "row", "origin", "time")]
    alike = " AND ".join(f"a.{named(name)} IS NOT DISTINCT FROM b.{named(name)}" for name in compared)
    sql = f"""SELECT a.line, o.first, CASE WHEN {alike} THEN 1 ELSE 0 END AS alike
      FROM t a JOIN (SELECT impression, min(line) AS first FROM t GROUP BY impression HAVING count(*) > 1) AS o
        ON a.impression = o.impression JOIN t b ON b.line = o.first
      WHERE a.line > o.first"""
    lines = engine.rows(sql, t=rows)
    return [row["line"] for row in lines if row["alike"]], {r["line"]: r["first"] for r in lines if not r["alike"]}


def _unit_of_time(engine: Any, rows: Relation) -> list[Check]:
    if "time" not in rows.columns:
        return []
    sql = f"SELECT min(time) AS first, max(time) AS last FROM t WHERE time > -1e300 AND time < {LATEST}"
    (span,) = engine.rows(sql, t=rows)
    # times must count from 0, or be dates between 1990 and 2100
    if span["last"] is None or (span["last"] < EARLIEST and 0 <= span["first"] < FIRST_HOUR):
        return []
    wrong = f"time < {EARLIEST}" if span["last"] >= EARLIEST else "1 = 1"
    return [Check("time", wrong, f"'time' {_UNIT}, or a date, not {{time}}, {_DATE}")]


def without(engine: Any, rows: Relation, lines: Collection[int]) -> Relation:
    """Return a relation without the given lines."""
    if not len(lines):
        return rows
    bad = engine.small({"line": sorted(lines)})
    return engine.view("SELECT * FROM t WHERE line NOT IN (SELECT line FROM bad)", t=rows, bad=bad)


def event_checks(events: Relation, positions: str, first: float | None) -> list[Check]:
    """Return the checks that each event of a log must pass.

    positions: SQL for whether the position of an event is a place on a list.
    first: time of the first exposure.
    """
    zero = f"an event at position 0: {_FROM_0}; for positions from 0 map position::int + 1 with --source"
    checks = [
        _FAULT,
        Check("time", f"time >= {LATEST}", f"'time' of an event {_UNIT}, not {_MILLIS}"),
        Check("", f"({positions}) AND position = 0", zero),
    ]
    if (first or 0) >= EARLIEST:
        early = f"'time' of an event {_UNIT}, not {{printf('%.15g', time)}}, {_DATE}"
        checks.append(Check("time", f"time < {EARLIEST}", early))
    return _present(checks, events)
