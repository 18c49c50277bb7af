"""The session logs of the Yandex challenges: Relevance Prediction (WSCD 2012), Personalized Web Search (WSCD 2014).

Lines are parted by tabs. The first contest has

    SessionID  TimePassed  Q  QueryID  RegionID  URLID ...
    SessionID  TimePassed  C  URLID

and the second one

    SessionID  M  Day  UserID
    SessionID  TimePassed  Q  SERPID  QueryID  TermID,TermID...  URLID,DomainID ...
    SessionID  TimePassed  C  SERPID  URLID

A query action is an impression. A click goes to the last impression of its session that shows the document, in the
second contest to that of its number; clicks on other documents (advertisements, later pages) are left out. There is
no time of day: all impressions have time 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ltr_duel.logs.table import LOG_COLUMNS
from ltr_duel.logs.text import Found, Row, cut_short, open_text


@dataclass
class _Shown:
    """One impression, until its session ends."""

    line: int
    number: str
    query: str
    shown: list[str]
    clicks: list[int] = field(default_factory=list)


def rows_of_sessions(path: Path) -> Iterator[Found]:
    """Yield the impressions of a session log, in the order of the file.

    Raises
    ------
    InputError
        If the file is no text or cut short.
    """
    session, user, open_ones = "", None, list[_Shown]()
    with open_text(path) as file:
        for number, line in enumerate(cut_short(path, file), 1):
            parts = line.rstrip("\r\n").split("\t")
            if parts == [""]:
                continue
            if parts[0] != session:
                yield from _rows(session, user, open_ones)
                session, user, open_ones = parts[0], None, []
            wrong = ""
            if len(parts) == 4 and parts[1] == "M":
                user = parts[3]
            elif len(parts) >= 6 and parts[2] in ("Q", "T"):
                second = "," in parts[6] if len(parts) > 6 else False
                shown = [part.partition(",")[0] for part in parts[6:]] if second else parts[5:]
                if len(set(shown)) < len(shown):
                    wrong = "a document is shown twice"
                else:
                    query = parts[4] if second else parts[3]
                    open_ones.append(_Shown(number, parts[3] if second else str(len(open_ones)), query, shown))
            elif len(parts) in (4, 5) and parts[2] == "C":
                _click(open_ones, parts)
            else:
                wrong = "neither a query (Q), a click (C) nor a session (M) of a Yandex log"
            if wrong:
                yield number, wrong, []
        yield from _rows(session, user, open_ones)


def _click(open_ones: list[_Shown], parts: list[str]) -> None:
    document = parts[-1]
    for one in reversed(open_ones):
        if document in one.shown and (len(parts) == 4 or one.number == parts[3]):
            place = one.shown.index(document) + 1
            if place not in one.clicks:
                one.clicks.append(place)
            return


def _rows(session: str, user: str | None, open_ones: list[_Shown]) -> Iterator[Found]:
    for one in open_ones:
        row: Row = dict.fromkeys(LOG_COLUMNS)
        row |= {"impression": f"{session}/{one.number}", "time": 0.0, "query": one.query, "user": user}
        row |= {"shown": one.shown, "clicks": one.clicks}
        yield one.line, row, []
