"""Entries of the cache: folders with checksums of their files; each folder is either complete or absent.

    <kind>/<name>-<key>/                the files of an entry
    <kind>/<name>-<key>/checksums.json  size and checksums of each file; touched at each use of the entry
    <kind>/<name>-<key>/kept            present if the user converted the corpus; the entry is then never evicted

An entry is written under a temporary name, synced and renamed. Disks can lose data that they reported as written, so
checksums are compared at the first use after each start of the machine, and after a file has changed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import psutil

from ltr_duel.core import InputError, cache_home, several
from ltr_duel.core import files as core_files
from ltr_duel.data.store.known_files import forget_digests

KINDS = ("corpora", "arrays")
LIMIT = "LTR_DUEL_CACHE_GB"  # the environment variable

_DEFAULT_LIMIT = 30.0  # gigabytes
_CHECKSUMS, _KEPT = "checksums.json", "kept"
_BLOCK = 2**26  # bytes per checksum
_PIECE = 2**20  # bytes per read
_NAME = re.compile(r"[^.].*-[0-9a-f]{20}")
_UNFINISHED = re.compile(r"\..*(\.tmp|\.\d+\.\d+)")
_ABANDONED = 86_400.0  # seconds; older unfinished entries are remains of killed processes


class Entry(NamedTuple):
    """One folder of the cache."""

    path: Path
    size: int  # bytes
    used: float  # seconds since the epoch
    kept: bool  # whether it is protected from eviction


@contextmanager
def new_entry(path: Path) -> Iterator[Path]:
    """Remove a damaged entry; yield a temporary folder that then gets checksums and is renamed to ``path``."""
    if path.exists() and not is_sound(path):
        remove(path)
    with core_files.replacing_folder(path) as temporary:
        yield temporary
        table = {file.name: (file.stat().st_size, _checksums(file)) for file in sorted(temporary.iterdir())}
        (temporary / _CHECKSUMS).write_text(json.dumps(table), encoding="ascii")


def is_sound(path: Path) -> bool:
    """Return whether the files of an entry are unchanged since they were written; if so, mark the entry as used."""
    try:
        used = (path / _CHECKSUMS).stat().st_mtime
        table = json.loads((path / _CHECKSUMS).read_bytes())
        if {file.name for file in path.iterdir()} - {_CHECKSUMS, _KEPT} != set(table):
            return False
        for name, (size, checksums) in table.items():
            status = (path / name).stat()
            compared = psutil.boot_time() < used and status.st_mtime < used
            if status.st_size != size or not (compared or _checksums(path / name) == checksums):
                return False
    except (OSError, ValueError, TypeError, AttributeError):
        return False
    with suppress(OSError):  # a read-only cache
        os.utime(path / _CHECKSUMS)
    return True


def keep(path: Path) -> None:
    """Protect this entry from eviction."""
    with suppress(OSError):
        (path / _KEPT).touch()


def remove(path: Path) -> None:
    """Remove an entry in one step, so that no process finds it incomplete; existing memory maps stay readable.

    On Windows a mapped file cannot be removed, so the entry remains.
    """
    doomed = path.with_name(f".{path.name[:60]}.{os.getpid()}.{time.monotonic_ns()}")
    with suppress(OSError):
        path.rename(doomed)
        if doomed.is_dir() and not doomed.is_symlink():
            shutil.rmtree(doomed, ignore_errors=True)
        else:
            doomed.unlink()


def entries() -> list[Entry]:
    """Return all entries, the least recently used first."""
    found = []
    for kind in KINDS:
        for path in _own(cache_home() / kind):
            mark = path / _CHECKSUMS
            with suppress(OSError):  # another process may have removed the entry
                used = (mark if mark.is_file() else path).stat().st_mtime
                found.append(Entry(path, _size(path), used, (path / _KEPT).is_file()))
    return sorted(found, key=lambda entry: entry.used)


def make_room(size: int) -> bool:
    """Evict the least recently used entries until ``size`` more bytes fit within the limit; return whether they fit.

    The bytes do not fit if they exceed the limit or half of the free disk space, or if the cache cannot be written to.
    """
    home, most = cache_home(), limit()
    try:
        home.mkdir(parents=True, exist_ok=True)
        if size > most or 2 * size > shutil.disk_usage(home).free or not os.access(home, os.W_OK):
            return False
    except OSError:
        return False
    for kind in KINDS:
        for path in _own(home / kind, unfinished=True):
            with suppress(OSError):  # another process may have just finished the entry
                if time.time() - path.stat().st_mtime > _ABANDONED:
                    shutil.rmtree(path, ignore_errors=True)
    evictable = [entry for entry in entries() if not entry.kept]
    total = sum(entry.size for entry in evictable)
    for entry in evictable:
        if total + size <= most:
            break
        remove(entry.path)
        total -= entry.size
    return True


def limit() -> int:
    """Return the limit on the total bytes of evictable entries: ``LTR_DUEL_CACHE_GB``, by default 30 GB."""
    text = os.environ.get(LIMIT) or str(_DEFAULT_LIMIT)
    with suppress(ValueError, OverflowError):
        if (size := int(float(text) * 1e9)) >= 0:
            return size
    raise InputError(f"{LIMIT} must be a number of gigabytes, 0 or more, not '{text}'")


def usage() -> dict[str, tuple[int, int]]:
    """Return number and total bytes of the entries in each folder of the cache, including folders of unknown kinds."""
    home = cache_home()
    kinds = {*KINDS, *(f.name for f in home.iterdir() if f.is_dir())} if home.is_dir() else set(KINDS)
    found = {kind: [f for f in _listed(home / kind) if f.name[0] != "."] for kind in sorted(kinds)}
    return {kind: (len(paths), sum(map(_size, paths))) for kind, paths in found.items()}


def unfinished() -> tuple[int, int]:
    """Return number and size in bytes of the unfinished entries of running and killed processes."""
    paths = [path for kind in KINDS for path in _own(cache_home() / kind, unfinished=True)]
    return len(paths), sum(map(_size, paths))


def clear() -> int:
    """Delete corpora and arrays, including remains of killed processes; return the number of freed bytes.

    Files whose names are not names of entries are kept, because they may belong to the user.
    """
    freed, stuck = 0, []
    for kind in KINDS:
        for path in (*_own(cache_home() / kind), *_own(cache_home() / kind, unfinished=True)):
            size = _size(path)
            remove(path)
            if path.exists():
                stuck.append(path)
            else:
                freed += size
        with suppress(OSError):  # the folder contains files of the user
            (cache_home() / kind).rmdir()
    forget_digests()
    if stuck:
        others = f" and {several(len(stuck) - 1, 'other entry')}" if len(stuck) > 1 else ""
        raise InputError(f"{stuck[0]}{others} cannot be deleted, because a file is in use or the folder is read-only")
    return freed


def _own(folder: Path, *, unfinished: bool = False) -> list[Path]:
    """Return the entries of a folder, or its unfinished entries."""
    name = _UNFINISHED if unfinished else _NAME
    return [path for path in _listed(folder) if name.fullmatch(path.name)]


def _listed(folder: Path) -> list[Path]:
    with suppress(OSError):  # the folder does not exist
        return list(folder.iterdir())
    return []


def _size(path: Path) -> int:
    """Return the size in bytes of an entry's files, omitting files that another process has removed."""
    size = 0
    folders = os.walk(path) if path.is_dir() and not path.is_symlink() else [(path.parent, (), (path.name,))]
    for folder, _, names in folders:
        for name in names:
            with suppress(OSError):
                size += Path(folder, name).lstat().st_size
    return size


def _checksums(file: Path) -> list[int]:
    """Return the CRC-32 of each block of a file."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda start: _checksum(file, start), range(0, file.stat().st_size, _BLOCK)))


def _checksum(file: Path, start: int) -> int:
    checksum, piece = 0, memoryview(bytearray(_PIECE))
    with file.open("rb", buffering=0) as source:
        source.seek(start)
        for _ in range(_BLOCK // _PIECE):
            checksum = zlib.crc32(piece[: source.readinto(piece)], checksum)
    return checksum
