"""The store of a live experiment: an SQLite file that keeps every page, event and outcome.

One process serves the experiment. At the same time, other processes may read the store, pause the experiment, remove
the data of users, and make backups.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from ltr_duel.core import InputError, arguments, errors, files
from ltr_duel.live.settings import Settings, parse_settings
from ltr_duel.live.validation import FORGOTTEN, StoreError

_APPLICATION, _VERSION = 0x4C54524C, 9
_PATIENCE = 10_000  # milliseconds to wait until another process has finished its transaction
_DAY = 86_400.0
# meta: settings, id, time of creation, latest time, and version of the plan
# exposures: pages; seen: whether a page has an event in its window; learned: whether it was counted
# outcomes: outcomes for the policy; counts: number of outcomes of each pair of rankers a and b
# first: whether these are outcomes of users' first pages of the pair; met: pairs that each user has seen
# totals: number of counted pages of each set of rankers; controls: uses of controls
_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE exposures (
    n INTEGER PRIMARY KEY, impression TEXT UNIQUE, time REAL, user TEXT, query TEXT, rankers TEXT, record TEXT,
    context TEXT, seen INTEGER DEFAULT 0, learned INTEGER DEFAULT 0
);
CREATE INDEX due ON exposures (n) WHERE NOT learned;
CREATE TABLE events (
    impression TEXT, kind TEXT, position INTEGER, id TEXT, value REAL, time REAL,
    PRIMARY KEY (impression, kind, position, id)
) WITHOUT ROWID;
CREATE TABLE outcomes (n INTEGER PRIMARY KEY, exposure INTEGER UNIQUE, arms TEXT, signs BLOB);
CREATE TABLE counts (
    a INTEGER, b INTEGER, y INTEGER, first INTEGER, n INTEGER, PRIMARY KEY (a, b, y, first)
) WITHOUT ROWID;
CREATE TABLE met (user TEXT, a INTEGER, b INTEGER, PRIMARY KEY (user, a, b)) WITHOUT ROWID;
CREATE TABLE totals (rankers TEXT PRIMARY KEY, shown INTEGER, seen INTEGER, clicked INTEGER) WITHOUT ROWID;
CREATE TABLE controls (n INTEGER PRIMARY KEY, time REAL, action TEXT, value TEXT, who TEXT);
"""
_RULES = {  # faults that no store may have, each with a query that counts them
    "events of no page": "SELECT count(*) FROM events WHERE impression NOT IN (SELECT impression FROM exposures)",
    "outcomes of pages that do not count":
        "SELECT count(*) FROM outcomes WHERE exposure NOT IN (SELECT n FROM exposures WHERE learned)",
    "pages missing from the totals":
        "SELECT abs((SELECT count(*) FROM exposures WHERE learned) - (SELECT coalesce(sum(shown), 0) FROM totals))",
    "first exposures that differ from the users' pairs":
        "SELECT abs((SELECT count(*) FROM met) - (SELECT coalesce(sum(n), 0) FROM counts WHERE first))",
}  # fmt: skip


class Store:
    """A store that is open for writing. Only the process that serves the experiment has one."""

    def __init__(self, path: str | Path, meta: dict[str, Any] | None = None) -> None:
        self.path = Path(os.path.realpath(arguments.as_path("a store", path)))
        with ExitStack() as stack:
            try:
                stack.enter_context(files.sole_writer(self.path, self.path.with_name(f"{self.path.name}-lock")))
            except OSError as error:
                raise InputError(f"{path}: cannot be written: {files.cause(error)}") from None
            if meta is not None and not self.path.exists():  # a new store, with these rows of the table meta
                _make(self.path, meta)
            self.db = connected(self.path)
            stack.callback(self.db.close)
            self._version = self._data_version()
            self._held = stack.pop_all()

    def close(self) -> None:
        """Close the file and release its lock."""
        self._held.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Store all changes of a ``with`` block at its end. If the block raises an error, no change is stored."""
        try:
            self.db.execute("BEGIN IMMEDIATE")
            yield
            self.db.execute("COMMIT")
        except BaseException as error:
            with suppress(sqlite3.Error):
                self.db.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise StoreError(f"the store cannot be written now: {error}") from None
            raise

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows that an SQL query finds."""
        try:
            return self.db.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"the store cannot be read: {error}") from None

    def meta(self, key: str) -> Any:
        """Return the value of a key in the table ``meta``, or None if the key is missing."""
        rows = self.rows("SELECT value FROM meta WHERE key = ?", (key,))
        return rows[0][0] if rows else None

    def set_meta(self, key: str, value: Any) -> None:
        """Write a row of the table ``meta``."""
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def changed(self) -> bool:
        """Whether another process has changed the store since the last call."""
        before, self._version = self._version, self._data_version()
        return before != self._version

    def _data_version(self) -> int:
        return int(self.rows("PRAGMA data_version")[0][0])


def _make(path: Path, meta: dict[str, Any]) -> None:
    with files.replacing(path) as temporary:
        temporary.chmod(0o600)  # the file contains queries and users
        with closing(sqlite3.connect(temporary, isolation_level=None)) as db:
            db.executescript(
                f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {_VERSION}; BEGIN; {_TABLES} COMMIT;"
            )
            rows = {"experiment": secrets.token_hex(16), "started": time.time(), "clock": 0.0, "version": 1, **meta}
            db.executemany("INSERT INTO meta VALUES (?, ?)", rows.items())
            db.execute("PRAGMA journal_mode = WAL")


def connected(store: str | Path) -> sqlite3.Connection:
    """Connect to an existing store."""
    path = arguments.as_path("a store", store)
    if not path.is_file():
        raise InputError(f"{path}: there is no store of a live experiment")
    db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None, check_same_thread=False)
    try:
        db.execute(f"PRAGMA busy_timeout = {_PATIENCE}")
        kinds = ("application_id", "user_version")
        application, version = (db.execute(f"PRAGMA {kind}").fetchone()[0] for kind in kinds)
        if application != _APPLICATION:
            raise InputError(f"{path}: is not a store of a live experiment")
        if version != _VERSION:
            raise InputError(f"{path}: was made by another version of ltr-duel")
        for pragma in ("synchronous = FULL", "fullfsync = ON", "checkpoint_fullfsync = ON"):
            db.execute(f"PRAGMA {pragma}")  # the last two are for macOS, where fsync alone leaves data in disk caches
    except BaseException as error:
        db.close()
        if isinstance(error, sqlite3.Error):
            fault = "is not a store of a live experiment" if "not a database" in str(error) else error
            raise InputError(f"{path}: {fault}") from None
        raise
    return db


@contextmanager
def reading(store: str | Path) -> Iterator[sqlite3.Connection]:
    """Connect to a store for reading. While you are connected, you do not see what other processes write."""
    with closing(connected(store)) as db:
        try:
            db.execute("BEGIN")
            yield db
        except sqlite3.Error as error:
            raise InputError(f"{store}: cannot be read: {error}; see 'ltr-duel live check'") from None


def settings_in(db: sqlite3.Connection, store: str | Path) -> Settings:
    """Return the settings of a store."""
    (text,) = db.execute("SELECT value FROM meta WHERE key = 'settings'").fetchone()
    return parse_settings(text, Path(store))


def backup_store(store: str | Path, out: str | Path) -> int:
    """Copy a store to a new file, and return the number of pages. The store may be in use."""
    target = arguments.as_path("a backup", out)
    for path in (target, *(target.with_name(f"{target.name}{end}") for end in ("-wal", "-shm"))):
        if path.exists():
            raise InputError(f"{path}: this file exists already; move it away, or choose another name for the backup")
    with closing(connected(store)) as source, files.replacing(target) as temporary:
        temporary.chmod(0o600)
        try:
            with closing(sqlite3.connect(temporary, isolation_level=None)) as copy:
                source.backup(copy)
                if copy.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                    raise InputError(f"{store}: is damaged; see 'ltr-duel live check'")
                (pages,) = copy.execute("SELECT count(*) FROM exposures").fetchone()
        except sqlite3.Error as error:
            raise InputError(f"{store}: cannot be copied: {error}") from None
    return int(pages)


def check_store(store: str | Path) -> list[str]:
    """Check a store, and return a list of its faults."""
    with closing(connected(store)) as db:
        try:
            db.execute("BEGIN")
            damage = [text for (text,) in db.execute("PRAGMA integrity_check(10)") if text != "ok"]
            faults = [(fault, db.execute(sql).fetchone()[0]) for fault, sql in _RULES.items()]
        except sqlite3.Error as error:
            return [f"cannot be read: {error}"]
    return damage + [f"{fault}: {count:,}" for fault, count in faults if count]


def forget(store: str | Path, *, user: str = "", older_than: float | None = None, now: float | None = None) -> int:
    """Remove the personal data of a user, or of all pages older than some days. Return the number of changed pages.

    The user, the pages and the events get random names. The query becomes "forgotten", and the context becomes empty.
    Tokens of the pages become invalid. The results of the experiment do not change. Users who return later count as new
    users. For this reason, ``older_than`` does not rename users who have a newer page.
    """
    if bool(user) == (older_than is not None):
        raise InputError("name either a user or a number of days")
    if older_than is not None:
        errors.require_between("the number of days", older_than, 0, 1e6)
    before = (time.time() if now is None else now) - (older_than or 0.0) * _DAY
    users = "SELECT ?" if user else "SELECT user FROM exposures GROUP BY user HAVING max(time) < ?"
    pages = "user = ?" if user else "time < ?"
    value = (user or before,)
    with closing(connected(store)) as db:
        try:
            db.execute("PRAGMA secure_delete = ON")
            db.create_function("random_name", 0, lambda: FORGOTTEN + secrets.token_hex(8))
            db.create_function("random_page", 1, lambda name: f"{name.partition('-')[0]}-{secrets.token_hex(8)}")
            db.execute("BEGIN IMMEDIATE")
            db.execute("CREATE TEMP TABLE renamed AS SELECT user, '' AS name FROM (SELECT NULL AS user) WHERE 0")
            db.execute(f"INSERT INTO renamed SELECT *, random_name() FROM ({users})", value)
            db.execute(f"DELETE FROM renamed WHERE user GLOB '{FORGOTTEN}*'")
            db.execute("CREATE TEMP TABLE pages (impression PRIMARY KEY, name)")
            old = f"{pages} AND (query <> 'forgotten' OR context <> '{{}}' OR user IN (SELECT user FROM renamed))"
            sql = "INSERT INTO pages SELECT impression, random_page(impression) FROM exposures"
            db.execute(f"{sql} WHERE {old}", value)
            for table, also in (
                ("events", "id = CASE id WHEN '' THEN '' ELSE random_name() END"),
                ("exposures", "query = 'forgotten', context = '{}'"),
            ):
                name = f"(SELECT name FROM pages WHERE pages.impression = {table}.impression)"
                old = "impression IN (SELECT impression FROM pages)"
                count = db.execute(f"UPDATE {table} SET impression = {name}, {also} WHERE {old}").rowcount
            for table in ("exposures", "met"):
                db.execute(
                    f"UPDATE {table} SET user = (SELECT name FROM renamed WHERE user = {table}.user)"
                    " WHERE user IN (SELECT user FROM renamed)"
                )
            db.execute("COMMIT")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()  # removes the former rows from the write-ahead log
        except sqlite3.Error as error:
            raise StoreError(f"{store}: cannot be written now: {error}") from None
    return count
