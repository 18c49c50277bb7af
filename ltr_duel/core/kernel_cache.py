"""The folder that keeps compiled kernels: the user's alone, and without damaged files.

numba keeps compiled code as pickles, and unpickling runs what a pickle says: a folder that others can write to is not
used. numba also fails on a file that is empty, cut short or overwritten, as after a power failure. So each folder holds
a table of its files (`_SEALS`: sizes, times and checksums), written when a process ends. The first use of a folder in a
process removes the files that differ from it, and numba compiles their kernels again.
"""

from __future__ import annotations

import atexit
import functools
import io
import json
import os
import pickletools
import warnings
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ltr_duel.core.home import cache_home

_SEALS = "files.json"
_INDEX, _CODE = ".nbi", ".nbc"


class KernelCacheWarning(UserWarning):
    """Compiled code is not kept between processes."""


@functools.cache
def kernel_folder(digest: str) -> str:
    """Return the folder of a digest of sources, made if need be, or ``""`` where compiled code cannot be kept.

    The first call of a process for a folder removes damaged files from it.

    Warns
    -----
    KernelCacheWarning
        If the folder, or the one above it, belongs to another user or can be written by one.
    """
    folder = cache_home() / "kernels" / digest
    try:
        folder.parent.parent.mkdir(parents=True, exist_ok=True)
        for one in (folder.parent, folder):
            one.mkdir(mode=0o700, exist_ok=True)
            if fault := _fault(one):
                _warn_once(f"compiled code is not kept between runs: {one} {fault}")
                return ""
        _remove_damage(folder)
    except OSError:
        return ""
    atexit.register(_seal, folder)
    return str(folder)


def _fault(folder: Path) -> str:
    """Return why others could have put code into a folder, or ``""``; systems without owners of files have none."""
    if not hasattr(os, "geteuid"):
        return ""
    status = folder.stat()
    if status.st_uid != os.geteuid():
        return "belongs to another user; set LTR_DUEL_HOME to a folder of yours"
    return "can be written by other users; take that away with chmod go-w" if status.st_mode & 0o022 else ""


@functools.cache
def _warn_once(sentence: str) -> None:
    warnings.warn(sentence, KernelCacheWarning, stacklevel=3)


class _Seal(NamedTuple):
    size: int
    time: int
    checksum: int


def _remove_damage(folder: Path) -> None:
    """Remove each file that is not what was sealed; one that was written since must be whole."""
    seals = _read_seals(folder)
    for file, status in _files(folder):
        seal = seals.get(os.path.relpath(file, folder))
        if seal is not None and seal[:2] == (status.st_size, status.st_mtime_ns):
            continue
        if not _is_right(file, seal):
            Path(file).unlink(missing_ok=True)
            if file.endswith(_INDEX):
                _remove_code_of(Path(file))


def _is_right(file: str, seal: _Seal | None) -> bool:
    """Whether a file is what was sealed or, if it is new or an index that has grown, whole."""
    content = Path(file).read_bytes()
    if seal is not None and seal.checksum == zlib.crc32(content):
        return True
    may_change = seal is None or (file.endswith(_INDEX) and len(content) > seal.size)
    return may_change and _is_whole(content)


def _remove_code_of(index: Path) -> None:
    """Remove the code that a damaged index named: numba numbers its files from 1 again."""
    for file in index.parent.iterdir():
        if file.name.startswith(f"{index.stem}.") and file.suffix == _CODE:
            file.unlink(missing_ok=True)


def _is_whole(content: bytes) -> bool:
    """Whether bytes are pickles, one after the other, from their first to their last; nothing is unpickled."""
    stream = io.BytesIO(content)
    try:
        while stream.tell() < len(content):
            for _ in pickletools.genops(stream):
                pass
    except Exception:  # damaged bytes can look like any instruction
        return False
    return bool(content)


def _seal(folder: Path) -> None:
    """Write the table of all files that are there and whole."""
    before = _read_seals(folder)
    after = {}
    with suppress(OSError):
        for file, status in _files(folder):
            name = os.path.relpath(file, folder)
            seal = before.get(name)
            if seal is not None and seal[:2] == (status.st_size, status.st_mtime_ns):
                after[name] = seal
            elif _is_whole(content := Path(file).read_bytes()):
                after[name] = _Seal(status.st_size, status.st_mtime_ns, zlib.crc32(content))
        if after != before:
            temporary = folder / f"{_SEALS}.{os.getpid()}"
            temporary.write_text(json.dumps(after), encoding="utf-8")
            temporary.replace(folder / _SEALS)


def _read_seals(folder: Path) -> dict[str, _Seal]:
    with suppress(OSError, ValueError, TypeError, AttributeError):  # none yet, or damaged itself
        return {name: _Seal(*seal) for name, seal in json.loads((folder / _SEALS).read_text(encoding="utf-8")).items()}
    return {}


def _files(folder: str | Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield numba's files below a folder."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _files(entry.path)
            elif entry.name.endswith((_INDEX, _CODE)):
                with suppress(FileNotFoundError):  # another process has removed it
                    yield entry.path, entry.stat()
