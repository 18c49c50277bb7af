"""Export the click log of a live experiment. It has all counted pages of several rankers."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ltr_duel.core import errors
from ltr_duel.live.counting import CLICKED, positions_in
from ltr_duel.live.store import reading, settings_in
from ltr_duel.logs import LogWriter, write_log

_RECORD = "shown", "rankers", "method", "outcome", "policy", "propensity"
_COLUMNS = "impression", "time", "query", "user", "clicks"
_EVENTS = "impression", "time", "item", "position", "kind", "value"
_PRIVATE = "query", "user"
_BATCH = 5000
_COUNTED = "learned AND (seen OR :count = 'shown') AND json_array_length(rankers) > 1"
_ROWS = f"""
SELECT impression, time, query, user, rankers, record, context, {CLICKED} FROM exposures WHERE {_COUNTED} ORDER BY n
"""
_HAPPENED = f"""
SELECT impression, events.time, record, position, kind, value FROM events JOIN exposures USING (impression)
WHERE {_COUNTED} ORDER BY exposures.n, events.time
"""


def export_log(
    store: str | Path, out: str | Path, *, events: str | Path | None = None, without: Sequence[str] = ()
) -> int:
    """Write the click log of an experiment, which may be running. Return the number of rows.

    `compare_log` gives the same result for this log as `Experiment.state`. ``events`` is a second file, for all events
    of the exported pages, also events after the window. ``without`` names columns to leave out: ``query``, ``user`` or
    both.
    """
    for name in without:
        errors.require_one_of("column to leave out", name, _PRIVATE)
    with reading(store) as db, ExitStack() as outputs:
        settings = settings_in(db, store)
        parameters = {"credit": settings.credit, "window": settings.window, "count": settings.count}
        credit = "owners" if settings.method.partition(":")[0] == "team_draft" else "page"
        every = (*_COLUMNS, *_RECORD, credit, *settings.context)
        names = tuple(name for name in every if name not in without)
        log = outputs.enter_context(write_log(out, names, private=True))  # contains queries and users
        _write(log, names, db.execute(_ROWS, parameters), _row)
        if events:
            happened = outputs.enter_context(write_log(events, _EVENTS, private=True))
            _write(happened, _EVENTS, db.execute(_HAPPENED, parameters), _event)
    return log.rows


def _row(
    impression: str, time: float, query: str, user: str, rankers: str, record: str, context: str, clicked: str | None
) -> dict[str, Any]:
    return {
        "impression": impression, "time": time, "query": query, "user": user, "clicks": positions_in(clicked),
        "rankers": json.loads(rankers), **json.loads(record), **json.loads(context),
    }  # fmt: skip


def _event(impression: str, time: float, record: str, position: int, kind: str, value: float) -> dict[str, Any]:
    item = json.loads(record)["shown"][position - 1] if position else None
    return dict(zip(_EVENTS, (impression, time, item, position or None, kind, value), strict=True))


def _write(log: LogWriter, names: Sequence[str], cursor: sqlite3.Cursor, read: Callable[..., dict[str, Any]]) -> None:
    while rows := [read(*row) for row in cursor.fetchmany(_BATCH)]:
        log.write({name: [row.get(name) for row in rows] for name in names})
