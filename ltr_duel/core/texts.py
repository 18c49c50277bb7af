"""Read text files as other programs wrote them: plain or compressed, in UTF-8, UTF-16 or Latin-1."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import shlex
from pathlib import Path
from typing import Any

from ltr_duel.core.errors import InputError

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_READERS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}  # by the first bytes
_OTHER_PROGRAMS = {
    b"PK\x03\x04": ("a zip archive", "unzip"),
    b"Rar!": ("a rar archive", "unrar x"),
    b"7z\xbc\xaf": ("a 7z archive", "7z x"),
    b"\x28\xb5\x2f\xfd": ("a Zstandard file", "zstd -d"),
}
_TAR = 257, b"ustar"  # position and bytes of the word that every tar archive of today contains
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def unpacked(path: Path, source: Any) -> Any:
    """Return the bytes of a text file in UTF-8 or Latin-1, as a buffered binary file.

    Files of gzip, bzip2 and xz are unpacked, UTF-16 with a byte order mark becomes UTF-8, and the byte order mark is
    left out. The file is recognised by its first bytes. A text in UTF-16 is held in memory.

    Parameters
    ----------
    path : Path
        The file's name, for messages.
    source : buffered binary file
        The file, at its start; for example, what `files.reading` yields.

    Returns
    -------
    buffered binary file
        ``source`` itself if the file is plain; otherwise a file that reads from it.

    Raises
    ------
    InputError
        If another program must unpack the file; the message names the command.

    Examples
    --------
    >>> unpacked(Path("run.trec"), io.BufferedReader(io.BytesIO("1 Q0 d1".encode("utf-16")))).read()
    b'1 Q0 d1'
    """
    head = source.peek(6)
    opener = next((opener for start, opener in _READERS.items() if head.startswith(start)), None)
    text = source if opener is None else opener(source)
    head = text.peek(512)
    other = next((program for start, program in _OTHER_PROGRAMS.items() if head.startswith(start)), None)
    if head[_TAR[0] :].startswith(_TAR[1]):
        other = ("a tar archive", "tar -xf")
    if other:
        kind, command = other
        raise InputError(f"{path}: this is {kind}, not text; unpack it first ({command} {shlex.quote(path.name)})")
    if head.startswith(_UTF_16):
        return io.BufferedReader(io.BytesIO(text.read().decode("utf-16", "replace").encode()))
    if head.startswith(BYTE_ORDER_MARK):
        text.read(len(BYTE_ORDER_MARK))
    return text


def number(text: Any) -> float:
    """Return the number that text consists of, in decimal digits, as in feature text; other values as `float` does.

    Raises `ValueError` for what `float` reads beyond that, such as ``1_0`` and digits of other scripts.

    Examples
    --------
    >>> number("1e-3")
    0.001
    """
    if isinstance(text, str) and ("_" in text or not text.isascii()):
        raise ValueError(text)
    return float(text)


def decoded(text: bytes) -> str:
    """Decode a word or a line as UTF-8, or as Latin-1 if it is not valid UTF-8.

    The result depends on these bytes only, so an id is the same string wherever it is read.

    Examples
    --------
    >>> decoded("Müller".encode()) == decoded("Müller".encode("latin-1")) == "Müller"
    True
    """
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        return text.decode("latin-1")


def is_index_name(column: str) -> bool:
    """Return whether a column has no name, or a name that pandas gives to such a column: an index that was written."""
    return bool(re.fullmatch(r"\s*|Unnamed: \d+(\.\d+)*|__index_level_\d+__", column))
