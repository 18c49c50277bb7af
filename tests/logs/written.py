"""Small logs of two rankers, written as JSON lines."""

from __future__ import annotations

import html
import json
import re

import numpy as np

from ltr_duel.logs import ClickLog

DAY = 86_400
START = 20_000 * DAY + 6 * 3600  # 2024-10-04, six in the morning


def log_of(path, y, time=None, user=None, **more):
    """Write outcomes of the first ranker, old, against new; by default, each user comes once, a second later."""
    n, clicks, rows = len(y), {1: [1], -1: [2], 0: []}, []
    time, user = range(n) if time is None else time, range(n) if user is None else user
    for k in range(n):
        row = {"impression": k, "time": START + float(time[k]), "query": "q"}
        row["user"] = None if user[k] is None else f"u{user[k]}"
        row |= {"shown": ["x", "y"], "clicks": clicks[int(y[k])], "rankers": ["old", "new"], "owners": [0, 1]}
        rows.append(json.dumps(row | {name: values[k] for name, values in more.items()}) + "\n")
    path.write_text("".join(rows))
    return ClickLog(path)


def drawn(n=600, days=4, users=100, seed=0):
    """Return outcomes of which old wins 50 % and loses 30 %, their times in order, and their users."""
    rng = np.random.default_rng(seed)
    return rng.choice([-1, 0, 1], n, p=[0.3, 0.2, 0.5]), np.sort(rng.random(n)) * days * DAY, rng.integers(0, users, n)


def text_of(path):
    """Return the text of a page, without tags, with single spaces."""
    page = re.sub(r"(?s)<style.*?</style>|<head>.*?</head>", " ", path.read_text(encoding="utf-8"))
    return " ".join(html.unescape(re.sub(r"<wbr>|(?<=\w)<wbr/?>", "", re.sub(r"<(?!wbr)[^>]+>", " ", page))).split())
