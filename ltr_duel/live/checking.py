"""Look through a store: whether its file is whole, and its rows are those of an experiment."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import islice
from pathlib import Path

from ltr_duel.core import InputError, arguments
from ltr_duel.live.policies import kept_policy
from ltr_duel.live.rows import DAMAGED, Event, is_damaged, key_of, settings_in, snapshot_in, switches_in
from ltr_duel.live.schema import ENDED, connected, has_log
from ltr_duel.live.settings import Settings
from ltr_duel.live.switches import replayed
from ltr_duel.live.tally import Tally
from ltr_duel.live.turns import Turns

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
    ("outcomes are of pages without a row", "SELECT count(*) FROM outcomes WHERE page NOT IN (SELECT page FROM pages)"),
    (
        "outcomes are of documents that were not shown",
        "SELECT count(*) FROM outcomes JOIN pages USING (page)"
        " WHERE typeof(place) <> 'integer' OR (json_valid(shown) AND place >= json_array_length(shown))",
    ),
    (
        "contexts are damaged",
        "SELECT count(*) FROM pages"
        " WHERE context IS NOT NULL AND CASE WHEN json_valid(context) THEN json_type(context) ELSE '' END <> 'object'",
    ),
    ("pages have a damaged depth", "SELECT count(*) FROM pages WHERE typeof(depth) NOT IN ('integer', 'null')"),
    ("open pages have no deadline", "SELECT count(*) FROM waiting WHERE typeof(expires) <> 'integer'"),
)
_NOT_CLOSED = (
    "the store was not closed, and it has no log: if it is a copy of a store in use, it lacks the latest pages"
)
_MOST = 20  # complaints about single pages


def check_store(store: str | Path) -> list[str]:
    """Look through a store; a service may go on writing to it.

    A copy without its log is a whole store of an earlier moment. It is noticed by its mark: a store in use has one, and
    loses it when it is closed. A copy of a store that was closed long ago cannot be told from the store.

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
    alone = not has_log(path) and not path.with_name(f"{path.name}-lock").exists()
    try:
        with closing(connected(path, writes=False)) as db:
            db.execute("BEGIN")  # one moment
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
    """Say which pages could not be credited."""
    rows = db.execute("SELECT page, arms, shown, sheet FROM pages")
    return list(islice((f"page {page} is damaged" for page, *cells in rows if is_damaged(settings, *cells)), _MOST))


def _wrong_events(db: sqlite3.Connection, n_arms: int) -> list[str]:
    """Say which events could not be counted again."""
    rows = db.execute("SELECT events.*, arms FROM events JOIN pages USING (page) ORDER BY event")
    keys = ((row, key_of(arms, n_arms)) for *row, arms in rows)
    return [f"event {row[0]} is damaged" for row, key in keys if key and not Event(*row).is_of(key)][:_MOST]


def _wrong_switches(db: sqlite3.Connection, settings: Settings) -> list[str]:
    """Say which uses of switches are damaged, or of no use where they stand."""
    rows = enumerate(replayed(switches_in(db), settings), 1)
    return [f"use {k} of a switch: {wrong}" for k, (_, wrong) in rows if wrong][:_MOST]


def _wrong_snapshot(db: sqlite3.Connection, settings: Settings) -> list[str]:
    """Say why an experiment could not go on from the snapshot."""
    try:
        found = snapshot_in(db)
        if found and found.arrays:
            policy, left = kept_policy(settings, found.arrays)
            Tally(len(settings.rankers)).take(found.arrays)
            slates = settings.policy_component.feedback == "slate"
            turns = Turns(policy, len(settings.rankers), slates=slates, in_order=settings.order == "shown", left=left)
            turns.wait_again(found.lines)
    except InputError as error:
        return [f"the snapshot is damaged: {error}"]
    except DAMAGED:
        return ["the snapshot is damaged"]
    return []
