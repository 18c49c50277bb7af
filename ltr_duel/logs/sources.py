"""Load a log from one table, from records of User Behavior Insights, or from tables of exposures and events.

The result is a relation of impressions in an SQL engine. Its column ``line`` numbers the rows. The column ``origin``
has the place of a row in the files, and the column ``fault`` has messages on unreadable values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ltr_duel.core import InputError
from ltr_duel.logs.attribution import EventCounts, Outcome, attribute, completed
from ltr_duel.logs.checks import Checked, checked, given_owners, without
from ltr_duel.logs.engine import Engine, Relation, named
from ltr_duel.logs.files import Position, files_of
from ltr_duel.logs.mapping import Part, create_lines, read, sections_of, select
from ltr_duel.logs.table import LISTS, MILLISECONDS, NO_RANKER
from ltr_duel.logs.ubi import create_views
from ltr_duel.logs.warehouse import Warehouse

_NO_OWNER = (
    "no column has an item's ranker: add 'owner' to the events, or 'shown' with 'owners' or 'page' to the exposures, or"
    " map them with --source; see docs/log_formats.md"
)


class Loaded(NamedTuple):
    """A log as a relation of an engine."""

    engine: Any
    impressions: Relation
    find_origin: Callable[[Any], Position]  # returns the file and row of an ``origin``
    strange: Sequence[str] = ()  # columns that are not read
    events: Relation | None = None  # the events, if the log has exposures and events
    placed: Relation | None = None  # result of `attribute`; the impressions themselves then have no clicks
    counts: EventCounts | None = None
    checked: Checked | None = None  # result of the checks, if all columns were checked when the log was loaded
    events_file: Path | None = None  # the file of the events, if the exposures are in another file
    notes: Sequence[str] = ()  # sentences on how rows became impressions

    def find(self, line: int) -> Position:
        """Return the file and the row of a line of the relation."""
        (row,) = self.engine.rows(f"SELECT origin FROM x WHERE line = {line}", x=self.impressions)
        return self.find_origin(row["origin"])

    @property
    def by_event(self) -> bool:
        """Whether events name the rankers of their items. Impressions then have no lists of owners."""
        return self.placed is not None and not {"owners", "page"} & set(self.impressions.columns)


def load_table(path: Path, kind: str, context: Sequence[str], outcomes: Sequence[Outcome]) -> Loaded:
    """Load files in the one-table format, or records of User Behavior Insights."""
    for outcome in outcomes if kind != "ubi" else ():
        if outcome.within:
            raise InputError(f"{path}: 'within' is for events without an impression; this log has clicks")
        if outcome.value or outcome.where not in ("", "kind = 'click'"):
            raise InputError(f"{path}: outcome '{outcome.name}' requires a table of events; this log has clicks")
    if kind == "ubi":
        engine, paths = Engine(path), files_of(path)
        files = create_lines(engine, paths)
        notes = create_views(engine, context)

        def find_line(origin: int) -> Position:
            return files.find(engine, origin)

        exposures, events = (cleaned(engine, engine.table(name)) for name in ("exposures", "events"))
        return _attributed(Loaded(engine, exposures, find_line, notes=notes), events, outcomes, find_line)
    engine, part = Engine(path), Part("log", str(path), context, format=kind)
    log, find = read(engine, part)
    return Loaded(engine, cleaned(engine, log), find, part.strange)


def load_tables(
    path: str | Path,
    events: str | Path | None,
    mapping: Path | None,
    connect: str,
    context: Sequence[str],
    outcomes: Sequence[Outcome],
) -> Loaded:
    """Load exposures and events, from files or from tables of a database."""
    if events is None and "events" not in (sections_of(mapping) if mapping else {}):
        raise InputError("exposures need events: give --events, or a mapping with [events]")
    exposures = Part("exposures", str(path), context, mapping)
    actions = Part("events", str(path if events is None else events), (), mapping)
    if connect:
        return _connected(Warehouse(connect), exposures, actions, outcomes)
    engine = Engine(Path(path))
    (shown, find), (done, find_event) = (read(engine, part) for part in (exposures, actions))
    loaded = Loaded(engine, cleaned(engine, shown), find, exposures.strange)
    loaded = _attributed(loaded, cleaned(engine, done), outcomes, find_event)
    return loaded._replace(events_file=Path(actions.file) if actions.file != exposures.file else None)


def _connected(engine: Warehouse, exposures: Part, events: Part, outcomes: Sequence[Outcome]) -> Loaded:
    """Load exposures and events from a database. Impressions are numbered in the order of their time."""
    relations = []
    for part in (exposures, events):
        with part.located():
            columns = part.columns_in(engine.table(part.table).columns)
            table = engine.sql(select(columns, part.where, part.table if part.mapped else named(part.table)))
        relations.append(cleaned(engine, engine.typed(table)))
    line = "impression AS row, impression AS origin, row_number() OVER (ORDER BY time, impression) AS line"
    shown = engine.view(f"SELECT *, {line} FROM x", x=relations[0])

    def find(name: Any) -> Position:
        return Position(exposures.table, f"impression '{name}'")

    return _attributed(Loaded(engine, shown, find, exposures.strange), relations[1], outcomes)


def cleaned(engine: Any, table: Relation) -> Relation:
    """Convert times to seconds, and empty names of impressions, users and policies to null."""
    values: dict[str, str] = {name: f"nullif({named(name)}, '')" for name in ("impression", "user", "policy")}
    time = "CAST(time AS DOUBLE)"
    values["time"] = f"CASE WHEN {time} >= {MILLISECONDS} THEN {time} / 1000 ELSE {time} END"
    chosen = [f"{values.get(name, named(name))} AS {named(name)}" for name in table.columns]
    return engine.view(f"SELECT {', '.join(chosen)} FROM t", t=table)


def _attributed(
    loaded: Loaded,
    events: Relation,
    outcomes: Sequence[Outcome],
    find_event: Callable[[Any], Position] | None = None,
) -> Loaded:
    """Join the events of a log to the places on its lists."""
    engine, exposures = loaded.engine, loaded.impressions
    if "row" not in exposures.columns:
        exposures = engine.view("SELECT *, line AS row FROM x", x=exposures)
    by_event = not {"owners", "page"} & set(exposures.columns)
    if not LISTS & set(exposures.columns) and "owner" not in events.columns:
        raise InputError(_NO_OWNER)
    events = completed(engine, events)
    items = bool(engine.rows("SELECT 1 AS item FROM e WHERE item IS NOT NULL LIMIT 1", e=events))
    loaded = loaded._replace(impressions=exposures, events=events)
    given = given_owners(exposures.columns, by_event=by_event)
    faults = checked(engine, exposures, given, loaded.find, documents=items)
    sound = without(engine, exposures, faults.lines)  # an event cannot belong to an exposure that is not read
    placed, counts = attribute(engine, sound, events, outcomes, find_event)
    if by_event:
        faults = _with_strange_owners(engine, sound, placed, faults)
    return loaded._replace(impressions=exposures, placed=placed, counts=counts, checked=faults)


def _with_strange_owners(engine: Any, exposures: Relation, placed: Relation, faults: Checked) -> Checked:
    sql = f"""SELECT x.line, x.rankers, p.strange FROM x JOIN p ON x.row = p.row
      WHERE p.place IS NOT NULL AND p.owner = {NO_RANKER} ORDER BY x.line, p.strange DESC"""
    rows = {row["line"]: row for row in engine.rows(sql, x=exposures, p=placed)}

    def sentence(line: int) -> str:
        if line not in rows:
            return faults.sentence(line)
        rankers = " or ".join(rows[line]["rankers"] or ["(none)"])
        return f"owner '{rows[line]['strange']}' of an event is not a ranker: {rankers}, null for none"

    return faults._replace(reasons=faults.reasons | dict.fromkeys(rows, "owner of an event"), sentence=sentence)
