"""Convert a click log to the sessions to which click models are fitted."""

from __future__ import annotations

from typing import Any

import numpy as np

from ltr_duel.clicks import Sessions
from ltr_duel.core import InputError, IntVector, errors
from ltr_duel.logs.hashing import HashVector, hash_rows, hash_texts
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.table import marks_of, ragged

ITEMS = ("auto", "document", "grade")


def sessions_in_log(log: ClickLog, by: str = "auto") -> Sessions:
    """Read all lists and clicks of a log into memory (about 20 bytes per shown document).

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
    >>> import tempfile
    >>> from pathlib import Path
    >>> row = '{"impression": 1, "time": 0, "query": "q", "shown": ["a", "b"], "clicks": [2], "grades": [0, 1]}'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "clicks.jsonl"
    ...     _ = path.write_text(row)
    ...     sessions = sessions_in_log(ClickLog(path))
    >>> sessions.graded, sessions.item.tolist(), sessions.click.tolist()
    (True, [0, 1], [False, True])
    """
    errors.require_one_of("kind of items", by, ITEMS)
    graded, parts = by != "document", list[dict[str, Any]]()
    for batch in log.batches(("query", "user", "shown", "clicks", "grades")):
        table = batch.table
        if table.num_rows == 0:
            continue
        if graded and not (known := marks_of(table, "grades")).all():
            if by == "grade":
                line = batch.lines[int(known.argmin())]
                raise InputError(f"{log.find(line)}: no grades; use 'document' instead of 'grade'")
            graded = False
        ids, ptr = ragged(table.column("shown"))
        lengths, query = np.diff(ptr), hash_texts(table.column("query"))
        pairs = np.stack([np.repeat(query, lengths), hash_texts(ids)[ptr[0] : ptr[-1]]], axis=1)
        places, bounds = ragged(table.column("clicks"))
        click = np.zeros(lengths.sum(), np.bool_)
        of = np.repeat(ptr[:-1] - ptr[0], np.diff(bounds))
        click[of + places[bounds[0] : bounds[-1]] - 1] = True
        part = {"length": lengths, "query": query, "click": click, "known": marks_of(table, "user")}
        part["document"] = hash_rows(pairs.ravel(), 2 * np.arange(len(pairs) + 1))
        part["user"] = hash_texts(table.column("user")) if "user" in table.schema.names else query
        if graded:
            values, bounds = ragged(table.column("grades"))
            part["grade"] = values[bounds[0] : bounds[-1]].astype(np.int64)
        parts.append(part)
    if not parts:
        raise InputError(f"{log.path}: the log has no impression that can be used")
    whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[-1]}
    item = whole["grade"] if graded else _numbered(whole["document"])
    return Sessions(
        np.concatenate([[0], np.cumsum(whole["length"])]).astype(np.int64),
        item,
        whole["click"],
        _numbered(whole["query"]),
        int(item.max()) + 1,
        graded,
        np.where(whole["known"], _numbered(whole["user"]), -1) if whole["known"].any() else None,
    )


def _numbered(hashes: HashVector) -> IntVector:
    """Replace each hash by a number; equal hashes get the same number, from 0."""
    return np.unique(hashes, return_inverse=True)[1].astype(np.int64)
