"""Leases on the runs of a store, so that several processes can share it.

A driver is a live ``ltr-duel run``. Its file under ``drivers`` says where it runs, and is touched every few seconds. A
claim is a symbolic link, named by the run, to the driver's id: creating it succeeds for one process and fails for all
others. The claims of a dead driver are void; on the same machine its death is known at once, on others after a minute.
"""

from __future__ import annotations

import fcntl
import functools
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import NoneType, TracebackType
from typing import Any, Self

from ltr_duel.core import InputError
from ltr_duel.experiment.record import NUMBER, Fields, read_record
from ltr_duel.experiment.store import Store, StoreFullError

_BEAT = 5.0
_ABOUT: Fields = {
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

    Parameters
    ----------
    store : Store
    about : dict
        What ``ltr-duel status`` prints, as JSON.
    """

    def __init__(self, store: Store, about: dict[str, Any]) -> None:
        self.store, self.id = store, uuid.uuid4().hex
        self._about, self._stop, self._claiming = about, threading.Event(), threading.Lock()

    def __enter__(self) -> Self:
        content = {**self._about, **process_identity(os.getpid()), "began": time.time()}
        self.store.write(self.store.drivers / self.id, json.dumps(content).encode())
        threading.Thread(target=self._beat, daemon=True).start()
        self._sweep()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        with self._claiming:
            self._stop.set()
        for claim in self.store.claims.iterdir():
            if _owner(claim) == self.id:
                claim.unlink(missing_ok=True)
        (self.store.drivers / self.id).unlink(missing_ok=True)

    def claim(self, digest: str) -> bool:
        """Claim a run; False if a live driver holds a claim on it, or this one has ended.

        Tasks are asked for in other threads, which may do so once more when the run has been interrupted.
        """
        with self._claiming:
            return not self._stop.is_set() and self._claim(digest)

    def _claim(self, digest: str) -> bool:
        try:
            os.symlink(self.id, self.store.place("claims", digest))
            return True
        except FileExistsError:
            pass
        except OSError as error:
            raise StoreFullError(self.store.folder) from error
        path = self.store.claims / digest
        if live_driver(self.store, _owner(path)):
            return False
        with locked(self.store):
            if live_driver(self.store, _owner(path)):
                return False
            path.unlink(missing_ok=True)
            path.symlink_to(self.id)
        return True

    def release(self, digest: str) -> None:
        """Release a claim."""
        self.store.remove(self.store.place("claims", digest))

    def _beat(self) -> None:
        while not self._stop.wait(_BEAT):
            with suppress(OSError):
                os.utime(self.store.drivers / self.id)

    def _sweep(self) -> None:
        """Remove what dead drivers left behind: their files, and what they were writing."""
        with locked(self.store):
            for path in self.store.drivers.iterdir():
                if not live_driver(self.store, path.name):
                    path.unlink(missing_ok=True)
            hour_ago = time.time() - 3600
            for path in self.store.tmp.iterdir():
                pid = path.name.partition("-")[0]
                with suppress(FileNotFoundError):  # another driver has finished writing it
                    if path.stat().st_mtime < hour_ago or not Path("/proc", pid).exists():
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
    mine = process_identity(about["pid"])
    if about["machine"] == mine["machine"]:
        return about if about["start"] == mine["start"] and mine["start"] is not None else None
    return about if time.time() - beat < SILENT else None


def live_drivers(store: Store) -> list[dict[str, Any]]:
    """Return what is known of the drivers that still run."""
    found = (live_driver(store, name) for name in _names(store.drivers))
    return [about for about in found if about is not None]


def claimed(store: Store) -> set[str]:
    """Return the digests of the runs that live drivers have claimed."""
    alive = functools.cache(functools.partial(live_driver, store))
    return {name for name in _names(store.claims) if alive(_owner(store.claims / name))}


def process_identity(pid: int) -> dict[str, Any]:
    """Return what identifies a process: the machine, the number, and when it started (None if it has ended)."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        space = str(Path("/proc/self/ns/pid").readlink())
        machine = f"{socket.gethostname()} {boot} {space}"
    except OSError:
        machine = f"{socket.gethostname()} {uuid.getnode()}"
    return {"machine": machine, "host": socket.gethostname(), "pid": pid, "start": _start(pid)}


def _start(pid: int) -> str | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        if Path("/proc/self/stat").exists():
            return None
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return None
        except PermissionError:
            pass
        return "unknown"
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] == "Z" else fields[19]


def _names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder)) if folder.is_dir() else []


def _owner(claim: Path) -> str | None:
    try:
        return str(claim.readlink())
    except OSError:
        return None


@contextmanager
def locked(store: Store) -> Iterator[None]:
    """Hold the store's lock; the system releases it when the process dies."""
    with (store.folder / "drivers.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
