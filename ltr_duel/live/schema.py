"""The file of a live experiment: an SQLite database, created completely or not at all, and checked when opened.

During use, new rows are first written to the log beside the file (``<store>-wal``). The keys ``lead`` and ``log`` of
``about`` show whether a copy of the file lacks its log: their values are equal only if the log is read too.

No rows are deleted from ``pages``, ``events`` (a page of a single ranker was shown, or a page was closed), ``switches``
and ``outcomes``. ``waiting`` contains the open pages. For open pages, ``gathered`` contains the clicks of reports
that were not final; it also contains an empty row for each page that was closed at the limit of open pages. The
``depth`` of a page is the number of documents that its user has seen, 0 if the page reached no user. ``snapshot``
contains the state of the memory after ``events`` events.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from ltr_duel.core import InputError, arguments, files, places

SCHEMA_VERSION = 7
_APPLICATION = 0x4C54524C  # marks the file as a store
LEAD, LOG = "lead", "log"  # keys of ``about``
ENDED = "ended"  # a key: time when the store was closed, 0 while it is in use
FORGOT = "forgot"  # a key: each call of `forget` changes its value
BEFORE = "before"  # a key: pages shown before this time are forgotten
NAMELESS = "forgotten-"  # prefix of the names of forgotten users
SIDES = "sides"  # a key: the secret with which users are assigned to experiment or holdback
_TABLES = """
CREATE TABLE about (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE pages (
    page INTEGER PRIMARY KEY, at REAL, query TEXT, user TEXT, arms BLOB, shown TEXT, sheet BLOB, chance REAL,
    context TEXT, depth INTEGER
);
CREATE TABLE waiting (page INTEGER PRIMARY KEY, expires INTEGER, seen BLOB);
CREATE TABLE gathered (page INTEGER PRIMARY KEY, clicks BLOB);
CREATE TABLE events (
    event INTEGER PRIMARY KEY, page INTEGER, at REAL, kind INTEGER, clicks BLOB, credit BLOB, signs BLOB, seen BLOB
);
CREATE TABLE outcomes (
    page INTEGER, place INTEGER, kind TEXT, name TEXT, value REAL, at REAL, PRIMARY KEY (page, place, kind, name)
) WITHOUT ROWID;
CREATE TABLE users (user TEXT PRIMARY KEY, seen BLOB) WITHOUT ROWID;
CREATE TABLE switches (switch INTEGER PRIMARY KEY, page INTEGER, at REAL, what TEXT, value TEXT, who TEXT);
CREATE TABLE snapshot (one INTEGER PRIMARY KEY CHECK (one = 1), events INTEGER, pages INTEGER, arrays BLOB, lines TEXT);
"""


def make_store(path: Path, about: dict[str, Any]) -> None:
    """Create an empty store, completely or not at all. Raises `InputError` if it cannot be written."""
    with files.replacing(path) as temporary:
        temporary.chmod(0o600)  # the file contains queries and users
        connection = sqlite3.connect(temporary, isolation_level=None)
        try:
            connection.executescript(
                f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {SCHEMA_VERSION};"
                f" BEGIN; {_TABLES} COMMIT;"
            )
            rows = {**about, SIDES: secrets.token_hex(16)}
            connection.executemany("INSERT INTO about VALUES (?, ?)", rows.items())
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.Error as error:
            raise InputError(f"{path}: cannot be written: {error}") from None
        finally:
            connection.close()


@contextmanager
def opened(path: Path) -> Iterator[None]:
    """Convert an error of SQLite about a file into `InputError`."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        said = "is not a store of a live experiment" if "not a database" in str(error) else f"cannot be used: {error}"
        raise InputError(f"{path}: {said}") from None


def has_log(path: Path) -> bool:
    """Whether the log beside a store contains rows; SQLite creates an empty log when reading."""
    log = Path(f"{path.resolve()}-wal")
    return log.exists() and log.stat().st_size > 0


def connected(path: Path, *, writes: bool, without_log: bool = False) -> sqlite3.Connection:
    """Connect to an existing store; ``without_log`` accepts a file that was copied without its log."""
    if not places.is_file(path):
        raise InputError(f"{path}: there is no store of a live experiment")
    alone = not has_log(path)
    mode = "rw" if writes or alone else "ro"  # a read-only connection would leave an empty log beside the file
    with opened(path):
        uri = f"{path.absolute().as_uri()}?mode={mode}"
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        connection.text_factory = _text
        try:
            (application,), (version,) = (
                connection.execute(f"PRAGMA {word}").fetchone() for word in ("application_id", "user_version")
            )
            if application != _APPLICATION:
                raise InputError(f"{path}: is not a store of a live experiment")
            _require_version(path, version)
            state = dict(connection.execute("SELECT key, value FROM about WHERE key IN (?, ?)", (LEAD, LOG)))
            if alone and not without_log and state.get(LEAD) != state.get(LOG):
                raise InputError(
                    f"{path}: is a copy of a store in use, without the log that contains the latest pages; copy a store"
                    " with 'ltr-duel live backup', or accept the loss with 'ltr-duel live backup --without-log'"
                )
            if not writes:
                connection.execute("PRAGMA query_only = ON")
            for pragma in ("synchronous = FULL", "fullfsync = ON", "checkpoint_fullfsync = ON"):
                connection.execute(f"PRAGMA {pragma}")  # the last two are for macOS, whose fsync skips disk caches
            connection.execute("PRAGMA cache_size = -16000")
        except BaseException:
            connection.close()
            raise
    return connection


@contextmanager
def used_store(store: str | Path, *, writes: bool = False) -> Iterator[tuple[Path, sqlite3.Connection]]:
    """Connect to a store that a service may be using; convert errors of SQLite into `InputError`."""
    path = arguments.as_path("a store", store)
    with closing(connected(path, writes=writes)) as db:
        try:
            yield path, db
        except sqlite3.Error as error:
            raise InputError(
                f"{path}: {'cannot be written' if writes else 'the store cannot be read'}: {error}"
            ) from None


def _require_version(path: Path, version: int) -> None:
    if version > SCHEMA_VERSION:
        raise InputError(
            f"{path}: was written by a later version of ltr-duel"
            f" (its schema is {version}, this version reads {SCHEMA_VERSION})"
        )
    if version < SCHEMA_VERSION:
        commit = "98b9506" if version > 1 else "7a9b58c"
        raise InputError(
            f"{path}: was written by a development version of ltr-duel; commit {commit} exports it"
            " ('ltr-duel live export')"
        )


def _text(raw: bytes) -> str:
    """Decode a string of the store; damaged bytes do not prevent reading other rows."""
    return raw.decode("utf-8", "surrogateescape")
