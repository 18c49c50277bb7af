"""Convert a click log to the sessions to which click models are fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ltr_duel.clicks import Sessions
from ltr_duel.core import InputError, IntVector, errors
from ltr_duel.logs.log import ClickLog

ITEMS = ("auto", "document", "grade")


def sessions_in_log(log: ClickLog, by: str = "auto") -> Sessions:
    """Read all lists and clicks of a log into memory.

    Parameters
    ----------
    log : ClickLog
    by : {"auto", "document", "grade"}
        Whether a click model has parameters for each document of each query, or for each relevance grade. "auto" means
        for each grade if every row has grades, else for each document.

    Returns
    -------
    Sessions

    Raises
    ------
    InputError
        If the log cannot be read or is empty, or `by` is "grade" and a row has no grades.

    Examples
    --------
    >>> row = {"impression": 1, "time": 0, "query": "q", "shown": ["a", "b"], "clicks": [2], "grades": [0, 1]}
    >>> sessions = sessions_in_log(ClickLog(pa.Table.from_pylist([row])))
    >>> sessions.graded, sessions.item.tolist(), sessions.click.tolist()
    (True, [0, 1], [False, True])
    """
    errors.require_one_of("kind of items", by, ITEMS)
    batches = list(log.batches(("query", "shown", "user", "clicks", "grades")))
    if not sum(len(batch.lines) for batch in batches):
        raise InputError(f"{log.path}: the log has no impression that can be used")
    table = pa.Table.from_batches([batch.table for batch in batches])
    named, graded = (
        table[name].is_valid().to_numpy() if name in table.column_names else np.zeros(len(table), np.bool_)
        for name in ("user", "grades")
    )
    if by == "grade" and not graded.all():
        line = np.concatenate([batch.lines for batch in batches])[graded.argmin()]
        raise InputError(f"{log.find(line)}: no grades; use 'document' instead of 'grade'")
    length, clicks = (pc.list_value_length(table[name]).to_numpy() for name in ("shown", "clicks"))
    click = np.zeros(length.sum(), np.bool_)
    click[np.repeat(np.cumsum(length) - length, clicks) + pc.list_flatten(table["clicks"]).to_numpy() - 1] = True
    user = np.where(named, _numbers(table["user"])[0], -1) if named.any() else None
    query, queries = _numbers(table["query"])
    document, documents = _numbers(pc.list_flatten(table["shown"]))
    sessions = Sessions.from_documents(length, query, document, click, user, queries, documents)
    if by == "document" or not graded.all():
        return sessions
    grades = pc.list_flatten(table["grades"]).to_numpy().astype(np.int64)
    return sessions._replace(item=grades, items=int(grades.max()) + 1, graded=True, names=None)


def _numbers(texts: Any) -> tuple[IntVector, list[str]]:
    """Number different texts in their order of appearance, and return the texts; null is an empty text."""
    codes = texts.fill_null("").dictionary_encode().combine_chunks()
    return codes.indices.to_numpy().astype(np.int64), codes.dictionary.to_pylist()
