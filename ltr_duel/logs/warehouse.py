"""Read a log in a database, through the library Ibis. The extra ``warehouse`` installs Ibis.

The database computes joins and sums. The library sqlglot translates our queries from the SQL of DuckDB to the SQL of
the database. Operations on lists differ too much between databases, so they are written with Ibis. Nothing is written
to the database.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ltr_duel.core import InputError, errors
from ltr_duel.logs.engine import Relation, named, quoted, with_relations
from ltr_duel.logs.table import NO_RANKER

_VIEWS = ("duckdb", "postgres", "pyspark")  # engines with temporary views
_EXTRA = "a connection to a database needs Ibis: pip install 'ltr-duel[warehouse]'"


class Warehouse:
    """A database that contains a log. It is given by its URL, or as an Ibis backend."""

    def __init__(self, url: str | Any) -> None:
        try:
            import ibis
        except ImportError:
            raise InputError(_EXTRA) from None
        self.name = re.sub(r"//[^/@]*@", "//", url) if isinstance(url, str) else url.name  # the name has no password
        try:
            self.backend: Any = ibis.connect(url) if isinstance(url, str) else url
        except Exception as error:  # each backend has its own exceptions
            raise InputError(f"{self.name}: {str(error).strip().splitlines()[0]}") from None
        if isinstance(url, str):  # a backend passed by the caller stays open
            weakref.finalize(self, self.backend.disconnect)

    def table(self, name: str) -> Relation:
        """Return the table of the database that has this name."""
        try:
            return Relation(f"SELECT * FROM {named(name)}", tuple(self.backend.table(name).columns))
        except Exception as error:  # each backend has its own exceptions
            raise InputError(f"{self.name}: no table '{name}' ({type(error).__name__})") from None

    def sql(self, text: str) -> Relation:
        """Make a relation from a query that is written in the SQL of the database."""
        if self.backend.name not in _VIEWS:
            return Relation(text, tuple(self.backend.sql(text).columns))
        import ibis

        name = ibis.util.gen_name("query")  # a view, because Ibis cannot describe queries of new versions of engines
        self.backend.raw_sql(f"CREATE TEMPORARY VIEW {name} AS {text}")
        return Relation(f"SELECT * FROM {name}", tuple(self.backend.table(name).columns))

    def view(self, sql: str, **relations: Relation) -> Relation:
        """Make a relation from a query in the SQL of DuckDB. The query can name the relations given as keywords."""
        import sqlglot

        (text,) = sqlglot.transpile(sql, read="duckdb", write=self.backend.dialect)
        with self._guarded():
            return self.sql(with_relations(text, relations, ""))

    keep = view  # nothing is stored, because the database is only read

    def query(self, sql: str, **relations: Relation) -> Any:
        """Run a query in the SQL of DuckDB, and return an Arrow table."""
        table = self._ibis(self.view(sql, **relations))
        with self._guarded():
            return self.backend.to_pyarrow(table)

    def rows(self, sql: str, **relations: Relation) -> list[dict[str, Any]]:
        """Run a query, as in `query`, and return the rows as dictionaries."""
        return list(self.query(sql, **relations).to_pylist())

    def stream(self, sql: str, rows: int, **relations: Relation) -> Iterator[Any]:
        """Run a query, as in `query`, and yield Arrow batches."""
        yield from self.query(sql, **relations).to_batches(max_chunksize=rows)

    def small(self, columns: dict[str, Collection[Any]]) -> Relation:
        """Make a relation from a few columns of numbers and strings."""
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        chosen = (", ".join(f"{_literal(row[name])} AS {named(name)}" for name in row) for row in rows)
        return self.view(" UNION ALL ".join(f"SELECT {row}" for row in chosen))

    def unnested(self, rows: Relation, column: str, keys: Sequence[str]) -> Relation:
        """Return one row for each entry of the lists in a column: `keys`, ``item`` and ``place`` (from 1)."""
        table = self._ibis(rows)
        each = table.select(*keys, item=table[column]).unnest("item", offset="place")
        return self._compiled(each.mutate(place=(each.place + 1).cast("int32")))

    def measured(self, rows: Relation) -> Relation:
        """Add columns that checks of the rows need, for example the length of each shown list."""
        table = self._ibis(rows)
        numbers = {}
        if "owners" in rows.columns:
            n = table.owners.length()
            numbers = {"length": n, "owned": n, "low": table.owners.mins(), "high": table.owners.maxs()}
        if "shown" in rows.columns:
            numbers |= {"length": table.shown.length(), "different": table.shown.unique().length()}
        return self._compiled(table.mutate(**numbers))

    def typed(self, rows: Relation) -> Relation:
        """Convert times to seconds, and names of owners to numbers."""
        import ibis

        table, typed_columns = self._ibis(rows), {}
        if {"owners", "rankers"} <= set(table.columns) and table.owners.type().value_type.is_string():

            def number(owner: Any) -> Any:
                index = table.rankers.index(owner)
                index = ibis.ifelse(index < 0, NO_RANKER, index)
                return ibis.ifelse(owner.nullif("").isnull(), -1, index).cast("int32")

            typed_columns["owners"] = table.owners.map(number)
        if "time" in table.columns and table.time.type().is_timestamp():
            typed_columns["time"] = table.time.epoch_seconds()
        return self._compiled(table.mutate(**typed_columns)) if typed_columns else rows

    def _ibis(self, rows: Relation) -> Any:
        if self.backend.name in _VIEWS:
            return self.backend.table(rows.sql.rpartition(" ")[2].strip('"'))
        return self.backend.sql(rows.sql)

    def _compiled(self, table: Any) -> Relation:
        with self._guarded():
            return self.sql(str(self.backend.compile(table)))

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except InputError:
            raise
        except Exception as error:  # each backend has its own exceptions
            reason = errors.in_one_line(str(error).strip().splitlines()[0])
            views = "; the session must be allowed to create temporary views" * ("read-only" in reason)
            raise InputError(f"{self.name}: {reason}{views}") from None


def _literal(value: Any) -> str:
    if value is None:
        return "CAST(NULL AS VARCHAR)"
    return quoted(value) if isinstance(value, str) else str(value)
