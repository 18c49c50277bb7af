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
PROBABILISTIC = {"probabilistic": "marginal_sign"}  # the default when the numbers were frozen
RANKERS, DOCUMENTS = ("old", "new", "third", "fourth"), tuple("abcdefgh")
Rows = list[dict[str, Any]]

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


def drawn(n: int = 500, users: int = 60, rankers: int = 2, each: int = 2, seed: int = 0) -> Rows:
    """Draw impressions of some of the rankers; users return, a few of them often, and have tastes of their own."""
    rng = np.random.default_rng(seed)
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


def credited(method: str, rankers: int, outcome: str = "") -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield impressions made by a method, with the rankings and with the page token."""
    rng = np.random.default_rng(7)
    order = [[[str(one) for one in rng.permutation(DOCUMENTS)] for _ in RANKERS] for _ in range(10)]
    for k in range(250):
        q, arms = int(rng.integers(10)), rng.permutation(max(rankers, 3))[:rankers]
        lists = {RANKERS[arm]: order[q][arm] for arm in arms}
        page = interleave(lists, method, outcome=outcome, top=int(rng.integers(2, 7)), rng=rng)
        clicks = [n for n, one in enumerate(page.shown, 1) if rng.random() < 0.6 / (1 + order[q][0].index(one))]
        row = {"impression": f"i{k}", "time": float(START + 900 * k), "query": f"q{q}", "clicks": clicks}
        row |= {"user": f"u{rng.integers(70)}", "shown": list(page.shown)}
        made = {"rankers": list(lists), "rankings": list(lists.values()), "method": method, "outcome": page.outcome}
        yield row | made, row | {"page": page.to_json()}


def written(path: Path, rows: Rows) -> Path:
    """Write rows in the form of the suffix."""
    with write_log(path, tuple(rows[0])) as log:
        log.write({name: [row.get(name) for row in rows] for name in rows[0]})
    return path


def lines(path: Path, rows: Rows) -> Path:
    """Write rows as JSON lines, with any columns."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def mapped(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


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
    yield ClickLog(written(folder / "log.ndjson", rows), format="ubi")
    flat = [
        {"search": row["impression"], "at": row["time"], "words": row["query"], "who": row["user"], "doc": document}
        | {"place": place, "team": row["rankers"][owner] if owner >= 0 else None, "clicked": place in row["clicks"]}
        | {"teams": "/".join(row["rankers"])}
        for row in rows
        for place, (document, owner) in reversed(list(enumerate(zip(row["shown"], row["owners"], strict=True), 1)))
    ]
    yield ClickLog(lines(folder / "flat.jsonl", flat), source=mapped(folder / "flat.toml", FLAT))
    split = [
        {"id": row["impression"], "at": row["time"] * 1000, "words": row["query"], "who": row["user"]}
        | {"docs": "|".join(row["shown"]), "places": "|".join(map(str, row["clicks"])) or None}
        | {"team": "|".join(row["rankers"][one] if one >= 0 else "" for one in row["owners"])}
        | {"teams": "/".join(row["rankers"])}
        for row in rows
    ]
    yield ClickLog(lines(folder / "split.jsonl", split), source=mapped(folder / "split.toml", SPLIT))
    exposures, events = parts(rows)
    shown = lines(folder / "exposures.jsonl", exposures)
    for column in ("item", "position"):
        some = [{name: row[name] for name in ("impression", "kind", "time", column)} for row in events]
        yield ClickLog(shown, events=lines(folder / f"{column}.jsonl", some))


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


def cases(folder: Path) -> Iterator[tuple[str, ClickLog, dict[str, Any]]]:
    """Yield name, log and settings of each comparison."""
    rows = drawn()
    for log in forms(folder, rows):
        yield "two rankers", log, {}
    log = ClickLog(folder / "log.parquet")
    for cluster in ("query", "both", "impression"):
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
        for cluster in ("user", "both"):
            yield (
                f"{name}, by {cluster}",
                ClickLog(lines(folder / f"{name}.jsonl", drawn(**more))),
                {"cluster": cluster},
            )
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
        yield name, ClickLog(lines(folder / f"{name}.jsonl", changed)), {}
    bad = [row | ({"clicks": [99]} if k in (5, 50) else {}) for k, row in enumerate(rows)] + [
        rows[0] | {"query": "again"}
    ]
    yield "bad lines", ClickLog(lines(folder / "bad.jsonl", bad), skip_bad=3), {}
    exposures, events = (
        lines(folder / f"{name}.jsonl", part) for name, part in zip(("shown", "done"), parts(rows), strict=True)
    )
    for outcome in ("purchase", "value", "dwell>=30"):
        yield outcome, ClickLog(exposures, events=events, outcome=outcome), {}
    for within, which in (("1d", "last"), ("3d", "last"), ("3d", "first"), ("3d", "all")):
        log = ClickLog(exposures, events=events, outcome="purchase", within=within, which=which)
        yield f"purchase, {which} within {within}", log, {}
    owned = [
        {"impression": row["impression"], "position": place, "owner": row["rankers"][row["owners"][place - 1]]}
        for row in rows
        for place in row["clicks"]
        if row["owners"][place - 1] >= 0
    ]
    bare = [{k: v for k, v in row.items() if k not in ("clicks", "owners", "shown")} for row in rows]
    log = ClickLog(lines(folder / "bare.jsonl", bare), events=lines(folder / "owned.jsonl", owned))
    yield "two rankers", log, {}
    for method, rankers, outcome in (
        ("team_draft", 2, ""), ("team_draft", 3, ""), ("balanced", 2, ""), ("probabilistic", 2, ""),
        ("probabilistic:tau=1", 2, "expectation"), ("probabilistic", 3, ""), ("sosm", 3, ""),
    ):  # fmt: skip
        made = list(credited(method, rankers, outcome or PROBABILISTIC.get(method, "")))
        for form, some in enumerate(zip(*made, strict=True)):
            if form or method != "team_draft":  # whose credit needs owners
                log = ClickLog(lines(folder / f"{method} {rankers} {form}.jsonl", list(some)))
                yield f"{method}, {rankers} rankers, {outcome or 'default'}", log, {}
    if REAL.exists():
        yield "Wikimedia", ClickLog(REAL, source=mapped(folder / "wikimedia.toml", WIKIMEDIA)), {}


def numbers(log: ClickLog, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers of a comparison: facts of the log, results by pair, and decisions valid at every look."""
    found = compare_log(log, looks=False, **settings)
    once = decide(found, checks=False)
    facts = {name: found.provenance[name] for name in ("method", "outcome", "users", "queries", "bad_lines")}
    pairs = {
        " ".join(one[:2]): {name: values[k].item() for name, values in columns(found).items()} | {"better": one.winner}
        for k, one in enumerate(once.pairs)
    }
    result = facts | {"impressions": found.impressions, "cluster": found.cluster, "winner": once.winner}
    result["one look"] = pairs
    kept = ("verdict", "winner", "observations", "mean", "low", "high", "e_value")
    result["every look"] = {
        f"{one.first} {one.second}": {name: getattr(one, name) for name in kept}
        for one in decide(found, found.confidence, margin=0.01, checks=False).pairs
    }
    return result


def columns(found: Any) -> dict[str, Any]:
    counts = {name: getattr(found, name) for name in ("wins", "losses", "ties")}
    means = {"mean": found.means.mean, "error": found.means.error, "freedom": found.means.freedom}
    return counts | means | {name: getattr(found, name) for name in ("low", "high", "p", "p_corrected")}


def golden(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield name and numbers of each comparison; a name comes once for each form of its log."""
    for name, log, settings in cases(folder):
        yield name, numbers(log, settings)


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
