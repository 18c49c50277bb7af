"""Switches used from beside a service: it sees them within a second."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from ltr_duel.core import InputError, arguments
from ltr_duel.live.rows import settings_in, switches_in
from ltr_duel.live.schema import connected
from ltr_duel.live.switches import Switch, Switched, Switches, completed, pack_switch, switched, switches_of

_PATIENCE = 10.0  # seconds for a service to end its transaction
_SEEN = "SELECT count(*), (SELECT value FROM about WHERE key = 'settings') FROM switches"  # what a use depends on


def switch_store(store: str | Path, switch: Switch) -> Switches:
    """Use a switch of an experiment, whether or not a service runs; one that does sees it within a second.

    Returns what holds now.

    Raises `InputError` if the file is no store or cannot be written, or the switch is of no use now.
    """
    path = arguments.as_path("a store", store)
    with closing(connected(path, writes=True)) as db:
        try:
            db.execute(f"PRAGMA busy_timeout = {int(1000 * _PATIENCE)}")
            while True:
                seen, settings = db.execute(_SEEN).fetchone(), settings_in(db, path)
                before = switches_of(switches_in(db), settings, builds=False)
                use = completed(switch, before)
                now = switched(before, use, settings)  # perhaps after seconds: a service may not wait for it
                db.execute("BEGIN IMMEDIATE")
                if db.execute(_SEEN).fetchone() == seen:
                    break
                db.execute("ROLLBACK")
            (page,) = db.execute("SELECT coalesce(max(page), 0) FROM pages").fetchone()
            db.execute(
                "INSERT INTO switches (page, at, what, value, who) VALUES (?, ?, ?, ?, ?)",
                (page, time.time(), *pack_switch(use)),
            )
            db.execute("COMMIT")
        except sqlite3.Error as error:
            raise InputError(f"{path}: cannot be written: {error}") from None
    return now


def read_switches(store: str | Path) -> tuple[Switches, list[Switched]]:
    """Return what the switches of an experiment say, and each use of one; an experiment may go on meanwhile.

    They are in order. The pages after number ``page`` were shown after it.

    Raises `InputError` if the file is no store, or cannot be read.
    """
    path = arguments.as_path("a store", store)
    with closing(connected(path, writes=False)) as db:
        try:
            rows = list(switches_in(db))
            return switches_of(rows, settings_in(db, path), builds=False), [one for one in rows if one]
        except sqlite3.Error as error:
            raise InputError(f"{path}: the store cannot be read: {error}") from None
