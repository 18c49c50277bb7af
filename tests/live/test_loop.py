"""The loop of plans with simulated users: what it logs, what the checks of its log find, and the commands."""

from __future__ import annotations

import itertools
import json
import shutil
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from ltr_duel.cli.main import cli
from ltr_duel.core import InputError
from ltr_duel.data import make_corpus
from ltr_duel.live import (
    EVENTS,
    EXPOSURES,
    Keys,
    LivePlan,
    Loop,
    Settings,
    Visitors,
    check_plans,
    follow_plans,
    keep_plan,
    kept_plans,
    next_plan,
    read_keys,
)  # fmt: skip
from ltr_duel.logs import ClickLog
from ltr_duel.rankers import feature_rankers
from tests.conftest import random_rankings

KEYS = Keys({"new": bytes(range(32)), "old": bytes(32)})


@pytest.fixture(scope="module")
def loop(tmp_path_factory):
    """Three plans, each followed by two processes."""
    rankings = feature_rankers(make_corpus(queries=40, documents=10, features=4))
    settings = Settings(
        name="shoes", rankers=rankings.names, policy="double_thompson", horizon=1000, window=1.0, seed=3
    )
    folder = tmp_path_factory.mktemp("loop") / "plans"
    made = Loop(settings, dict(KEYS), rankings, "navigational", folder, 100, 150, 1)
    return made, list(follow_plans(made, plans=3, processes=2))


def log_in(folder):
    return ClickLog(folder / EXPOSURES, events=folder / EVENTS, skip_bad=None)


def altered(folder, new, change):
    """Copy the log of a loop with changed exposures."""
    for name in (EXPOSURES, EVENTS):
        (new / name).mkdir(parents=True)
        for path in (folder / name).iterdir():
            table = pq.read_table(path)
            pq.write_table(change(table) if name == EXPOSURES else table, new / name / path.name)
    return log_in(new)


def test_each_plan_learns_from_all_earlier_exposures(loop):
    made, followed = loop
    logged = [exposures for _, exposures in followed]
    assert [plan.learned for plan, _ in followed] == [0, logged[0], logged[0] + logged[1]]
    later = next_plan(made.settings, log_in(made.folder), at=2e9, last=followed[2][0])
    assert (later.version, later.learned) == (4, sum(logged))


def test_a_log_that_followed_its_plans_is_sound(loop):
    made, followed = loop
    plans = kept_plans(made.folder / "plan.json", KEYS)
    assert {version: plan.sets for version, plan in plans.items()} == {plan.version: plan.sets for plan, _ in followed}
    assert check_plans(log_in(made.folder), plans, made.settings) == []


def test_rows_that_contradict_their_plan_are_counted_and_located(loop, tmp_path):
    made, followed = loop
    plans = {plan.version: plan for plan, _ in followed}
    del plans[2]
    plans[1] = replace(plans[1], salt="another")
    plans[3] = replace(plans[3], at=plans[3].at + 1800)
    complaints = [one for one in check_plans(log_in(made.folder), plans, made.settings) if "fails" not in one]
    assert [one.partition(":")[0] for one in complaints] == [
        "rows that differ from the page of plan 1 for their user and query",
        "rows shown by plan 2, whose file is missing",
        "rows shown before the start of plan 3",
    ]
    assert [one.rpartition("/")[2][:2] for one in complaints] == ["1-", "2-", "3-"]  # the files of these plans


def test_a_page_that_was_changed_after_the_decision_is_found(loop, tmp_path):
    made, followed = loop

    def swapped(table):
        shown = [[row[1], row[0], *row[2:]] if k == 3 else row for k, row in enumerate(table["shown"].to_pylist())]
        return table.set_column(table.schema.get_field_index("shown"), "shown", pa.array(shown))

    def unlogged(table):
        users = ["a\0b" if k == 3 else user for k, user in enumerate(table["user"].to_pylist())]
        return table.set_column(table.schema.get_field_index("user"), "user", pa.array(users))

    for change in (swapped, unlogged):
        log = altered(made.folder, tmp_path / change.__name__, change)
        complaints = check_plans(log, {p.version: p for p, _ in followed}, made.settings)
        assert any(one.startswith("rows that differ from the page of plan 1 ") for one in complaints)


def test_a_log_that_lost_pages_of_a_ranker_is_found(loop, tmp_path):
    made, followed = loop
    lost = altered(made.folder, tmp_path, lambda table: table.filter(
        pa.array([not ("1" in row and k % 3) for k, row in enumerate(table["rankers"].to_pylist())])))  # fmt: skip
    complaints = " ".join(check_plans(lost, {plan.version: plan for plan, _ in followed}, made.settings))
    assert "the frequencies of sets of rankers in the log differ from plan 1" in complaints


def test_another_plan_of_the_same_version_is_not_overwritten(loop, tmp_path):
    plan = loop[1][0][0]
    keep_plan(plan, tmp_path / "plan.json", KEYS)
    keep_plan(plan, tmp_path / "plan.json", KEYS)
    with pytest.raises(InputError, match=r"plan.1.json: a different plan 1 exists"):
        keep_plan(replace(plan, top=3), tmp_path / "plan.json", KEYS)


def test_the_command_plans_checks_keeps_and_serves_one_ranker(loop, tmp_path):
    made, folder = loop[0], tmp_path / "plans"
    shutil.copytree(made.folder, folder)  # other tests read it
    (tmp_path / "my.keys").write_text("\n".join(f"{name} {secret.hex()}" for name, secret in KEYS.items()))
    text = f'[experiment]\nname = "shoes"\nrankers = {json.dumps(list(made.settings.rankers))}\nhorizon = 1000\n'
    text += (
        'policy = "double_thompson"\nwindow = 1\nseed = 3\nshare = 0.9\nholdback = 0.1\n[serve]\nkey_file = "my.keys"\n'
    )
    config, out = tmp_path / "shoes.toml", str(folder / "plan.json")
    config.write_text(text)
    tables = ["--exposures", str(folder / EXPOSURES), "--events", str(folder / EVENTS)]

    def run(*words, at="2024-01-01", to=out):
        return CliRunner().invoke(cli, ["live", "plan", str(config), *tables, "--at", at, "--out", to, *words])

    for _ in range(2):  # the same inputs give the same file
        done = run("--check")
        assert done.exit_code == 0, done.output
        assert "plan 4 of 'shoes', from" in done.output
    sets = json.loads((folder / "plan.4.json").read_text())["plan"]["sets"]
    together = {frozenset(pair) for one in sets for pair in itertools.combinations(one["rankers"], 2)}
    gone = len([*itertools.combinations(made.settings.rankers, 2)]) - len(together)
    apart = done.output.partition("cannot decide them: ")[2].partition("\n")[0]
    assert gone and apart.count(" and ") == gone, done.output
    assert (folder / "plan.4.json").read_bytes() == (folder / "plan.json").read_bytes()
    done = run("--serve", made.settings.rankers[1], at="2024-01-02")
    assert f"plan 5 of 'shoes', from {done.output.partition('from ')[2]}" in done.output
    assert f"{made.settings.rankers[1]} is shown to all users except 0.1 of them" in done.output
    assert "the plans that the log has followed are not beside" in str(run(to=str(tmp_path / "plan.json")).exception)
    config.write_text(text.replace("double_thompson", "rucb"))
    assert "the settings have changed since plan 5" in str(run(at="2024-01-03").exception)
    (tmp_path / "my.keys").unlink()
    assert "my.keys: is missing" in str(run().exception) and not (tmp_path / "my.keys").exists()


def test_a_log_without_an_event_that_credits_is_a_log_of_ties(tmp_path):
    settings, names = '[experiment]\nname = "shoes"\nrankers = ["a", "b"]\nwindow = 1\n', ("exposures", "views")
    (tmp_path / "live.toml").write_text(settings + 'policy = "double_thompson"\n')

    def run(*words):
        words = ["live", "plan", str(tmp_path / "live.toml"), "--out", str(tmp_path / "plan.json"), *words]
        return CliRunner().invoke(cli, words)

    assert run("--at", "2024-01-01").exit_code == 0
    plan, lists = LivePlan.read(tmp_path / "plan.json", read_keys(tmp_path / "live.keys")), {"a": ["x"], "b": ["y"]}
    pages = [plan.decide(f"u{k}", "q", lists, now=1704100000) for k in range(20)]
    (exposure, *_) = [page.record for page in pages if page.record]
    view = {"impression": exposure["impression"], "time": 1704100001, "kind": "view", "item": None}
    files = [tmp_path / f"{name}.jsonl" for name in names]
    for path, row in zip(files, (exposure, view), strict=True):
        path.write_text(json.dumps(row))
    done = run("--exposures", str(files[0]), "--events", str(files[1]), "--at", "2024-02-01")
    assert done.exit_code == 0 and "plan 2 of 'shoes', from 1 impression" in done.output, done.exception


def test_the_command_simulates_users_under_plans(tmp_path):
    (tmp_path / "live.toml").write_text(
        '[experiment]\nname = "x"\nrankers = ["1", "2"]\npolicy = "random"\nwindow = 1\n'
    )
    lines = [f"{(q + d) % 3} qid:{q} 1:{d} 2:{(7 * d + q) % 5}" for q in range(1, 6) for d in range(8)]
    (tmp_path / "corpus.txt").write_text("\n".join(lines) + "\n")
    words = ["replay", str(tmp_path / "corpus.txt"), "--config", str(tmp_path / "live.toml"),
             "--out", str(tmp_path / "loop"), "--plans", "2", "--processes", "1", "--searches", "40"]  # fmt: skip
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    assert "plan 1: 20 searches, 20 exposures" in done.output
    again = CliRunner().invoke(cli, words)
    assert "exists already" in str(again.exception)
    with (tmp_path / "live.toml").open("a") as file:
        file.write('credit = "purchase"\n')
    assert "credit = 'purchase': simulated users only click" in str(CliRunner().invoke(cli, words).exception)


def test_simulated_users_click_only_on_their_page():
    users = Visitors(random_rankings(2, n_queries=5, n_docs=6, grades=3), "perfect", top=3)
    query = users.next_query()
    page = users.lists(query)["ranker 0"][:3]
    assert set(users.clicks(query, page)) <= set(page)
    with pytest.raises(InputError, match="documents of another query, or is longer"):
        users.clicks(query, [*page, 99])
