"""The SQL engine that reads a log: DuckDB in the current process, also for logs larger than memory.

Relations are names of tables and views; queries are SQL of DuckDB. `ltr_duel.logs.warehouse` runs the same queries in
another database. Tables, and what exceeds the memory limit, are in a temporary folder until the engine is closed.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from ltr_duel.core import InputError, host

VARIABLE = "LTR_DUEL_LOGS_MEMORY"
_MOST = 2_500_000_000  # bytes, enough for logs of 10^8 rows
_SHARE = 0.5  # maximum share of the free memory
_LEAST = 256_000_000  # minimum limit in bytes; some queries fail with less
_UNITS = {"MB": 10**6, "GB": 10**9}
_FULL = re.compile("max_temp_directory_size|No space left|not enough space|ENOSPC", re.IGNORECASE)
_LOG = logging.getLogger(__name__)


class Relation(NamedTuple):
    """A table, a view or a query of an engine."""

    sql: str  # a query
    types: dict[str, str]  # SQL type of each column

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.types)


class Engine:
    """DuckDB with a temporary folder; ``damaged`` converts an error about a file to an `InputError`."""

    def __init__(self, damaged: Callable[[Exception], InputError]) -> None:
        import duckdb

        self._memory, self._folder = memory_limit(), tempfile.mkdtemp(prefix="ltr_duel-logs-")
        config = {"memory_limit": f"{self._memory}B", "temp_directory": self._folder}
        self.duckdb: Any = duckdb.connect(f"{self._folder}/tables.db", config=config)  # stored on disk to save memory
        self._damaged, self._numbers = damaged, count(1)
        self.duckdb.execute("PRAGMA disable_checkpoint_on_shutdown")
        self.duckdb.execute("PRAGMA force_compression='uncompressed'")  # tables are read only a few times
        with suppress(duckdb.Error):  # fails in notebooks without widgets
            self.duckdb.execute("SET enable_progress_bar = false")  # shown even for `python -c`
        self.duckdb.execute("SET GLOBAL TimeZone = 'UTC'")  # for times without a time zone
        self.close = weakref.finalize(self, _close, self.duckdb, self._folder)

    @contextmanager
    def guarded(self, sql: str = "") -> Iterator[None]:
        """Convert errors of DuckDB to an `InputError` about memory, disk space or the file."""
        import duckdb

        try:
            yield
        except duckdb.InterruptException:  # interrupted by the user
            raise
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            _LOG.debug("%s\n%s", error, sql)
            if _FULL.search(str(error)):
                raise InputError(lack_of_disk(self._folder)) from None
            if isinstance(error, duckdb.OutOfMemoryException):
                raise InputError(lack_of_memory(self._memory)) from None
            raise self._damaged(error) from None

    def execute(self, sql: str) -> None:
        """Run a statement; raise `InputError` if a file is damaged, or memory or disk space is insufficient."""
        with self.guarded(sql):
            self.duckdb.execute(sql)

    def raw_rows(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of a query written by the user; errors of DuckDB are raised unchanged."""
        return list(self.duckdb.sql(sql).to_arrow_table().to_pylist())

    def query(self, sql: str, **relations: Relation) -> Any:
        """Return the result of SQL as an Arrow table; ``relations``: by their names in the SQL."""
        text = with_relations(sql, relations)
        with self.guarded(text), self.duckdb.cursor() as cursor:
            return cursor.sql(text).to_arrow_table()

    def rows(self, sql: str, **relations: Relation) -> list[dict[str, Any]]:
        """Return the result of `query` as dictionaries."""
        return list(self.query(sql, **relations).to_pylist())

    def stream(self, sql: str, rows: int, **relations: Relation) -> Iterator[Any]:
        """Yield the result of `query` as Arrow batches; other queries may run meanwhile."""
        text = with_relations(sql, relations)
        with self.guarded(text), self.duckdb.cursor() as cursor:
            result = cursor.sql(text)
            reader = getattr(result, "to_arrow_reader", None) or result.fetch_arrow_reader  # before duckdb 1.5
            yield from reader(rows)

    def keep(self, sql: str, **relations: Relation) -> Relation:
        """Store the result of `query`."""
        return self.create(f"kept_{next(self._numbers)}", with_relations(sql, relations))

    def view(self, sql: str, **relations: Relation) -> Relation:
        """Return the result of `query` as a relation, without running it."""
        return self.create(f"view_{next(self._numbers)}", with_relations(sql, relations), "VIEW")

    def create(self, name: str, sql: str, kind: str = "TABLE") -> Relation:
        """Store the result of SQL under a name."""
        self.execute(f"CREATE {kind} {name} AS {sql}")
        return self.table(name)

    def table(self, name: str) -> Relation:
        """Return a table or view of the engine."""
        types = {row["column_name"]: row["column_type"] for row in self.rows(f"DESCRIBE {name}")}
        return Relation(f"FROM {name}", types)

    def small(self, columns: dict[str, Collection[Any]]) -> Relation:
        """Store a few columns as a new relation."""
        name = f"small_{next(self._numbers)}"
        self.insert(name, pa.table(columns), new=True)
        return self.table(name)

    def insert(self, name: str, rows: Any, *, new: bool = False) -> None:
        """Add an Arrow table to a relation, or create the relation from it."""
        sql = f"CREATE TABLE {name} AS" * new + f"INSERT INTO {name}" * (not new) + " FROM rows_to_insert"
        with self.guarded(sql), self.duckdb.cursor() as cursor:
            cursor.register("rows_to_insert", rows)
            cursor.execute(sql)

    def unnested(self, rows: Relation, column: str, keys: Sequence[str]) -> Relation:
        """Return a row for each entry of a list: the columns `keys`, ``item``, and ``place``, which counts from 1."""
        chosen = ", ".join(f"t.{named(key)}" for key in keys)
        lists = f"unnest(t.{named(column)}) WITH ORDINALITY AS s(item, place)"
        return self.view(f"SELECT {chosen}, s.item, CAST(s.place AS INTEGER) AS place FROM t, {lists}", t=rows)

    def measured(self, rows: Relation) -> Relation:
        """Add numbers of the lists of each row: ``length``, ``different`` (documents), ``owned``, ``low``, ``high``."""
        made = {"length": "len(shown)", "different": "list_unique(shown)"} if "shown" in rows.columns else {}
        if "owners" in rows.columns:
            made |= {"owned": "len(owners)", "low": "list_min(owners)", "high": "list_max(owners)"}
        made = {"length": made.get("owned", "NULL")} | made
        chosen = ", ".join(["*", *(f"{sql} AS {name}" for name, sql in made.items())])
        return self.view(f"SELECT {chosen} FROM t", t=rows)


def with_relations(sql: str, relations: dict[str, Relation], materialized: str = "NOT MATERIALIZED ") -> str:
    """Return a query whose relations are given as SQL."""
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


def memory_limit() -> int:
    """Return the memory limit of DuckDB, in bytes; the environment variable replaces it."""
    if given := os.environ.get(VARIABLE, ""):
        with suppress(ValueError, KeyError):
            size = float(given[:-2]) * _UNITS[given[-2:].upper()]
            if _LEAST <= size < 1e15:
                return int(size)
        raise InputError(f"{VARIABLE} must be a size of at least {_LEAST // 10**6}MB, such as 4GB, not '{given}'")
    return max(int(min(_MOST, _SHARE * host.free_memory())), _LEAST)


def lack_of_memory(limit: int) -> str:
    """Return an error message on lack of memory, with a remedy."""
    return (
        f"DuckDB needs more memory than its limit, {limit / 1e9:.2g} GB ({host.free_memory() / 1e9:.2g} GB is free):"
        f" set {VARIABLE}, such as {VARIABLE}={2 * limit / 1e9:.2g}GB"
    )


def lack_of_disk(folder: str) -> str:
    """Return an error message on a full disk, with a remedy."""
    parent = Path(folder).parent
    return (
        f"DuckDB writes data that exceed its memory limit to disk, and {parent} is full"
        f" ({shutil.disk_usage(parent).free / 1e9:.2g} GB is free): set TMPDIR to a folder on another disk"
    )
