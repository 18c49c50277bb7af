"""Small logs of two rankers, written as JSON lines."""

from __future__ import annotations

import json

import numpy as np

from ltr_duel.core import stream
from ltr_duel.logs import ClickLog

DAY = 86_400


def log_of(path, y, time, user, rankers=("old", "new")):
    """Write outcomes of the first ranker."""
    rows = [
        {"impression": k, "time": t, "query": "q", "user": u, "shown": ["a", "b"], "rankers": list(rankers)}
        | {"owners": [0, 1], "clicks": {1: [1], -1: [2], 0: []}[v]}
        for k, (v, t, u) in enumerate(zip(y, time, user, strict=True))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return ClickLog(path)


def drawn(n, days, mean=0.0, users=200, seed=0):
    """Draw outcomes with 30 % ties, evenly over some days, and their users."""
    rng = stream(seed, "named")
    y = rng.choice([1, 0, -1], n, p=[(0.7 + mean) / 2, 0.3, (0.7 - mean) / 2])
    return [int(v) for v in y], np.linspace(0, days * DAY, n).tolist(), rng.integers(0, users, n).tolist()
