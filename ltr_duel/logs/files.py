"""Find the files of a log and their format, and map each line of the log to its file and row."""

from __future__ import annotations

import gzip
import re
from bisect import bisect_left
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TextIO

from ltr_duel.core import InputError, errors

FORMATS = ("jsonl", "csv", "parquet", "ubi")
_SUFFIX = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".parquet": "parquet"}


_LINE, _PACKED = 100, 20  # lower bounds of the mean number of bytes per line, in plain and in compressed files


class Found(NamedTuple):
    """The file and the row of a line of a log."""

    file: str
    row: int | str

    def __str__(self) -> str:
        """Return the prefix of an error message."""
        return f"{self.file}:{self.row}" if isinstance(self.row, int) else f"{self.file}, {self.row}"


class Files(NamedTuple):
    """The files of a relation (a table of the SQL engine), and the number of lines in all files before each of them."""

    paths: tuple[Path, ...]
    before: tuple[int, ...]

    def find(self, line: int) -> Found:
        """Return the file that contains a line of the relation, and the line's number in the file."""
        k = bisect_left(self.before, line) - 1
        return Found(str(self.paths[k]), line - self.before[k])


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
        found = [one for one in below if _suffix(one) in _SUFFIX and not one.name.startswith((".", "_"))]
    else:
        found = list(Path(given.anchor).glob(str(given.relative_to(given.anchor))))
    files = sorted((one for one in found if one.is_file()), key=_natural)
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


def _suffix(path: Path) -> str:
    """Return the suffix of a file, ignoring ``.gz``."""
    return next((suffix for suffix in reversed(path.suffixes) if suffix != ".gz"), "")


def _format(path: Path) -> str:
    """Return the format of a file, from its suffix or its first bytes."""
    if _suffix(path) in _SUFFIX:
        return _SUFFIX[_suffix(path)]
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
