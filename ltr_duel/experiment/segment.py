"""Many records in one file that only grows: what is whole is found again, whatever became of the rest.

A record is a head (its name, its lengths, and a checksum of these), two byte strings and a SHA-256 of all that. It is
written by one process, behind those before it. A process that is killed leaves at most one record that is cut off, at
the end: it is taken for not written. Where bytes were changed, the next head is looked for, and what lies between is
named.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

RUN, SHARED = 1, 2  # kinds of records
_MAGIC = b"\x89LR2"
_HEAD = struct.Struct("<4sIIIQ32s")  # magic, kind, generation, lengths of both parts, name
_SUM = struct.Struct("<I")
HEAD = _HEAD.size + _SUM.size  # bytes
_TAIL = hashlib.sha256().digest_size
_CHUNK = 1 << 18  # bytes that are read at once

Read = Callable[[int, int], bytes]  # of a file: how many bytes, from where; fewer at its end


class Head(NamedTuple):
    """The head of a record, and where it begins."""

    offset: int
    kind: int
    generation: int  # a record that replaces another one has a higher one
    about: int  # bytes
    data: int
    name: str  # of 64 hexadecimal digits

    @property
    def size(self) -> int:
        """Bytes of the whole record."""
        return HEAD + self.about + self.data + _TAIL


class Gap(NamedTuple):
    """Bytes that are no whole record."""

    start: int
    stop: int
    torn: bool  # whether this is what a process leaves that was killed, or has not finished writing


class Content(NamedTuple):
    """What is in a record."""

    head: Head
    about: bytes
    data: bytes


def encode_record(kind: int, name: str, about: bytes, data: bytes, generation: int = 0) -> bytes:
    """Return the bytes of a record."""
    head = _HEAD.pack(_MAGIC, kind, generation, len(about), len(data), bytes.fromhex(name))
    body = b"".join((head, _SUM.pack(zlib.crc32(head)), about, data))
    return body + hashlib.sha256(body).digest()


def decode_record(raw: bytes) -> Content | None:
    """Return what is in the bytes of one record, or None if they are not as they were written."""
    head = _head(raw, 0, 0)
    if head is None or len(raw) != head.size or hashlib.sha256(raw[:-_TAIL]).digest() != raw[-_TAIL:]:
        return None
    middle = HEAD + head.about
    return Content(head, raw[HEAD:middle], raw[middle:-_TAIL])


def find_records(read: Read, size: int, start: int = 0) -> Iterator[Head | Gap]:
    """Yield the heads of all records that are there to their ends, and what lies between. Bodies are not looked at.

    size: of the file; what is written behind it meanwhile is not looked at.
    start: where a record begins.
    """
    here, chunk, base = start, b"", start
    while here < size:
        if not base <= here <= base + len(chunk) - HEAD:
            chunk, base = read(min(_CHUNK, size - here), here), here
        head = _head(chunk, here - base, here)
        if head is not None and here + head.size <= size:
            yield head
            here += head.size
            continue
        found = _next_head(read, size, here + 1)
        yield Gap(here, found, found == size and (head is not None or _ends_torn(read, here, size)))
        here = found


def _head(chunk: bytes, place: int, offset: int) -> Head | None:
    """Read the head at a place of some bytes, which begins at an offset of the file."""
    if len(chunk) - place < HEAD:
        return None
    (found,) = _SUM.unpack_from(chunk, place + _HEAD.size)
    magic, kind, generation, about, data, name = _HEAD.unpack_from(chunk, place)
    if magic != _MAGIC or found != zlib.crc32(chunk[place : place + _HEAD.size]):
        return None
    return Head(offset, kind, generation, about, data, name.hex())


def _next_head(read: Read, size: int, start: int) -> int:
    """Return where the next whole record begins; the end of the file, if none does."""
    while start < size:
        chunk = read(min(_CHUNK, size - start), start)
        place = chunk.find(_MAGIC)
        while place >= 0:
            head = _head(read(HEAD, start + place), 0, start + place)
            if head is not None and head.offset + head.size <= size:
                return head.offset
            place = chunk.find(_MAGIC, place + 1)
        start += max(1, len(chunk) - len(_MAGIC) + 1)
    return size


def _ends_torn(read: Read, start: int, size: int) -> bool:
    """Whether the last bytes of a file, which have no head, are the beginning of one, or were never written."""
    if size - start < HEAD:
        rest = read(size - start, start)
        return rest[: len(_MAGIC)] == _MAGIC[: len(rest)] or not any(rest)
    return not any(any(read(_CHUNK, place)) for place in range(start, size, _CHUNK))
