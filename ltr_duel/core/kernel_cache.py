"""The folder of compiled kernels: writable by the user alone, and without damaged files.

numba stores compiled code as pickles, and a pickle can run any code when it is loaded. A folder is therefore not used
if other users can write to it or own a file in it. numba also fails on an empty, truncated or overwritten file, for
example after a power failure. Each folder therefore has a table, ``files.json``, with the size, time and checksum of
each of its files (the seal of the file). A process writes the table when it ends. The first use of a folder in a
process removes the files that are damaged according to the table, and numba compiles their kernels again.
"""

from __future__ import annotations

import atexit
import functools
import inspect
import io
import json
import os
import pickletools
import stat
import warnings
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ltr_duel.core.cache_folder import NoHomeError, cache_home

_SEALS = "files.json"
_INDEX, _CODE = ".nbi", ".nbc"
_INNER = "__pycache__", "called", "called/__pycache__"  # numba would create them with the user's umask
_OTHERS_WRITE = 0o022
_BETWEEN = ("ltr_duel", "numba", "joblib", "contextlib", "threading")


class KernelCacheWarning(UserWarning):
    """Compiled code is not kept between processes."""


@functools.cache
def kernel_folder(digest: str) -> str:
    """Return the folder for a digest of sources; if compiled code cannot be stored safely, warn and return ``""``.

    A missing folder is created. The first call of a process for a folder removes damaged files from the folder.
    """
    try:
        home = cache_home()
        folder = home / "kernels" / digest
        home.mkdir(mode=0o755, parents=True, exist_ok=True)
        for one in (folder.parent, folder, *(folder / name for name in _INNER)):
            one.mkdir(mode=0o700, exist_ok=True)
        if fault := _fault(home) or _fault_below(folder.parent, only=digest):
            _warn_once(f"compiled code is not kept between runs: {fault}")
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


def _fault(home: Path) -> str:
    """Return the reason why other users could replace the content of the cache folder, or ``""``."""
    status, user = home.stat(), _user()
    if user is None:
        return ""
    if status.st_uid not in (user, 0):
        return f"{home} belongs to another user; set LTR_DUEL_HOME to your folder"
    # In a folder with the sticky bit, such as /tmp, users cannot rename files of other users.
    if status.st_mode & _OTHERS_WRITE and not status.st_mode & stat.S_ISVTX:
        return f"{home} can be written by other users; chmod go-w, or set LTR_DUEL_HOME to a folder of yours"
    return ""


def _fault_below(folder: Path, only: str = "") -> str:
    """Return the reason why other users could have put code into a folder or below it, or ``""`` if they could not.

    Files with write permission for others are accepted in a folder that others cannot enter, because numba creates
    files with the user's umask.

    only: the only entry of the folder to check; by default all entries.
    """
    status, user = folder.lstat(), _user()
    if not os.access(folder, os.W_OK):
        return f"{folder} cannot be written; set LTR_DUEL_HOME to a folder of yours"
    if user is None:
        return ""
    if stat.S_ISLNK(status.st_mode):
        return f"{folder} is a link; set LTR_DUEL_HOME to the folder itself"
    if fault := _fault_of(folder, status, user):
        return fault
    below = [Path(folder, only)] if only else sorted(folder.iterdir())
    for one in below:
        with suppress(FileNotFoundError):  # another process has removed it
            inner = one.lstat()
            if stat.S_ISDIR(inner.st_mode) or only:
                fault = _fault_below(one)
            elif one.suffix in (_INDEX, _CODE):
                fault = _fault_of(one, inner, user, reached=bool(status.st_mode & 0o011))
            if fault:
                return fault
    return ""


def _fault_of(one: Path, status: os.stat_result, user: int, *, reached: bool = True) -> str:
    if status.st_uid != user:
        return f"{one} belongs to another user; delete it, or set LTR_DUEL_HOME to your folder"
    if stat.S_ISLNK(status.st_mode) or (reached and status.st_mode & _OTHERS_WRITE):
        return f"{one} can be written by other users; delete it, because code that they put there would be run"
    return ""


def _user() -> int | None:
    """Return the user's id; None on systems without user ids."""
    return getattr(os, "geteuid", lambda: None)()


@functools.cache
def _warn_once(sentence: str) -> None:
    warn_of_cache(sentence)


def warn_of_cache(sentence: str) -> None:
    """Warn with the location of the nearest caller that is neither in this package nor in a library that calls it."""
    frame, level = inspect.currentframe(), 1
    while frame and frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(sentence, KernelCacheWarning, stacklevel=level)


class _Seal(NamedTuple):
    size: int
    time: int
    checksum: int


def _remove_damage(folder: Path) -> None:
    """Remove each file that differs from its seal, unless it was written after the seal and is complete."""
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
    """Return whether a file has the checksum in its seal; for a new file or a longer index, whether it is complete."""
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
    """Return whether bytes are a sequence of complete pickles and nothing else, without unpickling them."""
    stream = io.BytesIO(content)
    try:
        while stream.tell() < len(content):
            for _ in pickletools.genops(stream):
                pass
    except Exception:  # damaged bytes can look like any instruction
        return False
    return bool(content)


def _seal(folder: Path) -> None:
    """Write the table of all complete files of a folder."""
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
            if entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path)
            elif entry.name.endswith((_INDEX, _CODE)):
                with suppress(FileNotFoundError):  # another process has removed it
                    yield entry.path, entry.stat()
