"""Rows of logs, and files that contain them."""

from __future__ import annotations

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ltr_duel.logs import LOG_COLUMNS, ClickLog, compare_log

KINDS = ("jsonl", "csv", "parquet")


def impression(n, **more):
    """Return a row of a log in one table; by default, the click is on the document of the old ranker."""
    return {
        "impression": f"i{n}", "time": n, "user": f"u{n}", "query": "q", "shown": ["a", "b"], "clicks": [1],
        "rankers": ["old", "new"], "owners": [0, 1],
    } | more  # fmt: skip


def exposure(n, user="u", time=0.0, **more):
    return {
        "impression": f"i{n}", "time": float(time), "user": user, "query": "q", "shown": ["a", "b", "c"],
        "rankers": ["old", "new"], "owners": [0, 1, -1],
    } | more  # fmt: skip


def event(impression, item, kind="click", **more):
    given = {"impression": impression, "user": "u", "item": item, "kind": kind, "time": 1.0}
    return given | {"value": None, "dwell": None} | more


def write(path, rows):
    """Write rows in the format of the suffix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".csv":
        with path.open("w", newline="") as file:
            out = csv.DictWriter(file, list(rows[0]))
            out.writeheader()
            for row in rows:
                out.writerow({name: json.dumps(v) if isinstance(v, list) else v for name, v in row.items()})
    else:
        path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows))
    return path


def both(folder, exposures, events, kind="parquet"):
    """Write exposures and events; return the first arguments of `ClickLog`."""
    paths = [write(folder / f"{name}.{kind}", rows) for name, rows in (("shown", exposures), ("seen", events))]
    return {"path": paths[0], "events": paths[1]}


def compared(*args, **settings):
    """Return wins, losses and ties of the first ranker."""
    found = compare_log(ClickLog(*args, **settings))
    assert set(found.names) == {"old", "new"}
    order = 1 if found.names[0] == "old" else -1
    return *(found.wins[0], found.losses[0])[::order], found.ties[0]


def rows_of(log):
    """Return all rows, with null for columns that the log lacks."""
    return [dict.fromkeys(LOG_COLUMNS) | row for batch in log.batches() for row in batch.table.to_pylist()]


def random_tables(number=1500, seed=0):
    """Return exposures of two of three rankers, by 200 users who return, and their events."""
    rng = np.random.default_rng(seed)
    exposures, events = [], []
    for n in range(number):
        rankers = [str(name) for name in rng.permutation(["a", "b", "c"])[:2]]
        owners = [int(k) for k in rng.integers(-1, 2, 3)]
        user = None if n % 50 == 0 else f"u{rng.integers(200)}"
        exposures.append(exposure(n, user, n // 2, rankers=rankers, owners=owners, shown=["x", "y", "z"]))
        for place in range(3):
            if rng.random() < 0.3:
                late = user is not None and rng.random() < 0.3
                events.append(event(None if late else f"i{n}", "xyz"[place], user=user, time=n // 2 + 1.0))
    return exposures, events
