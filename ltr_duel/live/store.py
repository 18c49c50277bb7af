"""What is written to a store and read from it. A transaction is on the disk when it ends, or nothing of it is there.

One process writes, and holds ``<store>-lock`` while it does; others may read meanwhile. What a link leads to is locked,
and what a second writer without the lock has written is noticed before anything is added to it.
"""

from __future__ import annotations

import io
import sqlite3
import struct
import zipfile
from array import array
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError, alone, places
from ltr_duel.live.complaints import StoreError
from ltr_duel.live.schema import LEAD, LOG, connected, make_store
from ltr_duel.live.sheets import in_bytes, read_key
from ltr_duel.live.turns import Key

_ROWS = 1000  # pages and events between two times when the log is put into the file


class Event(NamedTuple):
    """Something that happened to a page: a row of ``events``."""

    event: int
    page: int
    at: float
    kind: int  # see `ltr_duel.live.tally`
    clicks: bytes | None = None  # clicked places from 0, two bytes each
    credit: bytes | None = None  # of each pair on the page, a byte each: +1, 0, -1
    signs: bytes | None = None  # what the policy is told: the same, ties broken
    seen: bytes | None = None  # the pairs of which the user had been shown an earlier page, a bit each; None for none


class Snapshot(NamedTuple):
    """What an experiment knew."""

    events: int
    pages: int
    arrays: Mapping[str, NDArray[Any]]
    lines: str


class Store:
    """An open store, to be written by this process alone.

    Parameters
    ----------
    path : Path
    about : dict
        What a new store says of itself; an old one keeps what it said.

    Raises
    ------
    InputError
        If another process writes to it, or it is no store.
    """

    def __init__(self, path: Path, about: dict[str, Any]) -> None:
        path = path.resolve()
        with ExitStack() as stack:
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
            self._db.execute("PRAGMA wal_autocheckpoint = 0")
            self._lead, self._log = self.about(LEAD) or 0, self.about(LOG) or 0
            self._version: int | None = None
            self._rows = _ROWS  # the first transaction puts into the file that it has a log
            self._held = stack.pop_all()

    def close(self) -> None:
        """Let go of the file, which needs no log any more."""
        with suppress(StoreError, sqlite3.Error):
            if self._log != self._lead:
                with self.transaction():
                    self._rows = 0
        self._held.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make all that is written inside durable when it ends, or nothing of it.

        Raises
        ------
        StoreError
            If it cannot be written.
        """
        try:
            self._db.execute("BEGIN IMMEDIATE")
            if self._version not in (None, self._data_version()):
                raise StoreError("another program has written to the store; it is read again")
            if behind := self._log != self._lead:
                self.say(LOG, self._lead)
            yield
            full = self._rows >= _ROWS
            if full:
                self.say(LEAD, self._lead + 1)
            self._db.execute("COMMIT")
            if behind:
                self._log = self._lead
            if full:
                self._lead, self._rows = self._lead + 1, 0
                with suppress(sqlite3.Error):  # all is durable; the log is put into the file another time
                    self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        except BaseException as error:
            with suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise StoreError(f"the store cannot be written now: {error}") from None
            raise

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Say that something cannot be read.

        Raises
        ------
        StoreError
        """
        try:
            self._version = self._data_version()
            yield
        except InputError:
            raise
        except (sqlite3.Error, zipfile.BadZipFile, struct.error, LookupError, TypeError, ValueError, EOFError) as error:
            raise StoreError(f"the store cannot be read: {error}") from None

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
        pages, events = (
            self._db.execute(f"SELECT coalesce(max({one}), 0) FROM {one}s").fetchone()[0] for one in ("page", "event")
        )
        return pages, events

    def add_page(
        self,
        page: int,
        at: float,
        query: str,
        user: str,
        key: Key,
        shown: str,
        sheet: bytes,
        chance: float | None,
        expires: int,
        seen: bytes | None,
    ) -> None:
        """Write a page, which waits for its clicks from now on."""
        row = (page, at, query, user or None, array("H", key).tobytes(), shown, sheet, chance)
        self._db.execute("INSERT INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        self._db.execute("INSERT INTO waiting VALUES (?, ?, ?)", (page, expires, seen))
        self._rows += 1

    def page(self, page: int) -> tuple[str, bytes, bytes | None]:
        """Return shown ids and sheet of an open page, and the pairs of which its user had been shown another one."""
        row: tuple[str, bytes, bytes | None] = self._db.execute(
            "SELECT shown, sheet, seen FROM pages JOIN waiting USING (page) WHERE page = ?", (page,)
        ).fetchone()
        return row

    def add_event(self, event: Event, *, closes: bool) -> None:
        """Write an event; if it closes its page, that waits no longer."""
        self._db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)", event)
        self._rows += 1
        if closes:
            self._db.execute("DELETE FROM waiting WHERE page = ?", (event.page,))

    def gather(self, page: int, clicks: bytes) -> None:
        """Write the clicked places of an open page, two bytes each."""
        self._db.execute("INSERT OR REPLACE INTO gathered VALUES (?, ?)", (page, clicks))

    def forget_gathered(self, page: int) -> None:
        """Remove the clicked places of a page that is closed."""
        self._db.execute("DELETE FROM gathered WHERE page = ?", (page,))

    def gathered(self) -> dict[int, bytes]:
        """Return the clicked places of the open pages that have some already."""
        return dict(self._db.execute("SELECT page, clicks FROM gathered JOIN waiting USING (page)"))

    def seen(self, user: str) -> int:
        """Return the pairs of which a user was shown a page, a bit each."""
        row = self._db.execute("SELECT seen FROM users WHERE user = ?", (user,)).fetchone()
        return int.from_bytes(row[0], "little") if row else 0

    def see(self, user: str, seen: int) -> None:
        """Write the pairs of which a user was shown a page."""
        self._db.execute("INSERT OR REPLACE INTO users VALUES (?, ?)", (user, in_bytes(seen)))

    def waiting(self) -> Iterator[tuple[int, int, Key]]:
        """Yield the open pages with their deadlines and arms, those of the earliest deadline first."""
        rows = self._db.execute(
            "SELECT page, expires, arms FROM waiting JOIN pages USING (page) ORDER BY expires, page"
        )
        return ((page, expires, read_key(arms)) for page, expires, arms in rows)

    def pages_since(self, page: int) -> Iterator[tuple[int, Key]]:
        """Yield the pages after one, with their arms."""
        rows = self._db.execute("SELECT page, arms FROM pages WHERE page > ? ORDER BY page", (page,))
        return ((page, read_key(arms)) for page, arms in rows)

    def events_since(self, event: int) -> Iterator[tuple[Event, Key]]:
        """Yield the events after one, with the arms of their pages."""
        rows = self._db.execute(
            "SELECT events.*, arms FROM events JOIN pages USING (page) WHERE event > ? ORDER BY event", (event,)
        )
        return ((Event(*row[:-1]), read_key(row[-1])) for row in rows)

    def snapshot(self) -> Snapshot | None:
        """Return the snapshot, if one was ever made."""
        row = self._db.execute("SELECT events, pages, arrays, lines FROM snapshot").fetchone()
        if row is None:
            return None
        events, pages, arrays, lines = row
        with np.load(io.BytesIO(arrays), allow_pickle=False) as file:
            return Snapshot(events, pages, dict(file), lines)

    def save(self, snapshot: Snapshot) -> None:
        """Write a snapshot in place of the one before."""
        file = io.BytesIO()
        np.savez(file, allow_pickle=False, **snapshot.arrays)
        row = (snapshot.events, snapshot.pages, file.getvalue(), snapshot.lines)
        self._db.execute("INSERT OR REPLACE INTO snapshot VALUES (1, ?, ?, ?, ?)", row)
