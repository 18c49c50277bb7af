"""Whether the file of an open store is still the one that was opened.

SQLite keeps what it has read of a file, and does not look whether the file was moved away, replaced, cut short or
written over in place (as `cp` does with a file that exists). What it writes afterwards would be lost, or mixed with
what another program has put there.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from ltr_duel.live.complaints import StoreError
from ltr_duel.live.schema import connected

_LAST = "SELECT coalesce(max({0}), 0) FROM {0}s"


class _Look(NamedTuple):
    files: tuple[tuple[int, int], ...]  # device and number of the file and its log; empty if one is not there
    size: int  # bytes of the file
    written: int  # when it was written: only this process does so, when it puts the log into it


class Watch:
    """Compares the file of a store with what this process has left of it."""

    def __init__(self, path: Path) -> None:
        self._path, self._files = path, (str(path), f"{path}-wal")
        self.take()

    def take(self) -> None:
        """Take note of the file as it is: this process has written to it."""
        self._seen = self._look()

    def is_as_left(self) -> bool:
        """Whether no other program has written to the file.

        Raises `StoreError` if it was moved away, replaced or cut short.
        """
        now = self._look()
        if now.files != self._seen.files:
            raise StoreError("the file of the store was moved away, or another one is at its path")
        if now.size < self._seen.size:  # SQLite never makes it smaller
            raise StoreError("the file of the store was cut short, so nothing is written to it any more")
        return now.written == self._seen.written

    def require_ours(self, experiment: str, last: tuple[int, int]) -> None:
        """Read a file to which another program has written, without what is in memory of it.

        SQLite alone may have put the log into it; then it has the same experiment, the same rows, and is whole.
        """
        look = self._look()
        try:
            with closing(connected(self._path, writes=False, without_log=True)) as db:
                (name,) = db.execute("SELECT value FROM about WHERE key = 'experiment'").fetchone()
                ends = last_of(db)
                (wrong,) = db.execute("PRAGMA quick_check(1)").fetchone()
                same = (name, ends, wrong) == (experiment, last, "ok")
        except (sqlite3.Error, ValueError, TypeError):
            same = False
        if not same:
            raise StoreError("another program has written over the file of the store; restore a backup")
        self._seen = look

    def _look(self) -> _Look:
        try:
            file, log = map(os.stat, self._files)  # in each transaction: Path takes twice as long
        except OSError:
            return _Look((), 0, 0)
        both = (file.st_dev, file.st_ino), (log.st_dev, log.st_ino)
        return _Look(both, file.st_size, file.st_mtime_ns)


def last_of(db: sqlite3.Connection) -> tuple[int, int]:
    """Return the numbers of the last page and the last event."""
    pages, events = (db.execute(_LAST.format(one)).fetchone()[0] for one in ("page", "event"))
    return pages, events
