"""Find the files of a log and their format, and read them with DuckDB."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from ltr_duel.core import InputError, errors
from ltr_duel.logs.engine import Engine, named, quoted

FORMATS = ("jsonl", "csv", "parquet", "ubi")
_SUFFIX = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".tsv": "csv", ".parquet": "parquet"}
_OPTIONS = f"max_line_size = {1 << 24}, filename = 'ltr_file', auto_detect = false"
ADDED = ("ltr_line", "ltr_file")  # columns that are added to the columns of a file


class Position(NamedTuple):
    """The file and the row from which a line of a log comes."""

    file: str
    row: int | str

    def __str__(self) -> str:
        return f"{self.file}:{self.row}" if isinstance(self.row, int) else f"{self.file}, {self.row}"


class FileRows(NamedTuple):
    """A query for the rows of files. The column ``ltr_line`` numbers all rows from 1; ``ltr_file`` is the file."""

    sql: str
    header: int = 0  # number of lines of a file before its first row

    def find(self, engine: Engine, line: int) -> Position:
        """Return the file and the line of a row."""
        first = f"SELECT ltr_file, min(ltr_line) AS first FROM ({self.sql}) GROUP BY ltr_file"
        (row,) = engine.rows(f"SELECT * FROM ({first}) WHERE first <= {line} ORDER BY first DESC LIMIT 1")
        return Position(row["ltr_file"], line - row["first"] + 1 + self.header)


def text_rows(paths: Sequence[Path]) -> FileRows:
    """Return the lines of text files in the column ``text``. Empty lines are null."""
    one_column = "columns = {'text': 'VARCHAR'}, delim = '\x02\x03\x02', quote = '', escape = '', header = false"
    return _numbered(f"read_csv({_names(paths)}, {one_column}, strict_mode = false, {_OPTIONS})")


def csv_rows(paths: Sequence[Path]) -> FileRows:
    """Return the rows of CSV files as text. The most frequent separator in the first line separates the cells."""
    first = {path: _first_line(path) for path in paths}
    delimiter = max(",;\t|", key=first[paths[0]].count)
    heads = {path: next(csv.reader([line], delimiter=delimiter), []) for path, line in first.items()}
    head = heads[paths[0]]
    if not head:
        raise InputError(f"{paths[0]}: the log has no rows")
    if other := next((path for path in paths if heads[path] != head), None):
        raise InputError(f"{other}: the first line differs from that of {paths[0]}: {', '.join(head)}")
    if len(set(head)) < len(head):
        raise InputError(f"{paths[0]}:1: the first line of a CSV file must contain each column name once")
    columns = ", ".join(f"{quoted(name)}: 'VARCHAR'" for name in head)
    options = f"header = true, columns = {{{columns}}}, delim = {quoted(delimiter)}, quote = '\"', escape = '\"'"
    return _numbered(f"read_csv({_names(paths)}, {options}, {_OPTIONS})", 1)


def json_rows(engine: Engine, paths: Sequence[Path], texts: Sequence[str]) -> FileRows:
    """Return the records of JSON files. The columns ``texts`` stay text, even if they look like numbers or dates."""
    read = f"read_json({_names(paths)}, filename = 'ltr_file'"
    columns = []
    for row in engine.raw_rows(f"DESCRIBE SELECT * EXCLUDE (ltr_file) FROM {read})"):
        name, kind = row["column_name"], row["column_type"]
        if name in texts and not kind.startswith(("STRUCT", "MAP", "JSON")):
            kind = re.sub(r"^[^[]*", "VARCHAR", kind)  # keeps the brackets of lists
        columns.append(f"{named(name)}: {quoted(kind)}")
    return _numbered(f"{read}, columns = {{{', '.join(columns)}}})")


def parquet_rows(engine: Engine, paths: Sequence[Path]) -> FileRows:
    """Return the rows of Parquet files, numbered so that several threads can read them."""
    names = _names(paths)
    metadata = engine.raw_rows(f"SELECT file_name, num_rows FROM parquet_file_metadata({names})")
    sizes = {row["file_name"]: row["num_rows"] for row in metadata}
    before = [0, *accumulate(sizes[str(path)] for path in paths[:-1])]
    earlier, union = (f" + {before}[file_index::BIGINT + 1]", ", union_by_name = true") if paths[1:] else ("", "")
    read = f"read_parquet({names}, file_row_number = true, filename = 'ltr_file'{union})"
    line = f"(file_row_number + 1{earlier})::BIGINT AS ltr_line"
    return FileRows(f"SELECT * EXCLUDE (file_row_number), {line} FROM {read}")


def _numbered(read: str, header: int = 0) -> FileRows:
    return FileRows(f"SELECT *, row_number() OVER () AS ltr_line FROM {read}", header)


def _names(paths: Sequence[Path]) -> str:
    return f"[{', '.join(quoted(str(path)) for path in paths)}]"


def _first_line(path: Path) -> str:
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8-sig", newline="") as file:
            return str(file.readline())
    except UnicodeDecodeError:
        raise InputError(f"{path}: the text is not UTF-8") from None
    except (OSError, EOFError) as error:
        raise InputError(f"{path}: cannot be read, or is truncated ({error})") from None


def files_of(path: str | Path) -> tuple[Path, ...]:
    """Return the files of a log, in natural order (day2 before day10)."""
    place = Path(path)
    if place.is_file():
        return (place,)
    if place.is_dir():
        logs = (file for file in place.rglob("*") if suffix_of(file) in _SUFFIX and file.name[0] not in "._")
    else:
        logs = Path(place.anchor).glob(str(place.relative_to(place.anchor)))
    files = [file for file in logs if file.is_file()]
    if not files:
        lack = f"no {', '.join(sorted(_SUFFIX))} file in this folder" if place.is_dir() else "no such file"
        raise InputError(f"{path}: {lack}; see 'ltr-duel logs --help' for the format of click logs")
    return tuple(sorted(files, key=_natural))


def _natural(path: Path) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]+)", str(path))]


def format_of(paths: Sequence[Path], given: str = "") -> str:
    """Return the format of the files. By default, it follows from their suffixes."""
    if given:
        errors.require_one_of("log format", given, FORMATS)
        return given
    kinds = {_SUFFIX.get(suffix_of(path), ""): path for path in reversed(paths)}
    if "" in kinds:
        raise InputError(
            f"{kinds['']}: format not recognised; name the file .jsonl, .csv or .parquet, or give the format"
        )
    if len(kinds) > 1:
        kind, other = list(kinds)[:2]
        raise InputError(f"{kinds[other]}: all files of a log must have one format, not {other} and {kind}")
    return next(iter(kinds))


def suffix_of(path: Path) -> str:
    """Return the suffix of a file, without ``.gz``."""
    return next((suffix for suffix in reversed(path.suffixes) if suffix != ".gz"), "")
