"""Sources of a log: the one-table format, User Behavior Insights records, or any exposures and events.

Each source creates relations with the same columns in an engine: a table of impressions, or exposures and events that
are then joined into a table of impressions. Later steps read only this table.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ltr_duel.core import InputError, errors
from ltr_duel.logs.aligned import Numbered, align
from ltr_duel.logs.attribution import (
    EVENT,
    EXPOSURE,
    LISTS,
    Late,
    Outcome,
    attributed,
    completed,
    counts,
    listed,
    met,
    numbered,
    one_table,
    placed,
)
from ltr_duel.logs.columns import require_columns
from ltr_duel.logs.engine import NO_RANKER, Engine, Warehouse
from ltr_duel.logs.files import Files, Found, files_of, rows_in
from ltr_duel.logs.mapping import Part, create_relation, sections_of, select
from ltr_duel.logs.own import create_log, load_lines
from ltr_duel.logs.sessions import create_sessions
from ltr_duel.logs.ubi import create_views

_MILLISECONDS = 1e11  # larger times are in milliseconds; seconds reach this number in the year 5138


class Number(NamedTuple):
    """Numbers of events."""

    items: int  # events with an item
    counted: int  # events that count by the outcome
    loose: int  # counted events without an impression
    known: int  # counted events without an impression, but with user and item


class Loaded(NamedTuple):
    """A log as a relation of an engine."""

    engine: Any
    table: Any  # Ibis table: available columns of `LOG_COLUMNS`, ``line``, and ``fault`` if rows may have faults
    find: Callable[[int], Found]  # returns the file and row of a line
    strange: list[str] = []  # noqa: RUF012  # columns that are not read; the default is never modified
    exposures: Any = None  # Ibis tables, if the log has exposures and events
    events: Any = None
    met: Any = None  # see `ltr_duel.logs.attribution.met`
    counting: Any = None  # see `ltr_duel.logs.attribution.attributed`
    placed: Callable[[], int] = int  # returns the number of events in ``counting`` with a position in their list
    number: Number | None = None  # numbers of events
    ordered: bool = True  # whether rows are in the order of their lines
    events_file: Path | None = None  # the file of the events, if the exposures are in another file
    find_event: Callable[[Any], Found] | None = None  # returns the file and row of an event, given its ``origin``


Source: TypeAlias = Callable[[Outcome, Late], Loaded]


def own(paths: tuple[Path, ...], kind: str, context: tuple[str, ...] = ()) -> Source:
    """Return the source of files in the one-table format, or of sessions of the Yandex challenges."""

    def load(outcome: Outcome, late: Late) -> Loaded:
        engine = Engine(damaged(paths[0], "not a Parquet file, or truncated"), rows_in(paths))
        strange: list[str] = []
        if kind == "yandex":
            files = Files(paths, load_lines(engine, paths, kind))
            create_sessions(engine)
        else:
            with engine.guarded():
                files, strange = create_log(engine, paths, kind, context)
        table = cleaned(engine.table("log"))
        if outcome.dwell:
            if "dwell" not in table.columns:
                raise InputError(f"{paths[0]}: outcome '{outcome.name}' needs the column 'dwell'")
            dwell, least = table.dwell, outcome.dwell
            table = table.mutate(clicks=table.clicks.filter(lambda _, k: dwell[k] >= least)).drop("dwell")
        elif outcome.kind != "click":
            raise InputError(f"{paths[0]}: outcome '{outcome.name}' requires a table of events; this log has clicks")
        return Loaded(engine, table, files.find, strange)

    return load


def ubi(paths: tuple[Path, ...], context: tuple[str, ...] = ()) -> Source:
    """Return the source of User Behavior Insights records."""

    def load(outcome: Outcome, late: Late) -> Loaded:
        engine = Engine(damaged(paths[0]), rows_in(paths))
        files = Files(paths, load_lines(engine, paths, "ubi"))
        numbers = create_views(engine, context)
        return _aligned(engine, numbers, outcome, late, files.find)

    return load


def tables(
    path: str | Path,
    events: str | Path | None,
    source: str | Path | None,
    connect: str,
    context: tuple[str, ...] = (),
) -> Source:
    """Return the source of exposures and events, from files or from tables of a connection."""

    def load(outcome: Outcome, late: Late) -> Loaded:
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
            engine: Any = Warehouse(connect)
            parts = _table_of(engine, shown), _table_of(engine, seen)
            found = _joined(engine, *parts, outcome, late, lambda name: Found(shown.table, f"impression '{name}'"))
            return found._replace(strange=shown.strange)
        engine = Engine(damaged(Path(path)), sum(map(_rows_of, (shown, seen))))
        (find, numbers), (find_event, _) = (create_relation(engine, part) for part in (shown, seen))
        loaded = _aligned(engine, numbers, outcome, late, find)
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


def _aligned(
    engine: Engine,
    numbers: Numbered | None,
    outcome: Outcome,
    late: Late,
    find: Callable[[Any], Found],
) -> Loaded:
    """Join exposures from files to their clicks."""
    exposures, events = _owned(cleaned(engine.table("exposures")), cleaned(engine.table("events")))
    number = _number(engine, events, outcome)
    assert numbers is not None
    items = number.items > 0
    found, counting, placed_here, ordered = align(engine, numbers, exposures, events, outcome, late, items=items)
    table = cleaned(engine.table("log"))

    def find_line(line: int) -> Found:
        return find(engine.value(table.filter(table.line == line).origin))

    facts = exposures, events, found, counting, lambda: placed_here, number
    return Loaded(engine, table, find_line, [], *facts, ordered=ordered)


def _joined(
    engine: Warehouse, shown: Any, seen: Any, outcome: Outcome, late: Late, find: Callable[[Any], Found]
) -> Loaded:
    """Join exposures and events in an external database; rows with the same time are ordered by impression."""
    exposures, events = _owned(cleaned(shown), cleaned(seen))
    exposures = exposures.mutate(row=exposures.impression)
    found, number = met(exposures, events), _number(engine, events, outcome)
    counting = attributed(exposures, found, events, outcome, late)
    at = placed(counting, exposures, outcome, items=number.items > 0)
    table = one_table(exposures, listed(at))
    table = numbered(table, "impression")

    def find_line(line: int) -> Found:
        return find(engine.value(table.filter(table.line == line).impression))

    facts = exposures, events, found, counting, lambda: engine.value(at.count()), number
    return Loaded(engine, table, find_line, [], *facts, ordered=False)


def _owned(exposures: Any, events: Any) -> tuple[Any, Any]:
    """Return exposures, and events with all columns of `EVENT`.

    Raises `InputError` if no column can give the owners of items, because then no event could be credited.
    """
    if not LISTS & set(exposures.columns) and "owner" not in events.columns:
        raise InputError(
            "no column has an item's ranker: add 'owner' to the events, or 'shown' with 'owners', 'rankings' or 'page'"
            " to the exposures, or map them with --source; see docs/logs.md"
        )
    return exposures, completed(events)


def _number(engine: Any, events: Any, outcome: Outcome) -> Number:
    """Count the events.

    Raises `InputError` if there are events, but none of the kind of the outcome.
    """
    right = counts(events, outcome)
    loose = right & events.impression.isnull()
    known = loose & events.user.notnull() & events.item.notnull()
    sums = {"counted": right, "loose": loose, "known": known}
    each = events.group_by("kind").agg(
        items=events.item.count(), **{name: events.count(where=one) for name, one in sums.items()}
    )
    about = engine.run(each).to_pydict()
    kinds = about["kind"]
    if kinds and outcome.kind and outcome.kind not in kinds:
        raise errors.unknown_name("kind of event", outcome.kind, sorted(kind for kind in kinds if kind is not None))
    return Number(*(sum(about[name]) for name in Number._fields))


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
