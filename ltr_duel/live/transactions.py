"""The open file of a store, and its transactions: one is on the disk when it ends, or nothing of it is there.

One process writes, and holds ``<store>-lock`` while it does; others may read meanwhile, and use switches. What a link
leads to is locked, and what a second writer without the lock has written is noticed before anything is added to it; so
is what `ltr_duel.live.watching` sees of the file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from ltr_duel.core import InputError, alone, places
from ltr_duel.live.complaints import StoreError
from ltr_duel.live.schema import ENDED, LEAD, LOG, connected, make_store, opened
from ltr_duel.live.sheets import DAMAGED
from ltr_duel.live.watching import Watch, last_of

_BUSY = 300  # milliseconds that a transaction waits for another program to end its own: searches wait meanwhile
_ROWS = 1000  # pages and events between two times when the log is put into the file


class Transactions:
    """An open store, to be written by this process alone.

    about: what a new store says of itself; an old one keeps what it said.

    Raises `InputError` if another process writes to it, or it is no store.
    """

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
            self._db = connected(path, writes=True, migrates=True)
            stack.callback(self._db.close)
            for pragma in ("wal_autocheckpoint = 0", f"busy_timeout = {_BUSY}"):
                self._db.execute(f"PRAGMA {pragma}")
            self._lead, self._log = self.about(LEAD) or 0, self.about(LOG) or 0
            self._version: int | None = None
            self._last, self.changes = self.last(), 0  # how often other processes have used switches
            self._watch, self._experiment = Watch(path), self.about("experiment")
            self._began, self._ended = self._lead, self.about(ENDED)
            self._rows = _ROWS  # the first transaction puts into the file that it has a log
            self._held = stack.pop_all()

    def close(self, now: float | None = None) -> None:
        """Let go of the file, which needs no log any more; ``now`` is the time, of a store that was used."""
        with suppress(StoreError, sqlite3.Error):
            if self._log != self._lead or self._lead != self._began:
                with self.transaction():
                    self._rows = 0
                    self.say(ENDED, self._ended if now is None else now)
        self._held.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make all that is written inside durable when it ends, or nothing of it.

        Raises `StoreError` if it cannot be written.
        """
        try:
            as_left = self._watch.is_as_left()
            self._db.execute("BEGIN IMMEDIATE")
            version = self._data_version()
            if self._version not in (None, version):
                if self.last() != self._last:
                    raise StoreError("another program has written to the store; it is read again")
                self._version, self.changes = version, self.changes + 1
                self._watch.take()
            elif not as_left:
                self._watch.require_ours(self._experiment, self._last)
            if behind := self._log != self._lead:
                self.say(LOG, self._lead)
            yield
            full = self._rows >= _ROWS
            if full:
                self.say(LEAD, self._lead + 1)
                if self._lead == self._began:
                    self.say(ENDED, 0)
            self._db.execute("COMMIT")
            if behind:
                self._log = self._lead
            if full:
                self._lead, self._rows = self._lead + 1, 0
                with suppress(sqlite3.Error):  # all is durable; the log is put into the file another time
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
        """Say that something cannot be read."""
        try:
            self._version, self._last = self._data_version(), self.last()
            yield
        except InputError:
            raise
        except sqlite3.Error as error:
            raise StoreError(f"the store cannot be read: {error}") from None
        except DAMAGED:  # their sentences quote rows
            raise StoreError("the store cannot be read: a row is damaged") from None

    def _data_version(self) -> int:
        """Return a number that changes when another connection has written."""
        (version,) = self._db.execute("PRAGMA data_version").fetchone()
        return int(version)

    def about(self, key: str) -> Any:
        """Return what the store says of itself, None where it says nothing."""
        row = self._db.execute("SELECT value FROM about WHERE key = ?", (key,)).fetchone()
        return row[0] if row else None

    def say(self, key: str, value: Any) -> None:
        """Change what the store says of itself."""
        self._db.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (key, value))

    def last(self) -> tuple[int, int]:
        """Return the numbers of the last page and the last event."""
        return last_of(self._db)
