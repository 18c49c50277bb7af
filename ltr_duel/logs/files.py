"""Files of a log: which there are, which format they have, and which line of which file a line of the log is."""

from __future__ import annotations

import gzip
import re
from bisect import bisect_left
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TextIO

from ltr_duel.core import InputError, errors

FORMATS = ("jsonl", "csv", "parquet", "yandex", "ubi")
_SUFFIX = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".parquet": "parquet"}


_LINE, _PACKED = 100, 20  # bytes of a line, and of one in a compressed file, at least in the mean


class Found(NamedTuple):
    """Where a row of a log stands."""

    file: str
    row: int | str

    def __str__(self) -> str:
        """Return it as sentences begin with it."""
        return f"{self.file}:{self.row}" if isinstance(self.row, int) else f"{self.file}, {self.row}"


class Files(NamedTuple):
    """The files of a relation, and how many of its lines are in the files before each."""

    paths: tuple[Path, ...]
    before: tuple[int, ...]

    def find(self, line: int) -> Found:
        """Return the file that holds a line of the relation, and the number of the line in the file."""
        k = bisect_left(self.before, line) - 1
        return Found(str(self.paths[k]), line - self.before[k])


def open_text(path: Path) -> TextIO:
    """Open a file of text, which may be compressed by gzip."""
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", newline="")
    return path.open(encoding="utf-8", newline="")


def rows_in(paths: Sequence[Path]) -> int:
    """Return about how many rows files have."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = 0
    for path in paths:
        try:
            rows += pq.read_metadata(path).num_rows
        except (OSError, pa.ArrowException):  # a text
            with suppress(OSError):
                rows += path.stat().st_size // (_PACKED if path.suffix == ".gz" else _LINE)
    return rows


def files_of(path: str | Path) -> tuple[Path, ...]:
    """Return a file, the logs below a folder, or the files that a pattern matches; ``day2`` before ``day10``.

    Raises `InputError` if there is none.
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

    Raises `InputError` if it cannot be told, files differ in it, or there is no such format.
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

    Raises `InputError` if it cannot be told.
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
