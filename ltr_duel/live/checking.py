"""Check and copy a store, while a service may be writing to it."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from itertools import islice
from pathlib import Path

from ltr_duel.core import InputError, arguments, files
from ltr_duel.live.memory import Tally
from ltr_duel.live.rows import DAMAGED, Event, is_damaged, key_of, snapshot_in
from ltr_duel.live.schema import ENDED, LEAD, LOG, connected, has_log
from ltr_duel.live.settings import Settings, settings_in
from ltr_duel.live.switches import replayed, switches_in
from ltr_duel.live.turns import kept_turns

_WRONG = (  # each fault, with the query that counts its cases
    ("pages are missing", "SELECT coalesce(max(page), 0) - count(*) FROM pages"),
    ("events are missing", "SELECT coalesce(max(event), 0) - count(*) FROM events"),
    ("open pages have no row", "SELECT count(*) FROM waiting WHERE page NOT IN (SELECT page FROM pages)"),
    ("events of pages without a row", "SELECT count(*) FROM events WHERE page NOT IN (SELECT page FROM pages)"),
    ("events close pages a second time", "SELECT count(*) - count(DISTINCT page) FROM events WHERE kind > 0"),
    (
        "pages are both open and closed",
        "SELECT count(*) FROM waiting WHERE page IN (SELECT page FROM events WHERE kind > 0)",
    ),
    ("outcomes of pages without a row", "SELECT count(*) FROM outcomes WHERE page NOT IN (SELECT page FROM pages)"),
    (
        "outcomes of documents that were not shown",
        "SELECT count(*) FROM outcomes JOIN pages USING (page)"
        " WHERE typeof(place) <> 'integer' OR (json_valid(shown) AND place >= json_array_length(shown))",
    ),
    (
        "contexts are damaged",
        "SELECT count(*) FROM pages"
        " WHERE context IS NOT NULL AND CASE WHEN json_valid(context) THEN json_type(context) ELSE '' END <> 'object'",
    ),
    ("pages have a damaged depth", "SELECT count(*) FROM pages WHERE typeof(depth) <> 'integer'"),
    ("open pages have no deadline", "SELECT count(*) FROM waiting WHERE typeof(expires) <> 'integer'"),
)
_NOT_CLOSED = (
    "the store was not closed, and it has no log: if it is a copy of a store in use, the latest pages are missing"
)
_MOST = 20  # maximum number of reported faults of each kind


def check_store(store: str | Path) -> list[str]:
    """Check a store, while a service may be writing to it.

    If a store in use is copied without its log (``<store>-wal``), the copy looks like a complete earlier store.
    Therefore a store is marked while it is in use, and a marked file without a log is reported. An old copy of a closed
    store cannot be distinguished from the current store.

    Parameters
    ----------
    store : path

    Returns
    -------
    list of str
        One sentence for each fault, at most 20 of a kind; empty if there are no faults.

    Raises
    ------
    InputError
        If the file is not a store, or is too damaged to be read.

    Examples
    --------
    >>> import tempfile
    >>> from ltr_duel.live import Experiment, Settings
    >>> settings = Settings(name="shoes", rankers=("old", "new"), policy="rucb")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Experiment.open(Path(folder) / "shoes.db", settings) as experiment:
    ...         page = experiment.decide("red shoes", {"old": ["a", "b"], "new": ["c", "a"]})
    ...     check_store(Path(folder) / "shoes.db")
    []
    """
    path = arguments.as_path("a store", store)
    alone = not has_log(path) and not path.with_name(f"{path.name}-lock").exists()
    try:
        with closing(connected(path, writes=False)) as db:
            db.execute("BEGIN")  # all queries read the same state
            said = [one for (one,) in db.execute("PRAGMA integrity_check(5)") if one != "ok"]
            found = [f"the file is damaged: {one}" for one in said]
            for what, words in _WRONG:
                (count,) = db.execute(words).fetchone()
                found += [f"{count:,} {what}"] if count else []
            found += [_NOT_CLOSED] if alone and (ENDED, 0) in db.execute("SELECT key, value FROM about") else []
            settings = settings_in(db, path)
            return (
                found
                + _wrong_pages(db, settings)
                + _wrong_events(db, len(settings.rankers))
                + _wrong_switches(db, settings)
                + _wrong_snapshot(db, settings)
            )
    except (sqlite3.Error, TypeError) as error:
        raise InputError(f"{path}: the store cannot be read: {error}") from None


def _wrong_pages(db: sqlite3.Connection, settings: Settings) -> list[str]:
    """Return a sentence for each page that cannot be credited."""
    rows = db.execute("SELECT page, arms, shown, sheet FROM pages")
    return list(islice((f"page {page} is damaged" for page, *cells in rows if is_damaged(settings, *cells)), _MOST))


def _wrong_events(db: sqlite3.Connection, n_arms: int) -> list[str]:
    """Return a sentence for each event that cannot be counted."""
    rows = db.execute("SELECT events.*, arms FROM events JOIN pages USING (page) ORDER BY event")
    keys = ((row, key_of(arms, n_arms)) for *row, arms in rows)
    return [f"event {row[0]} is damaged" for row, key in keys if key and not Event(*row).is_of(key)][:_MOST]


def _wrong_switches(db: sqlite3.Connection, settings: Settings) -> list[str]:
    """Return a sentence for each damaged or invalid row of the table ``switches``."""
    rows = enumerate(replayed(switches_in(db), settings), 1)
    return [f"use {k} of a switch: {wrong}" for k, (_, wrong) in rows if wrong][:_MOST]


def _wrong_snapshot(db: sqlite3.Connection, settings: Settings) -> list[str]:
    """Return the reason why an experiment cannot continue from the snapshot, or an empty list."""
    try:
        if found := snapshot_in(db):
            Tally(len(settings.rankers)).take(found.arrays)
            kept_turns(settings, found.arrays, found.lines)
    except InputError as error:
        return [f"the snapshot is damaged: {error}"]
    except DAMAGED:
        return ["the snapshot is damaged"]
    return []


def backup_store(store: str | Path, out: str | Path, *, without_log: bool = False) -> int:
    """Copy the current state of a store to a new file, completely or not at all; return the number of pages.

    A service may write to the store meanwhile. ``without_log`` accepts a store that was copied without its log.
    """
    path, target = arguments.as_path("a store", store), arguments.as_path("a backup", out)
    for one in (target, *(target.with_name(f"{target.name}{end}") for end in ("-wal", "-shm", "-journal"))):
        if one.exists():
            raise InputError(f"{one}: this file exists already; move it away, or choose another name for the backup")
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
