"""Read text files that other programs wrote: plain or compressed, in UTF-8, UTF-16 or Latin-1."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
from pathlib import Path
from typing import Any

from ltr_duel.core.errors import InputError

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_READERS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}  # by the first bytes
_ARCHIVES = b"PK\x03\x04", b"Rar!", b"7z\xbc\xaf", b"\x28\xb5\x2f\xfd"  # zip, rar, 7z, Zstandard


def unpacked(path: Path, source: Any) -> Any:
    """Return a buffered binary file with the text of an open file, in UTF-8 or Latin-1.

    Files of gzip, bzip2 and xz are unpacked. UTF-16 with a byte order mark is converted to UTF-8. The byte order mark
    is left out.

    path: the file's name, for messages.
    source: the open file, at its start.

    Raises `InputError` if another program must unpack the file.

    Examples
    --------
    >>> unpacked(Path("run.trec"), io.BufferedReader(io.BytesIO("1 Q0 d1".encode("utf-16")))).read()
    b'1 Q0 d1'
    """
    opener = next((opener for start, opener in _READERS.items() if source.peek(6).startswith(start)), None)
    text = source if opener is None else opener(source)
    head = text.peek(512)
    if head.startswith(_ARCHIVES) or head[257:262] == b"ustar":
        raise InputError(f"{path}: this is an archive, not text; unpack it first")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return io.BufferedReader(io.BytesIO(text.read().decode("utf-16", "replace").encode()))
    if head.startswith(BYTE_ORDER_MARK):
        text.read(len(BYTE_ORDER_MARK))
    return text


def number(text: Any) -> float:
    """Return ``float(text)``. Raise `ValueError` also for ``1_0`` and for digits of other scripts."""
    if isinstance(text, str) and ("_" in text or not text.isascii()):
        raise ValueError(text)
    return float(text)


def decoded(text: bytes) -> str:
    """Decode a word or a line as UTF-8, or as Latin-1 if it is not valid UTF-8."""
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        return text.decode("latin-1")


def is_index_name(column: str) -> bool:
    """Return whether pandas wrote this column as an index. Such a column has no name, or a name from pandas."""
    return bool(re.fullmatch(r"\s*|Unnamed: \d+(\.\d+)*|__index_level_\d+__", column))
