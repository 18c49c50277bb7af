"""The click log of a live experiment, for `compare_log` and everybody else."""

from __future__ import annotations

import sqlite3
from array import array
from contextlib import closing
from pathlib import Path
from typing import Any

from ltr_duel.core import InputError, as_path
from ltr_duel.live.schema import connected
from ltr_duel.live.settings import kept_settings
from ltr_duel.live.sheets import read_ids, unpack_page
from ltr_duel.live.store import read_key
from ltr_duel.logs import write_log

_COLUMNS = ("impression", "time", "query", "user", "shown", "clicks", "page")
_BATCH = 5000
_ROWS = """
SELECT page, pages.at, query, user, arms, shown, sheet, clicks FROM events JOIN pages USING (page)
WHERE credit IS NOT NULL ORDER BY event
"""


def export_log(store: str | Path, out: str | Path) -> int:
    """Write the pages of several rankers that are closed as a click log, in the order in which they were closed.

    That is the order in which they were counted, so `compare_log` finds what `Experiment.state` says. An experiment may
    go on meanwhile; the log is that of one moment.

    Parameters
    ----------
    store : path
    out : path
        ``.parquet``, ``.csv`` or ``.jsonl``; it appears whole or not at all.

    Returns
    -------
    int
        How many there are.

    Raises
    ------
    InputError
        If the store is none or cannot be read, or the log cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from ltr_duel.live import Experiment, Settings
    >>> settings = Settings(name="shoes", rankers=("old", "new"), policy="rucb")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store, log = Path(folder) / "shoes.db", Path(folder) / "clicks.jsonl"
    ...     with Experiment.open(store, settings) as experiment:
    ...         page = experiment.decide("red shoes", {"old": ["a", "b"], "new": ["c", "a"]})
    ...         _ = experiment.record(page.token, ["c"])
    ...         export_log(store, log), log.read_text()[:28]
    (1, '{"impression": "1", "time": ')
    """
    path = as_path("a store", store)
    with closing(connected(path, writes=False)) as db, write_log(out, _COLUMNS) as log:
        try:
            (text,) = db.execute("SELECT value FROM about WHERE key = 'settings'").fetchone()
            settings = kept_settings(text, path)
            rows = db.execute(_ROWS)
            while batch := rows.fetchmany(_BATCH):
                lines = [_line(settings, *row) for row in batch]
                log.write(dict(zip(_COLUMNS, zip(*lines, strict=True), strict=True)))
        except sqlite3.Error as error:
            raise InputError(f"{path}: the store cannot be read: {error}") from None
    return log.rows


def _line(settings: Any, number: int, at: float, query: str, user: str | None, *rest: Any) -> tuple[Any, ...]:
    arms, text, sheet, clicks = rest
    ids = read_ids(text)
    page = unpack_page(settings, tuple([settings.rankers[arm] for arm in read_key(arms)]), ids, sheet)
    places = [place + 1 for place in array("H", clicks)]
    return str(number), at, query, user, [str(one) for one in ids], places, page.to_json()
