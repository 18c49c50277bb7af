"""Text in pieces: a feature file, plain or gzipped, as chunks of whole lines in bounded memory."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError
from ltr_duel.data.text.buffer_pool import Pool

CHUNK_BYTES = 2 * 2**20  # text of a chunk; small enough that text and numbers stay in a core's cache
LONGEST_LINE = 64 * 2**20

_GZIP = b"\x1f\x8b"
_OTHERS = {
    b"PK\x03\x04": "a zip archive",
    b"Rar!": "a rar archive",
    b"BZh": "a bzip2 file",
    b"7z\xbc\xaf": "a 7z archive",
    b"\xfd7zXZ": "an xz file",
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
}


class Chunk(NamedTuple):
    """Whole lines. ``finished`` is False where the file's last line has no line end (one was added)."""

    text: NDArray[np.uint8]
    finished: bool


class Digest(Protocol):
    """What is fed with the bytes of the files: a sha256, or something that does more with them."""

    def update(self, data: memoryview, /) -> None:
        """Take more bytes."""


@dataclass
class ChunkSize:
    """How much text to take next; the reader of the chunks may change it on the way."""

    bytes: int = CHUNK_BYTES


def read_chunks(path: Path, digest: Digest | None = None, size: ChunkSize | None = None) -> Iterator[Chunk]:
    """Yield the lines of a file, plain or gzipped (recognised by its first bytes).

    Parameters
    ----------
    path : Path
        The file.
    digest : hash object, optional
        Fed with the bytes as they lie on disk.
    size : ChunkSize, optional
        Bytes of text a chunk; a line that is longer makes its chunk longer.

    Raises
    ------
    InputError
        If the file is missing, empty, a directory, an archive or a web page, or its gzip stream is damaged.
    """
    try:
        with path.open("rb") as raw:
            refuse_other_formats(path, raw.read(512))
            raw.seek(0)
            source: io.BufferedIOBase = _Hashed(raw, digest) if digest else raw
            if raw.peek(2)[:2] == _GZIP:
                source = gzip.GzipFile(fileobj=source, mode="rb")
            yield from _whole_lines(path, source, size or ChunkSize())
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: the gzip stream is damaged or cut short ({error}); get the file again") from None
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: this is a directory, a feature file is needed") from None


def about_how_much_text(files: Iterable[Path]) -> int:
    """Return a guess of the bytes of text in some files; gzipped ones are taken for six times as long."""
    sizes = [(6 if file.suffix == ".gz" else 1) * file.stat().st_size for file in files]
    return sum(sizes)


def refuse_other_formats(path: Path, head: bytes) -> None:
    """Refuse a file whose first bytes show that it is empty or something else than feature text."""
    if not head:
        raise InputError(f"{path}: the file is empty; a feature file has lines such as '0 qid:1 1:0.5 2:3'")
    for magic, what in _OTHERS.items():
        if head.startswith(magic):
            raise InputError(f"{path}: this is {what}, not feature text; unpack it first")
    refuse_web_page(path, head)


def refuse_web_page(path: Path, head: bytes) -> None:
    """Refuse what a failed download often leaves: an HTML page under the name of the file."""
    if head.lstrip().lower().startswith((b"<!doctype", b"<html", b"<?xml")):
        raise InputError(f"{path}: this is a web page, not data; the download has failed, repeat it")


def _whole_lines(path: Path, source: io.BufferedIOBase, size: ChunkSize) -> Iterator[Chunk]:
    rest, pool = np.empty(0, dtype=np.uint8), Pool()
    while True:
        text = pool.empty((len(rest) + size.bytes + 1,), np.uint8)
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
    """Return the position after the last line feed before ``end``, 0 if there is none."""
    window = 4096
    while True:
        start = max(0, end - window)
        found = text[start:end].tobytes().rfind(b"\n")
        if found >= 0 or start == 0:
            return start + found + 1 if found >= 0 else 0
        window *= 8


class _Hashed(io.BufferedIOBase):
    """A file that feeds everything read from it to a digest."""

    def __init__(self, raw: io.BufferedReader, digest: Digest) -> None:
        self._raw = raw
        self._digest = digest

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        data = self._raw.read(size)
        self._digest.update(memoryview(data))
        return data

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]  # any buffer is one
        size = self._raw.readinto(buffer)
        self._digest.update(buffer[:size])
        return size
