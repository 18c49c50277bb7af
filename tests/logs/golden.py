"""Golden numbers of `compare_log`: ``python -m tests.logs.golden`` writes the file, a test compares it.

All logs are made here, from fixed seeds, and read through the public interface. Logs of one name in several forms must
have the same numbers, so they have one entry in the file.
"""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ltr_duel.interleaving import interleave
from ltr_duel.logs import ClickLog, compare_log, decide, write_log
from tests.conftest import REAL_DATA

FILE = Path(__file__).with_name("golden_comparisons.json")
REAL = REAL_DATA / "logs" / "wikimedia_interleaved_a.csv.gz"
DAY, START = 86_400, 1_750_000_000
RANKERS, DOCUMENTS = ("old", "new", "third", "fourth"), tuple("abcdefgh")
Rows = list[dict[str, Any]]
Case = tuple[str, ClickLog, dict[str, Any]]
FLAT = """
[exposures]
impression = "search"
time = "at"
query = "words"
user = "who"
item = "doc"
position = "place"
owner = "team"
rankers = "string_split(teams, '/')"
[events]
where = "clicked"
impression = "search"
item = "doc"
"""
SPLIT = """
[exposures]
impression = "id"
time = '"at" / 1000'
query = "words"
user = "who"
shown = "string_split(docs, '|')"
owners = "string_split(team, '|')"
rankers = "string_split(teams, '/')"
[events]
where = "places is not null"
impression = "id"
position = "unnest(string_split(places::varchar, '|'))::int"
"""
WIKIMEDIA = """
[exposures]
where = "event = 'serp'"
impression = "search_id"
time = "timestamp"
query = "search_id"
rankers = ["A", "B"]
[events]
where = "event = 'click'"
impression = "search_id"
position = "position"
owner = "ranking_function"
"""


def drawn(n: int = 500, users: int = 60, rankers: int = 2, each: int = 2) -> Rows:
    """Draw impressions of some of the rankers; users return, a few of them often, and have tastes of their own."""
    rng = np.random.default_rng(0)
    taste, often = rng.normal(0, 0.15, (users, rankers)), rng.dirichlet(np.full(users, 0.6))
    rows = []
    for k in range(n):
        user, arms = int(rng.choice(users, p=often)), rng.permutation(rankers)[:each]
        owners = [int(one) for one in rng.integers(0, each + 1, rng.integers(2, 7)) - 1]  # -1: no owner
        p = [0.15 + (0.12 + 0.05 * arms[one] + taste[user, arms[one]]) * (one >= 0) for one in owners]
        clicks = [place for place, u in enumerate(rng.random(len(p)), 1) if u < p[place - 1]]
        rows.append(
            {"impression": f"i{k}", "time": float(START + k * 20 * DAY // n), "query": f"q{rng.integers(25)}"}
            | {"user": f"u{user}", "shown": [str(one) for one in rng.permutation(DOCUMENTS)[: len(p)]]}
            | {"clicks": clicks, "rankers": [RANKERS[arm] for arm in arms], "owners": owners}
        )
    return rows


def parts(rows: Rows) -> tuple[Rows, Rows]:
    """Return exposures and their clicks, purchases (with values) and a few events without an exposure."""
    rng = np.random.default_rng(3)
    exposures = [{name: value for name, value in row.items() if name != "clicks"} for row in rows]
    events = []
    for row in rows:
        for place in row["clicks"]:
            seen = {"impression": row["impression"], "user": row["user"], "item": row["shown"][place - 1]}
            seen |= {"position": place, "time": row["time"] + place, "kind": "click", "value": None}
            events.append(seen | {"dwell": float(rng.integers(60))})
            if rng.random() < 0.4:
                bought = {"kind": "purchase", "value": round(float(rng.gamma(2, 10)), 2), "dwell": None}
                late = {"impression": None, "position": None, "time": row["time"] + float(rng.integers(4 * DAY))}
                events.append(seen | bought | (late if rng.random() < 0.5 else {}))
    order = np.argsort([row["time"] for row in events], kind="stable")
    return exposures, [events[k] for k in order]


def credited(method: str, rankers: int, outcome: str = "") -> Iterator[dict[str, Any]]:
    """Yield impressions made by a method, with the page token."""
    rng = np.random.default_rng(7)
    order = [[[str(one) for one in rng.permutation(DOCUMENTS)] for _ in RANKERS] for _ in range(10)]
    for k in range(250):
        q, arms = int(rng.integers(10)), rng.permutation(max(rankers, 3))[:rankers]
        lists = {RANKERS[arm]: order[q][arm] for arm in arms}
        page = interleave(lists, method, outcome=outcome, top=int(rng.integers(2, 7)), rng=rng)
        clicks = [n for n, one in enumerate(page.shown, 1) if rng.random() < 0.6 / (1 + order[q][0].index(one))]
        row = {"impression": f"i{k}", "time": float(START + 900 * k), "query": f"q{q}", "clicks": clicks}
        row |= {"user": f"u{rng.integers(70)}", "shown": list(page.shown)}
        yield row | {"page": page.to_json()}


def written(path: Path, content: Rows | str) -> Path:
    """Write a text, or rows as JSON lines with any columns, or in the form of another suffix."""
    if isinstance(content, str) or path.suffix == ".jsonl":
        lines = content if isinstance(content, str) else "".join(json.dumps(row) + "\n" for row in content)
        path.write_text(lines)
        return path
    with write_log(path, tuple(content[0])) as log:
        log.write({name: [row.get(name) for row in content] for name in content[0]})
    return path


def records(rows: Rows) -> Iterator[dict[str, Any]]:
    """Yield each row as a query of User Behavior Insights, and an event for each click."""
    for row in rows:
        about = {"query_id": row["impression"], "client_id": row["user"], "timestamp": row["time"] * 1000}
        attributes = {name: row[name] for name in ("rankers", "owners")}
        yield about | {
            "user_query": row["query"],
            "query_response_hit_ids": row["shown"],
            "query_attributes": attributes,
        }
        for place in row["clicks"]:
            yield about | {"action_name": "click", "event_attributes": {"position": {"ordinal": place - 1}}}


def forms(folder: Path, rows: Rows) -> Iterator[ClickLog]:
    """Yield one log in all forms."""
    for kind in ("jsonl", "csv", "parquet"):
        yield ClickLog(written(folder / f"log.{kind}", rows))
    (folder / "log.jsonl.gz").write_bytes(gzip.compress((folder / "log.jsonl").read_bytes()))
    yield ClickLog(folder / "log.jsonl.gz")
    (folder / "days").mkdir()
    for day, (start, stop) in enumerate(((0, 90), (90, 91), (91, 500))):
        written(folder / "days" / f"day{day}.parquet", rows[start:stop])
    yield ClickLog(folder / "days")
    yield ClickLog(written(folder / "log.ubi.jsonl", list(records(rows))), format="ubi")
    flat, split = [], []
    for row in rows:
        team = [row["rankers"][one] if one >= 0 else "" for one in row["owners"]]
        same = {"words": row["query"], "who": row["user"], "teams": "/".join(row["rankers"])}
        flat += [
            same | {"search": row["impression"], "at": row["time"], "doc": document, "place": place}
            | {"team": owner or None, "clicked": place in row["clicks"]}
            for place, (document, owner) in reversed(list(enumerate(zip(row["shown"], team, strict=True), 1)))
        ]  # fmt: skip
        lists = {"docs": row["shown"], "places": map(str, row["clicks"]), "team": team}
        split.append(same | {"id": row["impression"], "at": row["time"] * 1000})
        split[-1] |= {name: "|".join(values) or None for name, values in lists.items()}
    for name, table, mapping in (("flat", flat, FLAT), ("split", split, SPLIT)):
        yield ClickLog(written(folder / f"{name}.jsonl", table), source=written(folder / f"{name}.toml", mapping))
    exposures, events = parts(rows)
    shown = written(folder / "exposures.jsonl", exposures)
    for column in ("item", "position"):
        some = [{name: row[name] for name in ("impression", "kind", "time", column)} for row in events]
        yield ClickLog(shown, events=written(folder / f"{column}.jsonl", some))
    owned = [
        {"impression": row["impression"], "position": place, "owner": row["rankers"][row["owners"][place - 1]]}
        for row in rows for place in row["clicks"] if row["owners"][place - 1] >= 0
    ]  # fmt: skip
    bare = [{name: row[name] for name in row if name not in ("clicks", "owners", "shown")} for row in rows]
    yield ClickLog(written(folder / "bare.jsonl", bare), events=written(folder / "owned.jsonl", owned))


def cases(folder: Path) -> Iterator[Case]:
    """Yield name, log and settings of each comparison."""
    rows = drawn()
    yield from (("two rankers", log, {}) for log in forms(folder, rows))
    log = ClickLog(folder / "log.parquet")
    for cluster in ("query", "impression"):
        yield f"two rankers, by {cluster}", log, {"cluster": cluster}
    yield "two rankers, at .8", log, {"confidence": 0.8}
    yield "two rankers, named", log, {"rankers": ("third", "new", "old")}
    for name, more in {
        "three rankers": {"rankers": 3},
        "four rankers in threes": {"rankers": 4, "each": 3},
        "six users": {"users": 6, "n": 80},
        "two users": {"users": 2, "n": 12},
        "many pairs, few impressions": {"rankers": 4, "n": 30},
    }.items():
        path = written(folder / f"{name}.jsonl", drawn(**more))
        yield f"{name}, by user", ClickLog(path), {}
    for name, changed in {
        "no users": [{k: v for k, v in row.items() if k != "user"} for row in rows],
        "half of the users": [row | {"user": row["user"] if k % 2 else None} for k, row in enumerate(rows)],
        "every user once": [row | {"user": f"u{k}"} for k, row in enumerate(rows)],
        "no clicks": [row | {"clicks": []} for row in rows[:40]],
        "one ranker always wins": [row | {"owners": [0, 1], "shown": ["x", "y"], "clicks": [1]} for row in rows[:40]],
        "rucb": [row | {"policy": "rucb", "propensity": 0.5} for row in rows],
        "rucb, no users": [row | {"policy": "rucb", "user": None} for row in rows],
        "random": [row | {"policy": "random"} for row in rows],
    }.items():
        yield name, ClickLog(written(folder / f"{name}.jsonl", changed)), {}
    bad = [row | ({"clicks": [99]} if k in (5, 50) else {}) for k, row in enumerate(rows)]
    yield "bad lines", ClickLog(written(folder / "bad.jsonl", [*bad, rows[0] | {"query": "again"}]), skip_bad=3), {}
    shown, done = (written(folder / f"part{k}.jsonl", part) for k, part in enumerate(parts(rows)))
    for outcome in ("purchase", "value", "dwell>=30"):
        yield outcome, ClickLog(shown, events=done, outcome=outcome), {}
    for within in ("1d", "3d"):
        log = ClickLog(shown, events=done, outcome="purchase", within=within)
        yield f"purchase, last within {within}", log, {}
    for method, rankers, outcome, name in (
        ("team_draft", 2, "", ""), ("team_draft", 3, "", ""), ("balanced", 2, "", ""),
        ("probabilistic", 2, "marginal_sign", "default"), ("probabilistic:tau=1", 2, "expectation", ""),
        ("probabilistic", 3, "marginal_sign", "default"), ("sosm", 3, "", ""),
    ):  # fmt: skip
        log = ClickLog(written(folder / f"{method} {rankers}.jsonl", list(credited(method, rankers, outcome))))
        yield f"{method}, {rankers} rankers, {name or outcome or 'default'}", log, {}
    if REAL.exists():
        yield "Wikimedia", ClickLog(REAL, source=written(folder / "wikimedia.toml", WIKIMEDIA)), {}


def numbers(log: ClickLog, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers of a comparison: facts of the log, results by pair, and decisions valid at every look."""
    comparison = compare_log(log, **settings)
    once, means = decide(comparison, checks=False), comparison.means
    facts = {name: comparison.provenance[name] for name in ("method", "outcome", "users", "queries", "bad_lines")}
    columns = {name: getattr(comparison, name) for name in ("wins", "losses", "ties")}
    columns |= {"mean": means.mean, "error": means.error, "freedom": means.freedom}
    columns |= {name: getattr(comparison, name) for name in ("low", "high", "p", "p_corrected")}
    kept = ("verdict", "winner", "observations", "mean", "low", "high", "e_value")
    always = decide(comparison, comparison.confidence, margin=0.01, checks=False)
    return facts | {
        "impressions": comparison.impressions, "cluster": comparison.cluster, "winner": once.winner,
        "one look": {
            f"{pair.first} {pair.second}": {name: column[k].item() for name, column in columns.items()}
            | {"better": pair.winner}
            for k, pair in enumerate(once.pairs)
        },
        "every look": {
            f"{pair.first} {pair.second}": {name: getattr(pair, name) for name in kept} for pair in always.pairs
        },
    }  # fmt: skip


def golden(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield name and numbers of each comparison; a name comes once for each form of its log."""
    yield from ((name, numbers(log, settings)) for name, log, settings in cases(folder))


def main() -> None:
    if not REAL.exists():
        raise SystemExit(f"the numbers of all logs are written together, and {REAL} is missing")
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, one in golden(Path(folder)):
            if found.setdefault(name, one) != one:
                raise SystemExit(f"{name}: two forms of the log differ:\n{found[name]}\n{one}")
    FILE.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(one)}" for k, one in found.items()) + "\n}\n")
    print(f"{FILE}: {len(found)} comparisons")


if __name__ == "__main__":
    main()
