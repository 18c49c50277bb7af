"""The open file of a store, and its transactions: after each one, either all or none of its changes are on disk.

Only the process that holds the lock ``<store>-lock`` adds pages and events; other processes may read, use switches and
forget users. Links are resolved before locking. If a second writer ignores the lock, its rows are detected before
any row is added.

SQLite caches a file and does not check whether the file was moved away, replaced, truncated or overwritten in place
(as by `cp`). Later writes would be lost, or mixed with another program's writes. `Watch` checks the file.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from ltr_duel.core import InputError, alone, places
from ltr_duel.live.calls import StoreError
from ltr_duel.live.rows import DAMAGED
from ltr_duel.live.schema import ENDED, LEAD, LOG, connected, make_store, opened

_BUSY = 300  # milliseconds to wait for another program's transaction, while searches wait too
_ROWS = 1000  # pages and events between two checkpoints of the log
_LAST = "SELECT (SELECT coalesce(max(page), 0) FROM pages), (SELECT coalesce(max(event), 0) FROM events)"


class _Look(NamedTuple):
    files: tuple[tuple[int, int], ...]  # device and inode of the file and of its log; empty if either is missing
    size: int  # bytes of the file
    written: int  # modification time; only this process changes the file, at checkpoints


class Watch:
    """Compare the file of a store with its state after the last write of this process."""

    def __init__(self, path: Path) -> None:
        self._path, self._files = path, (str(path), f"{path}-wal")
        self.take()

    def take(self) -> None:
        """Record the state of the file after a write of this process."""
        self._seen = self._look()

    def is_as_left(self) -> bool:
        """Whether the file is unchanged since `take`; `StoreError` if it was moved, replaced or truncated."""
        now = self._look()
        if now.files != self._seen.files:
            raise StoreError("the file of the store was moved away, or replaced by another file")
        if now.size < self._seen.size:  # SQLite never shrinks the file
            raise StoreError("the file of the store was truncated, so writing to it has stopped")
        return now.written == self._seen.written

    def require_ours(self, experiment: str, last: tuple[int, int]) -> None:
        """Check, with a second connection, a file that another program has written to.

        The change is harmless if SQLite only merged the log into the file: then the experiment and the last rows are
        unchanged, and the file is intact. Raises `StoreError` otherwise.
        """
        look = self._look()
        try:
            with closing(connected(self._path, writes=False, without_log=True)) as db:
                (name,) = db.execute("SELECT value FROM about WHERE key = 'experiment'").fetchone()
                (wrong,) = db.execute("PRAGMA quick_check(1)").fetchone()
                same = (name, db.execute(_LAST).fetchone(), wrong) == (experiment, last, "ok")
        except (sqlite3.Error, ValueError, TypeError):
            same = False
        if not same:
            raise StoreError("another program has written over the file of the store; restore a backup")
        self._seen = look

    def _look(self) -> _Look:
        try:
            file, log = map(os.stat, self._files)  # not Path.stat, which takes twice as long
        except OSError:
            return _Look((), 0, 0)
        both = (file.st_dev, file.st_ino), (log.st_dev, log.st_ino)
        return _Look(both, file.st_size, file.st_mtime_ns)


class Transactions:
    """An open store. No other process adds pages or events; ``about`` contains the first rows of a new store."""

    def __init__(self, path: Path, about: dict[str, Any]) -> None:
        self.path = path = path.resolve()
        with ExitStack() as stack, opened(path):
            try:
                stack.enter_context(alone.sole_writer(path, path.with_name(f"{path.name}-lock")))
            except OSError as error:
                raise InputError(f"{path}: cannot be written: {places.cause(error)}") from None
            if about and not path.exists():
                make_store(path, about)
            if path.is_file() and path.stat().st_nlink > 1:
                raise InputError(
                    f"{path}: has a second name (a hard link), under which another process could write; copy it"
                )
            self._db = connected(path, writes=True)
            stack.callback(self._db.close)
            for pragma in ("wal_autocheckpoint = 0", f"busy_timeout = {_BUSY}"):
                self._db.execute(f"PRAGMA {pragma}")
            self._lead, self._log = self.about(LEAD) or 0, self.about(LOG) or 0
            self._version: int | None = None
            self._last, self.changes = self.last(), 0  # changes: number of writes by others
            self._watch, self._experiment = Watch(path), self.about("experiment")
            self._began, self._ended = self._lead, self.about(ENDED)
            self._rows = _ROWS  # so the first transaction records in the file that a log exists
            self._held = stack.pop_all()

    def close(self, now: float | None = None) -> None:
        """Close the file, so that it is complete without its log; ``now`` is the time, or None if opening failed."""
        with suppress(StoreError, sqlite3.Error):
            if self._log != self._lead or self._lead != self._began:
                with self.transaction():
                    self._rows = 0
                    self.set_about(ENDED, self._ended if now is None else now)
        self._held.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make all writes of the ``with`` block durable at its end, or discard all of them and raise `StoreError`."""
        try:
            as_left = self._watch.is_as_left()
            self._db.execute("BEGIN IMMEDIATE")
            version = self._data_version()
            if self._version not in (None, version):
                if self.last() != self._last:
                    raise StoreError("another program has written to the store, which is now read again")
                self._version, self.changes = version, self.changes + 1
                self._watch.take()
            elif not as_left:
                self._watch.require_ours(self._experiment, self._last)
            if behind := self._log != self._lead:
                self.set_about(LOG, self._lead)
            yield
            full = self._rows >= _ROWS
            if full:
                self.set_about(LEAD, self._lead + 1)
                if self._lead == self._began:
                    self.set_about(ENDED, 0)
            self._db.execute("COMMIT")
            if behind:
                self._log = self._lead
            if full:
                self._lead, self._rows = self._lead + 1, 0
                with suppress(sqlite3.Error):  # all changes are already durable in the log
                    self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
                self._watch.take()
        except BaseException as error:
            with suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise StoreError(f"the store cannot be written now: {error}") from None
            raise

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Convert errors of reading into `StoreError`."""
        try:
            self._version, self._last = self._data_version(), self.last()
            yield
        except InputError:
            raise
        except sqlite3.Error as error:
            raise StoreError(f"the store cannot be read: {error}") from None
        except DAMAGED:  # the original messages may quote rows
            raise StoreError("the store cannot be read: a row is damaged") from None

    def _data_version(self) -> int:
        """Return a number that changes after another connection has written."""
        (version,) = self._db.execute("PRAGMA data_version").fetchone()
        return int(version)

    def about(self, key: str) -> Any:
        """Return a value of the table ``about``, or None if the key is missing."""
        row = self._db.execute("SELECT value FROM about WHERE key = ?", (key,)).fetchone()
        return row[0] if row else None

    def set_about(self, key: str, value: Any) -> None:
        """Write a row of the table ``about``."""
        self._db.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (key, value))

    def last(self) -> tuple[int, int]:
        """Return the numbers of the last page and the last event."""
        pages, events = self._db.execute(_LAST).fetchone()
        return pages, events
