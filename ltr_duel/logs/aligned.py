"""Join exposures (shown lists) and events (e.g. clicks) into one DuckDB relation, in memory of fixed size.

To join or sort rows that contain lists, DuckDB would write these wide rows to disk. Events are therefore joined to the
row numbers of exposures only, and sorted by row number. Clicks are then collected into lists, for one block of
exposures at a time. The lists are stored in the table ``log_events``, which has one row per exposure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ltr_duel.logs.attribution import EVENT, Late, Outcome, attributed, completed, met, numbered, placed
from ltr_duel.logs.engine import Engine, named, quoted
from ltr_duel.logs.own import parquet_rows

_AT_ONCE = 1 << 20  # exposures in a block
_SHARE = 1 << 17  # minimum number of exposures per thread


class Rows(NamedTuple):
    """A range of rows of exposures in a file or a table."""

    source: str  # SQL
    number: str  # column with the row numbers
    before: int  # offset: row = number + before
    first: int
    last: int  # number of the last row + 1

    def some(self, first: int, last: int) -> str:
        """Return the SQL of the rows from ``first`` to ``last - 1``."""
        first, last = first - self.before, last - 1 - self.before
        return f"(SELECT * FROM {self.source} WHERE {self.number} BETWEEN {first} AND {last})"


class Numbered(NamedTuple):
    """Exposures whose rows are numbered from 1, in the order of the source."""

    source: str  # SQL of all rows
    files: list[Rows]
    select: Callable[[str, dict[str, str]], str]  # returns the SQL of exposures, given rows and extra columns
    then: tuple[str, ...] = ("impression", "origin")  # columns by which rows with equal times are sorted


def numbered_files(engine: Engine, names: str, select: Callable[[str, dict[str, str]], str]) -> Numbered:
    """Create the view ``exposures`` over Parquet files without copying them; `names` is an SQL list of file names."""
    files = engine.rows(f"SELECT file_name, num_rows FROM parquet_file_metadata({names})")
    paths = tuple(row["file_name"] for row in files)
    rows, before = parquet_rows(engine, paths)
    engine.execute(f"CREATE VIEW exposures AS {select(f'({rows})', {'origin': 'ltr_line', 'row': 'ltr_line'})}")
    union = ", union_by_name = true" * (len(paths) > 1)
    each = [
        Rows(
            f"read_parquet({quoted(path)}, file_row_number = true)",
            "file_row_number",
            start + 1,
            start + 1,
            start + 1 + file["num_rows"],
        )
        for path, start, file in zip(paths, before, files, strict=True)
    ]
    return Numbered(f"read_parquet([{', '.join(map(quoted, paths))}]{union})", each, select)


def numbered_table(engine: Engine, sql: str, then: tuple[str, ...] = ("impression", "origin")) -> Numbered:
    """Create the table ``exposures`` from a query; ``then``: see `Numbered`."""
    engine.execute(f"CREATE TABLE exposures AS SELECT *, row_number() OVER () AS row FROM ({sql})")
    columns = [row["column_name"] for row in engine.rows("DESCRIBE exposures")]
    (size,) = engine.rows("SELECT count(*) AS n FROM exposures")

    def select(source: str, more: dict[str, str]) -> str:
        made = dict(zip(columns, map(named, columns), strict=True)) | more
        return f"SELECT {', '.join(f'{value} AS {named(name)}' for name, value in made.items())} FROM {source}"

    return Numbered("exposures", [Rows("exposures", "row", 0, 1, size["n"] + 1)], select, then)


def align(
    engine: Engine, shown: Numbered, exposures: Any, events: Any, outcome: Outcome, late: Late, *, items: bool
) -> tuple[Any, Any, int, bool]:
    """Create the view ``log``; return the results of `met` and `attributed`, the number of rows of `placed`, a flag.

    The rows of `placed` are the events on an item of their exposure's list. The flag is True if the exposures were
    already sorted by time.
    """
    have = [name for name in engine.table("events").columns if name in EVENT and name != "impression"]
    found = completed(engine.store("met_events", met(exposures, events).select("row", "shown_at", *have)))
    counting = attributed(exposures, found, events, outcome, late)
    if late.within:
        counting = engine.store("attributed_events", counting)
    stop = shown.files[-1].last
    lined = _in_order(engine, exposures, ("time", *shown.then)) and engine.value(exposures.count()) == stop - 1
    if not lined:
        narrow = exposures.select("row", "time", *shown.then)
        engine.store("log_lines", numbered(narrow, *shown.then).select("row", "line").order_by("row"))
    number = 0
    for first, last, events_here, lists in _lists(engine, shown, exposures, counting, outcome, items=items):
        number += events_here
        line = rows = np.arange(first, last)
        if not lined:
            t = engine.table("log_lines")
            known = engine.run(t.filter((t.row >= first) & (t.row < last)))
            line = np.zeros(last - first, np.int64)
            line[known["row"].to_numpy() - first] = known["line"].to_numpy()
        beside = pa.table({"ltr_row": rows, "ltr_line": line} | lists)
        engine.insert("log_events", beside, new=first == 1)
    if not lined:
        engine.drop("log_lines")
    made = {name: f"ltr_{name}" for name in ("line", *(name.removeprefix("ltr_") for name in lists))}
    if shown.source != "exposures":
        made |= dict.fromkeys(("origin", "row"), "ltr_row")
    shares = [f"(SELECT * FROM {rows} POSITIONAL JOIN {clicks})" for rows, clicks in _shares(engine, shown)]
    engine.execute(f"CREATE VIEW log AS {' UNION ALL '.join(shown.select(share, made) for share in shares)}")
    return found, counting, number, lined


def _shares(engine: Engine, shown: Numbered) -> list[tuple[str, str]]:
    """Split exposures and ``log_events`` at the same rows for parallel joins, because a join uses one thread."""
    (rows, *more), threads = shown.files, engine.rows("SELECT current_setting('threads') AS n")[0]["n"]
    number = 1 if more else min(threads, (rows.last - rows.first) // _SHARE)
    if number <= 1:
        return [(shown.source, "log_events")]
    ends = [rows.first + (rows.last - rows.first) * k // number for k in range(number + 1)]
    clicks = Rows("log_events", "ltr_row", 0, rows.first, rows.last)
    return [(rows.some(*share), clicks.some(*share)) for share in pairwise(ends)]


def _lists(
    engine: Engine, shown: Numbered, exposures: Any, found: Any, outcome: Outcome, *, items: bool
) -> Iterator[tuple[int, int, int, dict[str, Any]]]:
    """Yield (first row, row after the last, number of events, list columns from `placed`) for each block of rows."""
    if not items and {"shown", "owners"} & set(exposures.columns):
        yield from _listed(engine, placed(found, exposures, outcome, items=False), 1, shown.files[-1].last)
        return
    for rows in shown.files:
        for first in range(rows.first, max(rows.last, 2), _AT_ONCE):
            last = min(first + _AT_ONCE, rows.last)
            select = shown.select(rows.some(first, last), {"row": f"{rows.number} + {rows.before}"})
            engine.execute(f"CREATE OR REPLACE VIEW some_exposures AS {select}")
            here = found.filter((found.row >= first) & (found.row < last))
            yield from _listed(engine, placed(here, engine.table("some_exposures"), outcome, items=items), first, last)


def _listed(engine: Engine, at: Any, first: int, last: int) -> Iterator[tuple[int, int, int, dict[str, Any]]]:
    names = [name for name in at.columns if name != "row"]
    batches = engine.stream(at.order_by("row", "clicks"), _SHARE)
    rest = at.schema().to_pyarrow().empty_table()
    for start in range(first, max(last, first + 1), _AT_ONCE):
        stop = min(start + _AT_ONCE, last)
        here = [rest]
        while not len(here[-1]) or here[-1]["row"][-1].as_py() < stop:
            batch = next(batches, None)
            if batch is None:
                break
            here.append(pa.Table.from_batches([batch]))
        table = pa.concat_tables(here)
        cut = int(np.searchsorted(table["row"].to_numpy(), stop))
        table, rest = table.slice(0, cut), table.slice(cut)
        row, *values = (table[name].to_numpy() for name in ("row", *names))
        new = np.ones(cut, np.bool_)  # each position counts once
        place = values[names.index("clicks")]
        new[1:] = (row[1:] != row[:-1]) | (place[1:] != place[:-1])
        begin = np.flatnonzero(new)
        counts = np.bincount(row[begin] - start, minlength=stop - start)
        ends = pa.array(np.concatenate([[0], counts.cumsum()]), pa.int32())
        lists = {}
        for name, value in zip(names, values, strict=True):
            whole = name == "worth" and cut
            one = np.add.reduceat(value.astype(np.int64), begin) if whole else value[begin]
            lists[f"ltr_{name}"] = pa.ListArray.from_arrays(ends, pa.array(one))
        yield start, stop, cut, lists


def _in_order(engine: Engine, exposures: Any, order: tuple[str, ...]) -> bool:
    """Return whether rows are sorted by these columns and the columns have no missing values."""
    import ibis

    t = exposures.select(*order).mutate(**{f"before_{name}": ibis._[name].lag() for name in order})
    wrong = ibis.literal(False)
    for name in reversed(order):
        one, before = t[name], t[f"before_{name}"]
        wrong = (one < before) | ((one == before) & wrong)
    missing = ibis.or_(*(t[name].isnull() for name in order), t.time.isnan())
    return not engine.value(t.filter(missing | wrong.fill_null(False)).count())
