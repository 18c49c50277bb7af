"""Convert a click log to the sessions to which click models are fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow.compute as pc

from ltr_duel.clicks import Sessions
from ltr_duel.core import InputError, IntVector, errors
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.table import marks_of

ITEMS = ("auto", "document", "grade")


def sessions_in_log(log: ClickLog, by: str = "auto") -> Sessions:
    """Read all lists and clicks of a log into memory (about 30 bytes per shown document).

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
    numbers: dict[str, dict[str, int]] = {"query": {}, "shown": {}, "user": {}}
    graded, parts = by != "document", list[dict[str, Any]]()
    for batch in log.batches((*numbers, "clicks", "grades")):
        table = batch.table
        lengths, counts = (pc.list_value_length(table.column(name)).to_numpy() for name in ("shown", "clicks"))
        click, first = np.zeros(lengths.sum(), np.bool_), np.cumsum(lengths) - lengths
        click[np.repeat(first, counts) + pc.list_flatten(table.column("clicks")).to_numpy() - 1] = True
        part = {"length": lengths, "click": click, "named": marks_of(table, "user")}
        for name, known in numbers.items():
            if name in table.schema.names:
                column = table.column(name)
                part[name] = _codes(pc.list_flatten(column) if name == "shown" else column.fill_null(""), known)
        marks = marks_of(table, "grades")
        graded = graded and bool(marks.all())
        if by == "grade" and not graded:
            raise InputError(
                f"{log.find(batch.lines[int(marks.argmin())])}: no grades; use 'document' instead of 'grade'"
            )
        if graded:
            part["grade"] = pc.list_flatten(table.column("grades")).to_numpy().astype(np.int64)
        parts.append(part)
    if not sum(len(part["length"]) for part in parts):
        raise InputError(f"{log.path}: the log has no impression that can be used")
    whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[-1]}
    user = np.where(whole["named"], whole["user"], -1) if whole["named"].any() else None
    length, query, shown, click = (whole[name] for name in ("length", "query", "shown", "click"))
    names = list(numbers["query"]), list(numbers["shown"])
    sessions = Sessions.from_documents(length, query, shown, click, user, *names)
    if graded:
        items = int(whole["grade"].max()) + 1
        return sessions._replace(item=whole["grade"], items=items, graded=True, names=None)
    return sessions


def _codes(texts: Any, known: dict[str, int]) -> IntVector:
    """Number texts in order of appearance; texts that earlier batches contained keep their number."""
    encoded = texts.dictionary_encode()
    codes = np.array([known.setdefault(text, len(known)) for text in encoded.dictionary.to_pylist()], np.int64)
    return codes[encoded.indices.to_numpy()]
