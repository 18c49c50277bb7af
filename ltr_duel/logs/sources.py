"""Sources of a log: the one-table format, User Behavior Insights records, or any exposures and events.

Each source makes one relation of impressions in an engine, with the columns of `LOG_COLUMNS` that exist, ``line`` and
``fault``. Later steps read only this relation.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ltr_duel.core import InputError, errors
from ltr_duel.logs.attribution import EventCounts, Outcome, attribute, completed, suffixes
from ltr_duel.logs.bad_lines import Faults
from ltr_duel.logs.columns import require_columns, typed
from ltr_duel.logs.engine import Engine, Relation, named, quoted
from ltr_duel.logs.files import Position, csv_rows, files_of, format_of, open_text, parquet_rows, rows_in, text_lines
from ltr_duel.logs.mapping import Part, create_relation, sections_of, select
from ltr_duel.logs.rows import check_events, check_values, faults_of, kinds_of, without
from ltr_duel.logs.table import EVENT, EXPOSURE, LISTS, LOG_COLUMNS, MILLISECONDS
from ltr_duel.logs.ubi import create_views
from ltr_duel.logs.warehouse import Warehouse

_CELLS = re.compile(r"Error on Line: (\d+)\s.*Expected Number of Columns: (\d+) Found: (\d+)", re.DOTALL)
_NO_OBJECT = """CASE WHEN NOT json_valid(text) THEN 'not valid JSON, or truncated'
    WHEN json_type(text) <> 'OBJECT' THEN 'not a JSON object with the columns as keys' END"""


class Loaded(NamedTuple):
    """A log as a relation of an engine."""

    engine: Any
    impressions: Relation  # columns of `LOG_COLUMNS` and ``line``; exposures: ``row``, and no clicks; perhaps ``fault``
    find: Callable[[int], Position]  # returns the file and row of a line
    strange: Sequence[str] = ()  # columns that are not read
    events: Relation | None = None  # if the log has exposures and events
    placed: Relation | None = None  # events by place, see there
    counts: EventCounts | None = None
    faults: Faults | None = None  # of all columns; by default the columns that are read are checked
    events_file: Path | None = None  # the file of the events, if the exposures are in another file
    find_event: Callable[[Any], Position] | None = None  # returns the file and row of an event, given its ``origin``


Source: TypeAlias = Callable[[Sequence[Outcome]], Loaded]


def own(paths: tuple[Path, ...], kind: str, context: tuple[str, ...] = ()) -> Source:
    """Return the source of files in the one-table format."""

    def load(outcomes: Sequence[Outcome]) -> Loaded:
        what = "not a Parquet file, or truncated" if kind == "parquet" else "cannot be read"
        engine = Engine(damaged(paths[0], what), rows_in(paths))
        read = _read_json if kind == "jsonl" else _read_columns
        with engine.guarded():
            have, find = read(engine, paths, context)
        log = cleaned(engine, engine.table("log"))
        table = _clicks_of(paths[0], engine, log, outcomes)
        strange = [name for name in have if name not in (*LOG_COLUMNS, *context)]
        if ("dwell" in log.columns) == ("dwell" in table.columns):
            return Loaded(engine, table, find, strange)
        given = "owners IS NOT NULL" if "owners" in log.columns else "1 = 0"
        faults = faults_of(engine, log, given, find)  # before clicks are chosen by their dwell times
        kinds = kinds_of(engine, without(engine, table, faults.lines), given)
        return Loaded(engine, table, find, strange, faults=faults._replace(kinds=kinds))

    return load


def _read_columns(
    engine: Engine, paths: tuple[Path, ...], context: tuple[str, ...]
) -> tuple[list[str], Callable[[int], Position]]:
    """Create ``log`` from CSV or Parquet files; return their columns, and how to find a line."""
    parquet = format_of(paths) == "parquet"
    if parquet:
        rows = parquet_rows(engine, paths)
    else:
        head = _head(paths[0])
        if other := next((path for path in paths if _head(path) != head), None):
            raise InputError(f"{other}: the first line differs from that of {paths[0]}: {', '.join(head)}")
        if not head or len(set(head)) < len(head):
            raise InputError(f"{paths[0]}:1: the first line of a CSV log must contain each column name once")
        columns = ", ".join(f"{quoted(name)}: 'VARCHAR'" for name in head)
        rows = csv_rows(paths, f"columns = {{{columns}}}, auto_detect = false, quote = '\"', escape = '\"'")
    have = [
        row["column_name"] for row in engine.rows(f"DESCRIBE SELECT * EXCLUDE (ltr_line, ltr_file) FROM ({rows.sql})")
    ]
    require_columns(paths[0], have, "log", context)
    chosen = [named(name) for name in LOG_COLUMNS if name in have]
    chosen += [f"{named(name)}::VARCHAR AS {named(name)}" for name in context if name in have]
    raw = f"SELECT {', '.join(chosen)}, ltr_line AS line FROM ({rows.sql})"
    engine.create("log", typed(engine, raw), "VIEW" if parquet else "TABLE")
    return have, rows.finder(engine)


def _head(path: Path) -> list[str]:
    """Return the first line of a CSV file."""
    try:
        with open_text(path) as file:
            return next(csv.reader(file), [])
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None


def _read_json(
    engine: Engine, paths: tuple[Path, ...], context: tuple[str, ...]
) -> tuple[list[str], Callable[[int], Position]]:
    """Create ``log`` from JSON lines; return their keys, and how to find a line."""
    find = _read_lines(engine, paths)
    structure = quoted(json.dumps(dict.fromkeys((*LOG_COLUMNS, *context), "JSON")))
    given = f"unnest(from_json(CASE WHEN json_valid(text) THEN text END, {structure}))"
    engine.create("log", typed(engine, f"SELECT line, {_NO_OBJECT} AS fault, {given} FROM lines"))
    keys = "SELECT line, unnest(json_keys(CASE WHEN json_valid(text) THEN text END)) AS key FROM lines"
    found = engine.query(f"SELECT key FROM ({keys}) GROUP BY key ORDER BY min(line), key")["key"].to_pylist()
    engine.execute("DROP TABLE lines")
    if found:
        require_columns(paths[0], found, "log", context)
    return found, find


def _read_lines(engine: Engine, paths: tuple[Path, ...]) -> Callable[[int], Position]:
    """Create the table ``lines`` of text files; return how to find a line."""
    rows = text_lines(paths)
    sql = f"SELECT ltr_line AS line, text, NULL::VARCHAR AS fault FROM ({rows.sql}) WHERE trim(text) <> ''"
    engine.create("lines", sql)
    return rows.finder(engine)


def _clicks_of(path: Path, engine: Engine, table: Relation, outcomes: Sequence[Outcome]) -> Relation:
    """Return a log with the clicks of each outcome; here an event is a click with its position and dwell time."""
    lists = {}
    for outcome, ending in zip(outcomes, suffixes(outcomes), strict=True):
        if outcome.value or outcome.kind not in ("", "click"):
            raise InputError(f"{path}: outcome '{outcome.name}' requires a table of events; this log has clicks")
        if outcome.where not in ("", "kind = 'click'"):
            if "dwell" not in table.columns:
                raise InputError(f"{path}: outcome '{outcome.name}' needs the column 'dwell'")
            each = "SELECT line, unnest(clicks) AS position, unnest(dwell) AS dwell, 'click' AS kind FROM log"
            sql = f"SELECT line, list(position) AS clicks FROM ({each}) WHERE {outcome.where} GROUP BY line"
            lists[f"clicks{ending}"] = engine.keep(sql, log=table)
        elif ending:
            table = engine.view(f"SELECT *, clicks AS clicks{ending} FROM log", log=table)
    if not lists:
        return table
    chosen = [f"l.{named(name)}" for name in table.columns if name not in (*lists, "dwell")]
    chosen += [f"CASE WHEN l.clicks IS NOT NULL THEN coalesce({name}.clicks, []) END AS {name}" for name in lists]
    joins = " ".join(f"LEFT JOIN {name} ON l.line = {name}.line" for name in lists)
    return engine.view(f"SELECT {', '.join(chosen)} FROM log l {joins}", log=table, **lists)


def ubi(paths: tuple[Path, ...], context: tuple[str, ...] = ()) -> Source:
    """Return the source of User Behavior Insights records."""

    def load(outcomes: Sequence[Outcome]) -> Loaded:
        engine = Engine(damaged(paths[0]), rows_in(paths))
        find = _read_lines(engine, paths)
        create_views(engine, context)
        return _joined(engine, engine.table("exposures"), engine.table("events"), outcomes, find)

    return load


def tables(
    path: str | Path,
    events: str | Path | None,
    source: str | Path | None,
    connect: str,
    context: tuple[str, ...] = (),
) -> Source:
    """Return the source of exposures and events, from files or from tables of a connection."""

    def load(outcomes: Sequence[Outcome]) -> Loaded:
        mapping = Path(source) if source is not None else None
        sections = sections_of(mapping) if mapping else {}
        if events is None and "events" not in sections:
            raise InputError("exposures need events: give --events, or a mapping with [events]")
        shown, done = (
            Part(name, mapping, sections.get(name, {}), str(where), legal, more)
            for name, where, legal, more in (
                ("exposures", path, EXPOSURE, context),
                ("events", events if events is not None else path, tuple(EVENT), ()),
            )
        )
        if connect:
            warehouse = Warehouse(connect)
            exposures, done_events = (_table_of(warehouse, part) for part in (shown, done))

            def find_row(name: Any) -> Position:
                return Position(shown.table, f"impression '{name}'")

            loaded = _joined(warehouse, exposures, done_events, outcomes, find_row)
            return loaded._replace(strange=shown.strange)
        engine = Engine(damaged(Path(path)), sum(map(_rows_of, (shown, done))))
        find, find_event = (create_relation(engine, part) for part in (shown, done))
        loaded = _joined(
            engine, engine.table("exposures"), engine.table("events"), outcomes, find, find_event, done.given
        )
        other = Path(done.file) if done.file != shown.file else None
        return loaded._replace(strange=shown.strange, events_file=other)

    return load


def cleaned(engine: Any, table: Relation) -> Relation:
    """Return a table with times in seconds, and with null for empty ids."""
    made: dict[str, str] = {name: f"nullif({named(name)}, '')" for name in ("impression", "user")}
    time = "CAST(time AS DOUBLE)"
    made["time"] = f"CASE WHEN {time} >= {MILLISECONDS} THEN {time} / 1000 ELSE {time} END"
    chosen = [f"{made[name]} AS {named(name)}" if name in made else named(name) for name in table.columns]
    return engine.view(f"SELECT {', '.join(chosen)} FROM t", t=table)


def _joined(
    engine: Any,
    exposures: Relation,
    events: Relation,
    outcomes: Sequence[Outcome],
    find: Callable[[Any], Position],
    find_event: Callable[[Any], Position] | None = None,
    mapped: dict[str, Any] | None = None,
) -> Loaded:
    """Join exposures and events; ``line`` numbers the rows of files, and impressions of a database by their time."""
    exposures, events = cleaned(engine, exposures), cleaned(engine, events)
    if not LISTS & set(exposures.columns) and "owner" not in events.columns:
        raise InputError(
            "no column has an item's ranker: add 'owner' to the events, or 'shown' with 'owners', 'rankings' or 'page'"
            " to the exposures, or map them with --source; see docs/logs.md"
        )
    events = completed(engine, events)
    check_values(engine, events, outcomes, find_event)
    line = (
        "row AS line"
        if "row" in exposures.columns
        else "impression AS row, row_number() OVER (ORDER BY time, impression) AS line"
    )
    exposures = engine.view(f"SELECT *, {line} FROM x", x=exposures)
    (first,) = engine.rows("SELECT min(time) AS first FROM x", x=exposures)

    def find_line(line: int) -> Position:
        origin = "origin" if "origin" in exposures.columns else "impression"
        (row,) = engine.rows(f"SELECT {origin} AS origin FROM x WHERE line = {line}", x=exposures)
        return find(row["origin"])

    given = "owners IS NOT NULL" if "owners" in exposures.columns else "1 = 1"
    if "owners" not in exposures.columns and {"page", "rankings"} & set(exposures.columns):
        given = "1 = 0"
    items = engine.rows("SELECT 1 AS item FROM e WHERE item IS NOT NULL LIMIT 1", e=events)  # else positions decide
    faults = faults_of(engine, exposures, given, find_line, documents=bool(items))
    found = attribute(
        engine,
        without(engine, exposures, faults.lines),  # an event cannot belong to an exposure that is not read
        events,
        outcomes,
        lambda about: check_events(engine, events, about, first["first"], find_event, mapped or {}),
    )
    return Loaded(engine, exposures, find_line, (), events, found.placed, found.counts, faults, None, find_event)


def _table_of(engine: Warehouse, part: Part) -> Relation:
    if part.columns:
        part.match(part.tried(lambda *_: engine.sql(select({}, "", part.table)).columns))
        table: Relation = part.tried(lambda columns, where: engine.sql(select(columns, where, part.table)))
    else:
        table = engine.table(part.table)
        require_columns(part.table, table.columns, part.name)
        chosen = ", ".join(named(column) for column in table.columns if column in part.legal)
        table = engine.view(f"SELECT {chosen} FROM t", t=table)
    return engine.typed(table)


def _rows_of(part: Part) -> int:
    with suppress(InputError):  # the error is reported when the part is read
        return rows_in(files_of(part.file))
    return 0


def damaged(path: Path, what: str = "cannot be read") -> Callable[[Exception], InputError]:
    """Return a function that converts engine errors to an `InputError` about an unreadable file or a failed query."""

    def sentence(error: Exception) -> InputError:
        import duckdb

        text = str(error)
        if cells := _CELLS.search(text):
            return InputError(f"{path}:{cells[1]}: {cells[3]} cells, but the first line has {cells[2]} columns")
        of_query = (duckdb.InternalError, duckdb.ProgrammingError, duckdb.NotSupportedError)
        read = isinstance(error, duckdb.InvalidInputException) or not isinstance(error, of_query)
        said = what if read else "DuckDB cannot run a query on it"
        return InputError(f"{path}: {said} ({errors.in_one_line(text.splitlines()[0])})")

    return sentence
