"""Read the session logs of two Yandex challenges: Relevance Prediction (2012), Personalized Web Search (2014).

Fields are separated by tabs, and the lines of a session are adjacent. The files of the first challenge have the lines

    SessionID  TimePassed  Q  QueryID  RegionID  URLID ...
    SessionID  TimePassed  C  URLID

and the files of the second challenge have the lines below, with T instead of Q for test queries:

    SessionID  M  Day  UserID
    SessionID  TimePassed  Q  SERPID  QueryID  TermID,TermID...  URLID,DomainID ...
    SessionID  TimePassed  C  SERPID  URLID
"""

from __future__ import annotations

import gzip
import zlib
from array import array
from pathlib import Path

import numpy as np

from ltr_duel.clicks.fit.sessions import Sessions
from ltr_duel.core import InputError


def read_yandex(path: str | Path) -> Sessions:
    """Read the lists and clicks of a session log of a Yandex challenge into memory.

    Each query of the log becomes a session of `Sessions`. In the first challenge, a click belongs to the last list of
    the session that shows the document. In the second challenge, the SERPID of a click names the list. Clicks on other
    documents, for example advertisements, are left out. A file whose name ends with ``.gz`` is decompressed. Raises
    `InputError` if the file cannot be read, or a line has another form.
    """
    queries, documents, users = dict[str, int](), dict[str, int](), dict[str, int]()
    lengths, query, user, document, click = (array("q") for _ in range(5))
    session, searcher = "", -1
    impressions = list[tuple[str, int, list[str]]]()  # of this session: SERPID, first index in `document`, documents
    try:
        with (gzip.open if str(path).endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
            for row, line in enumerate(file, 1):
                fields = line.rstrip("\n").split("\t")
                if fields[0] != session:
                    session, searcher, impressions = fields[0], -1, []
                if len(fields) == 4 and fields[1] == "M":
                    searcher = users.setdefault(fields[3], len(users))
                elif len(fields) >= 6 and fields[2] in ("Q", "T"):
                    second = "," in "".join(fields[6:7])
                    shown = [field.split(",")[0] for field in fields[6:]] if second else fields[5:]
                    impressions.append((fields[3] if second else "", len(document), shown))
                    lengths.append(len(shown))
                    query.append(queries.setdefault(fields[4 if second else 3], len(queries)))
                    user.append(searcher)
                    document.extend(documents.setdefault(name, len(documents)) for name in shown)
                    click.extend([0] * len(shown))
                elif len(fields) in (4, 5) and fields[2] == "C":
                    for serp, first, shown in reversed(impressions):
                        if fields[-1] in shown and (len(fields) == 4 or serp == fields[3]):
                            click[first + shown.index(fields[-1])] = 1
                            break
                else:
                    raise InputError(f"{path}:{row}: neither a query (Q), a click (C) nor a session (M) of Yandex")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    arrays = np.array(lengths), np.array(query), np.array(document), np.array(click) > 0
    return Sessions.from_documents(*arrays, np.array(user) if users else None, list(queries), list(documents))
