"""Count the pages of a live experiment when their windows are over.

The window of a page is the time in which its events count. These events decide which ranker won. A page counts only if
the user has seen it. The state, the policy and the exported log use the same counts.
"""

from __future__ import annotations

import json
from itertools import combinations, takewhile

from ltr_duel.live.planner import Outcome, credit, outcome
from ltr_duel.live.settings import Settings
from ltr_duel.live.store import Store

CLICKED = """
(SELECT group_concat(DISTINCT position) FROM events WHERE events.impression = exposures.impression
 AND kind = :credit AND position AND value > 0 AND events.time - exposures.time <= :window)
"""  # positions, from 1, of the documents on a page whose events credit rankers
_DUE = f"""
SELECT time, n, impression, user, rankers, record, seen, {CLICKED} FROM exposures WHERE NOT learned ORDER BY n LIMIT 50
"""  # few pages at a time, because searches wait until they are counted
_COUNT = "INSERT INTO counts VALUES (?, ?, ?, ?, 1) ON CONFLICT DO UPDATE SET n = n + 1"
_TOTAL = """
INSERT INTO totals VALUES (?, 1, ?, ?)
ON CONFLICT DO UPDATE SET shown = shown + 1, seen = seen + excluded.seen, clicked = clicked + excluded.clicked
"""


def positions_in(clicked: str | None) -> list[int]:
    """Return the positions in the column `CLICKED`, in ascending order."""
    return sorted(map(int, clicked.split(","))) if clicked else []


def count_due(store: Store, settings: Settings, now: float) -> tuple[int, list[Outcome]]:
    """Count some pages whose window is over at the time ``now``.

    Return their number, and the outcomes of the pages that count. The caller begins and ends the transaction.
    """
    values, window = {"credit": settings.credit, "window": settings.window}, settings.window
    due = list(takewhile(lambda row: now - row[0] > window, store.db.execute(_DUE, values)))  # times never decrease
    return len(due), [result for _, *row in due if (result := _count(store, settings, *row))]


def _count(
    store: Store, settings: Settings, n: int, impression: str, user: str, text: str, record: str, seen: int,
    clicked: str | None,
) -> Outcome | None:  # fmt: skip
    """Count a page, and store its outcome. Return the outcome, or None if the page does not count."""
    db, rankers = store.db, json.loads(text)
    counts = seen or settings.count == "shown"
    db.execute("UPDATE exposures SET learned = 1 WHERE n = ?", (n,))
    db.execute(_TOTAL, (text, seen, int(bool(counts and clicked))))
    if not counts:
        return None
    if len(rankers) == 1:
        arm = settings.rankers.index(rankers[0])
        result: Outcome = (arm,) if settings.compares_sets else (arm, arm), b""
    else:
        exposure = {"impression": impression, "rankers": rankers, **json.loads(record)}
        won = credit(exposure, positions_in(clicked))
        result = outcome(settings, exposure, won)
        for (i, j), y in zip(combinations(result[0], 2), won, strict=True):
            a, b, y = (i, j, y) if i < j else (j, i, -y)
            first = db.execute("INSERT OR IGNORE INTO met VALUES (?, ?, ?)", (user, a, b)).rowcount
            db.execute(_COUNT, (a, b, y, first))
    db.execute("INSERT INTO outcomes (exposure, arms, signs) VALUES (?, ?, ?)", (n, json.dumps(result[0]), result[1]))
    return result
