"""The files that contain the results of runs, and an index of all runs in a store.

A process writes a new file whenever it has executed some runs. The name of a file is the SHA-256 of its content. A file
with a wrong name is damaged, and its runs are executed again. Names are checked first, because Arrow can crash Python
when it opens a damaged file.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import pyarrow as pa

from ltr_duel.core import InputError
from ltr_duel.experiment.store import StoppedError, Store

_SUFFIX = ".arrow"
_FORMAT = "ltr_duel.runs/1"
SCHEMA = pa.schema(
    [
        ("group", pa.string()),  # digest of the key of the group's repetition 0
        ("repetition", pa.int64()),
        ("problem", pa.string()),
        ("policy", pa.string()),
        ("horizon", pa.int64()),
        ("seconds", pa.float64()),
        ("finished", pa.float64()),  # seconds since 1970
        ("environment", pa.string()),  # program, libraries, machine, as JSON
        ("error", pa.string()),  # why the run failed, in which case it has no counts; null for a finished run
        ("traceback", pa.string()),
        ("decisions", pa.int64()),
        ("checkpoints", pa.int32()),
        # One row after another: t, recommended, outcomes, then pulls, best and worst of each arm. A row contains the
        # differences between consecutive checkpoints.
        ("steps", pa.list_(pa.int64())),
        # The exposure of each arm, one checkpoint after another; null if every exposure is half of the pulls.
        ("exposure", pa.list_(pa.float64())),
    ],
    {"format": _FORMAT},
)
_WRITE = pa.ipc.IpcWriteOptions(compression="zstd", use_threads=False)
COUNTED = ("decisions", "checkpoints", "steps", "exposure")  # columns that depend only on the key of a run


class Row(NamedTuple):
    """Where the result of a run is stored: a file, and the number of a row in it."""

    file: str
    number: int


def write_runs(store: Store, rows: Sequence[tuple[Any, ...]]) -> str:
    """Write a file of runs, whose rows have the columns of `SCHEMA`; return the name of the file.

    Raises `StoppedError` if the file cannot be written.
    """
    columns = [pa.array(values, field.type) for values, field in zip(zip(*rows, strict=True), SCHEMA, strict=True)]
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, SCHEMA, options=_WRITE) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=SCHEMA))
    data = memoryview(sink.getvalue())
    name = hashlib.sha256(data).hexdigest() + _SUFFIX
    temporary = store.claims / f"{name}.tmp"
    try:
        temporary.write_bytes(data)
        os.replace(temporary, store.runs / name)  # noqa: PTH105 -- Path.replace would fill memory with parts of paths
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StoppedError(f"{store.runs / name}: cannot be written: {error.strerror}") from None
    return name


class Index:
    """Finds the result of each run: ``done[group][repetition]`` or ``failed[group][repetition]`` is its `Row`.

    Raises `InputError` if a file cannot be read or was made by another version, or if two files disagree about a run.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.done: dict[str, dict[int, Row]] = {}
        self.failed: dict[str, dict[int, Row]] = {}
        self.damaged: list[str] = []  # paths of files whose content does not fit their name
        self.seconds: list[float] = []  # how long each finished run took
        self._files = set[str]()
        self.update()

    def update(self, own: Iterable[str] = ()) -> None:
        """Read the files that were written since the last update, except the files named in ``own``."""
        if not self.store.runs.is_dir():
            return
        names = {entry.name for entry in os.scandir(self.store.runs)} - self._files - set(own)
        twice: list[tuple[Row, Row]] = []
        for name in sorted(name for name in names if name.endswith(_SUFFIX)):
            self._files.add(name)
            path = self.store.runs / name
            try:
                data = path.read_bytes()
            except OSError as error:
                raise InputError(f"{path}: cannot be read: {error.strerror}") from None
            if hashlib.sha256(data).hexdigest() + _SUFFIX == name:
                twice += self._add(name, pa.py_buffer(data))
            else:
                self.damaged.append(str(path))
        self._require_equal(twice)

    def _add(self, name: str, data: pa.Buffer) -> Iterator[tuple[Row, Row]]:
        """Add the runs of a file. If a finished run was found before, yield both of its rows."""
        columns = map(pa.Array.to_pylist, self._decode(name, data, ("group", "repetition", "seconds", "error")))
        for number, (group, repetition, seconds, error) in enumerate(zip(*columns, strict=True)):
            row, runs = Row(name, number), self.done if error is None else self.failed
            first = runs.setdefault(group, {}).setdefault(repetition, row)
            if error is None and first is not row:
                yield first, row
            elif error is None:
                self.seconds.append(seconds)

    def _require_equal(self, twice: Iterable[tuple[Row, Row]]) -> None:
        ordered = sorted(twice, key=lambda pair: (pair[0].file, pair[1].file))
        for (name, other), pairs in groupby(ordered, key=lambda pair: (pair[0].file, pair[1].file)):
            rows, others = zip(*pairs, strict=True)
            if not self._rows(rows, COUNTED).equals(self._rows(others, COUNTED)):
                fault = f"{name} and {other} contain different results of the same run"
                raise InputError(
                    f"{self.store.runs}: {fault}: remove the wrong file, and 'ltr-duel run' repeats its runs"
                )

    def read(
        self, wanted: Mapping[str, Mapping[int, Row]], columns: Sequence[str]
    ) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield the stored rows of the runs in ``wanted``, one batch for each group and file."""
        rows = sorted((row.file, group, row.number) for group, runs in wanted.items() for row in runs.values())
        for (name, group), part in groupby(rows, key=lambda row: row[:2]):
            yield group, self._rows([Row(name, number) for *_, number in part], columns)

    def _rows(self, rows: Sequence[Row], columns: Sequence[str]) -> pa.RecordBatch:
        with pa.OSFile(str(self.store.runs / rows[0].file)) as source:
            batch = self._decode(rows[0].file, source, columns)
        numbers = [row.number for row in rows]
        return batch if numbers == list(range(len(batch))) else batch.take(pa.array(numbers, pa.int64()))

    def _decode(self, name: str, source: pa.NativeFile | pa.Buffer, columns: Sequence[str]) -> pa.RecordBatch:
        fields = [SCHEMA.get_field_index(column) for column in columns]
        try:
            file = pa.ipc.open_file(source, options=pa.ipc.IpcReadOptions(included_fields=fields, use_threads=False))
            if file.schema.metadata[b"format"] == _FORMAT.encode():
                return file.get_batch(0)
        except (pa.ArrowException, TypeError, KeyError):
            pass
        raise InputError(f"{self.store.runs / name}: made by another version")
