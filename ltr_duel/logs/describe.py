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
    "owners": "the owners of the shown documents",
    "nothing": "nothing: these impressions describe users but cannot be used to compare rankers",
}


class LogFacts(NamedTuple):
    """Result of `describe_log`."""

    impressions: int
    queries: int  # number of different queries
    users: int  # number of different users; 0 if no row has a user
    shown: tuple[int, int]  # lengths of the shortest and longest list; 0, 0 if the log has no lists
    clicks: int
    clicked: int  # number of impressions with a click
    forms: dict[str, int]  # basis of credit -> number of impressions; 'nothing' if there is no basis
    rankers: tuple[str, ...]  # credited rankers
    bad: int  # number of unusable lines
    lines: tuple[str, ...]  # the description as text; bad lines come last


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
    >>> import pandas as pd
    >>> row = {"impression": 1, "time": 0, "query": "q", "shown": ["a", "b"], "clicks": [2]}
    >>> facts = describe_log(ClickLog(pd.DataFrame([row])))
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
    counts = {f"form {name}": f"count(*) FILTER (WHERE form = '{name}')" for name in (*forms, "nothing")}
    counts |= {f"has {name}": f'count("{name}")' for name in columns}
    sql = f"""
        SELECT count(*) AS impressions, min(time) AS first, max(time) AS last, count(DISTINCT query) AS queries,
            {'count(DISTINCT "user")' if "user" in columns else "0"} AS users, min(length) AS shortest,
            max(length) AS longest, sum(clicked) AS clicks, count(*) FILTER (WHERE clicked > 0) AS clicked,
            {", ".join(f'{value} AS "{name}"' for name, value in counts.items())}
        FROM (
            SELECT {", ".join(f'"{name}"' for name in columns)}, coalesce({form}) AS form,
                coalesce(array_length({"shown" if "shown" in columns else "owners"}), 0) AS length,
                coalesce(array_length(clicks), 0) AS clicked
            FROM rows
        ) AS each"""
    (got,) = log.engine.query(sql, rows=rows).to_pylist()
    if not (n := got["impressions"]):
        first = f"; {log.bad.sentences[0]}" if log.bad.count else ""
        raise InputError(f"{log.path}: the log has no impression that can be used{first}")
    has_lists = LISTS & set(log.table.columns)
    shortest, longest = (got["shortest"], got["longest"]) if has_lists else (0, 0)
    facts = LogFacts(
        n, got["queries"], got["users"], (shortest, longest), int(got["clicks"]), got["clicked"],
        {name: got[f"form {name}"] for name in (*forms, "nothing") if got[f"form {name}"]},
        tuple(creditor.names), log.bad.count, (),
    )  # fmt: skip
    documents = several(longest, "document") if shortest == longest else f"{shortest} to {longest} documents"
    events = several(facts.clicks, "click")
    if log.outcome.name != "click":
        events = f"{several(facts.clicks, 'shown document')} with events ({log.outcome.name})"
    hint = user_hint(log.other_columns)
    no_users = "no values in 'user': each impression counts as one user" + f"; {hint}" * bool(hint)
    basis = _FORMS if longest else _FORMS | {"owners": "the owners of the items with events"}
    lines = [
        f"{several(n, 'impression')} from {date_words(got['first'])} to {date_words(got['last'])} ({log.format})",
        f"{several(facts.queries, 'query')}; {f'lists of {documents}' if longest else 'no lists'}; {events}, on"
        f" {facts.clicked / n:.1%} of the impressions",
        f"{several(facts.users, 'user')}, {n / facts.users:.1f} impressions each" if facts.users else no_users,
        *(f"credit for {several(k, 'impression')} is based on {basis[name]}" for name, k in facts.forms.items()),
    ]
    if facts.rankers:
        method = f"{creditor.method} ({creditor.outcome})"
        lines.append(f"{several(len(facts.rankers), 'ranker')}, by {method}: {', '.join(facts.rankers)}")
    lines += [creditor.caution] * bool(creditor.caution)
    lines.append(f"columns: {', '.join(name for name in columns if got[f'has {name}'])}")
    if log.other_columns:
        near = {name: difflib.get_close_matches(name, LOG_COLUMNS, n=1) for name in log.other_columns}
        names = (f"{name} (did you mean '{like[0]}'?)" if like else name for name, like in near.items())
        lines.append(f"not read: {', '.join(names)}")
    if facts.bad:
        lines += [f"{several(facts.bad, 'line')} cannot be used:", *(f"  {sentence}" for sentence in log.bad.sentences)]
    return facts._replace(lines=tuple(map(errors.in_one_line, lines)))


def user_hint(columns: Sequence[str]) -> str:
    """Return a hint to rename an unread column whose name suggests user ids, or "" if there is no such column."""
    name = next((column for column in columns if _NAMES_USERS.search(column)), "")
    return f"rename the column '{name}' to 'user' in the file, or map it with --source" if name else ""
