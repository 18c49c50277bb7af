"""Files of impressions: which kind a file is, and its rows as a relation of an engine."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

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


class Files(NamedTuple):
    """The files of a relation, and how many of its lines are in the files before each."""

    paths: tuple[Path, ...]
    before: tuple[int, ...]
    strange: tuple[str, ...] = ()  # columns that are none of the table's, in the order in which they are met
    wrong: dict[int, str] = {}  # noqa: RUF012  # never written to: lines that are no rows, with what is wrong

    def place(self, line: int) -> tuple[str, int]:
        """Return the file that holds a line of the relation, and the number of the line in the file."""
        k = bisect_left(self.before, line) - 1
        return str(self.paths[k]), line - self.before[k]


def files_of(path: str | Path) -> tuple[Path, ...]:
    """Return a file, the logs below a folder, or the files that a pattern matches; ``day2`` before ``day10``.

    Raises
    ------
    InputError
        If there is none.
    """
    given = Path(path)
    if given.is_file():
        return (given,)
    if given.is_dir():
        below = given.rglob("*")
        found = [one for one in below if _suffix(one) in _SUFFIX and not one.name.startswith((".", "_"))]
    else:
        found = list(Path(given.anchor).glob(str(given.relative_to(given.anchor))))
    files = sorted((one for one in found if one.is_file()), key=_natural)
    if not files:
        what = f"no {', '.join(sorted(_SUFFIX))} file in this folder" if given.is_dir() else "no such file"
        raise InputError(f"{path}: {what}; 'ltr-duel logs --help' says what a click log is")
    return tuple(files)


def _natural(path: Path) -> list[tuple[int, str]]:
    """Order names by their numbers."""
    parts = re.split(r"([0-9]+)", str(path))
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def format_of(paths: Sequence[Path], given: str = "") -> str:
    """Return the one format of some files: as given, by their suffixes, or by how they begin.

    Raises
    ------
    InputError
        If it cannot be told, files differ in it, or there is no such format.
    """
    if given:
        errors.require_one_of("log format", given, FORMATS)
        return given
    kinds = {_format(path): path for path in reversed(paths)}
    if len(kinds) > 1:
        kind, other = list(kinds)[:2]
        raise InputError(f"{kinds[other]}: a log has files of one format, not {other} and {kind}")
    return next(iter(kinds))


def _suffix(path: Path) -> str:
    """Return the suffix of a file without that of a compression."""
    return next((suffix for suffix in reversed(path.suffixes) if suffix != ".gz"), "")


def _format(path: Path) -> str:
    """Return the format of a file: by the suffix, or by how it begins.

    Raises
    ------
    InputError
        If it cannot be told.
    """
    if _suffix(path) in _SUFFIX:
        return _SUFFIX[_suffix(path)]
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


def load_files(paths: tuple[Path, ...], kind: str, engine: Engine, context: tuple[str, ...] = ()) -> Files:
    """Make files of impressions a relation ``log`` of an engine.

    The relation has those columns of the table that the files have, of their types, and ``line``: where a row stands
    (in Parquet its number from 1), counted through all files.

    Parameters
    ----------
    paths : tuple of Path
    kind : str
        One of `FORMATS`.
    engine : Engine
    context : tuple of str
        Further columns to keep, of Parquet.

    Raises
    ------
    InputError
        If a file cannot be read at all.
    """
    if kind == "parquet":
        return _parquet(paths, engine, context)
    if context:
        raise InputError(f"{paths[0]}: column '{context[0]}' is kept of Parquet, or of exposures beside events, only")
    return _text(paths, kind, engine)


def _text(paths: tuple[Path, ...], kind: str, engine: Engine) -> Files:
    _insert(engine, [], new=True)
    strange: dict[str, None] = {}
    wrong: dict[int, str] = {}
    rows: list[tuple[int, dict[str, Any]]] = []
    before, last = [], 0
    for path in paths:
        before.append(last)
        for line, row, others in _ROWS[kind](path):
            strange.update(dict.fromkeys(others))
            last = before[-1] + line
            if isinstance(row, str):
                wrong[last] = row
                continue
            rows.append((last, row))
            if len(rows) >= _TEXT_ROWS:
                _insert(engine, rows)
                rows = []
    _insert(engine, rows)
    return Files(paths, tuple(before), tuple(strange), wrong)


def _parquet(paths: tuple[Path, ...], engine: Engine, context: tuple[str, ...]) -> Files:
    import duckdb

    con, path = engine.duckdb, paths[0]
    names = f"[{', '.join(quoted(str(one)) for one in paths)}]"
    read = f"read_parquet({names}, file_row_number = true{', union_by_name = true' * (len(paths) > 1)})"
    try:
        have = {name: str(kind) for name, kind, *_ in con.execute(f"DESCRIBE SELECT * FROM {read}").fetchall()}
        for name, column in LOG_COLUMNS.items():
            if column.needed and name not in have:
                raise InputError(
                    f"{path}: the log has no column '{name}'; 'ltr-duel logs columns' lists those of a log"
                )
        sizes = dict(con.execute(f"SELECT file_name, num_rows FROM parquet_file_metadata({names})").fetchall())
        before = [0, *accumulate(sizes[str(one)] for one in paths[:-1])]
        columns = [f"{_cast(con, path, read, name, have)} AS {named(name)}" for name in LOG_COLUMNS if name in have]
        columns += [f"CAST({named(name)} AS VARCHAR) AS {named(name)}" for name in context if name in have]
        earlier = f"{before}[file_index::BIGINT + 1]" if len(paths) > 1 else "0"
        columns.append(f"(file_row_number + 1 + {earlier})::BIGINT AS line")
        con.execute(f"CREATE VIEW log AS SELECT {', '.join(columns)} FROM {read}")
    except duckdb.Error as error:
        first = str(error).splitlines()[0]
        raise InputError(f"{path}: no Parquet file, or not all of one ({first})") from None
    strange = tuple(name for name in have if name not in LOG_COLUMNS and name != "file_row_number")
    return Files(paths, tuple(before), strange)


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
