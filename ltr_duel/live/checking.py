"""Look through a store: whether its file is whole, and its rows are those of an experiment."""

from __future__ import annotations

import sqlite3
import struct
from contextlib import closing
from pathlib import Path

from ltr_duel.core import InputError, arguments
from ltr_duel.live.schema import connected
from ltr_duel.live.settings import Settings, kept_settings
from ltr_duel.live.sheets import read_ids, read_key, unpack_page

_WRONG = (  # what there must not be, and how often it is there
    ("pages are missing", "SELECT coalesce(max(page), 0) - count(*) FROM pages"),
    ("events are missing", "SELECT coalesce(max(event), 0) - count(*) FROM events"),
    ("open pages have no row", "SELECT count(*) FROM waiting WHERE page NOT IN (SELECT page FROM pages)"),
    ("events are of pages without a row", "SELECT count(*) FROM events WHERE page NOT IN (SELECT page FROM pages)"),
    ("events are second ends of pages", "SELECT count(*) - count(DISTINCT page) FROM events WHERE kind > 0"),
    (
        "pages are open and closed",
        "SELECT count(*) FROM waiting WHERE page IN (SELECT page FROM events WHERE kind > 0)",
    ),
)
_DAMAGED = (struct.error, ValueError, LookupError, TypeError, OverflowError)  # what a row can lead to
_MOST = 20  # complaints about single pages


def check_store(store: str | Path) -> list[str]:
    """Look through a store; a service may go on writing to it.

    Parameters
    ----------
    store : path

    Returns
    -------
    list of str
        Sentences about what is wrong; empty for a store that is sound.

    Raises
    ------
    InputError
        If the file is no store, or so damaged that it cannot be read.

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
    try:
        with closing(connected(path, writes=False)) as db:
            db.execute("BEGIN")  # one moment
            said = [one for (one,) in db.execute("PRAGMA integrity_check(5)") if one != "ok"]
            found = [f"the file is damaged: {one}" for one in said]
            for what, words in _WRONG:
                (count,) = db.execute(words).fetchone()
                found += [f"{count:,} {what}"] if count else []
            (text,) = db.execute("SELECT value FROM about WHERE key = 'settings'").fetchone()
            return found + _wrong_pages(db, kept_settings(text, path))
    except (sqlite3.Error, TypeError) as error:
        raise InputError(f"{path}: the store cannot be read: {error}") from None


def _wrong_pages(db: sqlite3.Connection, settings: Settings) -> list[str]:
    """Say which pages could not be credited."""
    found = []
    for page, arms, text, sheet in db.execute("SELECT page, arms, shown, sheet FROM pages"):
        try:
            names = tuple([f"{settings.rankers[arm]}\0{k}" for k, arm in enumerate(read_key(arms))])
            ids = read_ids(text)
            if sheet:
                unpack_page(settings, names, ids, sheet)
        except _DAMAGED:
            found.append(f"page {page} is damaged")
            if len(found) == _MOST:
                break
    return found
