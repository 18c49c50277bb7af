"""Describe the content of a log: impressions, users, basis of credit, and bad lines."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import NamedTuple

from ltr_duel.core import InputError, errors, several
from ltr_duel.logs.compare import users_of
from ltr_duel.logs.findings import usual_share
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.outcomes import credited
from ltr_duel.logs.table import LISTS, LOG_COLUMNS, date_words

_NAMES_USERS = re.compile("user|visitor|session|client|cookie", re.IGNORECASE)
_RESTS = {
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
    largest_user: str  # the user with over 5 % of the impressions, if this is unusual for so many users; else ""
    largest_user_impressions: int
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
    not_compared: int = 0  # number of bad lines that comparisons skip
    caution: str = ""  # caution about the outcome rule
    outcome: str = "click"  # the event that counts as a click


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
    compared = _not_compared(log)
    _, rows, creditor, _ = credited(log, columns=LOG_COLUMNS, needed=compared is not None)
    columns = [name for name in LOG_COLUMNS if name in rows.columns]
    left, forms = "1 = 1", dict[str, str]()
    for form in ("page", "rankings", "owners"):
        if form in columns:
            forms[form] = f"count(CASE WHEN {left} AND {form} IS NOT NULL THEN 1 END)"
            left += f" AND {form} IS NULL"
    forms["nothing"] = f"count(CASE WHEN {left} THEN 1 END)"
    shown, clicks = (
        ("coalesce(array_length(shown), 0)" if "shown" in columns else "0"),
        "coalesce(array_length(clicks), 0)",
    )
    found = (
        {
            "n": "count(*)",
            "first": "min(time)",
            "last": "max(time)",
            "queries": "count(DISTINCT query)",
            "shortest": f"min({shown})",
            "longest": f"max({shown})",
            "clicks": f"sum({clicks})",
            "clicked": f"count(CASE WHEN {clicks} > 0 THEN 1 END)",
        }
        | {f"form_{form}": count for form, count in forms.items()}
        | {f"has_{name}": f'count("{name}")' for name in columns}
    )
    (about,) = log.engine.rows(
        f"SELECT {', '.join(f'{value} AS {name}' for name, value in found.items())} FROM t", t=rows
    )
    about["clicks"] = int(about["clicks"] or 0)
    if about["n"] == 0:
        first = f"; {log.bad.sentences[0]}" if log.bad.count else ""
        raise InputError(f"{log.path}: the log has no impression that can be used{first}")
    users, usual = users_of(log.engine, rows, about["n"]), False
    if users.impressions:
        usual = users.impressions / about["n"] <= usual_share(users.number) < 1
    lists = log.loaded.events is None or LISTS & set(log.loaded.impressions.columns)
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
        {form: about[f"form_{form}"] for form in forms if about[f"form_{form}"]},
        tuple(creditor.names),
        f"{creditor.method} ({creditor.outcome})" if creditor.method else "",
        tuple(name for name in columns if about[f"has_{name}"]),
        log.other_columns,
        log.bad.count,
        tuple(log.bad.sentences),
        compared or 0,
        creditor.caution,
        log.outcome.name,
    )


def _not_compared(log: ClickLog) -> int | None:
    """Return the number of lines that comparisons skip; None if no line can be credited."""
    try:
        credited(log)
    except InputError:
        return None
    return log.bad.count


def log_lines(facts: LogFacts) -> list[str]:
    """Return the description of a log as lines of text, bad lines last."""
    n, listed = facts.impressions, facts.shown[1] > 0
    lists = f"lists of {_documents(*facts.shown)}" if listed else "no lists"
    rests = _RESTS if listed else _RESTS | {"owners": "the owners of the items with events"}
    events = several(facts.clicks, "click")
    if facts.outcome != "click":
        events = f"{several(facts.clicks, 'shown document')} with events ({facts.outcome})"
    lines = [
        f"{several(n, 'impression')} from {date_words(facts.first)} to {date_words(facts.last)} ({facts.format})",
        f"{several(facts.queries, 'query')}; {lists}; {events}, on {facts.clicked / n:.1%} of the impressions",
    ]
    if facts.users:
        lines.append(f"{several(facts.users, 'user')}, {n / facts.users:.1f} impressions each")
        if facts.largest_user:
            share = facts.largest_user_impressions / n
            lines.append(
                f"user '{facts.largest_user}' has {facts.largest_user_impressions:,} of the impressions ({share:.0%}):"
                " results are less general than the number of users suggests"
            )
    else:
        hint = user_hint(facts.other_columns)
        lines.append("no values in 'user': each impression counts as one user" + f"; {hint}" * bool(hint))
    for form, count in facts.forms.items():
        lines.append(f"credit for {several(count, 'impression')} is based on {rests[form]}")
    if facts.rankers:
        lines.append(f"{several(len(facts.rankers), 'ranker')}, by {facts.method}: {', '.join(facts.rankers)}")
    if facts.caution:
        lines.append(facts.caution)
    lines.append(f"columns: {', '.join(facts.columns)}")
    if facts.other_columns:
        lines.append(f"not read: {', '.join(map(_not_read, facts.other_columns))}")
    if facts.bad:
        lines.append(f"{several(facts.bad, 'line')} cannot be used:")
        lines += [f"  {sentence}" for sentence in facts.sentences]
        if facts.rankers and facts.not_compared < facts.bad:
            lines.append(
                f"  'logs compare' counts {facts.not_compared:,} of these lines as unusable: it does not read the"
                " columns in which the other lines are wrong"
            )
    return [errors.in_one_line(line) for line in lines]


def user_hint(columns: Sequence[str]) -> str:
    """Return a hint to rename an unread column whose name suggests user ids, or "" if there is no such column."""
    found = next((name for name in columns if _NAMES_USERS.search(name)), "")
    return f"rename the column '{found}' to 'user' in the file, or map it with --source" if found else ""


def _documents(shortest: int, longest: int) -> str:
    return several(longest, "document") if shortest == longest else f"{shortest} to {longest} documents"


def _not_read(column: str) -> str:
    near = difflib.get_close_matches(column, LOG_COLUMNS, n=1)
    return f"{column} (did you mean '{near[0]}'?)" if near else column
