"""What is in a log."""

from __future__ import annotations

from typing import Any, NamedTuple

from ltr_duel.core import InputError
from ltr_duel.logs.attribution import LISTS
from ltr_duel.logs.findings import usual_share
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.outcomes import credited
from ltr_duel.logs.summed import users_of
from ltr_duel.logs.table import LOG_COLUMNS


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
    queries: int  # different ones
    users: int  # different ones; 0 if the log does not say
    largest_user: str  # a user with more than 5%, and than is usual among so many; empty if there is none
    largest_user_impressions: int
    shown: tuple[int, int]  # the shortest and the longest list; 0, 0 if the log has no lists
    clicks: int
    clicked: int  # impressions with a click
    forms: dict[str, int]  # what credit rests on -> impressions; 'nothing' where it is not there
    rankers: tuple[str, ...]  # that are credited
    method: str  # by which, with the outcome rule; empty where there is no credit
    columns: tuple[str, ...]  # those with a value in some row
    other_columns: tuple[str, ...]  # those that are not read
    bad: int  # lines that cannot be used
    sentences: tuple[str, ...]  # what is wrong with them: for each reason the first line, and how many there are
    not_compared: int = 0  # of the bad lines, those that have to be skipped to compare rankers
    caution: str = ""  # what to know of the outcome rule


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
    import ibis

    compared = _not_compared(log)
    _, rows, creditor, _ = credited(log, columns=LOG_COLUMNS, needed=compared is not None)
    columns = [name for name in LOG_COLUMNS if name in rows.columns]
    left, forms = ibis.literal(True), dict[str, Any]()
    for form in ("page", "rankings", "owners"):
        if form in columns:
            forms[form] = (left & rows[form].notnull()).sum()
            left &= rows[form].isnull()
    forms["nothing"] = left.sum()
    shown, clicks = rows["shown" if "shown" in columns else "owners"].length(), rows.clicks.length()
    found = rows.aggregate(
        n=rows.count(),
        first=rows.time.min(),
        last=rows.time.max(),
        queries=rows["query"].nunique(),
        shortest=shown.min(),
        longest=shown.max(),
        clicks=clicks.sum(),
        clicked=(clicks > 0).sum(),
        **{f"form {form}": count for form, count in forms.items()},
        **{f"has {name}": rows[name].count() for name in columns},
    )
    (about,) = log.engine.run(found).to_pylist()
    if about["n"] == 0:
        first = f"; {log.bad.sentences[0]}" if log.bad.count else ""
        raise InputError(f"{log.path}: the log has no impression that can be used{first}")
    users, usual = users_of(log.engine, rows, about["n"]), False
    if users.impressions:
        usual = users.impressions / about["n"] <= usual_share(users.number) < 1
    lists = log.loaded.events is None or LISTS & set(log.loaded.exposures.columns)
    return LogFacts(
        log.format,
        about["n"],
        about["first"],
        about["last"],
        about["queries"],
        users.number,
        "" if usual else users.largest,
        0 if usual else users.impressions,
        (about["shortest"], about["longest"]) if lists else (0, 0),
        about["clicks"],
        about["clicked"],
        {form: about[f"form {form}"] for form in forms if about[f"form {form}"]},
        tuple(creditor.names),
        f"{creditor.method} ({creditor.outcome})" if creditor.method else "",
        tuple(name for name in columns if about[f"has {name}"]),
        log.other_columns,
        log.bad.count,
        tuple(log.bad.sentences),
        compared or 0,
        creditor.caution,
    )


def _not_compared(log: ClickLog) -> int | None:
    """Return how many lines comparisons pass over; None where no line can be credited."""
    try:
        credited(log)
    except InputError:
        return None
    return log.bad.count
