"""Describe the content of a log, such as its impressions, its users and its bad lines."""

from __future__ import annotations

from typing import NamedTuple

from ltr_duel.core import InputError, errors, listed, several
from ltr_duel.logs.checks import EQUAL
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.outcomes import credited
from ltr_duel.logs.table import LISTS, LOG_COLUMNS, date_words

_FORMS = {
    "page": "the page token",
    "owners": "the owners of the documents or events",
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
    forms: dict[str, int]  # number of impressions that are credited by 'page', by 'owners', or by 'nothing'
    rankers: tuple[str, ...]  # credited rankers
    bad: int  # number of unusable lines
    lines: tuple[str, ...]  # the description as text; bad lines come last


def describe_log(log: ClickLog) -> LogFacts:
    """Read a whole log, and describe its content and its bad lines.

    Parameters
    ----------
    log : ClickLog
        The log. Open the log with ``skip_bad=None`` to describe all of it, even if many lines are bad.

    Returns
    -------
    LogFacts

    Raises
    ------
    InputError
        If the log cannot be read, has no usable line, or has more bad lines than may be skipped.

    Examples
    --------
    >>> import pandas as pd
    >>> row = {"impression": 1, "time": 0, "query": "q", "shown": ["a", "b"], "clicks": [2]}
    >>> facts = describe_log(ClickLog(pd.DataFrame([row])))
    >>> facts.impressions, facts.clicks, facts.shown
    (1, 1, (2, 2))
    """
    try:
        _, rows, creditor, _ = credited(log, columns=LOG_COLUMNS)
    except InputError:  # perhaps no line says which ranker gets credit
        _, rows, creditor, _ = credited(log, columns=LOG_COLUMNS, needed=False)
    columns = [name for name in LOG_COLUMNS if name in rows.columns]
    form = " ".join(f"WHEN {name} IS NOT NULL THEN '{name}'" for name in ("page", "owners") if name in columns)
    length = f"array_length({'shown' if 'shown' in columns else 'owners'})" if LISTS & set(log.table.columns) else "0"
    filled = ", ".join(f'count("{name}") AS "has {name}"' for name in columns)
    sql = f"""SELECT {f"CASE {form} ELSE 'nothing' END" if form else "'nothing'"} AS form, count(*) AS n,
      min({length}) AS shortest, max({length}) AS longest, sum(array_length(clicks)) AS clicks,
      count(CASE WHEN array_length(clicks) > 0 THEN 1 END) AS clicked, {filled} FROM rows GROUP BY form"""
    groups = log.engine.rows(sql, rows=rows)
    if not groups:
        first = f"; {log.bad.sentences[0]}" if log.bad.count else ""
        raise InputError(f"{log.path}: the log has no impression that can be used{first}")
    users = 'count(DISTINCT "user")' if "user" in columns else "0"
    sql = f"SELECT count(DISTINCT query) AS queries, {users} AS users, min(time) AS first, max(time) AS last FROM rows"
    (facts,) = log.engine.rows(sql, rows=rows)
    n, clicks, clicked = (int(sum(group[name] or 0 for group in groups)) for name in ("n", "clicks", "clicked"))
    shortest, longest = min(group["shortest"] for group in groups), max(group["longest"] for group in groups)
    forms = {name: group["n"] for name in _FORMS for group in groups if group["form"] == name}
    documents = several(longest, "document") if shortest == longest else f"{shortest} to {longest} documents"
    events = several(clicks, "click")
    if log.outcome.name != "click":
        events = f"{several(clicks, 'shown document')} with events ({log.outcome.name})"
    lines = [
        f"{several(n, 'impression')} from {date_words(facts['first'])} to {date_words(facts['last'])} ({log.format})",
        f"{several(facts['queries'], 'query')}; {f'lists of {documents}' if longest else 'no lists'}; {events}, on"
        f" {clicked / n:.1%} of the impressions",
        f"{several(facts['users'], 'user')}, {n / facts['users']:.1f} impressions each"
        if facts["users"]
        else "no values in 'user': checks count each impression as one user, and 'logs compare' clusters its errors by"
        " query (not at all after a policy that reacts to outcomes)",
        *log.loaded.notes,
        *[EQUAL.format(log.bad.equal)] * (log.bad.equal > 0),
        *_not_counted(log),
        *(f"credit for {several(number, 'impression')} is based on {_FORMS[name]}" for name, number in forms.items()),
    ]
    if creditor.names:
        method = f"{creditor.method} ({creditor.outcome})"
        lines.append(f"{several(len(creditor.names), 'ranker')}, by {method}: {', '.join(creditor.names)}")
    lines += filter(None, [creditor.caution])
    lines.append(f"columns: {', '.join(name for name in columns if any(group[f'has {name}'] for group in groups))}")
    if log.other_columns:
        lines.append(f"not read: {', '.join(log.other_columns)}")
    if log.bad.count:
        lines.append(f"{several(log.bad.count, 'line')} cannot be used:")
        lines += (f"  {sentence}" for sentence in log.bad.sentences)
    return LogFacts(
        n, facts["queries"], facts["users"], (shortest, longest), clicks, clicked, forms, tuple(creditor.names),
        log.bad.count, tuple(map(errors.in_one_line, lines)),
    )  # fmt: skip


def _not_counted(log: ClickLog) -> list[str]:
    """Return a line on events that are repeated on an item or outside their list, if there are any."""
    counts, placed = log.loaded.counts, log.loaded.placed
    if counts is None or placed is None:
        return []
    sql = "SELECT count(*) AS n FROM t WHERE place IS NOT NULL AND w0 IS NOT NULL"
    repeats = counts.placed - int(log.engine.rows(sql, t=placed)[0]["n"])
    outside = counts.attributed - counts.placed if LISTS & set(log.table.columns) else 0
    reasons = {"are on an item that has one already": repeats, "are outside their list": outside}
    words = [f"{number:,} {reason}" for reason, number in reasons.items() if number]
    return [f"of {several(counts.attributed, 'event')} ({log.outcome.name}), {listed(words)}"] if words else []
