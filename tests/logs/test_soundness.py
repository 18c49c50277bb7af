"""The checks find damaged experiments, and pass correct ones."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ltr_duel.logs import ClickLog, check_log, write_log
from ltr_duel.logs.coins import _mean_outcomes
from ltr_duel.logs.findings import ERROR, even, fair, mirrored, seldom, unchanged, unchanged_by_users
from ltr_duel.logs.soundness import robots_among
from tests.logs.sound import RUNS, SHIFTING, failed, false_alarms_of_checks, write_sound_log

COLUMNS = ("impression", "time", "query", "user", "shown", "clicks", "rankers", "owners")
SHOWN = [f"d{k}" for k in range(6)]


def sound(number=3000, seed=0):
    """Return a team draft of two of three rankers on 600 users: three rounds, each in a separate order."""
    rng = np.random.default_rng(seed)
    rows = []
    for n in range(number):
        rankers = [str(name) for name in rng.permutation(["a", "b", "c"])[:2]]
        owners = [int(k) for _ in range(3) for k in rng.permutation(2)]
        clicks = [k + 1 for k in range(6) if rng.random() < 0.15]
        user = f"u{rng.integers(600)}"
        row = (f"i{n}", float(10 * n), f"q{rng.integers(50)}", user, SHOWN, clicks, rankers, owners)
        rows.append(dict(zip(COLUMNS, row, strict=True)))
    return rows


def failing(folder, rows, **settings):
    """Return the names of the checks that fail."""
    path = folder / "clicks.parquet"
    with write_log(path, COLUMNS) as log:
        log.write({name: [row[name] for row in rows] for name in COLUMNS})
    return {one.name for one in check_log(ClickLog(path, skip_bad=None), **settings) if one.verdict == "fails"}


def test_sound_logs_pass(tmp_path):
    assert [failing(tmp_path, sound(seed=seed), planned="even") for seed in range(3)] == [set()] * 3


@pytest.mark.parametrize("drawn", ["anew", "by user", "by visit", SHIFTING, RUNS])
@pytest.mark.parametrize(("rankers", "users"), [(5, 600), (10, 40)])
def test_sound_logs_of_users_who_come_often_pass(tmp_path, rankers, users, drawn):
    """Regression: the checks of pairs and empty pages failed in nearly all such logs with pairs per user or visit."""
    for seed in range(2):
        write_sound_log(tmp_path / f"{seed}.parquet", rankers, users, drawn, seed)
        found = failed(tmp_path / f"{seed}.parquet", planned="" if drawn in (SHIFTING, RUNS) else "even")[1]
        assert not {"pairs shown", "pairs over time", "empty pages", "robots"} & set(found)


def test_few_users_cannot_tell(tmp_path):
    """Half of the late pages are moved to one pair; with only eight users, no sign pattern can raise an alarm."""
    verdicts = {}
    for users in (8, 12):
        rows = sound(3000)
        for k, row in enumerate(rows):
            row |= {"user": f"u{k % users}"} | ({"rankers": ["a", "b"]} if k > 1500 and (k // users) % 2 else {})
        with write_log(tmp_path / f"{users}.parquet", COLUMNS) as log:
            log.write({name: [row[name] for row in rows] for name in COLUMNS})
        found = check_log(ClickLog(tmp_path / f"{users}.parquet", skip_bad=None))
        verdicts[users] = next(one for one in found if one.name == "pairs over time")
    assert verdicts[8].verdict == "not checked" and verdicts[8].sentence.endswith("too few users for this test")
    assert verdicts[12].verdict == "fails"


def test_shares_may_change_with_propensities(tmp_path):
    """As in the log of plans, each of which has separate sampled shares."""
    rows = sound()
    for k, row in enumerate(rows):
        late = k > 1500 and k % 2
        row |= {"rankers": ["a", "b"]} if late else {}
        row |= {"propensity": 0.8 if late else 0.2, "policy": "random"}
    columns = (*COLUMNS, "propensity", "policy") if "policy" not in COLUMNS else (*COLUMNS, "propensity")
    for chosen, verdict in ((columns, "not checked"), (COLUMNS, "fails")):
        path = tmp_path / f"{verdict}.parquet"
        with write_log(path, chosen) as log:
            log.write({name: [row[name] for row in rows] for name in chosen})
        found = {one.name: one for one in check_log(ClickLog(path, skip_bad=None))}
        assert found["pairs over time"].verdict == verdict


def test_clicks_of_a_list_do_not_say_what_its_own_owners_are_worth(tmp_path):
    """One ranker has all clicks: with only these clicks, "identical rankers" would fail in its favour in each log."""
    farthest = []
    for seed in range(12):
        rows = sound(300, seed=seed)
        for k, row in enumerate(rows):
            low = row["rankers"].index(min(row["rankers"]))
            row |= {"rankers": ["a", "b"], "clicks": [[p for p in range(1, 7) if row["owners"][p - 1] == low][k % 3]]}
            row["owners"] = [one ^ low for one in row["owners"]]
        with write_log(tmp_path / f"{seed}.parquet", COLUMNS) as log:
            log.write({name: [row[name] for row in rows] for name in COLUMNS})
        found = check_log(ClickLog(tmp_path / f"{seed}.parquet", skip_bad=None))
        farthest.append(next(one.sentence for one in found if one.name.startswith("A/A")))
    assert len({"+" in one for one in farthest}) == 2


def rankers_that_agree(rows, k):
    rows[k]["owners"] = [-1] * 6


def rankers_that_find_nothing(rows, k):
    rows[k] |= {"shown": [], "owners": [], "clicks": []}


@pytest.mark.parametrize("change", [rankers_that_agree, rankers_that_find_nothing])
def test_two_rankers_may_agree_on_queries_or_find_nothing_for_them(tmp_path, change):
    """Regression: "empty pages" failed, as similar rankers have more pages without an owned position than others."""
    rows = sound()
    for k, row in enumerate(rows):
        if set(row["rankers"]) == {"a", "b"} and row["query"].endswith("7"):
            change(rows, k)
    assert failing(tmp_path, rows, planned="even") == set()


@pytest.mark.parametrize(("of", "back", "verdict"), [
    ("ranker", True, "fails"), ("ranker", False, "not checked"), ("all", True, "sound"), ("user", True, "sound"),
])  # fmt: skip
def test_empty_pages_of_queries_that_come_back_are_accidents(tmp_path, of, back, verdict):
    """A twentieth of one ranker's pages, of all pages, or all pages of three users with one set are empty."""
    rows = sound()
    for k, row in enumerate(rows):
        row["query"] = row["query"] if back else f"q{k}"
        if of == "user" and k % 20 < 3:
            row |= {"user": f"heavy {k % 20}", "rankers": ["a", "b"]}
        if k % 20 < 3 * (of == "user") + (of == "all") + (of == "ranker" and "c" in row["rankers"]):
            rankers_that_find_nothing(rows, k)
    with write_log(tmp_path / "clicks.parquet", COLUMNS) as log:
        log.write({name: [row[name] for row in rows] for name in COLUMNS})
    found = check_log(ClickLog(tmp_path / "clicks.parquet", skip_bad=None))
    assert [one.verdict for one in found if one.name == "empty pages"] == [verdict]


@pytest.mark.parametrize("where", ["time", "query"])
def test_a_pair_may_be_shown_more_often_when_all_pages_fail_more_often(tmp_path, where):
    """In a tenth of the time, or on a tenth of the queries, one pair has most pages, and half of all are empty."""
    rows = sound()
    for k, row in enumerate(rows):
        often = k >= 2700 if where == "time" else row["query"].endswith("7")
        if often and k % 5:
            row["rankers"] = ["a", "b"]
        if k % (2 if often else 40) == 0:
            rankers_that_find_nothing(rows, k)
    assert "empty pages" not in failing(tmp_path, rows)


@pytest.mark.parametrize("policy", ["rucb", "random"])
def test_simulated_users_who_come_often_are_no_robots(policy):
    """Regression: logs with 40 users failed because of robots in nearly all cases: most searches have a click."""
    made, alarms = false_alarms_of_checks(policy, 5, 40, 3)
    assert made["robots"] == 3 and not alarms


def test_who_has_a_few_queries_on_which_everybody_clicks_is_no_robot(tmp_path):
    """One of 200 users searches one query 60 times and always clicks: a robot only if others click less."""
    for k, (query, clicks, expected) in enumerate((("easy", 0, set()), ("easy", 6, set()), ("q0", 0, {"robots"}))):
        rows = sound(1500, 3)
        for n, row in enumerate(rows):
            if n % 25 == 0:
                row |= {"user": "one", "query": query, "clicks": [1]}
            elif clicks and n % 25 == 1:
                row |= {"query": query, "clicks": [1]}
        (tmp_path / f"{k}").mkdir()
        assert failing(tmp_path / f"{k}", rows) & {"robots"} == expected


def test_a_robot_is_surely_unlike_other_users():
    often, seldom = np.full(39, 200), np.random.default_rng(0).binomial(200, 0.6, 39)
    for usual, found in ((seldom, [True]), (np.full(39, 191), [False])):
        pages, clicked = np.append(often, 200), np.append(usual, 199)
        assert robots_among(pages, clicked, np.ones(40, np.int64))[-1:].tolist() == found
    once = robots_among(np.array([1, 1, 60]), np.array([0, 1, 60]), np.array([400, 600, 1]))
    assert once.tolist() == [False, False, True]  # others come once: .6^60
    spread = robots_among(np.full(101, 100), np.arange(101), np.ones(101, np.int64))
    assert not spread.any()  # if users differ this much, some click on nearly all pages


@pytest.mark.parametrize("users", [40, 600])
def test_tests_by_users_alarm_on_one_sound_table_of_a_hundred_though_a_user_is_shown_one_pair(users):
    rng, alarms = np.random.default_rng(users), np.zeros(2)
    for _ in range(150):
        user, pair = rng.integers(0, users, 3000), rng.integers(0, 10, users)
        empty = (rng.random(3000) < rng.beta(0.03, 0.27, users)[user]).astype(int)
        tables = np.zeros((users, 2, 10), np.int64)
        np.add.at(tables, (user, empty, pair[user]), 1)
        alike = unchanged_by_users(tables.sum(axis=1)[:, :, None], np.full(10, 0.1))
        alarms += unchanged(tables.sum(axis=0)) < ERROR, min(alike, unchanged_by_users(tables)) < ERROR
    assert alarms[0] > 75 and alarms[1] <= 150 * 0.02 + 2.5 * (150 * 0.02) ** 0.5


def biased_coin(rows):
    for row in rows[:: len(rows) // 400]:
        row["owners"] = [row["rankers"].index(min(row["rankers"])), *row["owners"][1:]]
    return {"owners of position 1"}


def coin_breaks_halfway(rows):
    for k, row in enumerate(rows):
        low = row["rankers"].index(min(row["rankers"]))
        if k % 5 == 0:
            row["owners"] = [low if k < len(rows) / 2 else 1 - low, *row["owners"][1:]]
    return {"owners over time"}


def swapped_owners_of_the_third_place(rows):
    for row in rows:
        row["owners"] = [*row["owners"][:2], row["rankers"].index(min(row["rankers"])), *row["owners"][3:]]
    return {"owners by position"}


def three_places_are_drawn_together(rows):
    """Each position alone is fair, but a user who clicks on all three favours the ranker with the later name."""
    rng = np.random.default_rng(3)
    for row in rows[::2]:
        low = row["rankers"].index(min(row["rankers"]))
        top = [low ^ one for one in ([0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0])[rng.integers(4)]]
        row |= {"owners": [*top, *row["owners"][3:]], "clicks": [1, 2, 3]}
    return {"A/A by exchanged owners"}


def a_pair_is_lost(rows):
    rows[:] = [row for k, row in enumerate(rows) if set(row["rankers"]) != {"a", "b"} or k % 4]
    return {"pairs shown"}


def a_ranker_is_replaced(rows):
    for row in rows[len(rows) // 2 :]:
        row["rankers"] = ["d" if name == "c" else name for name in row["rankers"]]
    return {"pairs over time", "pairs shown"}


def pages_of_a_ranker_are_empty(rows):
    for k, row in enumerate(rows):
        if "c" in row["rankers"] and k % 20 == 0:
            row |= {"shown": [], "owners": [], "clicks": []}
    return {"empty pages"}


def a_batch_is_sent_twice(rows):
    rows += [row | {"time": rows[-1]["time"]} for row in rows[100:200]]
    return {"repeated impressions"}


def a_batch_is_sent_twice_with_new_names(rows):
    rows[:] = rows[:200] + [row | {"impression": f"again {k}"} for k, row in enumerate(rows[199:200] * 20)] + rows[200:]
    return {"repeated rows"}


def a_robot(rows):
    for k, row in enumerate(rows):
        if k % 50 == 0:
            row |= {"user": "robot", "clicks": [1, 2, 3]}
    return {"robots"}


def a_heavy_user(rows):
    for k, row in enumerate(rows):
        if k % 10 == 0:
            row["user"] = "heavy"
    return {"heaviest user"}


def the_clock_steps(rows):
    for row in rows[len(rows) // 2 :]:
        row["time"] += 20_000.0
    return {"gaps"}


DAMAGES = [
    biased_coin, coin_breaks_halfway, swapped_owners_of_the_third_place, three_places_are_drawn_together,
    a_pair_is_lost, a_ranker_is_replaced, pages_of_a_ranker_are_empty, a_batch_is_sent_twice,
    a_batch_is_sent_twice_with_new_names, a_robot, a_heavy_user, the_clock_steps,
]  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_damages_are_found(tmp_path, damage):
    rows = sound()
    expected = damage(rows)
    assert expected <= failing(tmp_path, rows, planned="even")


@pytest.mark.parametrize(("users", "sentence"), [
    (0, "no impression has a user"), (3, "one of 3 users has 33.3% of the impressions"),
    (600, "one of 600 users has 0.2% of the impressions; up to 3.3% is usual"),
])  # fmt: skip
def test_the_heaviest_user_is_stated_among_how_many(tmp_path, users, sentence):
    rows = sound()
    for k, row in enumerate(rows):
        row["user"] = f"u{k % users}" if users else None
    with write_log(tmp_path / "clicks.parquet", COLUMNS) as log:
        log.write({name: [row[name] for row in rows] for name in COLUMNS})
    findings = check_log(ClickLog(tmp_path / "clicks.parquet", skip_bad=None))
    assert [one.sentence for one in findings if one.name == "heaviest user"] == [sentence]


OF_SETS = "owners of position 1, three or more rankers"


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
    (0, 0, "sound", "owns position 1 of 3"),
    (0.1, 0, "fails", "c owns position 1 of 3"),
    (0, 0.3, "not checked", "some pages have no owner at position 1"),
])  # fmt: skip
def test_three_rankers_own_position_1_equally_often(tmp_path, favour, shared, verdict, sentence):
    rows = drafts_of_three(favour, shared)
    with write_log(tmp_path / "clicks.parquet", COLUMNS) as log:
        log.write({name: [row[name] for row in rows] for name in COLUMNS})
    found = {one.name: one for one in check_log(ClickLog(tmp_path / "clicks.parquet", skip_bad=None))}
    assert found[OF_SETS].verdict == verdict and sentence in found[OF_SETS].sentence
    of_pairs = found["owners of positions and over time, A/A"]
    assert of_pairs.verdict == "not checked", "as long as no test of pairs is executed, none is passed"
    assert {one.name for one in found.values() if one.verdict == "fails"} == ({OF_SETS} if favour else set())


def test_owners_that_are_fair_place_by_place_may_still_favour_a_ranker(tmp_path):
    """Clicks on all three win under one of four patterns: identical rankers differ by -1/2 on half the lists."""
    rows = sound()
    three_places_are_drawn_together(rows)
    assert failing(tmp_path, rows) == {"A/A by exchanged owners"}


@pytest.mark.parametrize(("stale", "expected"), [(0, set()), (20, set()), (60, {"events out of order"})])
def test_clicks_that_carry_the_name_of_an_old_list_are_found(tmp_path, stale, expected):
    """Each of 20 users sees 20 lists; 5 % of 400 clicked lists is usual, and 60 have a probability below 1e-9."""
    exposures = [
        {name: value for name, value in row.items() if name != "clicks"} | {"user": f"u{k % 20}"}
        for k, row in enumerate(sound(400))
    ]
    events = [{"impression": f"i{k}", "item": "d0", "time": 10.0 * k + 5} for k in range(400)]
    for k in range(0, 5 * stale, 5):
        events[k]["time"] += 200  # the user's next list comes 200 s after this one
    for name, table in (("exposures", exposures), ("events", events)):
        pq.write_table(pa.Table.from_pylist(table), tmp_path / f"{name}.parquet")
    log = ClickLog(tmp_path / "exposures.parquet", events=tmp_path / "events.parquet", skip_bad=None)
    found = {one.name: one for one in check_log(log)}
    assert found["events out of order"].number == stale / 400
    assert {name for name, one in found.items() if one.verdict == "fails"} == expected


@pytest.mark.parametrize(("lost", "early", "missing", "expected"), [
    (0, 0, 0, set()), (20, 0, 0, {"events without exposure"}), (0, 20, 0, {"events before exposure"}),
    (0, 0, 8, {"events to come"}), (0, 0, 3, set()),
])  # fmt: skip
def test_events_that_belong_nowhere_and_events_to_come_are_found(tmp_path, lost, early, missing, expected):
    """Of 400 events, ln 100 = 4.6 may be missing at the end, as by chance in one log of a hundred."""
    rows = sound(400)
    exposures = [{name: value for name, value in row.items() if name != "clicks"} for row in rows]
    events = [{"impression": f"i{k}", "item": "d0", "time": 10.0 * k + 5} for k in range(400)]
    for k, event in enumerate(events):
        event["impression"] = f"lost {k}" if k < lost else event["impression"]
        event["time"] -= 50 if k < early else 0
    events = events[: 400 - missing]
    for name, table in (("exposures", exposures), ("events", events)):
        pq.write_table(pa.Table.from_pylist(table), tmp_path / f"{name}.parquet")
    log = ClickLog(tmp_path / "exposures.parquet", events=tmp_path / "events.parquet", skip_bad=None)
    assert {one.name for one in check_log(log) if one.verdict == "fails"} == expected


def test_each_test_alarms_on_at_most_one_sound_log_of_a_hundred():
    """10,000 logs each; two standard errors are .2 %."""
    rng = np.random.default_rng(1)
    logs = 10_000
    alarms = {
        "even": sum(even(counts) < ERROR for counts in rng.multinomial(3000, [1 / 3] * 3, logs)),
        "fair": sum(fair(heads, np.full(3, 1000)) < ERROR for heads in rng.binomial(1000, 0.5, (logs, 3))),
        "unchanged": sum(
            unchanged(table.reshape(3, 10)) < ERROR for table in rng.multinomial(3000, [1 / 30] * 30, logs)
        ),
    }
    order = [[0, 1] if coin else [1, 0] for coin in range(2)]
    drafts = np.array([[*order[k & 1], *order[k >> 1 & 1], *order[k >> 2 & 1]] for k in range(8)])  # three rounds
    owners = np.pad(1 - 2 * drafts, ((0, 0), (0, 4)))
    clicks = {(1,): 400, (2,): 150, (1, 2): 50, (1, 3): 100, (1, 2, 3): 30, (): 270}
    values = _mean_outcomes(owners, clicks)
    alarms["mirrored"] = sum(mirrored(values, counts) < ERROR for counts in rng.multinomial(1000, [1 / 8] * 8, logs))
    late = rng.binomial(2000, 0.05, logs)
    alarms["seldom"] = sum(seldom("", int(number), 2000, 0.05, "").verdict == "fails" for number in late)
    assert all(count <= 130 for count in alarms.values()), alarms
    assert all(count >= 50 for count in alarms.values()), alarms
