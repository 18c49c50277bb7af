"""Leases on the runs of a store, so that several processes can share it.

A driver is a live ``ltr-duel run``. Its file under ``drivers`` records where it runs and is touched every few seconds.
A claim is a hard link to this file, or a copy, under the name of the run: only one process can create the claim. The
claims of a dead driver are void. The death of a driver is known at once on the same machine, after a minute on others.
"""

from __future__ import annotations

import errno
import functools
import json
import os
import threading
import time
import uuid
from contextlib import suppress
from pathlib import Path
from types import NoneType, TracebackType
from typing import Any, Self

import psutil
from filelock import FileLock

from ltr_duel.core import InputError, host, places
from ltr_duel.experiment.record import NUMBER, Fields, parsed_record, read_record
from ltr_duel.experiment.store import Store, StoreFullError

_BEAT = 5.0
_ABOUT: Fields = {
    "id": str,
    "machine": str,
    "host": str,
    "pid": int,
    "start": (str, NoneType),
    "jobs": int,
    "backend": str,
    "began": NUMBER,
}
SILENT = 60.0  # seconds without a beat after which a driver on another machine counts as dead


class Driver:
    """The lease of this process, while it runs an experiment; a context manager.

    about: what ``ltr-duel status`` prints, as JSON.
    """

    def __init__(self, store: Store, about: dict[str, Any]) -> None:
        self.store, self.id = store, uuid.uuid4().hex
        self._file = store.place("drivers", self.id)
        self._about, self._stop, self._claiming = about, threading.Event(), threading.Lock()

    def __enter__(self) -> Self:
        content = {**self._about, **host.process_identity(os.getpid()), "id": self.id, "began": time.time()}
        self._content = json.dumps(content).encode()
        self.store.write(self._file, self._content)
        threading.Thread(target=self._beat, daemon=True).start()
        self._sweep()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        with self._claiming:
            self._stop.set()
        for claim in self.store.claims.iterdir():
            if _owner(claim) == self.id:
                claim.unlink(missing_ok=True)
        self.store.remove(self._file)

    def claim(self, digest: str) -> bool:
        """Claim a run; False if a live driver holds a claim on it, or this one has ended.

        Tasks are asked for in other threads, which may do so once more when the run has been interrupted.
        """
        with self._claiming:
            return not self._stop.is_set() and self._claim(digest)

    def _claim(self, digest: str) -> bool:
        path = self.store.place("claims", digest)
        try:
            os.link(self._file, path)
            return True
        except OSError:
            pass  # claimed, or no hard links, or no more of them for this file
        if live_driver(self.store, _owner(path)):
            return False
        with locked(self.store):  # so that a claim in the course of being written does not count as void
            owner = _owner(path)
            if live_driver(self.store, owner):
                return False
            try:
                if owner is not None and _owner(path) == owner:  # a claim made since has another owner
                    self.store.remove(path)
                with open(path, "xb") as file:
                    file.write(self._content)
            except FileExistsError:
                return False
            except OSError as error:
                if error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", None)):
                    raise StoreFullError(self.store.folder) from error
                raise InputError(f"{self.store.folder}: a run cannot be claimed: {places.cause(error)}") from error
        return True

    def release(self, digest: str) -> None:
        """Release a claim."""
        self.store.remove(self.store.place("claims", digest))

    def _beat(self) -> None:
        while not self._stop.wait(_BEAT):
            with suppress(OSError, InputError):
                try:
                    os.utime(self._file)
                except FileNotFoundError:  # another machine took it for the file of a dead driver
                    self.store.write(self._file, self._content)

    def _sweep(self) -> None:
        """Remove what dead drivers left behind: their files, and what they were writing."""
        with locked(self.store):
            for path in self.store.drivers.iterdir():
                if not live_driver(self.store, path.name):
                    path.unlink(missing_ok=True)
            for path in self.store.claims.iterdir():
                if path.is_symlink():  # as earlier versions claimed
                    path.unlink(missing_ok=True)
            hour_ago, running = time.time() - 3600, set(map(str, psutil.pids()))
            for path in self.store.tmp.iterdir():
                pid = path.name.partition("-")[0]
                with suppress(FileNotFoundError):  # another driver has finished writing it
                    if path.stat().st_mtime < hour_ago or pid not in running:
                        path.unlink()


def live_driver(store: Store, driver: str | None) -> dict[str, Any] | None:
    """Return what is known of a driver, if it still runs; a file that is damaged is that of none."""
    if not driver:
        return None
    path = store.drivers / driver
    try:
        about, beat = read_record(path, "a driver", _ABOUT), path.stat().st_mtime
    except (OSError, InputError):
        return None
    runs = host.still_runs(about)
    return about if (_now(store) - beat < SILENT if runs is None else runs) else None


def _now(store: Store) -> float:
    """Return the time of the clock that writes beats: that of the file system, which may be another machine's."""
    path = store.tmp / f"{os.getpid()}-clock-{uuid.uuid4().hex}"
    try:
        path.touch()
        now = path.stat().st_mtime
        path.unlink(missing_ok=True)
    except OSError:
        return time.time()
    return now


def live_drivers(store: Store) -> list[dict[str, Any]]:
    """Return what is known of the drivers that still run."""
    found = (live_driver(store, name) for name in _names(store.drivers))
    return [about for about in found if about is not None]


def claimed(store: Store) -> set[str]:
    """Return the digests of the runs that live drivers have claimed."""
    alive = functools.cache(functools.partial(live_driver, store))
    return {name for name in _names(store.claims) if alive(_owner(store.claims / name))}


def _names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder)) if folder.is_dir() else []


def _owner(claim: str | Path) -> str | None:
    """Return the id of the driver that made a claim; empty for a damaged claim, None without a claim."""
    try:
        return str(parsed_record(Path(claim).read_bytes(), _ABOUT)["id"])
    except FileNotFoundError:
        return None
    except (OSError, InputError):
        return ""


def locked(store: Store) -> FileLock:
    """Return the store's lock, to be held by ``with``; the system releases it when the process dies."""
    return FileLock(store.folder / "drivers.lock")
