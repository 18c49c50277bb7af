"""Conversion of a click log to the sessions that click models are fitted to."""

from __future__ import annotations

import numpy as np

from ltr_duel.clicks import Sessions
from ltr_duel.core import InputError, IntVector, errors
from ltr_duel.logs.hashing import HashVector, hash_rows, hash_texts
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.table import ragged

ITEMS = ("auto", "document", "grade")


def sessions_in_log(log: ClickLog, by: str = "auto") -> Sessions:
    """Read all lists and clicks of a log into memory, about 20 bytes for each shown document.

    Parameters
    ----------
    log : ClickLog
    by : {"auto", "document", "grade"}
        Whether parameters belong to each document of each query, or to each relevance grade; by default to grades if
        every row has grades.

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
    sizes, clicks, queries, documents, grades = [], [], [], [], []
    users, known_users = [], []
    graded = by != "document"
    for batch in log.batches(("query", "user", "shown", "clicks", "grades")):
        table = batch.table
        if table.num_rows == 0:
            continue
        ids, ptr = ragged(table.column("shown"))
        lengths = np.diff(ptr)
        query = hash_texts(table.column("query"))
        if "user" in table.schema.names:
            users.append(hash_texts(table.column("user")))
            known_users.append(table.column("user").is_valid().to_numpy(zero_copy_only=False))
        else:
            users.append(query)
            known_users.append(np.zeros(len(query), np.bool_))
        if graded:
            has = "grades" in table.schema.names
            known = table.column("grades").is_valid().to_numpy(zero_copy_only=False) if has else np.zeros(1, np.bool_)
            if not known.all():
                if by == "grade":
                    line = batch.lines[int(known.argmin())]
                    raise InputError(f"{log.find(line)}: no grades; without them parameters belong to documents")
                graded = False
            else:
                values, bounds = ragged(table.column("grades"))
                grades.append(values[bounds[0] : bounds[-1]].astype(np.int64))
        pairs = np.stack([np.repeat(query, lengths), hash_texts(ids)[ptr[0] : ptr[-1]]], axis=1)
        documents.append(hash_rows(pairs.ravel(), 2 * np.arange(len(pairs) + 1)))
        places, bounds = ragged(table.column("clicks"))
        clicked = np.zeros(lengths.sum(), np.bool_)
        of = np.repeat(ptr[:-1] - ptr[0], np.diff(bounds))
        clicked[of + places[bounds[0] : bounds[-1]] - 1] = True
        sizes.append(lengths)
        clicks.append(clicked)
        queries.append(query)
    if not sizes:
        raise InputError(f"{log.path}: the log has no impression that can be used")
    if graded:
        item = np.concatenate(grades)
        items = int(item.max()) + 1
    else:
        different, item = np.unique(np.concatenate(documents), return_inverse=True)
        items = len(different)
    ptr = np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64)
    query_of, user_of = (_numbered(np.concatenate(hashes)) for hashes in (queries, users))
    known = np.concatenate(known_users)
    return Sessions(
        ptr,
        item.astype(np.int64),
        np.concatenate(clicks),
        query_of,
        items,
        graded,
        np.where(known, user_of, -1) if known.any() else None,
    )


def _numbered(hashes: HashVector) -> IntVector:
    """Replace each hash by a number; equal hashes get the same number, from 0."""
    return np.unique(hashes, return_inverse=True)[1].astype(np.int64)
