"""Describe the content of a log: impressions, users, basis of credit, and bad lines."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import NamedTuple

from ltr_duel.core import InputError, errors, several
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.outcomes import credited
from ltr_duel.logs.table import LISTS, LOG_COLUMNS, date_words

_NAMES_USERS = re.compile("user|visitor|session|client|cookie", re.IGNORECASE)
_FORMS = {
    "page": "the page token",
    "rankings": "rankings and method",
    "owners": "the owners of the shown documents",
    "nothing": "nothing: these impressions describe users but cannot be used to compare rankers",
}


class LogFacts(NamedTuple):
    """Result of `describe_log`."""

    format: str
    impressions: int
    first: float  # time of the first impression, seconds since 1970
    last: float
    queries: int  # number of different queries
    users: int  # number of different users; 0 if no row has a user
    shown: tuple[int, int]  # lengths of the shortest and longest list; 0, 0 if the log has no lists
    clicks: int
    clicked: int  # number of impressions with a click
    forms: dict[str, int]  # basis of credit -> number of impressions; 'nothing' if there is no basis
    rankers: tuple[str, ...]  # credited rankers
    method: str  # method and outcome rule of the credit; "" if no row is credited
    columns: tuple[str, ...]  # columns with at least one value
    other_columns: tuple[str, ...]  # columns that are not read
    bad: int  # number of unusable lines
    sentences: tuple[str, ...]  # one message per reason: the first bad line, and the number of such lines
    caution: str  # caution about the outcome rule
    outcome: str  # the event that counts as a click


def describe_log(log: ClickLog) -> LogFacts:
    """Read a whole log, and describe its content and its bad lines.

    Parameters
    ----------
    log : ClickLog
        The log; with ``skip_bad=None`` it is read to its end, even if many lines are bad.

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
    try:
        _, rows, creditor, *_ = credited(log, columns=LOG_COLUMNS)
    except InputError:  # perhaps no line says how to credit it
        _, rows, creditor, *_ = credited(log, columns=LOG_COLUMNS, needed=False)
    columns = [name for name in LOG_COLUMNS if name in rows.columns]
    forms = [name for name in _FORMS if name in columns]
    form = ", ".join([*(f"CASE WHEN {name} IS NOT NULL THEN '{name}' END" for name in forms), "'nothing'"])
    lengths = {"length": "shown" if "shown" in columns else "owners", "clicked": "clicks"}
    sizes = ", ".join(f"coalesce(array_length({column}), 0) AS {name}" for name, column in lengths.items())
    own = ", ".join(f'"{name}"' for name in columns)
    counts = {
        "n": "count(*)", "first": "min(time)", "last": "max(time)", "queries": "count(DISTINCT query)",
        "users": 'count(DISTINCT "user")' if "user" in columns else "0",
        "shortest": "min(length)", "longest": "max(length)", "clicks": "sum(clicked)",
        "clicked": "count(*) FILTER (WHERE clicked > 0)",
        **{f"form {name}": f"count(*) FILTER (WHERE form = '{name}')" for name in (*forms, "nothing")},
        **{f"has {name}": f'count("{name}")' for name in columns},
    }  # fmt: skip
    chosen = ", ".join(f'{value} AS "{name}"' for name, value in counts.items())
    sql = f"SELECT {chosen} FROM (SELECT {own}, {sizes}, coalesce({form}) AS form FROM rows) AS each"
    (found,) = log.engine.query(sql, rows=rows).to_pylist()
    n = found["n"]
    if n == 0:
        first = f"; {log.bad.sentences[0]}" if log.bad.count else ""
        raise InputError(f"{log.path}: the log has no impression that can be used{first}")
    has_lists = LISTS & set(log.table.columns)
    return LogFacts(
        log.format, n, found["first"], found["last"], found["queries"], found["users"],
        (found["shortest"], found["longest"]) if has_lists else (0, 0), int(found["clicks"]), found["clicked"],
        forms={name: found[f"form {name}"] for name in (*forms, "nothing") if found[f"form {name}"]},
        rankers=tuple(creditor.names),
        method=f"{creditor.method} ({creditor.outcome})" if creditor.method else "",
        columns=tuple(name for name in columns if found[f"has {name}"]),
        other_columns=log.other_columns,
        bad=log.bad.count,
        sentences=tuple(log.bad.sentences),
        caution=creditor.caution,
        outcome=log.outcome.name,
    )  # fmt: skip


def log_lines(facts: LogFacts) -> list[str]:
    """Return the description of a log as lines of text, bad lines last."""
    n, (shortest, longest) = facts.impressions, facts.shown
    documents = several(longest, "document") if shortest == longest else f"{shortest} to {longest} documents"
    basis = _FORMS if longest else _FORMS | {"owners": "the owners of the items with events"}
    events = several(facts.clicks, "click")
    if facts.outcome != "click":
        events = f"{several(facts.clicks, 'shown document')} with events ({facts.outcome})"
    lines = [
        f"{several(n, 'impression')} from {date_words(facts.first)} to {date_words(facts.last)} ({facts.format})",
        f"{several(facts.queries, 'query')}; {f'lists of {documents}' if longest else 'no lists'}; {events}, on"
        f" {facts.clicked / n:.1%} of the impressions",
    ]
    if facts.users:
        lines.append(f"{several(facts.users, 'user')}, {n / facts.users:.1f} impressions each")
    else:
        hint = user_hint(facts.other_columns)
        lines.append("no values in 'user': each impression counts as one user" + f"; {hint}" * bool(hint))
    for form, count in facts.forms.items():
        lines.append(f"credit for {several(count, 'impression')} is based on {basis[form]}")
    if facts.rankers:
        lines.append(f"{several(len(facts.rankers), 'ranker')}, by {facts.method}: {', '.join(facts.rankers)}")
    lines += [*filter(None, [facts.caution]), f"columns: {', '.join(facts.columns)}"]
    if facts.other_columns:
        lines.append(f"not read: {', '.join(map(_not_read, facts.other_columns))}")
    if facts.bad:
        lines.append(f"{several(facts.bad, 'line')} cannot be used:")
        lines += [f"  {sentence}" for sentence in facts.sentences]
    return [errors.in_one_line(line) for line in lines]


def user_hint(columns: Sequence[str]) -> str:
    """Return a hint to rename an unread column whose name suggests user ids, or "" if there is no such column."""
    name = next((column for column in columns if _NAMES_USERS.search(column)), "")
    return f"rename the column '{name}' to 'user' in the file, or map it with --source" if name else ""


def _not_read(column: str) -> str:
    near = difflib.get_close_matches(column, LOG_COLUMNS, n=1)
    return f"{column} (did you mean '{near[0]}'?)" if near else column
