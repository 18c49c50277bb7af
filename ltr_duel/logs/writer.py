"""Write logs as JSON lines, CSV, Parquet or User Behavior Insights, selected by the suffix of the path."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ltr_duel.core import InputError, errors, files
from ltr_duel.logs.table import LOG_COLUMNS, SCHEMA

_MORE = {"position": pa.int32(), "value": pa.float64()}  # columns of events; further columns are strings
_UBI_IDS = {"impression": "query_id", "user": "client_id"}
_UBI_NEEDED = ("time", "shown", "clicks")


class LogWriter:
    """Writes batches of rows; created by `write_log`."""

    def __init__(self, path: Path, suffix: str, columns: tuple[str, ...]) -> None:
        self.rows, self._suffix = 0, suffix
        fields = [SCHEMA.field(name) for name in LOG_COLUMNS if name in columns]
        fields += [pa.field(name, _MORE.get(name, pa.string())) for name in columns if name not in LOG_COLUMNS]
        self._schema = pa.schema(fields)
        text = suffix != ".parquet"
        self._file: Any = path.open("w", encoding="utf-8", newline="") if text else pq.ParquetWriter(path, self._schema)
        self.close = self._file.close
        if suffix == ".csv":
            csv.writer(self._file).writerow(self._schema.names)

    def write(self, columns: dict[str, Any]) -> None:
        """Write rows, given as columns: lists or Arrow arrays of the types of `LOG_COLUMNS`.

        Times are in seconds, and owners are positions in ``rankers``, from 0. Raises `InputError` for other types.
        """
        arrays = [_array(field, columns[field.name]) for field in self._schema]
        batch = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        self.rows += batch.num_rows
        if self._suffix == ".parquet":
            self._file.write_batch(batch)
        elif self._suffix == ".csv":
            rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
            csv.writer(self._file).writerows([json.dumps(v) if isinstance(v, list) else v for v in row] for row in rows)
        else:
            filled = ({name: value for name, value in row.items() if value is not None} for row in batch.to_pylist())
            records = (part for row in filled for part in ([row] if self._suffix == ".jsonl" else _ubi_records(row)))
            self._file.writelines(json.dumps(record) + "\n" for record in records)


def _array(field: pa.Field, value: Any) -> pa.Array:
    try:
        return value if isinstance(value, pa.Array) else pa.array(value, field.type)
    except (pa.ArrowException, OverflowError) as error:
        raise InputError(f"column '{field.name}' of a written log has the type {field.type}: {error}") from None


def _ubi_records(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a row as a query of User Behavior Insights and an event for each click, with times in milliseconds."""
    common = {"application": "ltr_duel", "timestamp": round(row["time"] * 1000)}
    common |= {key: row[name] for name, key in _UBI_IDS.items() if name in row}
    rest = {name: row[name] for name in row if name not in (*_UBI_IDS, *_UBI_NEEDED, "query", "dwell")}
    query = {"user_query": row.get("query", ""), "query_response_hit_ids": row["shown"], "query_attributes": rest}
    records = [common | query]
    for position, dwell in zip(row["clicks"], row.get("dwell") or [None] * len(row["clicks"]), strict=True):
        item = {"object": {"object_id": row["shown"][position - 1]}, "position": {"ordinal": position - 1}}
        records.append(common | {"action_name": "click", "event_attributes": item | {"dwell_time": dwell}})
    return records


@contextmanager
def write_log(
    path: str | Path, columns: tuple[str, ...] = tuple(LOG_COLUMNS), *, private: bool = False
) -> Iterator[LogWriter]:
    """Write a click log as JSON lines, CSV, Parquet or User Behavior Insights. The file appears complete or not at all.

    Parameters
    ----------
    path : path
        The suffix selects the format: ``.jsonl``, ``.csv``, ``.parquet``, or ``.ndjson`` for User Behavior Insights,
        whose times are in whole milliseconds.
    columns : tuple of str
        Columns of `LOG_COLUMNS`, columns of a table of events, or further columns, which are strings.
    private : bool
        Whether only the owner may read the file, even if it replaces a file that others may read.

    Yields
    ------
    LogWriter
        Its method ``write`` takes a dictionary of columns, each a list with one entry per row.

    Raises
    ------
    InputError
        For an unknown suffix, a folder that is not writable, or User Behavior Insights without one of the columns
        ``time``, ``shown`` and ``clicks``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "clicks.jsonl"
    ...     with write_log(path, ("query", "clicks")) as log:
    ...         log.write({"query": ["a", "b"], "clicks": [[], [1, 3]]})
    ...     print(path.read_text(), end="")
    {"query": "a", "clicks": []}
    {"query": "b", "clicks": [1, 3]}
    """
    suffix = Path(path).suffix
    if suffix not in (".jsonl", ".csv", ".parquet", ".ndjson"):
        raise InputError(f"{path}: a log must end in .jsonl, .csv or .parquet, or in .ndjson for search records (UBI)")
    if suffix == ".ndjson" and (absent := [name for name in _UBI_NEEDED if name not in columns]):
        needed = errors.listed(_UBI_NEEDED)
        raise InputError(f"{path}: search records (UBI) need the columns {needed}, but {absent[0]} is missing")
    with files.replacing(path) as temporary:
        if private:
            temporary.chmod(0o600)
        with closing(LogWriter(temporary, suffix, columns)) as writer:
            yield writer
