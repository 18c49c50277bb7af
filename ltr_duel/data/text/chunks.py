"""Read a feature file, plain or compressed, as chunks of whole lines in bounded memory."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError, files, texts
from ltr_duel.data.text.other_formats import refuse_other_formats

CHUNK_BYTES = 2 * 2**20  # bytes of text per chunk, chosen so that text and numbers stay in a core's cache
LONGEST_LINE = 64 * 2**20
# The text of a compressed file may have MOST_UNPACKED bytes or MOST_TIMES the size of the file, whichever is more.
MOST_UNPACKED = 10**9
MOST_TIMES = 100  # typical feature text has 3 to 30 times its compressed size


class Chunk(NamedTuple):
    """Whole lines. ``finished`` is False if the file's last line had no line end, so that one was added."""

    text: NDArray[np.uint8]
    finished: bool


@dataclass
class ChunkSize:
    """Number of bytes to read next; the consumer of the chunks may change it between chunks."""

    bytes: int = CHUNK_BYTES


def read_chunks(path: Path, size: ChunkSize | None = None, limit: int | None = None) -> Iterator[Chunk]:
    """Yield the lines of a file, plain or compressed, in UTF-8 or Latin-1 (see `texts.unpacked`).

    A line that is longer than ``size`` makes its chunk longer.
    ``limit`` is the largest unpacked size of a compressed file; the default is described at `MOST_UNPACKED`.
    """
    with files.reading(path, "a feature file") as raw:
        source = texts.unpacked(path, raw)
        refuse_other_formats(path, source.peek(512)[:512])
        if source is not raw:
            source = _Limited(path, source, limit)
        yield from _whole_lines(path, source, size or ChunkSize())


def estimate_text_bytes(files: Iterable[Path]) -> int:
    """Estimate the bytes of text in files: the sum of their sizes, in which each compressed file counts six times."""
    return sum((6 if file.suffix in (".gz", ".bz2", ".xz") else 1) * file.stat().st_size for file in files)


def _whole_lines(path: Path, source: io.BufferedIOBase, size: ChunkSize) -> Iterator[Chunk]:
    rest = np.empty(0, np.uint8)
    while True:
        text = np.empty(len(rest) + size.bytes + 1, np.uint8)
        text[: len(rest)] = rest
        end = len(rest)
        while end < len(text) - 1 and (read := source.readinto(text.data[end:-1])):
            end += read
        if end == len(rest):
            break
        cut = _last_line_end(text, end)
        if end - cut > LONGEST_LINE:
            raise InputError(f"{path}: a line is longer than {LONGEST_LINE:,} bytes; this is not feature text")
        if cut:
            yield Chunk(text[:cut], True)
        rest = text[cut:end]
    if len(rest):
        yield Chunk(np.append(rest, np.uint8(10)), False)


def _last_line_end(text: NDArray[np.uint8], end: int) -> int:
    """Return the position after the last line feed before ``end``, or 0."""
    window = 4096
    while True:
        start = max(0, end - window)
        found = text[start:end].tobytes().rfind(b"\n")
        if found >= 0 or start == 0:
            return start + found + 1 if found >= 0 else 0
        window *= 8


class _Limited(io.BufferedIOBase):
    """The text of a compressed file; its size is limited, because a small file can unpack to more than a disk holds."""

    def __init__(self, path: Path, unpacked: io.BufferedIOBase, limit: int | None) -> None:
        self._path = path
        self._unpacked = unpacked
        self._limit = max(MOST_UNPACKED, MOST_TIMES * path.stat().st_size) if limit is None else limit
        self._read = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        return self._counted(self._unpacked.read(size))

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]  # accepts any buffer
        return self._counted(self._unpacked.readinto(buffer))

    def _counted(self, data: Any) -> Any:
        """Add the length of ``data``, or ``data`` itself if it is a number of bytes, to the total; return ``data``."""
        self._read += data if isinstance(data, int) else len(data)
        if self._read > self._limit:
            raise InputError(
                f"{self._path}: unpacks to more than {gigabytes(self._limit)}; --limit GB allows more, if you trust it"
            )
        return data


def gigabytes(size: int) -> str:
    """Return a number of bytes as a string, in gigabytes."""
    return f"{size / 1e9:,.3g} GB" if size < 1e12 else f"{size / 1e9:,.0f} GB"
