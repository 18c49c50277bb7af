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
from types import TracebackType
from typing import Any, Self

from ltr_duel.experiment.store import Store, StoreFullError

_BEAT = 5.0
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
        self._about, self._stop = about, threading.Event()

    def __enter__(self) -> Self:
        content = {**self._about, **process_identity(os.getpid()), "began": time.time()}
        self.store.write(self.store.drivers / self.id, json.dumps(content).encode())
        threading.Thread(target=self._beat, daemon=True).start()
        self._sweep()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._stop.set()
        for claim in self.store.claims.iterdir():
            if _owner(claim) == self.id:
                claim.unlink(missing_ok=True)
        (self.store.drivers / self.id).unlink(missing_ok=True)

    def claim(self, digest: str) -> bool:
        """Claim a run; False if a live driver holds a claim on it."""
        try:
            os.symlink(self.id, self.store.place("claims", digest))
            return True
        except FileExistsError:
            pass
        except OSError as error:
            raise StoreFullError(self.store.folder) from error
        path = self.store.claims / digest
        if is_alive(self.store, _owner(path)):
            return False
        with _locked(self.store):
            if is_alive(self.store, _owner(path)):
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
        with _locked(self.store):
            for path in self.store.drivers.iterdir():
                if not is_alive(self.store, path.name):
                    path.unlink(missing_ok=True)
            hour_ago = time.time() - 3600
            for path in self.store.tmp.iterdir():
                pid = path.name.partition("-")[0]
                if path.stat().st_mtime < hour_ago or not Path("/proc", pid).exists():
                    path.unlink(missing_ok=True)


def is_alive(store: Store, driver: str | None) -> bool:
    """Whether a driver still runs."""
    if not driver:
        return False
    path = store.drivers / driver
    try:
        about, beat = json.loads(path.read_text(encoding="utf-8")), path.stat().st_mtime
    except (OSError, ValueError):
        return False
    mine = process_identity(int(about["pid"]))
    if about["machine"] == mine["machine"]:
        return bool(about["start"] == mine["start"]) and mine["start"] is not None
    return time.time() - beat < SILENT


def live_drivers(store: Store) -> list[dict[str, Any]]:
    """Return what is known of the drivers that still run."""
    live = [path for path in sorted(store.drivers.iterdir()) if is_alive(store, path.name)]
    return [json.loads(path.read_text(encoding="utf-8")) for path in live]


def claimed(store: Store) -> set[str]:
    """Return the digests of the runs that live drivers have claimed."""
    alive = functools.cache(functools.partial(is_alive, store))
    return {path.name for path in store.claims.iterdir() if alive(_owner(path))}


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


def _owner(claim: Path) -> str | None:
    try:
        return str(claim.readlink())
    except OSError:
        return None


@contextmanager
def _locked(store: Store) -> Iterator[None]:
    """Hold the store's lock; the system releases it when the process dies."""
    with (store.folder / "drivers.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
