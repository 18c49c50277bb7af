"""Claims on the runs of a store, so that several processes can share it.

A driver is a live ``ltr-duel run``. It holds a lease under ``drivers``, a file that `filelock` renews every few
seconds. A claim is an empty file named ``<digest>-<driver>``; all processes make claims under one lock. When a driver
dies, its claims become void. Processes on the same machine notice this at once; processes on other machines notice it
when they have seen no renewal of the driver's lease for a minute. Clocks of different machines are never compared.
"""

from __future__ import annotations

import errno
import functools
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Self

import psutil
from filelock import FileLock, SoftFileLease, Timeout

from ltr_duel.core import InputError, places
from ltr_duel.experiment.record import NUMBER, Fields, read_record
from ltr_duel.experiment.runs_file import HEX
from ltr_duel.experiment.store import Store, StoreFullError, temporary_name

_BEAT = 5.0
SILENT = 60.0  # seconds without a renewal after which a driver on another machine counts as dead
_LEASE = ".lease"
_ABOUT: Fields = {"id": str, "host": str, "pid": int, "jobs": int, "backend": str, "began": NUMBER}


class Driver:
    """The lease and the claims of this process while it runs an experiment; a context manager.

    about: facts for ``ltr-duel status``, which are stored as JSON.
    """

    def __init__(self, store: Store, about: dict[str, Any]) -> None:
        self.store, self.id = store, uuid.uuid4().hex
        identity = {"id": self.id, "host": socket.gethostname(), "pid": os.getpid(), "began": time.time()}
        self._about = json.dumps(about | identity).encode()
        self._ended, self._claiming = False, threading.Lock()
        self._lock, self._mine = locked(store), set[str]()
        self._peers: dict[str, SoftFileLease] = {}  # by driver; each lease measures the time without a renewal

    def __enter__(self) -> Self:
        with self._lock, self._said():
            self._hold()
            self._sweep()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        with self._claiming:
            self._ended = True
        for digest in list(self._mine):
            self.release(digest)
        self.store.remove(self.store.place("drivers", self.id))
        self._lease.release()

    def claim(self, digests: Iterable[str]) -> list[str]:
        """Claim the runs that no live driver has claimed, and return them; return no run if this driver has ended.

        Tasks are requested in other threads, which may request one more task after an interrupt.
        """
        with self._claiming:
            if self._ended:
                return []
            with self._lock, self._said():
                owners, lives = _owners(self.store), functools.cache(self._lives)
                return [digest for digest in digests if self._claim(digest, owners, lives)]

    def _claim(self, digest: str, owners: dict[str, str], lives: Callable[[str], bool]) -> bool:
        if digest in owners and lives(owners[digest]):
            return False
        if digest in owners:
            self.store.remove(self._place(digest, owners[digest]))
        open(self._place(digest, self.id), "wb").close()
        self._mine.add(digest)
        owners[digest] = self.id
        return True

    @contextmanager
    def _said(self) -> Iterator[None]:
        """Replace an error of the file system by an `InputError`."""
        try:
            yield
        except OSError as error:
            if error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", None)):
                raise StoreFullError(self.store.folder) from error
            raise InputError(f"{self.store.folder}: a run cannot be claimed: {places.cause(error)}") from error

    def _place(self, digest: str, owner: str) -> str:
        return self.store.place("claims", f"{digest}-{owner}")

    def release(self, digest: str) -> None:
        """Release a claim."""
        self.store.remove(self._place(digest, self.id))
        self._mine.discard(digest)

    def _hold(self) -> None:
        """Write the file of this driver and acquire its lease."""
        Store(self.store.folder).write(
            self.store.place("drivers", self.id), self._about
        )  # a new Store, because only one thread may write to a Store, and another thread may call this method
        self._lease = _lease(self.store, self.id, self._hold_again)
        self._lease.acquire()

    def _hold_again(self, lost: object) -> None:
        """Acquire the lease again after another machine has removed it; retry until it is acquired."""
        while not self._ended:
            with suppress(InputError, OSError), self._claiming:
                if not self._ended:
                    self._hold()
                return
            time.sleep(_BEAT)

    def _lives(self, owner: str) -> bool:
        """Whether a driver holds its lease."""
        return owner == self.id or _is_held(self._peers.setdefault(owner, _lease(self.store, owner)))

    def _sweep(self) -> None:
        """Remove the files of dead drivers, their claims and their temporary files."""
        for path in self.store.drivers.iterdir():
            if not path.suffix and path.is_file() and not self._lives(path.name):
                path.unlink(missing_ok=True)
        lives = functools.cache(self._lives)
        for digest, owner in _owners(self.store).items():
            if not lives(owner):
                self.store.remove(self._place(digest, owner))
        hour_ago, running = _now(self.store) - 3600, set(map(str, psutil.pids()))
        machine = temporary_name().split("-")[1]
        for path in self.store.tmp.iterdir():
            pid, _, rest = path.name.partition("-")
            with suppress(FileNotFoundError, IsADirectoryError):  # the file has been renamed, or is a folder
                if path.stat().st_mtime < hour_ago or (rest.startswith(machine) and pid not in running):
                    path.unlink()


def _lease(store: Store, driver: str, lost: Any = None) -> SoftFileLease:
    options = {"lease_duration": SILENT, "heartbeat_interval": _BEAT, "on_compromise": lost}
    return SoftFileLease(store.place("drivers", driver + _LEASE), blocking=False, thread_local=False, **options)


def _is_held(lease: SoftFileLease, *, unreadable: bool = True) -> bool:
    """Whether another process holds a lease; a lease from another machine ends after a minute without a renewal.

    unreadable: the result if the file cannot be opened.
    """
    if not os.path.exists(lease.lock_file):
        return False
    try:
        with lease:
            return False
    except (Timeout, ValueError):  # Timeout: the lease is held; ValueError: held with another duration
        return True
    except OSError:  # the file belongs to another user, or its folder is not writable
        return unreadable


def live_drivers(store: Store) -> list[dict[str, Any]]:
    """Return the facts about the live drivers, without waiting for a renewal of their leases."""
    found = []
    for path in sorted(store.drivers.iterdir()) if store.drivers.is_dir() else ():
        if not path.suffix:
            with suppress(InputError, OSError):  # a damaged or removed file counts as no driver
                about = read_record(path, "a driver", _ABOUT)
                beat = path.with_suffix(_LEASE).stat().st_mtime
                here = about["host"] == socket.gethostname()
                exists = not here or psutil.pid_exists(about["pid"])
                held = _is_held(_lease(store, path.name), unreadable=exists)
                if held and (here or _now(store) - beat < SILENT):  # a paused process on this machine counts as live
                    found.append(about)
    return found


def _now(store: Store) -> float:
    """Return the present time of the clock that sets the times of files, which may be another machine's clock."""
    path = store.tmp / temporary_name()
    try:
        path.touch()
        now = path.stat().st_mtime
        path.unlink(missing_ok=True)
    except OSError:
        return time.time()
    return now


def claimed(store: Store) -> set[str]:
    """Return the digests of the runs that live drivers have claimed."""
    alive = {driver["id"] for driver in live_drivers(store)}
    return {digest for digest, owner in _owners(store).items() if owner in alive}


def _owners(store: Store) -> dict[str, str]:
    """Return the id of the driver that claimed each run, by the digest of the run."""
    claims = (name.partition("-") for name in (os.listdir(store.claims) if store.claims.is_dir() else ()))
    return {digest: owner for digest, _, owner in claims if len(owner) == 32 and HEX.issuperset(owner)}


def locked(store: Store) -> FileLock:
    """Return the store's lock, for a ``with`` statement; the system releases it if the process dies."""
    return FileLock(store.folder / "drivers.lock")
