"""Files of runs: Arrow IPC streams with a row for each run, which `pyarrow.ipc.open_stream` and pandas can read.

A process appends a message, which contains a record batch, whenever it has finished some runs. If a file is cut off,
all complete messages can still be read; an incomplete last message is ignored. Arrow has no checksums, so each batch's
metadata contain the SHA-256 of its message, computed with zeros in place of the digest itself. After bytes that are
not a sound message, reading continues at the next sound message.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa

from ltr_duel.core import InputError, host

SUFFIX = ".arrows"
HEX = frozenset("0123456789abcdef")
FORMAT = "ltr_duel.runs/1"
SCHEMA = pa.schema(
    [
        pa.field("run", pa.string(), nullable=False),
        pa.field("repetition", pa.int64(), nullable=False),
        pa.field("generation", pa.uint32(), nullable=False),
        pa.field("seconds", pa.float64(), nullable=False),
        pa.field("finished", pa.float64(), nullable=False),
        pa.field("origin", pa.string(), nullable=False),
        pa.field("decisions", pa.int64(), nullable=False),
        pa.field("checkpoints", pa.int32(), nullable=False),
        pa.field("steps", pa.list_(pa.int64()), nullable=False),
        pa.field("exposure", pa.list_(pa.float64())),
    ],
    {
        "format": FORMAT,
        "run": "SHA-256 of the run's key; plans/*.parquet contain the components of the key",
        "generation": "if a run has several rows, the row with the highest generation counts",
        "finished": "seconds since 1970",
        "origin": "origins/<origin>.json: experiment, program, libraries, machine",
        "steps": "rows t, recommended, outcomes, then pulls, best and worst of each arm; each row contains the"
        " differences between consecutive checkpoints",
        "exposure": "exposure of each arm, one checkpoint after another; null if it is half of the pulls",
    },
)
HEADER = SCHEMA.serialize().to_pybytes()
_OPTIONS = pa.ipc.IpcWriteOptions(compression="zstd", use_threads=False)
_MARK, _ZEROS = f"{FORMAT} sha256:".encode(), b"0" * 64
_CONTINUED = b"\xff\xff\xff\xff"  # the first bytes of each message
_IS_BATCH = 3  # type number of record batches
_INDEXED = ["run", "generation"]
_BATCH = 1 << 20  # smallest size of a batch of joined runs, in bytes
_BLOCK = 1 << 16  # bytes that are searched at once for the next sound message
_METADATA = 1 << 13  # limit in bytes; the metadata of a batch have less than two thousand


class Row(NamedTuple):
    """A finished run; the fields are the columns of `SCHEMA`."""

    run: str
    repetition: int
    generation: int
    seconds: float
    finished: float
    origin: str
    decisions: int
    checkpoints: int
    steps: Any
    exposure: Any


class Message(NamedTuple):
    """A complete record batch of a file: its position, and the digests and generations of its runs."""

    offset: int
    size: int
    runs: list[str]
    generations: list[int]


class Gap(NamedTuple):
    """Bytes that are not a sound message. The gap is torn if it may be the beginning of a write that did not finish."""

    start: int
    stop: int
    torn: bool


def encode_rows(rows: Sequence[Row]) -> bytes:
    """Return the message of a record batch."""
    columns = zip(*rows, strict=True)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, SCHEMA, strict=True)]
    return encode_batch(pa.RecordBatch.from_arrays(arrays, schema=SCHEMA))


def encode_batch(batch: pa.RecordBatch) -> bytes:
    """Return the message of a record batch, compressed, with its checksum."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, SCHEMA, options=_OPTIONS) as writer:
        writer.write_batch(batch, custom_metadata={"checksum": _MARK + _ZEROS})
        end = sink.tell()
    raw = sink.getvalue().to_pybytes()[len(HEADER) : end]
    at = raw.index(_MARK) + len(_MARK)
    return raw[:at] + hashlib.sha256(raw).hexdigest().encode() + raw[at + len(_ZEROS) :]


def write_batches(file: BinaryIO, batches: Iterable[pa.RecordBatch]) -> None:
    """Write a complete file of runs; small batches are joined."""
    file.write(HEADER)
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(one.nbytes for one in waiting) > _BATCH:
            file.write(_joined(waiting))
            waiting = []
    if waiting:
        file.write(_joined(waiting))


def _joined(batches: Sequence[pa.RecordBatch]) -> bytes:
    (batch,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return encode_batch(batch)


def decode_batch(raw: bytes, columns: Sequence[str] = tuple(SCHEMA.names)) -> pa.RecordBatch:
    """Return columns of the batch in a message.

    Raises `InputError`, whose message is a part of a sentence, if the checksum does not match or there is no batch of
    runs, and `MemoryError` if too little memory is free.
    """
    if not _is_sound(raw):
        raise InputError("the checksum of its batch does not match")
    fields = [SCHEMA.get_field_index(name) for name in columns]
    options = pa.ipc.IpcReadOptions(included_fields=fields, use_threads=False)
    try:
        host.require_memory("a batch of runs", _expanded(raw))
        batch = pa.ipc.open_stream(pa.py_buffer(HEADER + raw), options=options).read_next_batch()
        batch.validate(full=True)
    except (InputError, MemoryError) as error:  # memory is short; the batch may be sound
        raise MemoryError(str(error)) from None
    except (pa.ArrowException, OSError, ValueError, IndexError, struct.error) as error:
        raise InputError(f"its batch cannot be decoded: {(str(error).splitlines() or [''])[0]}") from None
    required = [column for column, field in zip(batch, batch.schema, strict=True) if not field.nullable]
    values = [column.flatten() for column in batch if isinstance(column, pa.ListArray)]
    if any(column.null_count for column in required + values):
        raise InputError("its batch has missing values")
    return batch


def find_messages(file: pa.NativeFile, size: int, start: int = 0) -> Iterator[Message | Gap]:
    """Yield the batches of a file of runs, and the gaps between them.

    size: the number of bytes to read; another process may be appending more.
    start: the offset of the first message to read.

    Raises `InputError` if another version has written the file, and `MemoryError` if too little memory is free.
    """
    here = start
    while here < size:
        end = _end(file, here, size)
        message = _message(file, here, end) if end else None
        if message is not None:
            yield from [message] * bool(message.runs)
            here += message.size
            continue
        if here == 0:
            _require_format(_read(file, 0, _BLOCK))
        begun = _CONTINUED.startswith(_read(file, here, min(len(_CONTINUED), size - here)))
        found, zeros = _next_message(file, here, size)
        yield Gap(here, found, torn=found == size and not end and (begun or zeros))
        here = found


def _end(file: pa.NativeFile, offset: int, size: int) -> int:
    """Return the end of the message at an offset, or 0 if there is no complete message."""
    head = _read(file, offset, 8)
    begun, count = struct.unpack("<4si", head) if len(head) == 8 else (b"", 0)
    end = offset + 8 + int(count)
    if begun != _CONTINUED or not 0 < count <= _METADATA or end > size:
        return 0
    metadata = _read(file, offset + 8, count)
    with suppress(struct.error):  # metadata that cannot be decoded are damaged, not incomplete
        body = _field(metadata, _target(metadata, 0), 3)
        end += int(struct.unpack_from("<Q", metadata, body)[0] if body else 0)
    return end if end <= size else 0


def _message(file: pa.NativeFile, offset: int, end: int) -> Message | None:
    """Return the message at an offset, or None if it is not sound. The schema of a file is a message without runs."""
    raw = _read(file, offset, end - offset)
    try:
        schema = pa.ipc.read_schema(pa.py_buffer(raw)) if offset == 0 else None
        if schema and schema.equals(SCHEMA) and (schema.metadata or {}).get(b"format") == FORMAT.encode():
            return Message(offset, len(raw), [], [])
        batch = decode_batch(raw, _INDEXED)
    except (InputError, pa.ArrowException, OSError, ValueError):
        return None
    return Message(offset, len(raw), batch["run"].to_pylist(), batch["generation"].to_pylist())


def _require_format(data: bytes) -> None:
    """Given the first bytes of a file whose schema is not sound, raise an error if another version has written it."""
    found = re.search(rb"(ltr_duel\.runs/\d+) sha256:", data)
    if found and found[1] != FORMAT.encode():
        raise InputError(f"its format is {found[1].decode()!r}: another version of ltr-duel has written it")


def _next_message(file: pa.NativeFile, offset: int, size: int) -> tuple[int, bool]:
    """Return the offset of the next sound message, or ``size``, and whether all bytes before it are zeros."""
    zeros = True
    for start in range(offset, size, _BLOCK):
        block = _read(file, start, min(_BLOCK + len(_CONTINUED) - 1, size - start))
        zeros = zeros and not any(block)
        at = block.find(_CONTINUED, int(start == offset))
        while at >= 0:
            end = _end(file, start + at, size)
            if end and _MARK in _read(file, start + at, _METADATA) and _message(file, start + at, end):
                return start + at, zeros
            at = block.find(_CONTINUED, at + 1)
    return size, zeros


def _read(file: pa.NativeFile, offset: int, count: int) -> bytes:
    file.seek(offset)
    return bytes(file.read(count))


def _is_sound(raw: bytes) -> bool:
    """Whether the checksum of a message matches."""
    at = raw.find(_MARK) + len(_MARK)
    found, zeroed = raw[at : at + len(_ZEROS)], raw[:at] + _ZEROS + raw[at + len(_ZEROS) :]
    return at >= len(_MARK) and hashlib.sha256(zeroed).hexdigest().encode() == found


def _expanded(raw: bytes) -> int:
    """Return the number of bytes that the buffers of a batch declare as their decompressed size.

    pyarrow allocates this size unchecked, so it is computed first, from the metadata of the message (a flatbuffer).
    """
    start = 8 + struct.unpack_from("<i", raw, 4)[0]
    metadata = raw[8:start]
    message = _target(metadata, 0)
    if metadata[_field(metadata, message, 1)] != _IS_BATCH:
        raise ValueError("not a record batch")
    batch = _target(metadata, _field(metadata, message, 2))
    if not _field(metadata, batch, 3):
        raise ValueError("not compressed")
    vector = _target(metadata, _field(metadata, batch, 2))
    count = struct.unpack_from("<I", metadata, vector)[0]
    places = np.frombuffer(metadata, "<i8", 2 * count, vector + 4).reshape(-1, 2)
    sizes = (struct.unpack_from("<q", raw, start + offset)[0] for offset, length in places.tolist() if length)
    return sum(max(0, size) for size in sizes)


def _target(data: bytes, at: int) -> int:
    """Return the target of the reference at a position."""
    return at + int(struct.unpack_from("<I", data, at)[0])


def _field(data: bytes, table: int, number: int) -> int:
    """Return the position of a field of a table, or 0 if the field is absent."""
    names = table - struct.unpack_from("<i", data, table)[0]
    if 4 + 2 * number >= struct.unpack_from("<H", data, names)[0]:
        return 0
    offset = int(struct.unpack_from("<H", data, names + 4 + 2 * number)[0])
    return table + offset if offset else 0
