"""Correct logs with frequent users, and the error rates of the checks of `logs check` on such logs."""

from __future__ import annotations

import itertools
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa

from ltr_duel.core import stream
from ltr_duel.data import make_corpus
from ltr_duel.logs import ClickLog, check_log, simulate_log, write_log
from ltr_duel.rankers import feature_rankers

COLUMNS = ("impression", "time", "query", "user", "shown", "clicks", "rankers", "owners", "policy")
SHOWN = [f"d{k}" for k in range(6)]
DRAWN = ("anew", "by user", "by visit")
SHIFTING = "shifting"
RUNS = "in runs"
SIMULATED = {"pairs": "team_draft", "horizon": 3000}


def write_sound_log(path, rankers, users, drawn, seed, n=3000):
    """Write a log of team drafts with fair coins; users differ in clicks, and rankers in empty lists.

    If there are at least 100 users, 5 % of them make half of the pages. Pairs are sampled for each page, for each
    user, or for each visit of five pages; with odd seeds, users then come one after the other. Or a policy shifts the
    pages to one pair while the share of empty pages grows. Or pairs come in runs of a hundred pages, all pages fail for
    1 % of the time, and all pages of one user fail. The first two rankers agree on half of the queries. Each ranker
    finds nothing for a fifth of the queries, and a page is empty if neither ranker finds anything. Some queries fail
    more often than others.
    """
    rng = stream(seed, "sound log", f"{rankers} {users} {drawn}")
    often = (rng.random(n) < 0.5) & (users >= 100)
    user = np.where(often, rng.integers(0, max(users // 20, 1), n), rng.integers(0, users, n))
    late = np.arange(n) / n
    if drawn in ("by user", "by visit") and seed % 2:
        user = np.sort(rng.permutation(users)[user])
    pairs = list(itertools.combinations(range(rankers), 2))
    order = np.argsort(user, kind="stable")
    visit = np.empty(n, np.int64)
    visit[order] = (np.arange(n) - np.searchsorted(user[order], user[order])) // 5
    one = {
        "anew": np.arange(n),
        SHIFTING: np.arange(n),
        RUNS: np.arange(n),
        "by user": user,
        "by visit": user * n + visit,
    }[drawn]
    if drawn == RUNS:
        one = np.cumsum(rng.random(n) < 0.01)
    _, one = np.unique(one, return_inverse=True)
    pair = np.array(pairs)[rng.integers(0, len(pairs), one.max() + 1)[one]]
    if drawn == SHIFTING:
        pair[rng.random(n) < late] = pairs[0]
    arms = np.where(rng.random((n, 1)) < 0.5, pair, pair[:, ::-1])
    coins = rng.integers(0, 2, (n, 3))
    owners = np.stack([coins, 1 - coins], axis=2).reshape(n, 6)
    query = rng.integers(0, 50, n)
    fails = np.maximum(rng.beta(0.03, 0.27, users)[user], rng.beta(0.1, 0.9, 50)[query])
    empty = rng.random(n) < (late if drawn == SHIFTING else 1) * fails
    if drawn == RUNS:
        start = int(rng.integers(n))
        empty |= (np.arange(n) >= start) & (np.arange(n) < start + n // 100) | (user == users - 1)
    empty |= (rng.random((rankers, 50)) < 0.2)[pair, query[:, None]].all(axis=1)
    owners[(rng.random(50) < 0.5)[query] & (pair == (0, 1)).all(axis=1)] = -1
    likes = rng.beta(1.2, 1.2, users)[user, None] * rng.random((users, rankers))[user[:, None], arms]
    clicked = rng.random((n, 6)) < np.take_along_axis(likes, owners, axis=1)
    columns = {
        "impression": [f"i{k}" for k in range(n)],
        "time": (1.7e9 + 10 * np.arange(n)).tolist(),
        "query": [f"q{k}" for k in query],
        "user": [f"u{k}" for k in user],
        "shown": [[] if none else SHOWN for none in empty],
        "clicks": [
            [] if none else (np.flatnonzero(row) + 1).tolist() for none, row in zip(empty, clicked, strict=True)
        ],
        "rankers": [[f"r{a}", f"r{b}"] for a, b in arms.tolist()],
        "owners": [[] if none else row for none, row in zip(empty, owners.tolist(), strict=True)],
        "policy": pa.array(["rucb" if drawn in (SHIFTING, RUNS) else None] * n, pa.string()),
    }
    with write_log(path, COLUMNS) as log:
        log.write({name: pa.array(values) for name, values in columns.items()})


def failed(path, **settings):
    """Return the executed checks, and the failed checks."""
    found = [one for one in check_log(ClickLog(path, skip_bad=None), **settings) if one.verdict != "not checked"]
    return [one.name for one in found], [one.name for one in found if one.verdict == "fails"]


def false_alarms_of_checks(kind, rankers, users, experiments, **settings):
    """Return how often each check is executed, and fails; ``kind`` is the way to sample pairs, or a policy.

    With a policy, ``rankers`` may be `Rankings`, and further settings are passed to `simulate_log`.
    """
    made, alarms = Counter(), Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clicks.parquet"
        for seed in range(experiments):
            path.unlink(missing_ok=True)
            if kind in (*DRAWN, SHIFTING, RUNS):
                write_sound_log(path, rankers, users, kind, seed)
            else:
                clicks, rankings = ("navigational", "informational", "perfect")[seed % 3], rankers
                if isinstance(rankers, int):
                    rankings = feature_rankers(make_corpus(queries=40, documents=10, features=rankers, seed=seed))
                simulate_log(path, rankings, clicks, **SIMULATED | settings, policy=kind, returning=users, seed=seed)
            names, wrong = failed(path, planned="even" if kind in DRAWN else "")
            made.update(names)
            alarms.update(wrong)
    return made, alarms
