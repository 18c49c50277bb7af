"""Files of impressions: which kind a file is, and its rows in batches of the table's columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ltr_duel.core import InputError, errors, one_ahead
from ltr_duel.logs.sessions import rows_of_sessions
from ltr_duel.logs.table import LOG_COLUMNS, SCHEMA, Impressions
from ltr_duel.logs.text import Found, open_text, rows_of_csv, rows_of_json, typed_row

FORMATS = ("jsonl", "csv", "parquet", "yandex")
_SUFFIX = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".parquet": "parquet"}
_ROWS: dict[str, Callable[[Path], Iterator[Found]]] = {
    "jsonl": rows_of_json,
    "csv": rows_of_csv,
    "yandex": rows_of_sessions,
}
_TEXT_ROWS, _PARQUET_ROWS = 1 << 13, 1 << 16
_VALUES, _BYTES = 1 << 22, 1 << 26  # of a batch, those in lists counted one by one: long rows come in smaller batches
Part = tuple[Impressions, dict[int, str]]  # a batch, and lines that are none of its rows with what is wrong with them


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


class LogFile:
    """A file of impressions, of any format.

    Parameters
    ----------
    path : Path
    kind : str
        One of `FORMATS`.
    """

    def __init__(self, path: Path, kind: str) -> None:
        self.path, self.kind = path, kind
        self.strange: dict[str, None] = {}  # columns that are none of the table's, in the order in which they are met

    def has(self, column: str) -> bool:
        """Whether rows can have that column.

        Raises
        ------
        InputError
            If the file is no Parquet, though it should be.
        """
        if self.kind != "parquet":
            return True
        try:
            return column in pq.read_schema(self.path).names
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error) from None

    def _damaged(self, error: Exception) -> InputError:
        return InputError(f"{self.path}: no Parquet file, or not all of one ({str(error).splitlines()[0]})")

    def parts(self, columns: Collection[str]) -> Iterator[Part]:
        """Yield the file in batches with those of the columns that it has.

        Raises
        ------
        InputError
            If the file cannot be read at all.
        """
        if self.kind == "parquet":
            yield from one_ahead(self._parquet(columns))
        else:
            yield from self._text(columns)

    def _text(self, columns: Collection[str]) -> Iterator[Part]:
        names = [name for name in LOG_COLUMNS if name in columns]
        schema = pa.schema([SCHEMA.field(name) for name in names])
        rows: list[dict[str, Any]] = []
        lines: list[int] = []
        wrong: dict[int, str] = {}

        def part() -> Part:
            arrays = [pa.array([row[name] for row in rows], SCHEMA.field(name).type) for name in names]
            return Impressions(pa.RecordBatch.from_arrays(arrays, schema=schema), np.array(lines, np.int64)), wrong

        for line, row, strange in _ROWS[self.kind](self.path):
            self.strange.update(dict.fromkeys(strange))
            if isinstance(row, str):
                wrong[line] = row
            else:
                rows.append(row)
                lines.append(line)
            if len(rows) + len(wrong) >= _TEXT_ROWS:
                yield part()
                rows, lines, wrong = [], [], {}
        if rows or wrong:
            yield part()

    def _parquet(self, columns: Collection[str]) -> Generator[Part]:
        try:
            with pq.ParquetFile(self.path) as file:
                have = file.schema_arrow.names
                self.strange.update(dict.fromkeys(name for name in have if name not in LOG_COLUMNS))
                for name, column in LOG_COLUMNS.items():
                    if column.needed and name not in have:
                        raise InputError(f"{self.path}: the log has no column '{name}'")
                names = [name for name in LOG_COLUMNS if name in columns and name in have]
                first = 1
                at_once = _rows_at_once(file.metadata)
                for group in range(file.num_row_groups):  # one by one: a reader keeps what it read of those before
                    for batch in file.iter_batches(at_once, row_groups=[group], columns=names):
                        lines = np.arange(first, first + batch.num_rows)
                        arrays = [self._cast(name, batch) for name in names]
                        yield Impressions(pa.RecordBatch.from_arrays(arrays, names), lines), {}
                        first += batch.num_rows
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error) from None

    def _cast(self, name: str, batch: Any) -> Any:
        column, kind = batch.column(name), LOG_COLUMNS[name].kind
        if column.type == kind:
            return column
        try:
            if name == "time" and pa.types.is_timestamp(column.type):
                return pc.divide(pc.cast(pc.cast(column, pa.timestamp("us")), pa.int64()).cast(pa.float64()), 1e6)
            if name in ("time", "owners") and "string" in str(column.type):
                return _by_row(name, batch)
            return pc.cast(column, kind)
        except pa.ArrowException:
            raise InputError(f"{self.path}: column '{name}' is {column.type}, which is no {kind}") from None


def _rows_at_once(about: Any) -> int:
    """Return how many rows of a Parquet file are read at once, so that the memory is about the same for all files."""
    if about.num_row_groups == 0 or about.row_group(0).num_rows == 0:
        return _PARQUET_ROWS
    group = about.row_group(0)
    columns = [group.column(k) for k in range(group.num_columns)]
    values, size = (sum(getattr(one, of) for one in columns) for of in ("num_values", "total_uncompressed_size"))
    rows = min(_VALUES * group.num_rows // max(values, 1), _BYTES * group.num_rows // max(size, 1))
    return max(256, min(_PARQUET_ROWS, rows))


def _by_row(name: str, batch: Any) -> Any:
    """Read texts of dates, or owners by their names; a value that is neither becomes a number that is refused later."""
    other = {column.name: "" for column in SCHEMA if LOG_COLUMNS[column.name].needed}
    filled: dict[str, Any] = {**other, "time": 0.0, "shown": ["0"], "clicks": []}
    made = []
    for row in range(batch.num_rows):
        about = {key: batch.column(key)[row].as_py() for key in (name, "rankers") if key in batch.schema.names}
        found = typed_row({**filled, **about})
        made.append((math.nan if name == "time" else [-2]) if isinstance(found, str) else found[name])
    return pa.array(made, LOG_COLUMNS[name].kind)
