"""Run SQL queries on a log with DuckDB. The log may be larger than memory.

DuckDB runs in the current process, and keeps its tables in a temporary folder. To run the same queries in another
database, use `ltr_duel.logs.warehouse`.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from ltr_duel.core import InputError, errors, host

VARIABLE = "LTR_DUEL_LOGS_MEMORY"
_MOST, _LEAST = 2_500_000_000, 256_000_000  # bytes; the most fits 10^8 rows; some queries fail below the least
_CELLS = re.compile(r"Error on Line: (\d+)\s.*Expected Number of Columns: (\d+) Found: (\d+)", re.DOTALL)
_NOT_UTF8 = re.compile("unicode|utf-?8", re.IGNORECASE)
_LOG = logging.getLogger(__name__)


class Relation(NamedTuple):
    """A table, a view or a query: its SQL, and the names of its columns."""

    sql: str  # a query
    columns: tuple[str, ...]


class Engine:
    """A DuckDB database in a temporary folder, which runs the queries on one log."""

    def __init__(self, path: Path) -> None:
        import duckdb

        self._path, self._numbers = path, count(1)
        self._folder = tempfile.mkdtemp(prefix="ltr_duel-logs-")
        config = {"memory_limit": memory_limit(), "temp_directory": self._folder}
        with self.guarded(VARIABLE):
            self.duckdb: Any = duckdb.connect(f"{self._folder}/tables.db", config=config)  # on disk to save memory
        self.duckdb.execute("PRAGMA disable_checkpoint_on_shutdown")
        self.duckdb.execute("PRAGMA force_compression='uncompressed'")  # tables are read only a few times
        with suppress(duckdb.Error):  # fails in notebooks without widgets
            self.duckdb.execute("SET enable_progress_bar = false")  # DuckDB would show it even for `python -c`
        self.duckdb.execute("SET GLOBAL TimeZone = 'UTC'")  # for times without a time zone
        weakref.finalize(self, _close, self.duckdb, self._folder)

    @contextmanager
    def guarded(self, sql: str = "") -> Iterator[None]:
        """Turn errors of DuckDB into an `InputError` that names the file of the log."""
        import duckdb

        try:
            yield
        except duckdb.InterruptException:  # interrupted by the user
            raise
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            _LOG.debug("%s\n%s", error, sql)
            raise InputError(f"{self._path}{_reason(error)}") from None

    def execute(self, sql: str) -> None:
        """Run a statement. Raises `InputError` if the statement fails."""
        with self.guarded(sql):
            self.duckdb.execute(sql)

    def raw_rows(self, sql: str) -> list[dict[str, Any]]:
        """Run a query and return the rows as dictionaries. Errors of DuckDB are raised unchanged."""
        return list(self.duckdb.sql(sql).to_arrow_table().to_pylist())

    def query(self, sql: str, **relations: Relation) -> Any:
        """Run a query and return an Arrow table. The query can name the relations that are given as keywords."""
        text = with_relations(sql, relations)
        with self.guarded(text), self.duckdb.cursor() as cursor:
            return cursor.sql(text).to_arrow_table()

    def rows(self, sql: str, **relations: Relation) -> list[dict[str, Any]]:
        """Run a query, as in `query`, and return the rows as dictionaries."""
        return list(self.query(sql, **relations).to_pylist())

    def stream(self, sql: str, rows: int, **relations: Relation) -> Iterator[Any]:
        """Run a query, as in `query`, and yield Arrow batches. Other queries may run meanwhile."""
        text = with_relations(sql, relations)
        with self.guarded(text), self.duckdb.cursor() as cursor:
            result = cursor.sql(text)
            reader = getattr(result, "to_arrow_reader", None) or result.fetch_arrow_reader  # before duckdb 1.5
            yield from reader(rows)

    def keep(self, sql: str, **relations: Relation) -> Relation:
        """Run a query, as in `query`, and store the result as a table."""
        return self.create(f"kept_{next(self._numbers)}", with_relations(sql, relations))

    def view(self, sql: str, **relations: Relation) -> Relation:
        """Make a relation from a query. The query runs when the relation is read."""
        return self.create(f"view_{next(self._numbers)}", with_relations(sql, relations), "VIEW")

    def create(self, name: str, sql: str, kind: str = "TABLE") -> Relation:
        """Create a table, or another kind of relation, from a query."""
        self.execute(f"CREATE {kind} {name} AS {sql}")
        return self.table(name)

    def table(self, name: str) -> Relation:
        """Return the table or view with this name."""
        return Relation(f"FROM {name}", tuple(row["column_name"] for row in self.rows(f"DESCRIBE {name}")))

    def small(self, columns: dict[str, Collection[Any]]) -> Relation:
        """Store a few columns of data as a new table."""
        name = f"small_{next(self._numbers)}"
        self.insert(name, pa.table(columns), new=True)
        return self.table(name)

    def insert(self, name: str, rows: Any, *, new: bool = False) -> None:
        """Add the rows of an Arrow table to a table, or create a new table from them."""
        sql = f"{f'CREATE TABLE {name} AS' if new else f'INSERT INTO {name}'} FROM rows_to_insert"
        with self.guarded(sql), self.duckdb.cursor() as cursor:
            cursor.register("rows_to_insert", rows)
            cursor.execute(sql)

    def unnested(self, rows: Relation, column: str, keys: Sequence[str]) -> Relation:
        """Return one row for each entry of the lists in a column: `keys`, ``item`` and ``place`` (from 1)."""
        chosen = ", ".join(f"t.{named(key)}" for key in keys)
        lists = f"unnest(t.{named(column)}) WITH ORDINALITY AS s(item, place)"
        return self.view(f"SELECT {chosen}, s.item, CAST(s.place AS INTEGER) AS place FROM t, {lists}", t=rows)

    def measured(self, rows: Relation) -> Relation:
        """Add columns that checks of the rows need, for example the length of each shown list."""
        numbers = {"length": "len(shown)", "different": "list_unique(shown)"} if "shown" in rows.columns else {}
        if "owners" in rows.columns:
            numbers |= {"owned": "len(owners)", "low": "list_min(owners)", "high": "list_max(owners)"}
        numbers = {"length": numbers.get("owned", "NULL")} | numbers
        chosen = ", ".join(["*", *(f"{sql} AS {name}" for name, sql in numbers.items())])
        return self.view(f"SELECT {chosen} FROM t", t=rows)


def with_relations(sql: str, relations: dict[str, Relation], materialized: str = "NOT MATERIALIZED ") -> str:
    """Put the definitions of relations in front of a query that names them."""
    parts = ", ".join(f"{name} AS {materialized}({relation.sql})" for name, relation in relations.items())
    return f"WITH {parts} {sql}" if parts else sql


def quoted(text: str) -> str:
    """Return a string as an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def named(name: str) -> str:
    """Return a column's name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def _close(duckdb: Any, folder: str) -> None:
    duckdb.close()
    shutil.rmtree(folder, ignore_errors=True)


def memory_limit() -> str:
    """Return how much memory DuckDB may use. By default, this is half of the free memory, but at most 2.5 GB."""
    return os.environ.get(VARIABLE) or f"{max(min(_MOST, host.free_memory() // 2), _LEAST)}B"


def _reason(error: Exception) -> str:
    text = str(error)
    if cells := _CELLS.search(text):
        return f":{cells[1]}: {cells[3]} cells, but the first line has {cells[2]} columns"
    first = errors.in_one_line(text.splitlines()[0])
    if _NOT_UTF8.search(text):
        return f": the text is not UTF-8 ({first})"
    return f": cannot be read ({first})" + f"; the variable {VARIABLE}=4GB sets the memory" * ("emory" in text)
