"""The checks find damaged experiments, and pass correct ones."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from ltr_duel.core import InputError
from ltr_duel.data import make_corpus
from ltr_duel.logs import ClickLog, check_log, compare_log, simulate_log, write_log
from ltr_duel.logs.findings import ERROR, even, seldom, unchanged
from ltr_duel.rankers import feature_rankers
from tests.log_studies.sound_logs import RUNS, SHIFTING, failed, write_sound_log
from tests.logs.tables import both as tables
from tests.logs.tables import event, exposure

COLUMNS = ("impression", "time", "query", "user", "shown", "clicks", "rankers", "owners")
SHOWN = [f"d{k}" for k in range(6)]
PAGE = Path(__file__).parents[2] / "docs" / "logs.md"


def sound(number=3000, seed=0):
    """Return a team draft of two of three rankers on 600 users: three rounds, each in a separate order."""
    rng = np.random.default_rng(seed)
    rows = []
    for n in range(number):
        rankers = [str(name) for name in rng.permutation(["a", "b", "c"])[:2]]
        owners = [int(k) for _ in range(3) for k in rng.permutation(2)]
        clicks = [k + 1 for k in range(6) if rng.random() < 0.15]
        user = f"u{rng.integers(600)}"
        row = (f"i{n}", 1.7e9 + 10 * n, f"q{rng.integers(50)}", user, SHOWN, clicks, rankers, owners)
        rows.append(dict(zip(COLUMNS, row, strict=True)))
    return rows


def checked(folder, rows, **settings):
    """Return the findings by name."""
    path = folder / "clicks.parquet"
    with write_log(path, COLUMNS) as log:
        log.write({name: [row[name] for row in rows] for name in COLUMNS})
    return {one.name: one for one in check_log(ClickLog(path, skip_bad=None), **settings)}


def failing(folder, rows, **settings):
    """Return the names of the checks that fail."""
    return {name for name, one in checked(folder, rows, **settings).items() if one.verdict == "fails"}


@pytest.mark.parametrize(("rankers", "users", "drawn"), [(5, 600, "by user"), (10, 40, SHIFTING), (5, 600, RUNS)])
def test_sound_logs_of_users_who_come_often_pass(tmp_path, rankers, users, drawn):
    write_sound_log(tmp_path / "log.parquet", rankers, users, drawn, 0)
    found = failed(tmp_path / "log.parquet", planned="" if drawn in (SHIFTING, RUNS) else "even")[1]
    assert not {"pairs shown", "pairs over time", "interleaved lists", "robots"} & set(found)


def test_users_who_repeat_easy_queries_are_no_robots(tmp_path):
    """Regression: one of 40 simulated users, each with three queries, clicked on all of 82 lists."""
    rankings = feature_rankers(make_corpus(queries=40, documents=10, features=2, seed=17))
    given = {"pairs": "team_draft", "horizon": 3000, "policy": "random", "returning": 40, "seed": 17}
    simulate_log(tmp_path / "log.parquet", rankings, "perfect", **given)
    (found,) = (one for one in check_log(ClickLog(tmp_path / "log.parquet")) if one.name == "robots")
    assert found.verdict == "not checked" and "on nearly all of 82 lists; this is within 4 standard" in found.sentence


def test_rows_that_were_delivered_twice_count_once_and_fail_no_check(tmp_path):
    rows = sound()
    assert failing(tmp_path, rows + rows[:40]) == set()
    files = tables(tmp_path, [exposure(n, f"u{n}", n) for n in [*range(200), *range(40)]], [event("i0", "a")])
    assert "repeated rows" not in {one.name for one in check_log(ClickLog(**files)) if one.verdict == "fails"}


def damaged(rows):
    """Yield the name of the check that fails, and the rows of a damaged experiment."""
    half, last = len(rows) // 2, rows[-1]["time"]
    lead = [{**row, "owners": [row["rankers"].index(min(row["rankers"])), *row["owners"][1:]]} for row in rows]
    yield "owners of position 1", [lead[k] if k % 7 == 0 else row for k, row in enumerate(rows)]
    yield "pairs shown", [row for row in rows if set(row["rankers"]) != {"a", "b"} or int(row["user"][1:]) % 3]
    renamed = [{**row, "rankers": ["d" if name == "c" else name for name in row["rankers"]]} for row in rows]
    yield "pairs over time", rows[:half] + renamed[half:]
    yield "repeated impressions", rows + [row | {"time": last, "query": "other"} for row in rows[100:200]]
    again = [rows[199] | {"impression": f"again {k}"} for k in range(20)]
    yield "repeated rows", rows[:200] + again + rows[200:]
    yield "robots", [row | ({} if k % 50 else {"user": "robot", "clicks": [1, 2]}) for k, row in enumerate(rows)]
    yield "heaviest user", [row | ({"user": "heavy"} if k % 10 == 0 else {}) for k, row in enumerate(rows)]
    yield "gaps", rows[:half] + [row | {"time": row["time"] + 20_000} for row in rows[half:]]
    yield "interleaved lists", [row | {"owners": [row["owners"][0]] * 6} for row in rows]
    yield "interleaved lists", [row | {"shown": ["x"], "clicks": [], "owners": row["owners"][:1]} for row in rows]
    yield "clicks", [row | {"clicks": []} for row in rows]


def test_damages_are_found(tmp_path):
    for expected, rows in damaged(sound()):
        assert expected in failing(tmp_path, rows, planned="even")


def test_a_pair_that_was_never_shown_is_the_strongest_mismatch_of_a_plan(tmp_path):
    """Of 2,000 lists of three pairs, none is of b and c: chi-squared 1,000 with two degrees of freedom."""
    rows = [row for row in sound() if set(row["rankers"]) != {"b", "c"}]
    found = checked(tmp_path, rows, planned="even")["pairs shown"]
    assert found.verdict == "fails" and found.number < 1e-12 and "never shown: b and c" in found.sentence
    assert checked(tmp_path, rows)["pairs shown"].verdict == "not checked"
    only = checked(tmp_path, [row for row in rows if row["rankers"] == rows[0]["rankers"]])
    assert {only[name].verdict for name in ("pairs shown", "pairs over time")} == {"not checked"}, "nothing was tested"
    with pytest.raises(InputError, match="evn"):
        checked(tmp_path, rows, planned="evn")


@pytest.mark.parametrize(("users", "verdict", "sentence"), [
    (0, "not checked", "no impression has a user"),
    (3, "sound", "user 'u0' has 33.3% of the impressions, the most of 3 users"),
    (600, "sound", "user 'u0' has 0.2% of the impressions, the most of 600 users; up to 3.3% is usual"),
])  # fmt: skip
def test_the_heaviest_user_is_named_among_how_many(tmp_path, users, verdict, sentence):
    rows = [row | {"user": f"u{k % users}" if users else None, "clicks": [1]} for k, row in enumerate(sound())]
    found = checked(tmp_path, rows)
    assert found["heaviest user"][1::2] == (verdict, sentence)
    assert (found["robots"].verdict == "sound") == (users == 600), "with other users, nobody can be told from a robot"


def drafts_of_three(favour, shared, number=1500):
    """Return team drafts of three rankers; ``favour``: probability that "c" gets position 1 whatever its coins say.

    shared: probability that the document at position 1 is shared by "a" and "b", if either owns it, and has no owner.
    """
    rng = np.random.default_rng(3)
    rows = [row | {"rankers": ["b", "c", "a"]} for row in sound(number)]
    for row in rows:
        owners = [int(k) for _ in range(2) for k in rng.permutation(3)]
        if rng.random() < favour:
            owners[:3] = [1, 0, 2]
        if owners[0] != 1 and rng.random() < shared:
            owners[0] = -1
        row["owners"] = owners
    return rows


@pytest.mark.parametrize(("favour", "shared", "verdict", "sentence"), [
    (0, 0, "sound", "of the first positions of 3 rankers"),
    (0.1, 0, "fails", "c owns 39.27%"),
    (0, 0.3, "not checked", "too few lists have an owner at position 1"),
])  # fmt: skip
def test_three_rankers_own_position_1_equally_often(tmp_path, favour, shared, verdict, sentence):
    """c owns about .1 + .9 / 3 = 40 % of the first positions, or other owners are missing."""
    rows = drafts_of_three(favour, shared)
    found = checked(tmp_path, rows)["owners of position 1"]
    assert found.verdict == verdict and sentence in found.sentence


def test_lists_may_begin_with_documents_of_no_ranker(tmp_path):
    rows = sound(1000)
    assert failing(tmp_path, [row | {"owners": [-1, *row["owners"][:5]]} for row in rows]) == set()


@pytest.mark.parametrize(("lost", "missing", "expected"), [
    (20, 0, {"events without exposure"}), (0, 8, {"events to come"}), (0, 3, set()),
])  # fmt: skip
def test_events_that_belong_nowhere_and_events_to_come_are_found(tmp_path, lost, missing, expected):
    """Of 400 events, ln 100 = 4.6 may be missing at the end, as by chance in one log of a hundred."""
    exposures = [{name: value for name, value in row.items() if name != "clicks"} for row in sound(400)]
    names = [f"lost {k}" if k < lost else f"i{k}" for k in range(400 - missing)]
    events = [{"impression": name, "item": "d0", "time": 1.7e9 + 10 * k + 5} for k, name in enumerate(names)]
    log = ClickLog(**tables(tmp_path, exposures, events), skip_bad=None)
    assert {one.name for one in check_log(log) if one.verdict == "fails"} == expected


@pytest.mark.parametrize(("early", "failed"), [(0, set()), (7200, {"events without impression"})])
def test_late_events_of_which_most_match_no_exposure_are_found(tmp_path, early, failed):
    """Regression: if the clock of events was late by hours, hardly a click counted, and no check failed."""
    exposures = [{name: value for name, value in row.items() if name != "clicks"} for row in sound(400)]
    times = [row["time"] + 60 - early * (k % 10 > 0) for k, row in enumerate(exposures)]
    events = [{"user": row["user"], "item": "d0", "time": time} for row, time in zip(exposures, times, strict=True)]
    log = ClickLog(**tables(tmp_path, exposures, events), within="120s")
    found = {one.name: one for one in check_log(log)}
    assert {name for name, one in found.items() if one.verdict == "fails"} == failed
    assert "400 of 400 events (click) have no impression: " in found["events without impression"].sentence
    assert found.keys() == set(re.findall(r"^\| ([a-z1 ]+) \| (?!it fails)", PAGE.read_text(encoding="utf-8"), re.M))


def test_a_log_of_clicked_impressions_only_has_a_note(tmp_path):
    rows = [{name: value for name, value in row.items() if name != "clicks"} for row in sound(100)]
    for number, notes in ((100, 1), (99, 0)):  # of the clicks
        log = ClickLog(**tables(tmp_path, rows, [{"impression": f"i{k}", "position": 1} for k in range(number)]))
        warnings = compare_log(log).warnings
        assert sum(note.startswith("each of the 100 impressions has an event (click)") for note in warnings) == notes


def test_each_test_alarms_on_at_most_one_sound_log_of_a_hundred():
    """10,000 logs each; two standard errors are .2 %."""
    rng, logs = np.random.default_rng(1), 10_000
    tables = rng.multinomial(3000, [1 / 30] * 30, logs).reshape(logs, 3, 10)
    late = rng.binomial(2000, 0.05, logs)
    alarms = {
        "even": sum(even(counts) < ERROR for counts in rng.multinomial(3000, [1 / 3] * 3, logs)),
        "unchanged": sum(unchanged(table) < ERROR for table in tables),
        "seldom": sum(seldom("", int(number), 2000, 0.05, "").verdict == "fails" for number in late),
    }
    assert all(50 <= count <= 130 for count in alarms.values()), alarms
