"""The folder of compiled kernels: writable by the user alone, and without damaged files.

numba stores compiled code as pickles, and a pickle can run any code when it is loaded. So a folder that other users can
write to is not used. numba also fails on an empty, truncated or overwritten file, for example after a power failure. So
each folder has a table of its files (`_SEALS`: sizes, times and checksums), written when a process ends. The first use
of a folder in a process removes the files that differ from the table, and numba compiles their kernels again.
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

from ltr_duel.core.home import NoHomeError, cache_home

_SEALS = "files.json"
_INDEX, _CODE = ".nbi", ".nbc"


class KernelCacheWarning(UserWarning):
    """Warns that compiled code is not kept between processes."""


@functools.cache
def kernel_folder(digest: str) -> str:
    """Return the folder for a digest of sources, or ``""`` if compiled code cannot be stored.

    A missing folder is created. The first call of a process for a folder removes damaged files from the folder.

    Warns
    -----
    KernelCacheWarning
        If the folder cannot be made or written, or it or its parent belongs to another user, or others can write to it.
    """
    try:
        folder = cache_home() / "kernels" / digest
        folder.parent.parent.mkdir(parents=True, exist_ok=True)
        for one in (folder.parent, folder):
            one.mkdir(mode=0o700, exist_ok=True)
            if fault := _fault(one):
                _warn_once(f"compiled code is not kept between runs: {one} {fault}")
                return ""
        _remove_damage(folder)
    except NoHomeError as error:
        _warn_once(f"compiled code is not kept between runs: {error}")
        return ""
    except OSError as error:
        _warn_once(f"compiled code is not kept between runs: {folder.parent}: {error.strerror}; set LTR_DUEL_HOME")
        return ""
    atexit.register(_seal, folder)
    return str(folder)


def _fault(folder: Path) -> str:
    """Return why other users could have put code into a folder, or ``""``, as on systems without file owners."""
    if not os.access(folder, os.W_OK):
        return "cannot be written; set LTR_DUEL_HOME to a folder of yours"
    user, status = getattr(os, "geteuid", lambda: None)(), folder.stat()
    if user is None:
        return ""
    if status.st_uid != user:
        return "belongs to another user; set LTR_DUEL_HOME to your folder"
    return "can be written by other users; remove the permission with chmod go-w" if status.st_mode & 0o022 else ""


@functools.cache
def _warn_once(sentence: str) -> None:
    warnings.warn(sentence, KernelCacheWarning, stacklevel=3)


class _Seal(NamedTuple):
    size: int
    time: int
    checksum: int


def _remove_damage(folder: Path) -> None:
    """Remove each file that differs from its seal; a file written after the seal must be whole."""
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
    """Whether a file equals its seal; a new file, or an index that has grown, must be whole instead."""
    content = Path(file).read_bytes()
    if seal is not None and seal.checksum == zlib.crc32(content):
        return True
    may_change = seal is None or (file.endswith(_INDEX) and len(content) > seal.size)
    return may_change and _is_whole(content)


def _remove_code_of(index: Path) -> None:
    """Remove the code of a damaged index, because numba numbers the files of a new index from 1 again."""
    for file in index.parent.iterdir():
        if file.name.startswith(f"{index.stem}.") and file.suffix == _CODE:
            file.unlink(missing_ok=True)


def _is_whole(content: bytes) -> bool:
    """Whether bytes are a sequence of complete pickles and nothing else, without unpickling them."""
    stream = io.BytesIO(content)
    try:
        while stream.tell() < len(content):
            for _ in pickletools.genops(stream):
                pass
    except Exception:  # damaged bytes can look like any instruction
        return False
    return bool(content)


def _seal(folder: Path) -> None:
    """Write the table of all whole files of a folder."""
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
    with suppress(OSError, ValueError, TypeError, AttributeError):  # no table yet, or a damaged table
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
