"""Find the files of a log and their format, and read them in DuckDB as rows with their numbers."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple, TextIO

from ltr_duel.core import InputError, errors
from ltr_duel.logs.engine import Engine, quoted

FORMATS = ("jsonl", "csv", "parquet", "ubi")
_SUFFIX = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".parquet": "parquet"}
_LINE, _PACKED = 100, 20  # lower bounds of the mean number of bytes per line, in plain and in compressed files
_LONGEST = 1 << 24  # maximum number of bytes in a line
_FILE = "filename = 'ltr_file'"
ADDED = ("ltr_line", "ltr_file")  # columns that are added to the columns of a file


class Position(NamedTuple):
    """The file and the row of a line of a log."""

    file: str
    row: int | str

    def __str__(self) -> str:
        """Return the prefix of an error message."""
        return f"{self.file}:{self.row}" if isinstance(self.row, int) else f"{self.file}, {self.row}"


class FileRows(NamedTuple):
    """Rows of files, as a query with the columns `ADDED`: the number of the row in all files, from 1, and the file."""

    sql: str
    header: int = 0  # number of lines of a file before its first row

    def finder(self, engine: Engine) -> Callable[[int], Position]:
        """Return a function that finds the file and the line of a row."""

        def find(line: int) -> Position:
            first = f"SELECT ltr_file, min(ltr_line) AS first FROM ({self.sql}) GROUP BY ltr_file"
            sql = f"SELECT * FROM ({first}) WHERE first <= {line} ORDER BY first DESC LIMIT 1"
            (row,) = engine.rows(sql)
            return Position(row["ltr_file"], line - row["first"] + 1 + self.header)

        return find


def text_lines(paths: Sequence[str | Path]) -> FileRows:
    """Return the lines of text files, in the column ``text``; it is null in empty lines."""
    one_column = "columns = {'text': 'VARCHAR'}, delim = '\x02\x03\x02', quote = '', escape = '', header = false"
    options = f"{one_column}, auto_detect = false, strict_mode = false, max_line_size = {_LONGEST}, {_FILE}"
    return _numbered(f"read_csv({_names(paths)}, {options})")


def csv_rows(paths: Sequence[str | Path], options: str) -> FileRows:
    """Return the rows of CSV files with a header."""
    return _numbered(f"read_csv({_names(paths)}, header = true, {options}, {_FILE})", 1)


def json_rows(paths: Sequence[str | Path], options: str = "") -> FileRows:
    """Return the records of JSON files."""
    return _numbered(f"read_json({_names(paths)}, {_FILE}{options})")


def parquet_rows(engine: Engine, paths: Sequence[str | Path]) -> FileRows:
    """Return the rows of Parquet files; they are numbered without a window, which only one thread can compute."""
    names = _names(paths)
    metadata = engine.raw_rows(f"SELECT file_name, num_rows FROM parquet_file_metadata({names})")
    sizes = {row["file_name"]: row["num_rows"] for row in metadata}
    before = [0, *accumulate(sizes[str(path)] for path in paths[:-1])]
    earlier, union = (f" + {before}[file_index::BIGINT + 1]", ", union_by_name = true") if paths[1:] else ("", "")
    read = f"read_parquet({names}, file_row_number = true, {_FILE}{union})"
    line = f"(file_row_number + 1{earlier})::BIGINT AS ltr_line"
    return FileRows(f"SELECT * EXCLUDE (file_row_number), {line} FROM {read}")


def _numbered(read: str, header: int = 0) -> FileRows:
    return FileRows(f"SELECT *, row_number() OVER () AS ltr_line FROM {read}", header)


def _names(paths: Sequence[str | Path]) -> str:
    return f"[{', '.join(quoted(str(path)) for path in paths)}]"


def open_text(path: Path) -> TextIO:
    """Open a text file that may be compressed by gzip."""
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", newline="")
    return path.open(encoding="utf-8", newline="")


def rows_in(paths: Sequence[Path]) -> int:
    """Return the approximate number of rows in files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = 0
    for path in paths:
        try:
            rows += pq.read_metadata(path).num_rows
        except (OSError, pa.ArrowException):  # a text file
            with suppress(OSError):
                rows += path.stat().st_size // (_PACKED if path.suffix == ".gz" else _LINE)
    return rows


def files_of(path: str | Path) -> tuple[Path, ...]:
    """Return a given file, the logs below a folder, or files that match a pattern; sorted, with day2 before day10."""
    given = Path(path)
    if given.is_file():
        return (given,)
    if given.is_dir():
        below = given.rglob("*")
        matching = [file for file in below if suffix_of(file) in _SUFFIX and not file.name.startswith((".", "_"))]
    else:
        matching = list(Path(given.anchor).glob(str(given.relative_to(given.anchor))))
    files = sorted((file for file in matching if file.is_file()), key=_natural)
    if not files:
        what = f"no {', '.join(sorted(_SUFFIX))} file in this folder" if given.is_dir() else "no such file"
        raise InputError(f"{path}: {what}; see 'ltr-duel logs --help' for the format of click logs")
    return tuple(files)


def _natural(path: Path) -> list[tuple[int, str]]:
    """Return a sort key that compares the numbers in names as integers."""
    parts = re.split(r"([0-9]+)", str(path))
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def format_of(paths: Sequence[Path], given: str = "") -> str:
    """Return the common format of files: the given format, or the format recognised by suffixes or first bytes."""
    if given:
        errors.require_one_of("log format", given, FORMATS)
        return given
    kinds = {_format(path): path for path in reversed(paths)}
    if len(kinds) > 1:
        kind, other = list(kinds)[:2]
        raise InputError(f"{kinds[other]}: all files of a log must have one format, not {other} and {kind}")
    return next(iter(kinds))


def suffix_of(path: Path) -> str:
    """Return the suffix of a file, ignoring ``.gz``."""
    return next((suffix for suffix in reversed(path.suffixes) if suffix != ".gz"), "")


def _format(path: Path) -> str:
    """Return the format of a file, from its suffix or its first bytes."""
    if suffix_of(path) in _SUFFIX:
        return _SUFFIX[suffix_of(path)]
    try:
        with path.open("rb") as file:
            if file.read(4) == b"PAR1":
                return "parquet"
        with open_text(path) as text:
            if text.readline(10_000).startswith("{"):
                return "jsonl"
    except (UnicodeDecodeError, EOFError):
        pass
    raise InputError(f"{path}: format not recognised; name the file .jsonl, .csv or .parquet, or give the format")
