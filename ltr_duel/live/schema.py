"""The file of a live experiment, an SQLite data base: made whole, opened only if it is one, brought up to date.

While it is written, new rows are in the log beside it (``<store>-wal``) first. So that a copy of the file alone cannot
pass for the store, the file says so: what ``lead`` is in the file, ``log`` is as soon as the log is read too.

``pages`` are only added to, and so are ``events``: a plain page was shown, or a page was closed; ``switches``, see
`ltr_duel.live.switches`; and ``outcomes``, see `ltr_duel.live.outcomes`. ``waiting`` are the pages that are open,
``gathered`` the clicks of those whose reports were not final, and an empty row for each page that was closed to make
room. ``depth`` of a page is how many documents its user has seen, from the top: null for all of them, 0 for a page that
reached no user. ``snapshot`` is what the experiment knew after so many events, so that few are read again.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ltr_duel.core import InputError, files, places

SCHEMA_VERSION = 6
_APPLICATION = 0x4C54524C  # marks the file as one of ours
LEAD, LOG = "lead", "log"  # keys of ``about``
ENDED = "ended"  # another one: when the store was closed, 0 while it is in use
FORGOT = "forgot"  # another one: changes when pages of a user are forgotten
BEFORE = "before"  # another one: pages that were shown earlier are forgotten
NAMELESS = "forgotten-"  # begins the name of a user who was forgotten
SIDES = "sides"  # another one: the key by which users fall on sides
_TABLES = """
CREATE TABLE about (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE pages (
    page INTEGER PRIMARY KEY, at REAL, query TEXT, user TEXT, arms BLOB, shown TEXT, sheet BLOB, chance REAL
);
CREATE TABLE waiting (page INTEGER PRIMARY KEY, expires INTEGER, seen BLOB);
CREATE TABLE events (
    event INTEGER PRIMARY KEY, page INTEGER, at REAL, kind INTEGER, clicks BLOB, credit BLOB, signs BLOB, seen BLOB
);
CREATE TABLE users (user TEXT PRIMARY KEY, seen BLOB) WITHOUT ROWID;
CREATE TABLE snapshot (one INTEGER PRIMARY KEY CHECK (one = 1), events INTEGER, pages INTEGER, arrays BLOB, lines TEXT);
"""
_GATHERED = "CREATE TABLE IF NOT EXISTS gathered (page INTEGER PRIMARY KEY, clicks BLOB)"
_SWITCHES = "CREATE TABLE switches (switch INTEGER PRIMARY KEY, page INTEGER, at REAL, what TEXT, value TEXT, who TEXT)"

_OUTCOMES = (
    "CREATE TABLE IF NOT EXISTS outcomes (page INTEGER, place INTEGER, kind TEXT, name TEXT, value REAL, at REAL,"
    " PRIMARY KEY (page, place, kind, name)) WITHOUT ROWID"
)


def _add_switches(db: sqlite3.Connection) -> None:
    db.execute(_GATHERED)
    db.execute(_SWITCHES)
    db.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (SIDES, secrets.token_hex(16)))


MIGRATIONS: dict[int, Callable[[sqlite3.Connection], object]] = {  # from a version to the next
    2: _add_switches,
    3: lambda db: db.execute(_OUTCOMES),
    4: lambda db: db.execute("ALTER TABLE pages ADD COLUMN context TEXT"),
    5: lambda db: db.execute("ALTER TABLE pages ADD COLUMN depth INTEGER"),
}


def make_store(path: Path, about: dict[str, Any]) -> None:
    """Make an empty store; it appears whole or not at all.

    Raises `InputError` if it cannot be written there.
    """
    with files.replacing(path) as temporary:
        temporary.chmod(0o600)  # queries and users are in it
        connection = sqlite3.connect(temporary, isolation_level=None)
        try:
            connection.executescript(
                f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {SCHEMA_VERSION};"
                f" BEGIN; {_TABLES} COMMIT;"
            )
            for step in MIGRATIONS.values():
                step(connection)
            connection.executemany("INSERT INTO about VALUES (?, ?)", about.items())
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.Error as error:
            raise InputError(f"{path}: cannot be written: {error}") from None
        finally:
            connection.close()


@contextmanager
def opened(path: Path) -> Iterator[None]:
    """Say what is wrong with a file in one sentence."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        said = "is no store of a live experiment" if "not a database" in str(error) else f"cannot be used: {error}"
        raise InputError(f"{path}: {said}") from None


def has_log(path: Path) -> bool:
    """Whether there are rows in the log beside a store; SQLite makes an empty one when it reads."""
    log = Path(f"{path.resolve()}-wal")
    return log.exists() and log.stat().st_size > 0


def connected(path: Path, *, writes: bool, migrates: bool = False, without_log: bool = False) -> sqlite3.Connection:
    """Connect to a store that exists.

    migrates: bring a store of an earlier version up to date; a service of that version may write to it, unless its lock
        is held.
    without_log: accept a file that was copied without its log.

    Raises `InputError` if it is none, is damaged, or of another version, or a copy without its log.
    """
    if not places.is_file(path):
        raise InputError(f"{path}: there is no store of a live experiment")
    alone = not has_log(path)
    mode = "rw" if writes or alone else "ro"  # a reader that may not write leaves an empty log beside the file
    with opened(path):
        uri = f"{path.absolute().as_uri()}?mode={mode}"
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        connection.text_factory = _text
        try:
            (application,), (version,) = (
                connection.execute(f"PRAGMA {word}").fetchone() for word in ("application_id", "user_version")
            )
            if application != _APPLICATION:
                raise InputError(f"{path}: is no store of a live experiment")
            state = dict(connection.execute("SELECT key, value FROM about WHERE key IN (?, ?)", (LEAD, LOG)))
            if alone and not without_log and state.get(LEAD) != state.get(LOG):
                raise InputError(
                    f"{path}: is a copy of a store in use, without its log, in which the latest pages are; copy a store"
                    " with 'ltr-duel live backup', or accept the loss with 'ltr-duel live backup --without-log'"
                )
            if version > SCHEMA_VERSION:
                raise InputError(
                    f"{path}: was written by a later version of ltr-duel"
                    f" (its schema is {version}, this version knows up to {SCHEMA_VERSION})"
                )
            if version < min(MIGRATIONS):
                raise InputError(
                    f"{path}: was written by a development version of ltr-duel 0.2.0;"
                    " that version exports it ('ltr-duel live export')"
                )
            if version < SCHEMA_VERSION:
                if not migrates:
                    raise InputError(
                        f"{path}: is of an earlier version; open it once with this version's 'ltr-duel serve'"
                    )
                _migrate(connection, version)
            if not writes:
                connection.execute("PRAGMA query_only = ON")
            for pragma in ("synchronous = FULL", "fullfsync = ON", "checkpoint_fullfsync = ON"):
                connection.execute(f"PRAGMA {pragma}")  # the last two matter on macOS, whose fsync leaves disks' caches
            connection.execute("PRAGMA cache_size = -16000")
        except BaseException:
            connection.close()
            raise
    return connection


def _text(raw: bytes) -> str:
    """Return a text of the store; a damaged one concerns its row alone."""
    return raw.decode("utf-8", "surrogateescape")


def _migrate(connection: sqlite3.Connection, version: int) -> None:
    """Bring a store to the version of this program, all steps or none."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for number in range(version, SCHEMA_VERSION):
            MIGRATIONS[number](connection)
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
