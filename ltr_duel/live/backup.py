"""A copy of a store that is whole, also while a service writes to it."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from ltr_duel.core import InputError, arguments, files
from ltr_duel.live.schema import ENDED, LEAD, LOG, connected


def backup_store(store: str | Path, out: str | Path, *, without_log: bool = False) -> int:
    """Copy a store as it is at one moment; a service may go on writing to it meanwhile. Returns the number of pages.

    Everything that was acknowledged before the call is in the copy. A copy of the file by other programs lacks what
    stands only in the log beside it (``<store>-wal``). To restore a store, stop the service, move the store and the
    files beside it away, and copy the backup to its place in the same way.

    out: a new file, for its owner alone to read. It appears whole or not at all.
    without_log: accept a file that other programs copied without its log, and what it lacks.

    Raises `InputError` if the store is none or damaged, or if there is a file at ``out`` or a log of one.
    """
    path, target = arguments.as_path("a store", store), arguments.as_path("a backup", out)
    for one in (target, *(target.with_name(f"{target.name}{end}") for end in ("-wal", "-shm", "-journal"))):
        if one.exists():
            raise InputError(f"{one}: there is a file already; move it away, or give the backup another name")
    with (
        closing(connected(path, writes=False, without_log=without_log)) as source,
        files.replacing(target) as temporary,
    ):
        temporary.chmod(0o600)
        try:
            with closing(sqlite3.connect(temporary, isolation_level=None)) as copy:
                source.backup(copy)
                copy.execute("INSERT OR REPLACE INTO about SELECT ?, value FROM about WHERE key = ?", (LOG, LEAD))
                copy.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (ENDED, time.time()))
                (wrong,) = copy.execute("PRAGMA quick_check(1)").fetchone()
                if wrong != "ok":
                    raise InputError(f"{path}: is damaged: {wrong}")
                (pages,) = copy.execute("SELECT count(*) FROM pages").fetchone()
        except sqlite3.Error as error:
            raise InputError(f"{path}: cannot be copied: {error}") from None
    return int(pages)
