"""Export the click log of a live experiment."""

from __future__ import annotations

import json
import math
import sqlite3
import warnings
from array import array
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ltr_duel.core import InputError, errors
from ltr_duel.live.rows import DAMAGED, EXPIRED, is_damaged, read_ids, read_key, unpack_page
from ltr_duel.live.schema import used_store
from ltr_duel.live.settings import Settings, settings_in
from ltr_duel.live.turns import Key
from ltr_duel.logs import write_log

_COLUMNS = ("impression", "time", "query", "user", "shown", "clicks", "page", "policy", "propensity")
_PRIVATE = ("query", "user")
_EVENTS = ("impression", "time", "item", "position", "kind", "value")
_BATCH, _NAMED = 5000, 5
_ROWS = """
SELECT page, events.at, pages.at, context, user, arms, query, shown, sheet, clicks, chance
FROM events JOIN pages USING (page) WHERE credit IS NOT NULL ORDER BY page
"""
_ENDED = f"""
SELECT page, arms, shown, sheet FROM events JOIN pages USING (page) WHERE kind = {EXPIRED} AND credit IS NULL
"""
_OPEN = "SELECT page, user, arms FROM waiting JOIN pages USING (page) WHERE user IS NOT NULL"


class LeftOutWarning(UserWarning):
    """Pages are missing from a log."""


def export_log(
    store: str | Path,
    out: str | Path,
    *,
    events: str | Path | None = None,
    without: Sequence[str] = (),
    spreadsheet: bool = False,
) -> int:
    """Write the closed pages of several rankers as a click log, in the order of their display; return the row count.

    A page is left out while an earlier page of the same user and pair is open, because only the first page shown to a
    user counts for the pair. Therefore `compare_log` agrees with `Experiment.state`. All rows are read
    from the same state of the store. ``events`` is a second file, for the clicks and other outcomes. ``without`` lists
    columns to omit: ``query``, ``user`` or both.

    `LeftOutWarning` reports pages that were left out because an earlier page is open, or because they were damaged
    before they were closed.
    """
    for name in without:
        if name not in _PRIVATE:
            raise errors.unknown_name("column to leave out", name, _PRIVATE)
    with used_store(store) as (path, db), ExitStack() as files:
        db.execute("BEGIN")  # all queries read the same state
        settings = settings_in(db, path)
        every = (*_COLUMNS, *settings.context)
        columns = tuple([name for name in every if name not in without])
        how = {"spreadsheet": spreadsheet, "private": True}  # the files contain queries and users
        log = files.enter_context(write_log(out, columns, **how))
        beside = files.enter_context(write_log(events, _EVENTS, **how)) if events else None
        waits = list[int]()
        for lines, happened in _batches(db, settings, path, waits):
            log.write(dict(zip(every, zip(*lines, strict=True), strict=True)))
            if beside and happened:
                beside.write(dict(zip(_EVENTS, zip(*happened, strict=True), strict=True)))
        lost = [page for page, *cells in db.execute(_ENDED) if is_damaged(settings, *cells)]
    for pages, why in (
        (lost, "because they were damaged before they were closed"),
        (waits, "because an earlier page of their user is open"),
    ):
        if pages:
            some = ", ".join(map(str, pages[:_NAMED])) + (", ..." if len(pages) > _NAMED else "")
            warnings.warn(f"{path}: pages left out {why} ({len(pages):,}): {some}", LeftOutWarning, stacklevel=2)
    return log.rows


def _batches(
    db: sqlite3.Connection, settings: Settings, path: Path, waits: list[int]
) -> Iterator[tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]]:
    """Yield rows of pages and of their outcomes; append to ``waits`` the pages left out because of an open page."""
    waiting: dict[str, list[tuple[int, set[int]]]] = {}
    n_arms, page, time = len(settings.rankers), 0, -math.inf
    try:
        for page, user, arms in db.execute(_OPEN):
            waiting.setdefault(user, []).append((page, set(read_key(arms, n_arms))))
        rows = db.execute(_ROWS)
        while batch := rows.fetchmany(_BATCH):
            lines, happened = list[tuple[Any, ...]](), list[tuple[Any, ...]]()
            for page, closed, at, context, user, arms, *rest in batch:
                key = read_key(arms, n_arms)
                if any(page > first and len(early & set(key)) > 1 for first, early in waiting.get(user, ())):
                    waits.append(page)
                    continue
                time = max(time, at)  # the clock may have been set back
                around = dict(json.loads(context or "{}"))
                more = [around.get(name) for name in settings.context]
                lines.append((str(page), time, *_line(settings, user, key, rest), *more))
                happened += _events(db, settings, page, time, closed, *lines[-1][4:6])
            if lines:
                yield lines, happened
    except DAMAGED as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: page {page} is damaged, so no log was written; see 'ltr-duel live check'") from None


def _line(settings: Settings, user: str | None, key: Key, cells: list[Any]) -> tuple[Any, ...]:
    """Return the cells of a row that follow its time."""
    query, text, sheet, clicks, chance = cells
    for one in (query, user or ""):
        one.encode()  # a damaged text cannot be encoded
    ids = read_ids(text)
    page = unpack_page(settings, tuple([settings.rankers[arm] for arm in key]), ids, sheet)
    places = [place + 1 for place in array("H", clicks)]
    return query, user, [str(one) for one in ids], places, page.to_json(), settings.policy, chance and float(chance)


def _events(
    db: sqlite3.Connection,
    settings: Settings,
    page: int,
    shown: float,
    closed: float,
    ids: list[str],
    clicks: list[int],
) -> Iterator[tuple[Any, ...]]:
    """Yield one row for each outcome of a page; a click without a row in the store has the page's closing time."""
    rows = db.execute("SELECT place, kind, value, at FROM outcomes WHERE page = ? ORDER BY at, place, kind", (page,))
    found = [(place, kind, float(value), float(at)) for place, kind, value, at in rows]
    stored = {place + 1 for place, kind, _, _ in found if kind == settings.credit}
    found = [*((position - 1, settings.credit, 1.0, closed) for position in clicks if position not in stored), *found]
    for place, kind, value, at in found:
        item = (ids[place], place + 1) if place >= 0 else (None, None)
        yield (str(page), max(shown, at), *item, kind, value)
