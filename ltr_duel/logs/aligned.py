"""Exposures and events as one relation of DuckDB, in memory that does not grow with the log.

Lists are wide, and an engine that joins or sorts them writes them to disk and reads them again. So events are joined to
the numbers of exposures alone; what was clicked is listed for some exposures at a time, and stands in a table beside
them, row by row, as a file and its further columns would.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ltr_duel.logs.attribution import Late, Outcome, attributed, listed, met, numbered
from ltr_duel.logs.engine import Engine, named, quoted
from ltr_duel.logs.own import parquet_rows

_AT_ONCE = 1 << 20  # exposures whose events are listed together


class Numbered(NamedTuple):
    """Exposures whose rows are numbered from 1, as they are read."""

    source: str  # what is read, in SQL
    pieces: list[tuple[str, int, int]]  # of some rows each: the source, with ``row``; the first; one after the last
    select: Callable[[str, dict[str, str]], str]  # the SQL of exposures, given the source of rows and further columns


def numbered_files(engine: Engine, names: str, select: Callable[[str, dict[str, str]], str]) -> Numbered:
    """Make the view ``exposures`` of Parquet files, given the SQL of their names; the files are read where they are."""
    files = engine.rows(f"SELECT file_name, num_rows FROM parquet_file_metadata({names})")
    paths = tuple(row["file_name"] for row in files)
    rows, before = parquet_rows(engine, paths)
    engine.execute(f"CREATE VIEW exposures AS {select(f'({rows})', {'origin': 'ltr_line', 'row': 'ltr_line'})}")
    pieces = []
    for start, file in zip(before, files, strict=True):
        read = f"read_parquet({quoted(file['file_name'])}, file_row_number = true)"
        rows = f"SELECT *, file_row_number + {start + 1} AS row FROM {read}"
        for first in range(0, max(file["num_rows"], 1), _AT_ONCE):
            last = min(first + _AT_ONCE, file["num_rows"])
            source = f"({rows} WHERE file_row_number BETWEEN {first} AND {last - 1})"
            pieces.append((source, start + first + 1, start + last + 1))
    union = ", union_by_name = true" * (len(paths) > 1)
    return Numbered(f"read_parquet([{', '.join(map(quoted, paths))}]{union})", pieces, select)


def numbered_table(engine: Engine, sql: str) -> Numbered:
    """Make the table ``exposures`` of a query."""
    engine.execute(f"CREATE TABLE exposures AS SELECT *, row_number() OVER () AS row FROM ({sql})")
    columns = [row["column_name"] for row in engine.rows("DESCRIBE exposures")]
    (size,) = engine.rows("SELECT count(*) AS n FROM exposures")
    pieces = [
        (f"(SELECT * FROM exposures WHERE row BETWEEN {first} AND {first + _AT_ONCE - 1})", first, last)
        for first in range(1, max(size["n"], 1) + 1, _AT_ONCE)
        for last in [min(first + _AT_ONCE, size["n"] + 1)]
    ]

    def select(source: str, more: dict[str, str]) -> str:
        made = dict(zip(columns, map(named, columns), strict=True)) | more
        return f"SELECT {', '.join(f'{value} AS {named(name)}' for name, value in made.items())} FROM {source}"

    return Numbered("exposures", pieces, select)


def align(
    engine: Engine,
    shown: Numbered,
    exposures: Any,
    events: Any,
    outcome: Outcome,
    late: Late,
    then: tuple[str, ...],
    *,
    items: bool,
) -> bool:
    """Make the table ``met_events``, as `met` returns it, and the view ``log``.

    Return whether rows of the log come in the order of their lines.

    Parameters
    ----------
    engine : Engine
    shown : Numbered
    exposures, events : ibis Table
        See `listed`.
    outcome : Outcome
    late : Late
    then : tuple of str
        Columns that order rows of the same time.
    items : bool
        Whether any event names its item.
    """
    import ibis

    found = engine.keep("met_events", met(exposures, events))
    counting = ibis.to_sql(attributed(exposures, found, events, outcome, late), dialect="duckdb")
    kept = "TABLE" if late.within else "VIEW"
    engine.execute(f"CREATE {kept} attributed_events AS {counting}")
    lined = _in_order(engine, exposures, ("time", *then)) and engine.value(exposures.count()) == shown.pieces[-1][2] - 1
    if not lined:
        narrow = exposures.select("row", "time", *then)
        engine.keep("log_lines", numbered(narrow, *then).select("row", "line"))
    lists, into = None, "CREATE TABLE log_events AS"
    for source, first, last in shown.pieces:
        inside = f"WHERE row BETWEEN {first} AND {last - 1}"
        engine.execute(f"CREATE OR REPLACE VIEW some_exposures AS {shown.select(source, {'row': 'row'})}")
        engine.execute(f"CREATE OR REPLACE VIEW some_events AS SELECT * FROM attributed_events {inside}")
        if lists is None:
            lists = listed(engine.table("some_events"), engine.table("some_exposures"), outcome, items=items)
            names = [name for name in lists.columns if name != "row"]
            made = [f"coalesce({name}, [])" if name != "worth" else name for name in names]
            made = [f"{one} AS ltr_{name}" for one, name in zip(made, names, strict=True)]
        line, lines = "range", ""
        if not lined:
            line, lines = "line", f" LEFT JOIN (SELECT row, line FROM log_lines {inside}) AS n ON n.row = range"
        engine.execute(
            f"{into} SELECT range AS ltr_row, {line} AS ltr_line, {', '.join(made)} FROM range({first}, {last})"
            f" LEFT JOIN ({ibis.to_sql(lists, dialect='duckdb')}) AS l ON l.row = range{lines} ORDER BY range"
        )
        into = "INSERT INTO log_events"
    beside = {name: f"ltr_{name}" for name in ("line", *names)}
    if shown.source != "exposures":
        beside |= dict.fromkeys(("origin", "row"), "ltr_row")
    both = f"(SELECT * FROM {shown.source} POSITIONAL JOIN log_events)"
    engine.execute(f"CREATE VIEW log AS {shown.select(both, beside)}")
    if not lined:
        engine.drop("log_lines")
    return lined


def _in_order(engine: Engine, exposures: Any, order: tuple[str, ...]) -> bool:
    """Return whether rows come in this order, without a value that is missing."""
    import ibis

    t = exposures.select(*order).mutate(**{f"before_{name}": ibis._[name].lag() for name in order})
    wrong = ibis.literal(False)
    for name in reversed(order):
        one, before = t[name], t[f"before_{name}"]
        wrong = (one < before) | ((one == before) & wrong)
    missing = ibis.or_(*(t[name].isnull() for name in order), t.time.isnan())
    return not engine.value(t.filter(missing | wrong.fill_null(False)).count())
