"""What a store forgets: who a user was, and what was asked. Counts and outcomes stay as they are."""

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

from ltr_duel.core import InputError, arguments, errors
from ltr_duel.live.calls import StoreError
from ltr_duel.live.schema import BEFORE, FORGOT, NAMELESS, connected
from ltr_duel.live.users import hashed_user, require_own_key

_DAY = 86_400.0
_PATIENCE = 10_000  # milliseconds for a service to end its transaction
_SOME = 500  # pages that are forgotten in one transaction, beside a service
_NEXT = """
SELECT page, at FROM pages WHERE page > ? AND (at <= ? OR typeof(at) <> 'real') ORDER BY page LIMIT ?
"""  # those of a clock that was ahead go with the next ones: a page has a later one's time at most
_DONE = "retained"  # a key of ``about``: up to this page all are forgotten
_KNOWN = f"(query <> '' OR user NOT LIKE '{NAMELESS}%')"
_OTHER = "query = '', context = NULL, user = CASE WHEN user IS NULL THEN NULL ELSE other_name(user) END"
_NAMES = f"name = other_name(name) WHERE name <> '' AND name NOT LIKE '{NAMELESS}%' AND page IN"
_SAY_BEFORE = "INSERT INTO about VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = ?2 WHERE value < ?2"
_BELIEVED = "believed"  # a key of ``about``: the latest time of the clock that `retain` went by
_DOUBTED = "doubted"  # another one: since when, by a clock that may be wrong, it forgets nothing
_LEAP = 2 * _DAY  # more than that between two looks, and it may be that the clock is wrong
_USERS = (
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
    """Forget the queries and the name of a user, or those of all pages of a time; a service may go on meanwhile.

    Queries and contexts become empty. In place of the user stands a random name, the same on all pages that are
    forgotten together, so an exported log still groups them. A user who comes back afterwards is a new one, and of a
    user whose pages are forgotten in part the log has two.

    user: as the search page names the user.
    older_than: days, at least 0; of pages that were shown earlier, all users and queries are forgotten.
    user_key: by which the users of the store are hashed; empty if they are not.
    now: the time, in seconds; that of the clock if not given.

    Returns how many pages were concerned.

    Raises `InputError` if neither or both of ``user`` and ``older_than`` are given, the key is not that of the store,
    or the file is no store or cannot be written.
    """
    if bool(user) == (older_than is not None):
        raise InputError("name a user, or a number of days, and not both")
    before = 0.0
    if older_than is not None:
        errors.require_between("the number of days", older_than, 0, 1e6)
        before = (time.time() if now is None else now) - older_than * _DAY
    path = arguments.as_path("a store", store)
    with closing(_connected(path)) as db:
        try:
            db.execute("BEGIN IMMEDIATE")
            if user:
                require_own_key(dict(db.execute("SELECT key, value FROM about")), user_key, path)
                pages = _forget(db, "user = ?", hashed_user(user_key, user))
            else:
                pages = _forget(db, f"at < ? AND {_KNOWN}", before)
                db.execute(f"UPDATE outcomes SET {_NAMES} (SELECT page FROM pages WHERE at < ?)", (before,))
                _say_before(db, "at < ?", (before,))
            db.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (FORGOT, secrets.token_hex(8)))
            db.execute("COMMIT")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()  # the log holds the former rows
        except sqlite3.Error as error:
            raise InputError(f"{path}: cannot be written: {error}") from None
    return pages


def retain(store: Path, days: float, now: float, used: float) -> Generator[int, None, bool]:
    """Forget the users and queries of pages that were shown earlier than so many days ago, some pages at a time.

    One start under a wrong clock would forget everybody. So while the clock is further ahead than `_LEAP` of the look
    before, nothing is forgotten, until a look a day after the first of these finds it still there.

    now: the time, in seconds.
    used: when the store was used last, before the service that uses it now; of a new one, when it was made.

    Yields how many pages were forgotten in a transaction; a service may have its own ones in between.

    Returns whether the clock was believed. Raises `StoreError` if the store cannot be written.
    """
    with closing(_connected(store)) as db:
        try:
            if not _believes(db, now, used):
                return False
            _name_others(db)
            db.execute("CREATE TEMP TABLE former (user TEXT PRIMARY KEY)")
            while True:
                db.execute("BEGIN IMMEDIATE")
                (done,) = db.execute("SELECT coalesce(max(value), 0) FROM about WHERE key = ?", (_DONE,)).fetchone()
                rows = db.execute(_NEXT, (done, now, _SOME))
                old = [page for page, _ in takewhile(lambda row: _is_old(row[1], now - days * _DAY), rows.fetchall())]
                if not old:
                    break
                pages = (done, old[-1])
                which = f"page > ? AND page <= ? AND {_KNOWN}"
                db.execute(f"INSERT OR IGNORE INTO former SELECT user FROM pages WHERE user <> '' AND {which}", pages)
                db.execute(f"UPDATE outcomes SET {_NAMES} (SELECT page FROM pages WHERE page > ? AND page <= ?)", pages)
                count = db.execute(f"UPDATE pages SET {_OTHER} WHERE {which}", pages).rowcount
                db.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (_DONE, old[-1]))
                _say_before(db, "at < ? AND page > ? AND page <= ?", (now - days * _DAY, *pages))
                db.execute("COMMIT")
                yield count
            db.execute(_USERS)
            db.execute("COMMIT")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"the store cannot be written now: {error}") from None
    return True


def _believes(db: sqlite3.Connection, now: float, used: float) -> bool:
    """Whether the clock can be right, and write down what the next look needs."""
    db.execute("BEGIN IMMEDIATE")
    about = dict(db.execute("SELECT key, value FROM about WHERE key IN (?, ?)", (_BELIEVED, _DOUBTED)))
    since = about.get(_DOUBTED, math.inf)
    before = about.get(_BELIEVED, used)
    still_there = since + _DAY <= now <= since + _DAY + _LEAP
    believed = now <= before + _LEAP or still_there
    since = since if since <= now < since + _DAY else now  # another leap begins another doubt
    if believed:
        db.execute("DELETE FROM about WHERE key = ?", (_DOUBTED,))
    db.executemany(
        "INSERT OR REPLACE INTO about VALUES (?, ?)",
        [(_BELIEVED, now if believed else before), *([] if believed else [(_DOUBTED, since)])],
    )
    db.execute("COMMIT")
    return believed


def _say_before(db: sqlite3.Connection, which: str, values: tuple[float, ...]) -> None:
    """Write that these pages are forgotten: by the time of the latest, as a wrong clock would concern pages to come."""
    (latest,) = db.execute(f"SELECT max(at) FROM pages WHERE {which}", values).fetchone()
    if latest is not None:
        db.execute(_SAY_BEFORE, (BEFORE, math.nextafter(latest, math.inf)))


def _is_old(at: Any, before: float) -> bool:
    return not isinstance(at, float) or at < before  # a damaged row has no time


def _connected(path: Path) -> sqlite3.Connection:
    """Connect to a store so that what is replaced is wiped."""
    db = connected(path, writes=True)
    for pragma in (f"busy_timeout = {_PATIENCE}", "secure_delete = ON"):
        db.execute(f"PRAGMA {pragma}")
    return db


def _name_others(db: sqlite3.Connection) -> None:
    """Let SQL give users random names, which are the same for as long as this connection."""
    key = secrets.token_bytes(16)

    def other(name: str) -> str:
        return f"{NAMELESS}{hashlib.blake2b(str(name).encode(), key=key, digest_size=8).hexdigest()}"

    db.create_function("other_name", 1, other, deterministic=True)


def _forget(db: sqlite3.Connection, which: str, value: str | float) -> int:
    """Give the users of some pages random names, here and, of those who have no other page, in the table of users."""
    _name_others(db)
    db.execute(f"CREATE TEMP TABLE former AS SELECT DISTINCT user FROM pages WHERE {which}", (value,))
    db.execute(f"UPDATE outcomes SET {_NAMES} (SELECT page FROM pages WHERE {which})", (value,))
    done = db.execute(f"UPDATE pages SET {_OTHER} WHERE {which}", (value,)).rowcount
    db.execute(_USERS)
    return int(done)
