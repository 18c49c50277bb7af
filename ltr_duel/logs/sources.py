"""Sources of a log: the one-table format, User Behavior Insights records, or any exposures and events.

Each source creates one relation of impressions in an engine, with the columns of `LOG_COLUMNS` that exist, ``line`` and
``fault``. Later steps read only this relation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ltr_duel.core import InputError
from ltr_duel.logs.attribution import (
    EVENT,
    EXPOSURE,
    LISTS,
    Attributed,
    EventCounts,
    Outcome,
    attribute,
    completed,
    suffixes,
)
from ltr_duel.logs.columns import require_columns
from ltr_duel.logs.engine import NO_RANKER, Engine, Warehouse, named
from ltr_duel.logs.files import Files, Found, files_of, rows_in
from ltr_duel.logs.mapping import Part, create_relation, sections_of, select
from ltr_duel.logs.own import create_log, load_lines
from ltr_duel.logs.ubi import create_views

_MILLISECONDS = 1e11  # larger times are in milliseconds; seconds reach this number in the year 5138


class Loaded(NamedTuple):
    """A log as a relation of an engine."""

    engine: Any
    table: Any  # Ibis table: available columns of `LOG_COLUMNS`, ``line``, and ``fault`` if rows may have faults
    find: Callable[[int], Found]  # returns the file and row of a line
    strange: Sequence[str] = ()  # columns that are not read
    exposures: Any = None  # Ibis tables, if the log has exposures and events
    events: Any = None
    met: Any = None  # events that name an impression, see `ltr_duel.logs.attribution.Attributed`
    counts: EventCounts | None = None
    ordered: bool = True  # whether rows are in the order of their lines
    events_file: Path | None = None  # the file of the events, if the exposures are in another file
    find_event: Callable[[Any], Found] | None = None  # returns the file and row of an event, given its ``origin``


Source: TypeAlias = Callable[[Sequence[Outcome]], Loaded]


def own(paths: tuple[Path, ...], kind: str, context: tuple[str, ...] = ()) -> Source:
    """Return the source of files in the one-table format."""

    def load(outcomes: Sequence[Outcome]) -> Loaded:
        engine = Engine(damaged(paths[0], "not a Parquet file, or truncated"), rows_in(paths))
        with engine.guarded():
            files, strange = create_log(engine, paths, kind, context)
        table = cleaned(engine.table("log"))
        return Loaded(engine, _clicks_of(paths[0], engine, table, outcomes), files.find, strange)

    return load


def _clicks_of(path: Path, engine: Engine, table: Any, outcomes: Sequence[Outcome]) -> Any:
    """Return a log with the clicks of each outcome; here an event is a click with its position and dwell time."""
    clicks = {}
    for outcome, ending in zip(outcomes, suffixes(outcomes), strict=True):
        if outcome.value or outcome.kind not in ("", "click"):
            raise InputError(f"{path}: outcome '{outcome.name}' requires a table of events; this log has clicks")
        if outcome.where not in ("", "kind = 'click'"):
            if "dwell" not in table.columns:
                raise InputError(f"{path}: outcome '{outcome.name}' needs the column 'dwell'")
            each = "SELECT line, unnest(clicks) AS position, unnest(dwell) AS dwell, 'click' AS kind FROM log"
            lists = f"SELECT line, list(position) AS clicks FROM ({each}) WHERE {outcome.where} GROUP BY line"
            clicks[f"clicks{ending}"] = engine.keep(lists, log=table)
        elif ending:
            table = table.mutate(**{f"clicks{ending}": table.clicks})
    if not clicks:
        return table
    chosen = [f"l.{named(name)}" for name in table.columns if name not in (*clicks, "dwell")]
    chosen += [f"CASE WHEN l.clicks IS NOT NULL THEN coalesce({name}.clicks, []) END AS {name}" for name in clicks]
    joins = " ".join(f"LEFT JOIN {name} ON l.line = {name}.line" for name in clicks)
    return engine.view(f"SELECT {', '.join(chosen)} FROM log l {joins}", log=table, **clicks)


def ubi(paths: tuple[Path, ...], context: tuple[str, ...] = ()) -> Source:
    """Return the source of User Behavior Insights records."""

    def load(outcomes: Sequence[Outcome]) -> Loaded:
        engine = Engine(damaged(paths[0]), rows_in(paths))
        files = Files(paths, load_lines(engine, paths, "ubi"))
        create_views(engine, context)
        exposures, events = engine.table("exposures"), engine.table("events")
        return _joined(engine, exposures, events, outcomes, files.find, then=("origin",))

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
        shown, seen = (
            Part(name, mapping, sections.get(name, {}), str(where), legal, more)
            for name, where, legal, more in (
                ("exposures", path, EXPOSURE, context),
                ("events", events if events is not None else path, tuple(EVENT), ()),
            )
        )
        if connect:
            warehouse = Warehouse(connect)
            exposures, events_table = _table_of(warehouse, shown), _table_of(warehouse, seen)
            exposures = exposures.mutate(row=exposures.impression)
            loaded = _joined(
                warehouse, exposures, events_table, outcomes, lambda name: Found(shown.table, f"impression '{name}'")
            )
            return loaded._replace(strange=shown.strange)
        engine = Engine(damaged(Path(path)), sum(map(_rows_of, (shown, seen))))
        find, find_event = (create_relation(engine, part) for part in (shown, seen))
        loaded = _joined(engine, engine.table("exposures"), engine.table("events"), outcomes, find)
        other = Path(seen.file) if seen.file != shown.file else None
        return loaded._replace(find_event=find_event, strange=shown.strange, events_file=other)

    return load


def cleaned(table: Any) -> Any:
    """Return a table with times in seconds, and with null for empty ids."""
    import ibis

    names = {name: table[name].nullif("") for name in ("impression", "user") if name in table.columns}
    if "time" in table.columns:
        time = table.time.cast("float64")
        names["time"] = ibis.ifelse(time >= _MILLISECONDS, time / 1000, time)
    return table.mutate(**names)


def _joined(
    engine: Any,
    exposures: Any,
    events: Any,
    outcomes: Sequence[Outcome],
    find: Callable[[Any], Found],
    then: Sequence[str] = ("impression", "origin"),
) -> Loaded:
    """Join exposures and events; rows are numbered in the order of time, then by the columns ``then``."""
    exposures, events = cleaned(exposures), cleaned(events)
    if not LISTS & set(exposures.columns) and "owner" not in events.columns:
        raise InputError(
            "no column has an item's ranker: add 'owner' to the events, or 'shown' with 'owners', 'rankings' or 'page'"
            " to the exposures, or map them with --source; see docs/logs.md"
        )
    events = completed(engine, events)
    order = [name for name in ("time", *then) if name in exposures.columns]
    line, more, ordered = "row_number() OVER (ORDER BY x.time, x.impression)", {}, False
    if isinstance(engine, Engine):
        line, ordered = "x.row", _in_order(engine, exposures, order)
        if not ordered:  # narrow rows are sorted, because lists would be written to disk
            sql = f"SELECT row, row_number() OVER (ORDER BY {', '.join(order)}) AS line FROM exposures"
            line, more = "l.line", {"l": engine.keep(sql, exposures=exposures)}
    found: Attributed = attribute(engine, exposures, events, outcomes, line, more)
    table = engine.view(found.impressions, **found.relations)

    def find_line(line: int) -> Found:
        column = "origin" if "origin" in table.columns else "impression"
        return find(engine.value(table.filter(table.line == line)[column]))

    return Loaded(engine, table, find_line, (), exposures, events, found.met, found.counts, ordered=ordered)


def _in_order(engine: Engine, exposures: Any, order: Sequence[str]) -> bool:
    """Return whether exposures are sorted by these columns, and no time is missing."""
    before = ", ".join(f"{name}, lag({name}) OVER () AS before_{name}" for name in order)
    wrong = "false"
    for name in reversed(order):
        wrong = f"{name} < before_{name} OR ({name} = before_{name} AND ({wrong}))"
    sql = f"SELECT count(*) AS n FROM (SELECT {before} FROM exposures) WHERE {wrong} OR time IS NULL OR isnan(time)"
    return not engine.query(sql, exposures=exposures)["n"][0].as_py()


def _table_of(engine: Warehouse, part: Part) -> Any:
    if part.columns:
        part.match(part.tried(lambda *_: engine.sql(select({}, "", part.table)).columns))
        table = part.tried(lambda columns, where: engine.sql(select(columns, where, part.table)))
    else:
        table = engine.table(part.table)
        require_columns(part.table, table.columns, part.name)
        table = table.select([column for column in table.columns if column in part.legal])
    if {"owners", "rankers"} <= set(table.columns) and table.owners.type().value_type.is_string():
        table = table.mutate(owners=table.owners.map(lambda one: _place(one, table.rankers)))
    if "time" in table.columns and table.time.type().is_timestamp():
        table = table.mutate(time=table.time.epoch_seconds())
    return table


def _place(owner: Any, rankers: Any) -> Any:
    """Return the position of an owner among the rankers, -1 for null or an empty name."""
    import ibis

    place = rankers.index(owner)
    return ibis.ifelse(owner.nullif("").isnull(), -1, ibis.ifelse(place < 0, NO_RANKER, place)).cast("int32")


def _rows_of(part: Part) -> int:
    with suppress(InputError):  # the error is reported when the part is read
        return rows_in(files_of(part.file))
    return 0


def damaged(path: Path, what: str = "cannot be read") -> Callable[[Exception], InputError]:
    """Return a function that converts engine errors to an `InputError` about an unreadable file or a failed query."""

    def sentence(error: Exception) -> InputError:
        import duckdb

        of_query = (duckdb.InternalError, duckdb.ProgrammingError, duckdb.NotSupportedError)
        read = isinstance(error, duckdb.InvalidInputException) or not isinstance(error, of_query)
        said = what if read else "DuckDB cannot run a query on it"
        return InputError(f"{path}: {said} ({str(error).splitlines()[0]})")

    return sentence
