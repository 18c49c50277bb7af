"""From outcomes to plans: the policy's path, credit, ties, dropped rankers, and outcomes read from a log."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from ltr_duel.bandits import POLICIES, random_order
from ltr_duel.core import InputError, stream
from ltr_duel.live import Planner, Settings, credit, logged_outcomes, next_plan, outcome
from ltr_duel.logs import ClickLog, write_log
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.simulation import FromMatrix, simulate

RANKERS = ("a", "b", "c", "d")
P = np.clip(0.5 + np.subtract.outer(np.linspace(0.4, 0, 4), np.linspace(0.4, 0, 4)), 0.05, 0.95)
LISTS = {name: [f"{name}{k}" for k in range(12)] for name in RANKERS}


def settings_of(policy="double_thompson", **more):
    return Settings(name="shoes", rankers=RANKERS, policy=policy, horizon=1000, seed=5, **more)


def followed(settings, searches, rng, version=1, plan=None, clicks=0.3):
    """Follow a plan; return the log's rows, with random clicks."""
    plan = plan or Planner(settings).plan()
    rows = []
    for k in range(searches):
        record = plan.decide(f"u{k % 50}", f"{version}-{k}", LISTS, now=1000.0 * version + k).record
        if record:
            rows.append(record | {"clicks": [n for n in range(1, 11) if rng.random() < clicks]})
    return rows


def written(rows, path):
    with write_log(path, tuple(rows[0])) as log:
        log.write({name: [row[name] for row in rows] for name in rows[0]})
    return ClickLog(path, skip_bad=None)


@pytest.mark.parametrize("name", ["rucb", "double_thompson", "interleaved_filter", "beat_the_mean", "rmed1", "mdb"])
def test_batches_of_one_search_take_the_path_of_a_simulation(name):
    """Alternating plans and single outcomes give the pulls of `simulate` at each checkpoint."""
    steps, settings = 300, settings_of(name, batch=1)
    source = FromMatrix(PreferenceMatrix(P, RANKERS), sets="independent_coins")
    (run,) = simulate(source, name, horizon=1000, repetitions=1, seed=5, jobs=1, compiled=False).runs
    planner, coins = Planner(settings), stream(5, 0, "feedback")
    place, pulls = np.argsort(random_order(4, stream(5, 0, "labels"))), np.zeros((steps + 1, 4), np.int64)
    for t in range(1, steps + 1):
        ((rankers, _),) = planner.plan().sets
        arms = tuple(RANKERS.index(one) for one in rankers)
        pulls[t] = pulls[t - 1]
        if len(arms) == 1:
            pulls[t, arms[0]] += 1 if POLICIES[name].feedback == "slate" else 2
            planner.learn(planner.single_steps(0))
            continue
        pulls[t, list(arms)] += 1
        if name == "mdb":  # the policy's sets are in the order of its own numbers
            arms = tuple(sorted(arms, key=lambda arm: place[arm]))
        planner.learn([(arms, bytes(1 if coins.random() < P[pair] else 255 for pair in combinations(arms, 2)))])
    rows = run.checkpoints <= steps
    assert (pulls[run.checkpoints[rows]] == run.pulls[rows]).all()


def test_a_plan_of_dropped_rankers_shows_the_others():
    planner = Planner(settings_of("self_sparring"), left=(0, 2, 3))
    planner.learn([((3, 0), b"\1"), ((2, 3), b"\xff")] * 500)
    plan = planner.plan(7)
    assert {name for rankers, _ in plan.sets for name in rankers} <= {"a", "c", "d"}
    assert (plan.version, plan.learned, plan.recommended) == (7, 1000, "d")


def test_steps_of_single_rankers_are_estimated_from_the_others():
    """With 1 draw of 4 alone, 10 outcomes stand for 10 / 3 steps, of which 3, 3 and 4 are told."""
    planner = Planner(settings_of("rucb", batch=4))
    planner._sets = {(0,): 1, (0, 1): 3}
    planner._sets = type(Planner(settings_of(batch=1))._sets)(planner._sets)
    assert [len(planner.single_steps(10)) for _ in range(3)] == [3, 3, 4]
    assert planner.single_steps(1)[:1] in ([], [((0, 0), b"")])


def test_planner_credits_owners_by_their_clicks():
    record = {"rankers": ["a", "b", "c"], "owners": [0, 1, 1, 2, -1]}
    assert credit(record, [1, 2, 3, 5]) == (-1, 1, 1)  # clicks: a 1, b 2, c 0
    assert credit(record, []) == (0, 0, 0)


@pytest.mark.parametrize("method", ["team_draft", "probabilistic", "sosm"])
def test_the_outcomes_of_a_log_are_those_of_its_records(tmp_path, method):
    """Crediting one row at a time equals crediting the whole log by SQL or by kernels, as `compare_log` does."""
    settings, rng = settings_of("random" if method != "sosm" else "random_slate", method=method), random.Random(1)
    rows = followed(settings, 300, rng)
    log = written(rows, tmp_path / "log.parquet")
    single = [outcome(settings, row, credit(row, row["clicks"])) for row in rows]
    assert logged_outcomes(log, settings, before=1e9) == {1: single}


def test_ties_are_decided_by_the_impression_and_fairly():
    settings = settings_of()
    record = {"rankers": ["a", "b", "c"]}
    signs = [
        outcome(settings, record | {"impression": f"1-{random.Random(k).getrandbits(64):016x}"}, (0, 0, 1))[1]
        for k in range(4000)
    ]
    assert {one[2] for one in signs} == {1}
    shares = [np.mean([one[place] == 1 for one in signs]) for place in (0, 1)]
    same = np.mean([one[0] == one[1] for one in signs])
    assert all(abs(share - 0.5) < 5 * 0.5 / np.sqrt(4000) for share in (*shares, same))


def test_an_impression_shown_again_counts_once(tmp_path):
    settings = settings_of()
    rows = followed(settings, 40, random.Random(1))
    again = [*rows, *(row | {"time": row["time"] + 60} for row in rows[:10])]
    found = logged_outcomes(written(again, tmp_path / "log.parquet"), settings, before=1e9)
    assert found == logged_outcomes(written(rows, tmp_path / "once.parquet"), settings, before=1e9)


def test_impressions_within_the_attribution_window_wait(tmp_path):
    settings = settings_of(window=100.0)
    first = next_plan(settings, at=0)
    log = written(followed(settings, 200, random.Random(1), plan=first), tmp_path / "log.parquet")  # from 1000 to 1199
    logged = np.array([row["time"] for row in followed(settings, 200, random.Random(1), plan=first)])
    assert next_plan(settings, log, at=1200, last=first).learned == (logged < 1100).sum()


def test_events_count_inside_the_window_and_with_a_positive_value(tmp_path):
    """The first ranker's document has one event. Without a winner, the coins of the impressions differ."""
    settings, won = settings_of(window=60.0), []
    rows = [{name: value for name, value in row.items() if name != "clicks"}
            for row in followed(settings, 40, random.Random(1))]  # fmt: skip
    exposures, events = tmp_path / "exposures.parquet", tmp_path / "events.parquet"
    written(rows, exposures)
    for delay, value in ((0.0, 5.0), (60.0, None), (61.0, 5.0), (-1.0, 5.0), (1.0, 0.0), (1.0, -30.0)):
        place = [row["owners"].index(0) + 1 for row in rows]
        made = [
            {"impression": row["impression"], "time": row["time"] + delay, "kind": "purchase", "position": position}
            | {"value": value}
            for row, position in zip(rows, place, strict=True)
        ]
        written(made, events)
        log = ClickLog(exposures, events=events, outcome="purchase")
        (outcomes,) = logged_outcomes(log, settings, before=1e9).values()
        won.append(all(signs == b"\1" for _, signs in outcomes))
    assert won == [True, True, False, False, False, False]


def test_a_plan_is_a_function_of_settings_log_and_time(tmp_path):
    settings, rng = settings_of(window=1.0), random.Random(1)
    first = next_plan(settings, at=0)
    rows = followed(settings, 300, rng, plan=first)
    second = next_plan(settings, written(rows, tmp_path / "1.parquet"), at=2000, last=first)
    rows += followed(settings, 300, rng, version=2, plan=second)
    made = [vars(next_plan(settings, written(rows, tmp_path / "2.parquet"), at=9000, last=second))]
    events = [{"impression": row["impression"], "time": row["time"] + n / 10, "kind": "click", "position": n}
              for row in rows for n in row.pop("clicks")]  # fmt: skip
    for table in (rows, events):
        rng.shuffle(table)
    written(events, tmp_path / "events.parquet")
    written(rows, tmp_path / "exposures.parquet")
    log = ClickLog(tmp_path / "exposures.parquet", events=tmp_path / "events.parquet")
    made.append(vars(next_plan(settings, log, at=9000, last=second)))
    assert made[0] == made[1] and made[0]["learned"] == len(rows)


def test_a_plan_may_serve_one_ranker_to_all():
    first = next_plan(settings_of(), at=0)
    plan = next_plan(settings_of(), at=60, last=first, winner="c")
    assert plan.decide("u", "q", LISTS)[:3] == (tuple(LISTS["c"][:10]), ("c",), None)
    with pytest.raises(InputError, match="no ranker 'x'"):
        next_plan(settings_of(), at=60, last=first, winner="x")


def test_a_log_shorter_than_what_the_last_plan_learned_from_is_refused(tmp_path):
    """A plan that serves a winner needs no log, but the plan after it does."""
    settings, first = settings_of(window=1.0), next_plan(settings_of(), at=0)
    rows = followed(settings, 40, random.Random(1), plan=first)
    second = next_plan(settings, written(rows, tmp_path / "log.parquet"), at=2000, last=first)
    said = f"has 10 impressions whose window is over, but plan 2 has learned from {len(rows)}: give the whole log"
    with pytest.raises(InputError, match=said):
        next_plan(settings, written(rows[:10], tmp_path / "cut.parquet"), at=3000, last=second)
    served = next_plan(settings, at=3000, last=second, winner="c")
    with pytest.raises(InputError, match="has 0 impressions whose window is over, but plan 3"):
        next_plan(settings, at=4000, last=served)


def test_changed_settings_or_a_foreign_log_are_refused(tmp_path):
    settings = settings_of()
    first = next_plan(settings, at=0)
    rows = followed(settings, 20, random.Random(1), plan=first)
    log = written(rows, tmp_path / "log.parquet")
    for change, said in ((settings_of(top=9), "the settings have changed since plan 1"),
                         (settings_of(credit="purchase"), "the settings have changed since plan 1"),
                         (replace(settings, seed=6), "seed: differs")):  # fmt: skip
        with pytest.raises(InputError, match=said):
            next_plan(change, log, at=1e9, last=first)
    with pytest.raises(InputError, match="has exposures of plan 1, so the next plan is not plan 1"):
        next_plan(settings, log, at=1e9)
    sound = rows[3]["impression"]
    for odd in ("77", f"１{sound[1:]}", f"{sound}00", f"{sound[:4]} {sound[4:]}"):
        rows[3]["impression"] = odd
        with pytest.raises(InputError, match=rf"odd.parquet:\d+: impression '{odd}' belongs to no plan"):
            next_plan(settings, written(rows, tmp_path / "odd.parquet"), at=1e9, last=first)
