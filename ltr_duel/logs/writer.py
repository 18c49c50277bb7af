"""Write logs as JSON lines, CSV or Parquet."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ltr_duel.core import InputError, files
from ltr_duel.logs.table import LOG_COLUMNS, SCHEMA

_MORE = {"position": pa.int32(), "value": pa.float64()}  # columns of events; further columns are strings


class LogWriter:
    """Writes batches of rows. `write_log` creates it."""

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
        """Write rows, given as columns, which are lists or Arrow arrays with the types of `LOG_COLUMNS`.

        Times are in seconds. Owners are positions in ``rankers``, from 0. Raises `InputError` for other types.
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
            for row in batch.to_pylist():
                self._file.write(json.dumps({k: v for k, v in row.items() if v is not None}) + "\n")


def _array(field: pa.Field, value: Any) -> pa.Array:
    try:
        return value if isinstance(value, pa.Array) else pa.array(value, field.type)
    except (pa.ArrowException, OverflowError) as error:
        raise InputError(f"column '{field.name}' of a written log has the type {field.type}: {error}") from None


@contextmanager
def write_log(
    path: str | Path, columns: tuple[str, ...] = tuple(LOG_COLUMNS), *, private: bool = False
) -> Iterator[LogWriter]:
    """Write a click log as JSON lines, CSV or Parquet. The file appears complete or not at all.

    Parameters
    ----------
    path : path
        The file to write. The suffix of the file selects the format: ``.jsonl``, ``.csv`` or ``.parquet``.
    columns : tuple of str
        Names of the columns, by default all of `LOG_COLUMNS`. Columns of events are also possible. Columns with other
        names contain strings.
    private : bool
        Whether only the owner may read the file. By default, the usual permissions apply.

    Yields
    ------
    LogWriter
        Its method ``write`` takes a dictionary of columns. A column is a list with one entry per row.

    Raises
    ------
    InputError
        If the suffix is unknown, or the folder is not writable.

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
    if suffix not in (".jsonl", ".csv", ".parquet"):
        raise InputError(f"{path}: a log must end in .jsonl, .csv or .parquet")
    with files.replacing(path) as temporary:
        if private:
            temporary.chmod(0o600)
        with closing(LogWriter(temporary, suffix, columns)) as writer:
            yield writer
