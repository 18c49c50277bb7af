"""The SQL engine that reads a log: DuckDB in the current process, also for logs larger than memory.

Queries are Ibis expressions, so that they can also run on an external database (`Warehouse`).
"""

from __future__ import annotations

import functools
import logging
import re
import shutil
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow as pa

from ltr_duel.core import InputError
from ltr_duel.logs.scratch import lack_of_disk, lack_of_memory, make_folder, memory_limit

NO_RANKER = -2  # code of an owner that is not a ranker of the row
_VIEWS = ("duckdb", "postgres", "pyspark")  # engines with temporary views
_LOG = logging.getLogger(__name__)
_FULL = re.compile("max_temp_directory_size|No space left|not enough space|ENOSPC", re.IGNORECASE)


class Engine:
    """DuckDB with a temporary folder; ``damaged`` converts an error about a file to an `InputError`."""

    def __init__(self, damaged: Callable[[Exception], InputError], rows: int = 0) -> None:
        import duckdb

        self._memory, self._folder = memory_limit(rows), make_folder()
        config = {"memory_limit": f"{self._memory}B", "temp_directory": self._folder}
        self.duckdb: Any = duckdb.connect(f"{self._folder}/tables.db", config=config)  # stored on disk to save memory
        self._damaged, self._tables = damaged, 0
        self.duckdb.execute("PRAGMA disable_checkpoint_on_shutdown")
        self.duckdb.execute("PRAGMA force_compression='uncompressed'")  # tables are read only a few times
        with suppress(duckdb.Error):  # fails in notebooks without widgets
            self.duckdb.execute("SET enable_progress_bar = false")  # shown even for `python -c`
        self.duckdb.execute("SET GLOBAL TimeZone = 'UTC'")  # for times without a time zone
        self.close = weakref.finalize(self, _close, self.duckdb, self._folder)

    def execute(self, sql: str) -> None:
        """Run a statement; raise `InputError` if a file is damaged, or memory or disk space is insufficient."""
        with self.guarded(sql):
            self.duckdb.execute(sql)

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

    def rows(self, sql: str, *values: Any) -> list[dict[str, Any]]:
        """Return the rows of a query; `values` replace its placeholders."""
        with self.guarded(sql):
            return self.raw_rows(sql, *values)

    def raw_rows(self, sql: str, *values: Any) -> list[dict[str, Any]]:
        """Return the rows of a query written by the user; errors of DuckDB are raised unchanged."""
        found = self.duckdb.execute(sql, values)
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def table(self, name: str) -> Any:
        """Return a relation of the engine as an Ibis table."""
        import ibis
        from ibis.backends.sql.datatypes import DuckDBType

        about = self.rows(f"DESCRIBE {name}")
        return ibis.table({one["column_name"]: DuckDBType.from_string(one["column_type"]) for one in about}, name=name)

    def small(self, columns: dict[str, Collection[Any]]) -> Any:
        """Store a few columns as a new relation, and return it as an Ibis table."""
        self._tables += 1
        name = f"small_{self._tables}"
        self.insert(name, pa.table(columns), new=True)
        return self.table(name)

    def keep(self, sql: str, **relations: Any) -> Any:
        """Store the result of a query of `query`, and return it as an Ibis table."""
        self._tables += 1
        name = f"kept_{self._tables}"
        return self.store(name, with_relations(sql, {one: _sql(other.op()) for one, other in relations.items()}))

    def store(self, name: str, rows: Any, kind: str = "TABLE") -> Any:
        """Store the result of SQL or of an Ibis expression as a relation, and return it as an Ibis table."""
        self.execute(f"CREATE {kind} {name} AS {rows if isinstance(rows, str) else _sql(rows.op())}")
        return self.table(name)

    def view(self, sql: str, **relations: Any) -> Any:
        """Return a query of `query` as an Ibis table, without running it."""
        self._tables += 1
        text = with_relations(sql, {one: _sql(other.op()) for one, other in relations.items()})
        return self.store(f"view_{self._tables}", text, "VIEW")

    def unnested(self, rows: Any, column: str, keys: Sequence[str]) -> Any:
        """Return a row for each entry of a list: the columns `keys`, ``item``, and ``place``, which counts from 1."""
        chosen = ", ".join(f"t.{named(key)}" for key in keys)
        lists = f"unnest(t.{named(column)}) WITH ORDINALITY AS s(item, place)"
        return self.view(f"SELECT {chosen}, s.item, CAST(s.place AS INTEGER) AS place FROM t, {lists}", t=rows)

    def query(self, sql: str, **relations: Any) -> Any:
        """Return the result of SQL as an Arrow table; ``relations``: Ibis tables, by their names in the SQL."""
        text = with_relations(sql, {name: _sql(one.op()) for name, one in relations.items()})
        with self.guarded(text), self.duckdb.cursor() as cursor:
            return cursor.sql(text).to_arrow_table()

    def drop(self, *names: str) -> None:
        """Delete stored relations."""
        for name in names:
            self.execute(f"DROP TABLE {name}")

    def insert(self, name: str, rows: Any, *, new: bool = False) -> None:
        """Add an Arrow table to a relation, or create the relation from it."""
        sql = f"CREATE TABLE {name} AS" * new + f"INSERT INTO {name}" * (not new) + " FROM rows_to_insert"
        with self.guarded(sql), self.duckdb.cursor() as cursor:
            cursor.register("rows_to_insert", rows)
            cursor.execute(sql)

    def run(self, expression: Any) -> Any:
        """Return the result of an Ibis expression as an Arrow table."""
        table = expression.as_table()
        return pa.Table.from_batches(self.stream(table, 1 << 20), table.schema().to_pyarrow())

    def value(self, expression: Any) -> Any:
        """Return the single value of an expression."""
        return self.run(expression).column(0)[0].as_py()

    def stream(self, expression: Any, rows: int) -> Iterator[Any]:
        """Yield the result of an expression as Arrow batches; other queries may run meanwhile."""
        kinds, sql = expression.schema().to_pyarrow(), _sql(expression.op())
        with self.guarded(sql), self.duckdb.cursor() as cursor:
            for batch in _reader(cursor.sql(sql), rows):
                yield batch.cast(kinds)


class Warehouse:
    """An external database, given as an Ibis backend or by URL; it is only read."""

    def __init__(self, url: str | Any) -> None:
        import ibis

        self.name = re.sub(r"//[^/@]*@", "//", url) if isinstance(url, str) else url.name  # without a password
        try:
            self.backend: Any = ibis.connect(url) if isinstance(url, str) else url
        except Exception as error:  # each backend has its own exceptions
            raise InputError(f"{self.name}: {str(error).strip().splitlines()[0]}") from None
        if isinstance(url, str):  # a backend passed by the caller stays open
            weakref.finalize(self, self.backend.disconnect)

    def table(self, name: str) -> Any:
        """Return a table as an Ibis table."""
        try:
            return self.backend.table(name)
        except Exception as error:  # each backend has its own exceptions
            raise InputError(f"{self.name}: no table '{name}' ({type(error).__name__})") from None

    def sql(self, text: str) -> Any:
        """Return the result of a query in the SQL of the backend as an Ibis table."""
        if self.backend.name not in _VIEWS:
            return self.backend.sql(text)
        import ibis

        name = ibis.util.gen_name("query")  # a view, because Ibis cannot describe queries of new versions of engines
        self.backend.raw_sql(f"CREATE TEMPORARY VIEW {name} AS {text}")
        return self.backend.table(name)

    def small(self, columns: dict[str, Collection[Any]]) -> Any:
        """Return a few columns of numbers and strings as an Ibis table."""
        rows = zip(*columns.values(), strict=True)
        given = [
            [f"{_literal(value)} AS {named(name)}" for name, value in zip(columns, row, strict=True)] for row in rows
        ]
        return self.sql(" UNION ALL ".join(f"SELECT {', '.join(one)}" for one in given))

    def run(self, expression: Any) -> Any:
        """Return the result of an Ibis expression as an Arrow table."""
        return self.backend.to_pyarrow(expression.as_table())

    def keep(self, sql: str, **relations: Any) -> Any:
        """Return the result of a query of `query` as an Ibis table; nothing is written."""
        return self.sql(self._text(sql, relations))

    view = keep

    def unnested(self, rows: Any, column: str, keys: Sequence[str]) -> Any:
        """Return a row for each entry of a list: the columns `keys`, ``item``, and ``place``, which counts from 1."""
        each = rows.select(*keys, item=rows[column]).unnest("item", offset="place")
        return each.mutate(place=(each.place + 1).cast("int32"))

    def query(self, sql: str, **relations: Any) -> Any:
        """Return the result of SQL (of DuckDB) as an Arrow table; ``relations``: Ibis tables, by their names."""
        return self.run(self.keep(sql, **relations))

    def _text(self, sql: str, relations: dict[str, Any]) -> str:
        import sqlglot

        (text,) = sqlglot.transpile(sql, read="duckdb", write=self.backend.dialect)
        return with_relations(text, {name: str(self.backend.compile(one)) for name, one in relations.items()})

    def value(self, expression: Any) -> Any:
        """Return the single value of an expression."""
        return self.run(expression).column(0)[0].as_py()

    def stream(self, expression: Any, rows: int) -> Iterator[Any]:
        """Yield the result of an expression as Arrow batches."""
        if self.backend.name == "duckdb":  # ibis 12 calls a method that DuckDB 1.5 has removed
            yield from self.run(expression).to_batches(max_chunksize=rows)
        else:
            yield from self.backend.to_pyarrow_batches(expression, chunk_size=rows)


@functools.lru_cache(maxsize=256)
def _sql(operation: Any) -> str:
    """Convert an Ibis operation to DuckDB's SQL (20 ms); cached, because operations recur for similar logs."""
    import ibis

    return str(ibis.to_sql(operation.to_expr(), dialect="duckdb"))


def with_relations(sql: str, relations: dict[str, str]) -> str:
    """Return a query whose relations are given as SQL."""
    parts = ", ".join(f"{name} AS ({text})" for name, text in relations.items())
    return f"WITH {parts} {sql}" if parts else sql


def _reader(result: Any, rows: int) -> Any:
    reader = getattr(result, "to_arrow_reader", None) or result.fetch_arrow_reader  # before duckdb 1.5
    return reader(rows)


def _close(duckdb: Any, folder: str) -> None:
    duckdb.close()
    shutil.rmtree(folder, ignore_errors=True)


def _literal(value: Any) -> str:
    if value is None:
        return "CAST(NULL AS VARCHAR)"
    return quoted(value) if isinstance(value, str) else str(value)


def quoted(text: str) -> str:
    """Return a string as an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def named(name: str) -> str:
    """Return a column's name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
