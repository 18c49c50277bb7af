"""What is in a log: one pass, in a little memory."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from ltr_duel.core import InputError
from ltr_duel.logs.credit import Creditor
from ltr_duel.logs.distinct import Distinct
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.table import ragged


class LogFacts(NamedTuple):
    """What `describe_log` found.

    Examples
    --------
    >>> "users" in LogFacts._fields
    True
    """

    format: str
    impressions: int
    first: float  # time of the first impression, seconds since 1970
    last: float
    queries: int  # about how many different ones
    users: int  # about how many different ones; 0 if the log does not say
    largest_user: str
    largest_user_impressions: int
    shown: tuple[int, int]  # the shortest and the longest list
    clicks: int
    clicked: int  # impressions with a click
    forms: dict[str, int]  # what credit rests on -> impressions; 'nothing' where it is not there
    rankers: tuple[str, ...]  # that are credited
    method: str  # by which, with the outcome rule; empty where there is no credit
    columns: tuple[str, ...]  # those with a value in some row
    other_columns: tuple[str, ...]  # those that are not read
    bad: int  # lines that cannot be used
    sentences: tuple[str, ...]  # what is wrong with the first of them


def describe_log(log: ClickLog) -> LogFacts:
    """Read a whole log, and say what is in it and what is wrong.

    Parameters
    ----------
    log : ClickLog
        Made with ``skip_bad=None`` it is read to its end, whatever is wrong.

    Returns
    -------
    LogFacts

    Raises
    ------
    InputError
        If the file cannot be read, no line of it can be used, or it has more bad lines than may be skipped.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> row = '{"impression": 1, "time": 0, "query": "q", "shown": ["a", "b"], "clicks": [2]}'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "clicks.jsonl"
    ...     _ = path.write_text(row)
    ...     facts = describe_log(ClickLog(path))
    >>> facts.impressions, facts.clicks, facts.shown
    (1, 1, (2, 2))
    """
    queries, users = Distinct(), Distinct()
    forms: Counter[str] = Counter()
    columns: dict[str, None] = {}
    rows, clicks, clicked = 0, 0, 0
    times, lengths = [np.inf, -np.inf], [np.iinfo(np.int64).max, 0]
    creditor = Creditor(needed=False)
    for checked in log.batches():
        _, wrong = creditor(checked)
        good = np.ones(checked.table.num_rows, np.bool_)
        for row in sorted(wrong):
            log.bad.add(int(checked.lines[row]), wrong[row])
            good[row] = False
        batch = checked.kept(good)
        table, n = batch.table, batch.table.num_rows
        if n == 0:
            continue
        have = {name: table.column(name) for name in table.schema.names}
        columns.update(dict.fromkeys(name for name, column in have.items() if column.null_count < n))
        time = have["time"].to_numpy(zero_copy_only=False)
        times = [min(times[0], time.min()), max(times[1], time.max())]
        size = np.diff(ragged(have["shown"])[1])
        lengths = [min(lengths[0], size.min()), max(lengths[1], size.max())]
        size = np.diff(ragged(have["clicks"])[1])
        rows, clicks, clicked = rows + n, clicks + int(size.sum()), clicked + int((size > 0).sum())
        queries.add(have["query"])
        if "user" in have:
            users.add(have["user"])
        left = np.ones(n, np.bool_)
        for form in ("page", "rankings", "owners"):
            if form in have:
                given = left & have[form].is_valid().to_numpy(zero_copy_only=False)
                forms[form] += int(given.sum())
                left &= ~given
        forms["nothing"] += int(left.sum())
    if rows == 0:
        first = f"; {log.bad.first[0]}" if log.bad.first else ""
        raise InputError(f"{log.path}: the log has no impression that can be used{first}")
    name, most = users.largest
    return LogFacts(
        log.format,
        rows,
        float(times[0]),
        float(times[1]),
        queries.number,
        users.number,
        name,
        most,
        (int(lengths[0]), int(lengths[1])),
        clicks,
        clicked,
        {form: count for form, count in forms.items() if count},
        tuple(creditor.names),
        f"{creditor.method} ({creditor.outcome})" if creditor.method else "",
        tuple(columns),
        log.other_columns,
        log.bad.count,
        tuple(log.bad.first),
    )


def date_words(seconds: float) -> str:
    """Return a time as a date that people read."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return f"{seconds:g} s"
