"""Bring a store of schema 1 up to date, where a user counted for a pair by the page that was *closed* first.

A page with clicks closes at once, one without at its deadline. Of a user with several open pages the clicked one
counted, so means were too far from 0. All pages and events are in the store, so they are counted again by the page that
was shown first.
"""

from __future__ import annotations

import io
import sqlite3
from collections import defaultdict
from pathlib import Path

import numpy as np

from ltr_duel.live.settings import kept_settings
from ltr_duel.live.sheets import in_bytes, read_key
from ltr_duel.live.tally import Tally

_PAGES = "SELECT page, user, arms FROM pages WHERE user IS NOT NULL AND length(sheet) > 0 ORDER BY page"
_EVENTS = """
SELECT kind, arms, credit, seen FROM events JOIN pages USING (page)
WHERE event <= (SELECT events FROM snapshot) ORDER BY event
"""


def count_users_when_shown(db: sqlite3.Connection) -> None:
    """Add the columns of schema 2, and write again for which pairs each page is its user's first."""
    db.execute("ALTER TABLE pages ADD COLUMN chance REAL")
    db.execute("ALTER TABLE waiting ADD COLUMN seen BLOB")
    (place,) = (row[2] for row in db.execute("PRAGMA database_list") if row[1] == "main")
    (text,) = db.execute("SELECT value FROM about WHERE key = 'settings'").fetchone()
    n_arms = len(kept_settings(text, Path(place)).rankers)
    tally = Tally(n_arms)
    users: dict[str, int] = defaultdict(int)
    db.execute("CREATE TEMP TABLE firsts (page INTEGER PRIMARY KEY, seen BLOB)")
    for page, user, arms in db.execute(_PAGES).fetchall():
        key = read_key(arms, n_arms)
        if len(set(key)) == len(key):
            db.execute("INSERT INTO firsts VALUES (?, ?)", (page, in_bytes(users[user]) or None))
            users[user] |= tally.bits(key)
    for table in ("events", "waiting"):
        db.execute(f"UPDATE {table} SET seen = (SELECT seen FROM firsts WHERE firsts.page = {table}.page)")
    db.execute("DROP TABLE firsts")
    db.execute("DELETE FROM users")
    db.executemany("INSERT INTO users VALUES (?, ?)", ((user, in_bytes(seen)) for user, seen in users.items()))
    _count_snapshot_again(db, tally, n_arms)


def _count_snapshot_again(db: sqlite3.Connection, tally: Tally, n_arms: int) -> None:
    row = db.execute("SELECT arrays FROM snapshot").fetchone()
    if row is None:
        return
    with np.load(io.BytesIO(row[0]), allow_pickle=False) as file:
        arrays = dict(file)
    if not arrays:
        return
    for kind, arms, credit, seen in db.execute(_EVENTS):
        tally.happen(kind, read_key(arms, n_arms), credit, int.from_bytes(seen or b"", "little"))
    again = io.BytesIO()
    np.savez(again, **(arrays | {"fresh": tally.fresh}))
    db.execute("UPDATE snapshot SET arrays = ?", (again.getvalue(),))
