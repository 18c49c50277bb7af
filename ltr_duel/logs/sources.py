"""Sources of a log: the one-table format, User Behavior Insights records, or any exposures and events.

Each source makes one relation of impressions in an engine: the columns of `LOG_COLUMNS` that exist, ``line`` (number of
a row), ``origin`` (its row in the files) and perhaps ``fault``; exposures also ``row``, to which events are joined.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ltr_duel.core import InputError, errors
from ltr_duel.logs.attribution import EventCounts, Outcome, attribute, completed
from ltr_duel.logs.checks import Checked, checked, given_owners, without
from ltr_duel.logs.columns import require_columns
from ltr_duel.logs.engine import Engine, Relation, named
from ltr_duel.logs.files import Position, files_of
from ltr_duel.logs.mapping import Part, create_lines, read, sections_of, select
from ltr_duel.logs.table import EVENT, EXPOSURE, LISTS, LOG_COLUMNS, MILLISECONDS, NO_RANKER
from ltr_duel.logs.ubi import create_views
from ltr_duel.logs.warehouse import Warehouse

_CELLS = re.compile(r"Error on Line: (\d+)\s.*Expected Number of Columns: (\d+) Found: (\d+)", re.DOTALL)
_NOT_UTF8 = re.compile("unicode|utf-?8", re.IGNORECASE)


class Loaded(NamedTuple):
    """A log as a relation of an engine."""

    engine: Any
    impressions: Relation
    find_origin: Callable[[Any], Position]  # returns the file and row of an ``origin``
    strange: Sequence[str] = ()  # columns that are not read
    events: Relation | None = None  # if the log has exposures and events
    placed: Relation | None = None  # events by place, see `attribute`; impressions then have no clicks
    counts: EventCounts | None = None
    checked: Checked | None = None  # of all columns; by default the columns that are read are checked
    events_file: Path | None = None  # the file of the events, if the exposures are in another file

    def find(self, line: int) -> Position:
        """Return the file that contains a line of the relation, and the row in that file."""
        (row,) = self.engine.rows(f"SELECT origin FROM x WHERE line = {line}", x=self.impressions)
        return self.find_origin(row["origin"])

    @property
    def by_event(self) -> bool:
        """Whether events name the rankers of their items, so that impressions have no lists of owners."""
        return self.placed is not None and not {"owners", "page"} & set(self.impressions.columns)


Source: TypeAlias = Callable[[Sequence[Outcome]], Loaded]


def own(path: Path, kind: str, context: tuple[str, ...] = ()) -> Source:
    """Return the source of files in the one-table format."""

    def load(outcomes: Sequence[Outcome]) -> Loaded:
        engine = Engine(damaged(path))
        part = Part("log", str(path), tuple(LOG_COLUMNS), context, format=kind)
        log, find = read(engine, part)
        loaded = Loaded(engine, cleaned(engine, log), find, part.strange)
        for outcome in outcomes:
            if outcome.value or outcome.kind not in ("", "click"):
                raise InputError(f"{path}: outcome '{outcome.name}' requires a table of events; this log has clicks")
        if all(outcome.where in ("", "kind = 'click'") for outcome in outcomes):
            return loaded
        if "dwell" not in log.columns:
            raise InputError(f"{path}: outcome '{outcomes[-1].name}' needs the column 'dwell'")
        events = "SELECT impression, unnest(clicks) AS position, unnest(dwell) AS dwell, 'click' AS kind FROM t"
        return _joined(loaded, lambda rows: engine.view(events, t=rows), outcomes)._replace(events=None)

    return load


def ubi(path: Path, context: tuple[str, ...] = ()) -> Source:
    """Return the source of User Behavior Insights records."""

    def load(outcomes: Sequence[Outcome]) -> Loaded:
        paths = files_of(path)
        engine = Engine(damaged(paths[0]))
        files = create_lines(engine, paths)
        create_views(engine, context)
        exposures, events = (cleaned(engine, engine.table(name)) for name in ("exposures", "events"))

        def find(origin: int) -> Position:
            return files.find(engine, origin)

        return _joined(Loaded(engine, exposures, find), lambda _: events, outcomes, find)

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
            Part(name, str(where), legal, more, (mapping, sections.get(name, {})) if mapping else None)
            for name, where, legal, more in (
                ("exposures", path, EXPOSURE, context),
                ("events", events if events is not None else path, tuple(EVENT), ()),
            )
        )
        if connect:
            return _connected(Warehouse(connect), shown, done, outcomes)
        engine = Engine(damaged(Path(path)))
        (exposures, find), (acts, find_event) = (read(engine, part) for part in (shown, done))
        loaded = Loaded(engine, cleaned(engine, exposures), find, shown.strange)
        acts = cleaned(engine, acts)
        other = Path(done.file) if done.file != shown.file else None
        return _joined(loaded, lambda _: acts, outcomes, find_event)._replace(events_file=other)

    return load


def _connected(engine: Warehouse, shown: Part, done: Part, outcomes: Sequence[Outcome]) -> Loaded:
    """Return the exposures and events of a database; impressions are numbered by their time."""
    relations = []
    for part in (shown, done):

        def mapped(columns: dict[str, str], where: str, source: str = part.table) -> Relation:
            return engine.sql(select(columns, where, source))

        if part.columns:
            part.match(part.tried(lambda *_, mapped=mapped: mapped({}, "").columns))
            table: Relation = part.tried(mapped)
        else:
            table = engine.table(part.table)
            require_columns(part.table, table.columns, part.name)
            chosen = ", ".join(named(column) for column in table.columns if column in part.legal)
            table = engine.view(f"SELECT {chosen} FROM t", t=table)
        relations.append(cleaned(engine, engine.typed(table)))
    line = "impression AS row, impression AS origin, row_number() OVER (ORDER BY time, impression) AS line"
    exposures = engine.view(f"SELECT *, {line} FROM x", x=relations[0])

    def find(name: Any) -> Position:
        return Position(shown.table, f"impression '{name}'")

    return _joined(Loaded(engine, exposures, find, shown.strange), lambda _: relations[1], outcomes)


def cleaned(engine: Any, table: Relation) -> Relation:
    """Return a table with times in seconds, and with null for empty ids and policies."""
    made: dict[str, str] = {name: f"nullif({named(name)}, '')" for name in ("impression", "user", "policy")}
    time = "CAST(time AS DOUBLE)"
    made["time"] = f"CASE WHEN {time} >= {MILLISECONDS} THEN {time} / 1000 ELSE {time} END"
    chosen = [f"{made[name]} AS {named(name)}" if name in made else named(name) for name in table.columns]
    return engine.view(f"SELECT {', '.join(chosen)} FROM t", t=table)


def _joined(
    loaded: Loaded,
    events_of: Callable[[Relation], Relation],
    outcomes: Sequence[Outcome],
    find_event: Callable[[Any], Position] | None = None,
) -> Loaded:
    """Return a log with its events at their places; ``events_of``: returns the events, given the sound exposures."""
    engine, exposures = loaded.engine, loaded.impressions
    if "row" not in exposures.columns:
        exposures = engine.view("SELECT *, line AS row FROM x", x=exposures)
    have, events = set(exposures.columns), None
    if "clicks" not in have:  # else events are the clicks of sound lists
        events = completed(engine, events_of(exposures))
        if not LISTS & have and "owner" not in events_of(exposures).columns:
            raise InputError(
                "no column has an item's ranker: add 'owner' to the events, or 'shown' with 'owners' or"
                " 'page' to the exposures, or map them with --source; see docs/logs.md"
            )
    items = events and engine.rows("SELECT 1 AS item FROM e WHERE item IS NOT NULL LIMIT 1", e=events)
    by_event = not {"owners", "page"} & have
    loaded = loaded._replace(impressions=exposures)
    faults = checked(
        engine, exposures, given_owners(have, by_event=by_event), loaded.find, documents=bool(items or not events)
    )
    sound = without(engine, exposures, faults.lines)  # an event cannot belong to an exposure that is not read
    if not events:
        events = completed(engine, events_of(sound))
        kept = ", ".join(named(name) for name in exposures.columns if name not in ("clicks", "dwell"))
        exposures, sound = (engine.view(f"SELECT {kept} FROM x", x=rows) for rows in (exposures, sound))
    placed, counts = attribute(engine, sound, events, outcomes, find_event)
    if by_event:
        faults = _with_strange_owners(engine, sound, placed, faults)
    return loaded._replace(impressions=exposures, events=events, placed=placed, counts=counts, checked=faults)


def _with_strange_owners(engine: Any, exposures: Relation, placed: Relation, faults: Checked) -> Checked:
    """Return the faults of exposures, with those whose counted events name an owner that is not a ranker."""
    sql = f"""SELECT x.line, x.rankers, p.strange FROM x JOIN p ON x.row = p.row
      WHERE p.place IS NOT NULL AND p.owner = {NO_RANKER} ORDER BY x.line, p.strange DESC"""
    rows = {row["line"]: row for row in engine.rows(sql, x=exposures, p=placed)}

    def sentence(line: int) -> str:
        if line not in rows:
            return faults.sentence(line)
        rankers = " or ".join(rows[line]["rankers"] or ["(none)"])
        return f"owner '{rows[line]['strange']}' of an event is not a ranker: {rankers}, null for none"

    return faults._replace(reasons=faults.reasons | dict.fromkeys(rows, "owner of an event"), sentence=sentence)


def damaged(path: Path) -> Callable[[Exception], InputError]:
    """Return a function that converts engine errors to an `InputError` about an unreadable file or a failed query."""

    def sentence(error: Exception) -> InputError:
        import duckdb

        text = str(error)
        if cells := _CELLS.search(text):
            return InputError(f"{path}:{cells[1]}: {cells[3]} cells, but the first line has {cells[2]} columns")
        if _NOT_UTF8.search(text):
            return InputError(f"{path}: the text is not UTF-8 ({errors.in_one_line(text.splitlines()[0])})")
        of_query = (duckdb.InternalError, duckdb.ProgrammingError, duckdb.NotSupportedError)
        read = isinstance(error, duckdb.InvalidInputException) or not isinstance(error, of_query)
        said = "cannot be read, or is truncated" if read else "DuckDB cannot run a query on it"
        return InputError(f"{path}: {said} ({errors.in_one_line(text.splitlines()[0])})")

    return sentence
