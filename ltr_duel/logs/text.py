"""Rows of JSON lines and of CSV: what a row says becomes values of the types of the table, or a sentence."""

from __future__ import annotations

import contextlib
import csv
import gzip
import json
import math
import zlib
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from ltr_duel.core import InputError
from ltr_duel.logs.table import LOG_COLUMNS

Row = dict[str, Any]
Found = tuple[int, Row | str, list[str]]  # line; the row or what is wrong with it; columns that are not the table's
_LONGEST = 1 << 24  # characters of a line


def open_text(path: Path) -> TextIO:
    """Open a file of text, which may be compressed by gzip."""
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", newline="")
    return path.open(encoding="utf-8", newline="")


def cut_short(path: Path, lines: Iterable[Any]) -> Iterator[Any]:
    """Pass lines on, and say so if the file ends too early or is no text.

    Raises
    ------
    InputError
    """
    try:
        yield from lines
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InputError(f"{path}: the compressed file is cut short or damaged") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: not a text in UTF-8") from None


def rows_of_json(path: Path) -> Iterator[Found]:
    """Yield the rows of a file of JSON lines; blank lines are passed over.

    Raises
    ------
    InputError
        If the file is no text or cut short.
    """
    with open_text(path) as file:
        lines = iter(lambda: file.readline(_LONGEST), "")
        for number, line in enumerate(cut_short(path, lines), 1):
            if len(line) >= _LONGEST:
                raise InputError(f"{path}:{number}: a line of more than {_LONGEST:,} characters")
            if not line.strip():
                continue
            try:
                given = json.loads(line)
            except (ValueError, RecursionError):
                yield number, "no JSON, or not all of it", []
                continue
            if not isinstance(given, dict):
                yield number, "not a JSON object with the columns as keys", []
                continue
            strange = [key for key in given if key not in LOG_COLUMNS]
            yield number, typed_row(given), strange


def rows_of_csv(path: Path) -> Iterator[Found]:
    """Yield the rows of a CSV file; its first line names the columns, lists are written as JSON.

    Raises
    ------
    InputError
        If the file is no text, is cut short, or its first line does not name the columns.
    """
    with open_text(path) as file:
        csv.field_size_limit(_LONGEST)
        reader = csv.reader(file, strict=True)
        lines = cut_short(path, reader)
        try:
            head: list[str] = next(lines, [])
            if "clicks" not in head or len(set(head)) < len(head):
                raise InputError(f"{path}:1: the first line of a CSV log must name the columns, each once")
            strange = [name for name in head if name not in LOG_COLUMNS]
            for cells in lines:
                if len(cells) != len(head):
                    yield reader.line_num, f"{len(cells)} cells, but the first line names {len(head)} columns", []
                elif cells:
                    yield reader.line_num, _row_of_cells(head, cells), strange
        except csv.Error as error:
            raise InputError(f"{path}:{reader.line_num}: not all of a CSV row ({error})") from None


def _row_of_cells(head: list[str], cells: list[str]) -> Row | str:
    given: dict[str, Any] = {}
    for name, cell in zip(head, cells, strict=True):
        if name not in LOG_COLUMNS or not cell:
            continue
        given[name] = cell
        if _IS_LIST[name]:
            try:
                given[name] = json.loads(cell)
            except (ValueError, RecursionError):
                return f"'{name}' must be a list in JSON, such as [1, 3], not {cell[:40]!r}"
        elif name in ("time", "propensity"):  # a time may also be a date
            with contextlib.suppress(ValueError):
                given[name] = float(cell)
    return typed_row(given)


def typed_row(given: dict[str, Any]) -> Row | str:
    """Return the row with values of the types of the table, or say what is wrong."""
    row: Row = {}
    for name, column in LOG_COLUMNS.items():
        value = given.get(name)
        if value is None:
            if column.needed:
                return f"'{name}' is missing"
            row[name] = None
            continue
        made = _MAKE[name](value)
        if made is None:
            return f"'{name}' must be {LEGAL[name]}, not {short(value)}"
        row[name] = made
    if row["owners"] is not None:
        row["owners"] = _positions(row["owners"], row["rankers"])
        if row["owners"] is None:
            return f"'owners' must hold names of 'rankers' or their positions, not {short(given['owners'])}"
    return row


def _positions(owners: list[Any], rankers: list[str] | None) -> list[int] | None:
    """Turn the names of owners into positions, and nobody into -1."""
    found = []
    for owner in owners:
        if owner is None:
            found.append(-1)
        elif isinstance(owner, int):
            found.append(owner)
        elif rankers is not None and owner in rankers:
            found.append(rankers.index(owner))
        else:
            return None
    return found


def short(value: Any) -> str:
    """Return a value as a sentence shows it."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _id(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return str(value)


def _time(value: Any) -> float | None:
    if isinstance(value, str):
        try:
            when = datetime.fromisoformat(value)
        except ValueError:
            return None
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _whole(value: Any) -> int | None:
    return value if type(value) is int and -(2**31) <= value < 2**31 else None


def _owner(value: Any) -> int | str | None:
    return value if isinstance(value, str) else _whole(value)


def _real(value: Any) -> float | None:
    return None if isinstance(value, bool) or not isinstance(value, int | float) else float(value)


def _token(value: Any) -> str | None:
    return json.dumps(value, separators=(",", ":")) if isinstance(value, dict) else value if _is_text(value) else None


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _listed(make: Callable[[Any], Any], nulls: bool = False) -> Callable[[Any], Any]:
    """Return what makes a list, each of whose entries ``make`` makes."""

    def make_list(value: Any) -> list[Any] | None:
        if not isinstance(value, list):
            return None
        made = [None if nulls and one is None else make(one) for one in value]
        return None if not nulls and any(one is None for one in made) else made

    return make_list


_IS_LIST = {name: "list" in str(column.kind) for name, column in LOG_COLUMNS.items()}
_IDS, _NUMBERS = _listed(_id), _listed(_whole)
_MAKE: dict[str, Callable[[Any], Any]] = {
    "impression": _id,
    "time": _time,
    "query": _id,
    "user": _id,
    "shown": _IDS,
    "clicks": _NUMBERS,
    "page": _token,
    "rankers": _IDS,
    "owners": _listed(_owner, nulls=True),
    "rankings": _listed(_IDS),
    "method": lambda value: value if _is_text(value) else None,
    "outcome": lambda value: value if _is_text(value) else None,
    "policy": lambda value: value if _is_text(value) else None,
    "propensity": _real,
    "dwell": _listed(_real),
    "grades": _NUMBERS,
}
LEGAL = {
    **dict.fromkeys(("impression", "query", "user"), "a text or a number"),
    **dict.fromkeys(("shown", "rankers"), "a list of texts"),
    "clicks": "a list of places on the page, 1 for the top",
    "grades": "a list of whole numbers",
    **dict.fromkeys(("method", "outcome", "page", "policy"), "a text"),
    "time": "a number of seconds or a date and time in ISO 8601",
    "owners": "a list of rankers, null for nobody",
    "rankings": "a list with one list of texts for each ranker",
    "propensity": "a number",
    "dwell": "a list of numbers",
}
