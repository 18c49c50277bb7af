"""What is written to a store and read from it. A transaction is on the disk when it ends, or nothing of it is there.

One process writes, and holds ``<store>-lock`` while it does; others may read meanwhile, and use switches. What a link
leads to is locked, and what a second writer without the lock has written is noticed before anything is added to it; so
is a file that was moved away or cut short.
"""

from __future__ import annotations

import io
import sqlite3
from array import array
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from ltr_duel.core import InputError, alone, places
from ltr_duel.live.complaints import StoreError
from ltr_duel.live.rows import Event, Snapshot, key_of, switches_in
from ltr_duel.live.schema import ENDED, LEAD, LOG, connected, make_store, opened
from ltr_duel.live.sheets import DAMAGED, in_bytes
from ltr_duel.live.switches import Switch, Switched, pack_switch
from ltr_duel.live.turns import Key

_BUSY = 300  # milliseconds that a transaction waits for another program to end its own: searches wait meanwhile
_ROWS = 1000  # pages and events between two times when the log is put into the file


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
            self._paths = path, Path(f"{path}-wal")
            self._files, self._size = _files(self._paths)
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

        Raises
        ------
        StoreError
            If it cannot be written.
        """
        try:
            files, size = _files(self._paths)
            if files != self._files:
                raise StoreError("the file of the store was moved away, or another one is at its path")
            if size < self._size:  # SQLite never makes it smaller
                raise StoreError("the file of the store was cut short, so nothing is written to it any more")
            self._size = size
            self._db.execute("BEGIN IMMEDIATE")
            if self._version not in (None, version := self._data_version()):
                if self.last() != self._last:
                    raise StoreError("another program has written to the store; it is read again")
                self._version, self.changes = version, self.changes + 1
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
                _, self._size = _files(self._paths)
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
        self._last, self._rows = (page, self._last[1]), self._rows + 1

    def page(self, page: int) -> tuple[str, bytes, bytes | None]:
        """Return shown ids and sheet of an open page, and the pairs of which its user had been shown another one."""
        row: tuple[str, bytes, bytes | None] = self._db.execute(
            "SELECT shown, sheet, seen FROM pages JOIN waiting USING (page) WHERE page = ?", (page,)
        ).fetchone()
        return row

    def add_event(self, event: Event, *, closes: bool) -> None:
        """Write an event; if it closes its page, that waits no longer."""
        self._db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)", event)
        self._last, self._rows = (self._last[0], event.event), self._rows + 1
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

    def has_users(self) -> bool:
        """Whether a page of a user was shown."""
        return self._db.execute("SELECT 1 FROM users LIMIT 1").fetchone() is not None

    def see(self, user: str, seen: int) -> None:
        """Write the pairs of which a user was shown a page."""
        self._db.execute("INSERT OR REPLACE INTO users VALUES (?, ?)", (user, in_bytes(seen)))

    def waiting(self, n_arms: int) -> Iterator[tuple[int, int, Key]]:
        """Yield the open pages with their deadlines and arms; without arms where a row is damaged."""
        for page, expires, arms in self._db.execute(
            "SELECT page, expires, arms FROM waiting LEFT JOIN pages USING (page) ORDER BY page"
        ):
            whole = isinstance(expires, int)
            yield page, expires if whole else 0, key_of(arms, n_arms) if whole else ()

    def pages_since(self, page: int, n_arms: int) -> Iterator[tuple[int, Key]]:
        """Yield the pages after one, with their arms; without where they are damaged."""
        rows = self._db.execute("SELECT page, arms FROM pages WHERE page > ? ORDER BY page", (page,))
        return ((page, key_of(arms, n_arms)) for page, arms in rows)

    def events_since(self, event: int, n_arms: int) -> Iterator[tuple[Event, Key]]:
        """Yield the events after one, with the arms of their pages; without where a row is damaged."""
        for *row, arms in self._db.execute(
            "SELECT events.*, arms FROM events LEFT JOIN pages USING (page) WHERE event > ? ORDER BY event", (event,)
        ):
            happened, key = Event(*row), key_of(arms, n_arms)
            yield happened, key if happened.is_of(key) else ()

    def outcomes(self, n_arms: int, *, by_page: bool) -> Iterator[tuple[int, Key, bytes | None]]:
        """Yield the outcomes that a policy was told or will be, in the order in which they came, or of their pages.

        In the order of the pages those that are open are there too, without an outcome.
        """
        order = "page" if by_page else "event"
        for page, arms, is_open, *row in self._db.execute(
            "SELECT page, arms, waiting.page IS NOT NULL, events.* FROM pages LEFT JOIN events USING (page)"
            f" LEFT JOIN waiting USING (page) WHERE length(sheet) > 0 ORDER BY {order}, page"
        ):
            happened, key = Event(*row), key_of(arms, n_arms)
            if is_open and by_page:
                yield page, key, None
            elif key and happened.is_of(key) and happened.signs is not None:
                yield page, key, happened.signs

    def latest(self) -> float | None:
        """Return the time at which the store was used last, None for a store without a page."""
        ended = self.about(ENDED)
        if ended:
            return float(ended)
        times = [
            self._db.execute(f"SELECT at FROM {one}s ORDER BY {one} DESC LIMIT 1").fetchone()
            for one in ("page", "event")
        ]
        return max((row[0] for row in times if row and isinstance(row[0], float)), default=None)

    def add_switch(self, page: int, at: float, switch: Switch) -> None:
        """Write that a switch was used."""
        self._db.execute(
            "INSERT INTO switches (page, at, what, value, who) VALUES (?, ?, ?, ?, ?)",
            (page, at, *pack_switch(switch)),
        )

    def switches(self) -> list[Switched | None]:
        """Return the switches that were used; None where a row is damaged."""
        return list(switches_in(self._db))

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
        file, arrays = io.BytesIO(), dict[str, Any](snapshot.arrays)
        np.savez(file, **arrays)
        row = (snapshot.events, snapshot.pages, file.getvalue(), snapshot.lines)
        self._db.execute("INSERT OR REPLACE INTO snapshot VALUES (1, ?, ?, ?, ?)", row)


def _files(paths: tuple[Path, Path]) -> tuple[list[tuple[int, int]] | None, int]:
    """Return which files a store and its log are, None if one of them is not there; and the bytes of the first."""
    try:
        found = [one.stat() for one in paths]
    except OSError:
        return None, 0
    return [(one.st_dev, one.st_ino) for one in found], found[0].st_size
