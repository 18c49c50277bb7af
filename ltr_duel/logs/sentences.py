"""What is in a log, in words."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from ltr_duel.core import errors, several
from ltr_duel.logs.describe import LogFacts
from ltr_duel.logs.table import LOG_COLUMNS, date_words

_NAMES_USERS = re.compile("user|visitor|session|client|cookie", re.IGNORECASE)
_RESTS = {
    "page": "the page token",
    "rankings": "rankings and method",
    "owners": "the owners of the shown documents",
    "nothing": "nothing: these impressions can tell about users, not about rankers",
}


def log_lines(facts: LogFacts) -> list[str]:
    """Say what is in a log.

    Parameters
    ----------
    facts : LogFacts

    Returns
    -------
    list of str
        One sentence a line; the bad lines last.

    Examples
    --------
    >>> facts = LogFacts("jsonl", 2, 0, 60, 1, 0, "", 0, (3, 3), 1, 1, {"owners": 2}, (), "", ("query",), (), 0, ())
    >>> log_lines(facts)[0]
    '2 impressions from 1970-01-01 00:00:00 to 1970-01-01 00:01:00 (jsonl)'
    """
    n, listed = facts.impressions, facts.shown[1] > 0
    lists = f"lists of {_documents(*facts.shown)}" if listed else "no lists"
    rests = _RESTS if listed else _RESTS | {"owners": "the owners of the items with events"}
    lines = [
        f"{several(n, 'impression')} from {date_words(facts.first)} to {date_words(facts.last)} ({facts.format})",
        f"{several(facts.queries, 'query')}; {lists};"
        f" {several(facts.clicks, 'click')}, on {facts.clicked / n:.1%} of the impressions",
    ]
    if facts.users:
        lines.append(f"{several(facts.users, 'user')}, {n / facts.users:.1f} impressions each")
        if facts.largest_user:
            share = facts.largest_user_impressions / n
            lines.append(
                f"user '{facts.largest_user}' has {facts.largest_user_impressions:,} of the impressions ({share:.0%}):"
                " what is said of users in general rests on fewer of them than it seems"
            )
    else:
        hint = user_hint(facts.other_columns)
        lines.append("no values in 'user': each impression counts as one user" + f"; {hint}" * bool(hint))
    for form, count in facts.forms.items():
        lines.append(f"credit of {several(count, 'impression')} rests on {rests[form]}")
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
                f"  'logs compare' counts {facts.not_compared:,} of them: it does not read what is wrong in the others"
            )
    return [errors.in_one_line(line) for line in lines]


def user_hint(columns: Sequence[str]) -> str:
    """Return what to do about a column, not read, that seems to name users; empty if there is none."""
    found = next((name for name in columns if _NAMES_USERS.search(name)), "")
    return f"call the column '{found}' 'user' in the file, or map it (--source)" if found else ""


def _documents(shortest: int, longest: int) -> str:
    return several(longest, "document") if shortest == longest else f"{shortest} to {longest} documents"


def _not_read(column: str) -> str:
    near = difflib.get_close_matches(column, LOG_COLUMNS, n=1)
    return f"{column} (did you mean '{near[0]}'?)" if near else column
