"""Files of impressions: which kind a file is, and its rows as a relation of an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from ltr_duel.core import InputError, errors
from ltr_duel.logs.engine import Engine, named, owner_numbers, quoted
from ltr_duel.logs.sessions import rows_of_sessions
from ltr_duel.logs.table import LOG_COLUMNS, SCHEMA
from ltr_duel.logs.text import Found, open_text, rows_of_csv, rows_of_json

FORMATS = ("jsonl", "csv", "parquet", "yandex", "ubi")
_SUFFIX = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".parquet": "parquet"}
_ROWS: dict[str, Callable[[Path], Iterator[Found]]] = {
    "jsonl": rows_of_json,
    "csv": rows_of_csv,
    "yandex": rows_of_sessions,
}
_TEXT_ROWS = 1 << 13
_SQL = {
    name: str(column.kind)
    .replace("string", "VARCHAR")
    .replace("double", "DOUBLE")
    .replace("int32", "INTEGER")
    .replace("list<item: ", "")
    .replace(">", "[]")
    for name, column in LOG_COLUMNS.items()
}  # the same types in SQL


def format_of(path: Path, given: str = "") -> str:
    """Return the format of a file: as given, by the suffix, or by how it begins.

    Raises
    ------
    InputError
        If it cannot be told, or there is no such format.
    """
    if given:
        errors.require_one_of("log format", given, FORMATS)
        return given
    suffixes = [suffix for suffix in path.suffixes if suffix != ".gz"]
    if suffixes and suffixes[-1] in _SUFFIX:
        return _SUFFIX[suffixes[-1]]
    try:
        with path.open("rb") as file:
            if file.read(4) == b"PAR1":
                return "parquet"
        with open_text(path) as text:
            parts = text.readline(10_000).split("\t")
    except (UnicodeDecodeError, EOFError):
        parts = []
    if len(parts) >= 4 and (parts[1] == "M" or parts[2] in ("Q", "T")):
        return "yandex"
    if parts and parts[0].startswith("{"):
        return "jsonl"
    raise InputError(f"{path}: the format cannot be told; name the file .jsonl, .csv or .parquet (or say yandex)")


def load_file(
    path: Path, kind: str, engine: Engine, context: tuple[str, ...] = ()
) -> tuple[tuple[str, ...], dict[int, str]]:
    """Make a file of impressions a relation ``log`` of an engine.

    The relation has those columns of the table that the file has, of their types, and ``line``: where in the file a
    row stands (in Parquet its number from 1).

    Parameters
    ----------
    path : Path
    kind : str
        One of `FORMATS`.
    engine : Engine
    context : tuple of str
        Further columns to keep, of Parquet.

    Returns
    -------
    tuple
        The columns that are none of the table's, in the order in which they are met; and the lines that are no rows,
        with what is wrong with them.

    Raises
    ------
    InputError
        If the file cannot be read at all.
    """
    if kind == "parquet":
        return _parquet(path, engine.duckdb, context)
    if context:
        raise InputError(f"{path}: column '{context[0]}' is kept of Parquet, or of exposures beside events, only")
    return _text(path, kind, engine)


def _text(path: Path, kind: str, engine: Engine) -> tuple[tuple[str, ...], dict[int, str]]:
    _insert(engine, [], new=True)
    strange: dict[str, None] = {}
    wrong: dict[int, str] = {}
    rows: list[tuple[int, dict[str, Any]]] = []
    for line, row, others in _ROWS[kind](path):
        strange.update(dict.fromkeys(others))
        if isinstance(row, str):
            wrong[line] = row
            continue
        rows.append((line, row))
        if len(rows) >= _TEXT_ROWS:
            _insert(engine, rows)
            rows = []
    _insert(engine, rows)
    return tuple(strange), wrong


def _parquet(path: Path, con: Any, context: tuple[str, ...]) -> tuple[tuple[str, ...], dict[int, str]]:
    import duckdb

    read = f"read_parquet({quoted(str(path))}, file_row_number = true)"
    try:
        have = {name: str(kind) for name, kind, *_ in con.execute(f"DESCRIBE SELECT * FROM {read}").fetchall()}
        for name, column in LOG_COLUMNS.items():
            if column.needed and name not in have:
                raise InputError(f"{path}: the log has no column '{name}'")
        columns = [f"{_cast(con, path, read, name, have)} AS {named(name)}" for name in LOG_COLUMNS if name in have]
        columns += [f"CAST({named(name)} AS VARCHAR) AS {named(name)}" for name in context if name in have]
        columns.append("file_row_number + 1 AS line")
        con.execute(f"CREATE VIEW log AS SELECT {', '.join(columns)} FROM {read}")
    except duckdb.Error as error:
        first = str(error).splitlines()[0]
        raise InputError(f"{path}: no Parquet file, or not all of one ({first})") from None
    return tuple(name for name in have if name not in LOG_COLUMNS and name != "file_row_number"), {}


def _cast(con: Any, path: Path, read: str, name: str, have: dict[str, str]) -> str:
    """Return a column of a Parquet file as one of the table's type."""
    kind, wanted, column = have[name], _SQL[name], named(name)
    if name == "time" and kind.startswith("TIMESTAMP"):
        return f"epoch_us({column}) / 1e6"
    if name == "time" and kind == "VARCHAR":
        dated = f"epoch_us(try_cast({column} AS TIMESTAMPTZ)) / 1e6"
        return f"CASE WHEN {column} IS NOT NULL THEN coalesce(try_cast({column} AS DOUBLE), {dated}, 'nan') END"
    if name == "owners" and kind == "VARCHAR[]" and "rankers" in have:
        return owner_numbers(column, "rankers")
    if kind == wanted:
        return column
    lists = wanted.count("[]")
    if kind.count("[]") == lists and not kind.startswith("STRUCT"):
        return f"CAST({column} AS {wanted})"
    if con.execute(f"SELECT count({column}) FROM {read}").fetchone() == (0,):  # without a value, of any type
        return f"CAST(NULL AS {wanted})"
    raise InputError(f"{path}: column '{name}' is {kind.lower()}, which is no {LOG_COLUMNS[name].kind}")


def _insert(engine: Engine, rows: list[tuple[int, dict[str, Any]]], *, new: bool = False) -> None:
    arrays = [pa.array([row[field.name] for _, row in rows], field.type) for field in SCHEMA]
    lines = pa.array([line for line, _ in rows], pa.int64())
    engine.insert("log", pa.Table.from_arrays([*arrays, lines], [*SCHEMA.names, "line"]), new=new)
