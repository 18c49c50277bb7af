"""Where a log comes from: our one table, User Behavior Insights records, or exposures and events of any form."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ltr_duel.core import InputError, errors
from ltr_duel.logs.attribution import EVENT, EXPOSURE, Late, Outcome, completed, one_table
from ltr_duel.logs.engine import Engine, Warehouse, named, quoted
from ltr_duel.logs.files import load_file
from ltr_duel.logs.mapping import Mapping, create_view, select
from ltr_duel.logs.ubi import create_views


class Loaded(NamedTuple):
    """A log as a relation of an engine."""

    engine: Any
    table: Any  # Ibis table: columns of `LOG_COLUMNS` that there are, and ``line``
    strange: tuple[str, ...] = ()  # columns that are not read
    wrong: dict[int, str] = {}  # noqa: RUF012  # never written to: lines that are no rows, with what is wrong
    exposures: Any = None  # Ibis tables, where the log comes in two
    events: Any = None


class Source(Protocol):
    """Makes a log."""

    def __call__(self, outcome: Outcome, late: Late) -> Loaded:
        """Read it."""


def own(path: Path, kind: str, context: tuple[str, ...] = ()) -> Source:
    """Return the source of a file of the one-table form, or of sessions of the Yandex challenges."""

    def load(outcome: Outcome, late: Late) -> Loaded:
        engine = Engine(damaged(path, "no Parquet file, or not all of one"))
        strange, wrong = load_file(path, kind, engine, context)
        table = engine.table("log")
        if outcome.dwell:
            if "dwell" not in table.columns:
                raise InputError(f"{path}: outcome '{outcome.name}' needs the column 'dwell'")
            dwell, least = table.dwell, outcome.dwell
            table = table.mutate(clicks=table.clicks.filter(lambda _, k: dwell[k] >= least)).drop("dwell")
        elif outcome.kind != "click":
            raise InputError(f"{path}: outcome '{outcome.name}' needs events beside the exposures; this log has clicks")
        return Loaded(engine, table, strange, wrong)

    return load


def ubi(path: Path, context: tuple[str, ...] = ()) -> Source:
    """Return the source of User Behavior Insights records."""

    def load(outcome: Outcome, late: Late) -> Loaded:
        engine = Engine(damaged(path))
        create_views(engine, path, context)
        return _joined(engine, engine.table("exposures"), engine.table("events"), outcome, late)

    return load


def tables(
    path: str | Path,
    events: str | Path | None,
    source: str | Path | None,
    connect: str,
    context: tuple[str, ...] = (),
) -> Source:
    """Return the source of exposures and events, by files or by tables of a connection."""

    def load(outcome: Outcome, late: Late) -> Loaded:
        mapping = Mapping(Path(source), context) if source is not None else None
        engine: Any = Warehouse(connect) if connect else Engine(damaged(Path(path)))
        make = _table_of if connect else _view_of
        parts = [make(engine, "exposures", mapping.exposures if mapping else {}, str(path), (*EXPOSURE, *context))]
        if events is not None or (mapping and mapping.events):
            where = str(events if events is not None else path)
            parts.append(make(engine, "events", mapping.events if mapping else {}, where, tuple(EVENT)))
        else:
            raise InputError("exposures need events: give --events, or a mapping with [events]")
        return _joined(engine, parts[0], parts[1], outcome, late)

    return load


def _joined(engine: Any, exposures: Any, events: Any, outcome: Outcome, late: Late) -> Loaded:
    events = completed(events)
    kinds = engine.run(events.group_by("kind").agg(n=events.count())).column("kind").to_pylist()
    if kinds and outcome.kind and outcome.kind not in kinds:
        raise errors.unknown_name("kind of event", outcome.kind, sorted(kind for kind in kinds if kind is not None))
    table = one_table(exposures, events, outcome, late)
    if isinstance(engine, Engine):
        table = engine.keep("log", table)  # a join is not done again for each question
    return Loaded(engine, table, exposures=exposures, events=events)


def _view_of(engine: Engine, name: str, part: dict[str, Any], where: str, legal: tuple[str, ...]) -> Any:
    import duckdb

    path = str(part.get("file", where))
    kinds = {".parquet": "read_parquet", ".csv": "read_csv", ".tsv": "read_csv"}
    if Path(path).is_dir():
        path += "/**/*.parquet"
    suffixes = [suffix for suffix in Path(path).suffixes if suffix != ".gz"]
    read = f"{kinds.get(suffixes[-1] if suffixes else '', 'read_json')}({quoted(path)})"
    try:
        if not {*part} - {"file", "table", "where"}:
            have = [column for column, *_ in engine.duckdb.execute(f"DESCRIBE SELECT * FROM {read}").fetchall()]
            part = part | {column: named(column) for column in have if column in legal}
        create_view(engine, name, part, read)
    except duckdb.Error as error:
        raise InputError(f"{path}: cannot be read as {name}: {str(error).splitlines()[0]}") from None
    return engine.table(name)


def _table_of(engine: Warehouse, name: str, part: dict[str, Any], where: str, legal: tuple[str, ...]) -> Any:
    where = str(part.get("table", where))
    if not {*part} - {"file", "table", "where"}:
        table = engine.table(where)
        table = table.select([column for column in table.columns if column in legal])
    else:
        table = engine.sql(select(part, where))
    if "time" in table.columns and table.time.type().is_timestamp():
        table = table.mutate(time=table.time.epoch_seconds().cast("float64"))
    return table


def damaged(path: Path, what: str = "cannot be read") -> Callable[[Exception], InputError]:
    """Return what makes a sentence of an error of the engine."""

    def sentence(error: Exception) -> InputError:
        return InputError(f"{path}: {what} ({str(error).splitlines()[0]})")

    return sentence
