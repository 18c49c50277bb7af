"""Files of text as a relation of their lines; a row of CSV becomes an object of JSON."""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa

from ltr_duel.core import InputError
from ltr_duel.logs.columns import require_columns
from ltr_duel.logs.engine import Engine

_LONGEST = 1 << 24  # characters of a line
_ROWS = 1 << 14
_SCHEMA = pa.schema({"line": pa.int64(), "text": pa.string(), "fault": pa.string()})


def open_text(path: Path) -> TextIO:
    """Open a file of text, which may be compressed by gzip."""
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", newline="")
    return path.open(encoding="utf-8", newline="")


def load_lines(engine: Engine, paths: tuple[Path, ...], kind: str) -> tuple[int, ...]:
    """Make a table ``lines`` of files, and return how many lines are before each.

    Its columns are ``line``, counted through all files, ``text``, and ``fault``, which says in JSON what is wrong.

    Raises
    ------
    InputError
        If a file is no text or cut short, or the first line of CSV does not name the columns that a log needs.
    """
    before, last = [], 0
    engine.insert("lines", _SCHEMA.empty_table(), new=True)
    for path in paths:
        before.append(last)
        rows = _rows_of_csv(path) if kind == "csv" else _rows_of(path)
        while some := list(islice(rows, _ROWS)):
            numbers, texts, faults = zip(*some, strict=True)
            lines = [before[-1] + number for number in numbers]
            engine.insert("lines", pa.table([lines, texts, faults], schema=_SCHEMA))
            last = lines[-1]
    return tuple(before)


def _whole(path: Path, lines: Iterable[Any]) -> Iterator[Any]:
    """Pass lines on, and say so if the file ends too early or is no text."""
    try:
        yield from lines
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InputError(f"{path}: the compressed file is cut short or damaged") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: not a text in UTF-8") from None


def _rows_of(path: Path) -> Iterator[tuple[int, str | None, str | None]]:
    with open_text(path) as file:
        for number, line in enumerate(_whole(path, iter(lambda: file.readline(_LONGEST), "")), 1):
            if len(line) >= _LONGEST:
                raise InputError(f"{path}:{number}: a line of more than {_LONGEST:,} characters")
            if line.strip():
                yield number, line.rstrip("\r\n"), None


def _rows_of_csv(path: Path) -> Iterator[tuple[int, str | None, str | None]]:
    with open_text(path) as file:
        csv.field_size_limit(_LONGEST)
        reader = csv.reader(file, strict=True)
        rows = _whole(path, reader)
        try:
            head: list[str] = next(rows, [])
            if not head or len(set(head)) < len(head):
                raise InputError(f"{path}:1: the first line of a CSV log must name the columns, each once")
            require_columns(path, head, "log")
            for cells in rows:
                if len(cells) == len(head):
                    given = {name: cell for name, cell in zip(head, cells, strict=True) if cell}
                    yield reader.line_num, json.dumps(given), None
                else:
                    fault = f"{len(cells)} cells, but the first line names {len(head)} columns"
                    yield reader.line_num, None, json.dumps(fault)
        except csv.Error as error:
            raise InputError(f"{path}:{reader.line_num}: not all of a CSV row ({error})") from None
