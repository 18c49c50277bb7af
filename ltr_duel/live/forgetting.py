"""Remove users and queries from a store. Counts, and values of outcomes, stay unchanged."""

from __future__ import annotations

import hashlib
import math
import secrets
import sqlite3
import time
from collections.abc import Generator
from contextlib import closing
from itertools import takewhile
from pathlib import Path
from typing import Any

from ltr_duel.core import InputError, errors
from ltr_duel.live.calls import StoreError
from ltr_duel.live.opening import hashed_user, require_own_key
from ltr_duel.live.schema import BEFORE, FORGOT, NAMELESS, connected, used_store

_DAY = 86_400.0
_PATIENCE = 10_000  # milliseconds to wait for the end of a service's transaction
_SOME = 500  # maximum number of pages forgotten in one transaction, because a service may be running
_NEXT = """
SELECT page, at FROM pages WHERE page > ? AND (at <= ? OR typeof(at) <> 'real') ORDER BY page LIMIT ?
"""  # skips pages whose time is ahead of the clock; they are forgotten together with the next old page
_DONE = "retained"  # a key of ``about``: all pages up to this number are forgotten
_KNOWN = f"(query <> '' OR user NOT LIKE '{NAMELESS}%')"
_OTHER = "query = '', context = NULL, user = CASE WHEN user IS NULL THEN NULL ELSE other_name(user) END"
_NAMES = f"name = other_name(name) WHERE name <> '' AND name NOT LIKE '{NAMELESS}%' AND page IN"
_RECORD_BEFORE = (
    "INSERT INTO about VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value WHERE value < excluded.value"
)
_BELIEVED = "believed"  # a key of ``about``: the latest clock time that `retain` accepted
_DOUBTED = "doubted"  # another key: the first clock time that `retain` rejected
_LEAP = 2 * _DAY  # a longer time between two calls may be an error of the clock
_FORMER = "CREATE TEMP TABLE former (user TEXT PRIMARY KEY)"
_USERS = (  # rename users all of whose pages are forgotten
    "UPDATE users SET user = other_name(user) WHERE user IN (SELECT user FROM former)"
    " AND user NOT IN (SELECT user FROM pages WHERE user IS NOT NULL)"
)


def forget(
    store: str | Path,
    *,
    user: str = "",
    older_than: float | None = None,
    user_key: bytes = b"",
    now: float | None = None,
) -> int:
    """Forget a user, or all users and queries of pages older than a number of days; return the count of changed pages.

    Queries and contexts become empty. A random name replaces the user. All pages of the user that are forgotten
    together get the same name, so an exported log still groups them. A user who returns counts as a new user. A
    service may be running.
    """
    if bool(user) == (older_than is not None):
        raise InputError("name either a user or a number of days")
    before = 0.0
    if older_than is not None:
        errors.require_between("the number of days", older_than, 0, 1e6)
        before = (time.time() if now is None else now) - older_than * _DAY
    with used_store(store, writes=True) as (path, db):
        _prepare(db)
        db.execute("BEGIN IMMEDIATE")
        if user:
            require_own_key(dict(db.execute("SELECT key, value FROM about")), user_key, path)
            pages = _forget(db, "user = ?", (hashed_user(user_key, user),))
        else:
            pages = _forget(db, f"at < ? AND {_KNOWN}", (before,))
            _record_before(db, "at < ?", (before,))
        db.execute(_USERS)
        db.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (FORGOT, secrets.token_hex(8)))
        db.execute("COMMIT")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()  # the write-ahead log contains the former rows
    return pages


def retain(store: Path, days: float, now: float, used: float) -> Generator[int, None, bool]:
    """Forget the users and queries of pages older than ``days``; yield the number of pages of each transaction.

    A single start with a wrong clock could forget all users. Therefore the time ``now`` is rejected, and nothing is
    forgotten, if it is more than two days after the latest accepted time (in the first call: after ``used``, the time
    of the store's last use). But a time one to three days after the first rejected time is accepted, because the clock
    has run normally in between. Returns whether the time was accepted.
    """
    with closing(connected(store, writes=True)) as db:
        try:
            _prepare(db)
            if not _believes(db, now, used):
                return False
            while True:
                db.execute("BEGIN IMMEDIATE")
                (done,) = db.execute("SELECT coalesce(max(value), 0) FROM about WHERE key = ?", (_DONE,)).fetchone()
                rows = db.execute(_NEXT, (done, now, _SOME))
                old = [page for page, _ in takewhile(lambda row: _is_old(row[1], now - days * _DAY), rows.fetchall())]
                if not old:
                    break
                pages = (done, old[-1])
                count = _forget(db, f"page > ? AND page <= ? AND {_KNOWN}", pages)
                db.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (_DONE, old[-1]))
                _record_before(db, "at < ? AND page > ? AND page <= ?", (now - days * _DAY, *pages))
                db.execute("COMMIT")
                yield count
            db.execute(_USERS)
            db.execute("COMMIT")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"the store cannot be written now: {error}") from None
    return True


def _believes(db: sqlite3.Connection, now: float, used: float) -> bool:
    """Whether the time ``now`` is accepted; the store records the result for the next call."""
    db.execute("BEGIN IMMEDIATE")
    about = dict(db.execute("SELECT key, value FROM about WHERE key IN (?, ?)", (_BELIEVED, _DOUBTED)))
    since = about.get(_DOUBTED, math.inf)
    before = about.get(_BELIEVED, used)
    still_there = since + _DAY <= now <= since + _DAY + _LEAP
    believed = now <= before + _LEAP or still_there
    since = since if since <= now < since + _DAY else now  # a further jump of the clock starts another day of waiting
    if believed:
        db.execute("DELETE FROM about WHERE key = ?", (_DOUBTED,))
    db.executemany(
        "INSERT OR REPLACE INTO about VALUES (?, ?)",
        [(_BELIEVED, now if believed else before), *([] if believed else [(_DOUBTED, since)])],
    )
    db.execute("COMMIT")
    return believed


def _record_before(db: sqlite3.Connection, which: str, values: tuple[float, ...]) -> None:
    """Record the time of the latest forgotten page, not the current time, which may come from a wrong clock."""
    (latest,) = db.execute(f"SELECT max(at) FROM pages WHERE {which}", values).fetchone()
    if latest is not None:
        db.execute(_RECORD_BEFORE, (BEFORE, math.nextafter(latest, math.inf)))


def _is_old(at: Any, before: float) -> bool:
    return not isinstance(at, float) or at < before  # a damaged row may have no time


def _prepare(db: sqlite3.Connection) -> None:
    """Make a connection overwrite deleted content, and define the SQL function ``other_name`` for random names."""
    key = secrets.token_bytes(16)

    def other(name: str) -> str:
        return f"{NAMELESS}{hashlib.blake2b(str(name).encode(), key=key, digest_size=8).hexdigest()}"

    db.create_function("other_name", 1, other, deterministic=True)
    for words in (f"PRAGMA busy_timeout = {_PATIENCE}", "PRAGMA secure_delete = ON", _FORMER):
        db.execute(words)


def _forget(db: sqlite3.Connection, which: str, values: tuple[Any, ...]) -> int:
    """Remove the queries and rename the users of some pages, and list the users for `_USERS`; return the page count."""
    db.execute(f"INSERT OR IGNORE INTO former SELECT user FROM pages WHERE user <> '' AND {which}", values)
    db.execute(f"UPDATE outcomes SET {_NAMES} (SELECT page FROM pages WHERE {which})", values)
    return int(db.execute(f"UPDATE pages SET {_OTHER} WHERE {which}", values).rowcount)
