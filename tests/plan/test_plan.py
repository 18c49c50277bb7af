"""Plans: signed, followed identically everywhere, sampled from the policy, and compared with the log."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from ltr_duel.bandits import POLICIES, random_order
from ltr_duel.cli.main import cli
from ltr_duel.core import InputError, stream
from ltr_duel.data import make_corpus
from ltr_duel.interleaving import interleave
from ltr_duel.live import Keys, Settings
from ltr_duel.logs import ClickLog, write_log
from ltr_duel.plan import LivePlan, Planner, PlanSettings, check_plans, next_plan
from ltr_duel.plan.signing import _signature
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.rankers import feature_rankers
from ltr_duel.replay import EVENTS, EXPOSURES, Loop, follow_plans
from ltr_duel.simulation import FromMatrix, simulate

KEYS = Keys({"new": bytes(range(32)), "old": bytes(32)})
P = np.clip(0.5 + np.subtract.outer(np.linspace(0.4, 0, 4), np.linspace(0.4, 0, 4)), 0.05, 0.95)
LISTS = {name: [f"{name}{k}" for k in range(12)] for name in "abcd"}


def settings(policy="double_thompson", **more):
    return Settings(name="shoes", rankers=("a", "b", "c", "d"), policy=policy, horizon=1000, **more)


def plan_of(sets, method="team_draft", **more):
    about = {"policy": "rucb", "outcome": "", "top": 10, "salt": "s", "settings": "", "log": "", "learned": 0}
    about |= {"experiment": "shoes", "version": 3, "at": 0, "until": 0, "recommended": "a", "incumbent": "a"}
    return LivePlan(**(about | {"method": method, "sets": sets} | more))


def test_a_plan_is_read_as_it_was_written_and_only_so():
    plan = next_plan(settings(), None, at=1e9)
    text = plan.to_json(KEYS)
    assert vars(LivePlan.from_json(text, KEYS)) == vars(next_plan(settings(), None, at=1e9))
    assert LivePlan.from_json(json.dumps(json.loads(text)), KEYS).salt == plan.salt  # for any layout of the JSON
    with pytest.raises(InputError, match="changed since it was signed by key 'new'"):
        LivePlan.from_json(text.replace('"draws": ', '"draws": 1', 1), KEYS)
    with pytest.raises(InputError, match="signed by key 'new', which is not among old"):
        LivePlan.from_json(text, Keys({"old": bytes(32)}))
    for wrong in ("", "{}", "[]", text[:-20], '{"plan": 1, "key": "new", "signature": "x"}', "[" * 100_000):
        with pytest.raises(InputError, match=r"not a plan of 'ltr-duel live plan'|changed since"):
            LivePlan.from_json(wrong, KEYS)


def test_decisions_are_those_of_the_plan():
    """Sets have the plan's probabilities (chi-squared at 1e-6), pages the method's distribution (5 errors)."""
    plan = plan_of(((("a", "b"), 60), (("c", "a", "d"), 30), (("b",), 10)))
    pages = [plan.decide(f"u{k % 500}", f"q{k}", LISTS, now=5.0) for k in range(20_000)]
    seen = [sum(page.rankers == names for page in pages) for names, _ in plan.sets]
    expected = np.array([0.6, 0.3, 0.1]) * len(pages)
    assert ((np.array(seen) - expected) ** 2 / expected).sum() < 28
    assert all((page.record is None) == (page.rankers == ("b",)) for page in pages)
    pairs = [page for page in pages if page.rankers == ("a", "b")]
    rng = np.random.default_rng(1)
    drawn = [interleave({name: LISTS[name] for name in "ab"}, rng=rng).shown for _ in pairs]
    for place in range(10):
        for document in ("a0", "a2", "b1"):
            shares = [np.mean([one[place] == document for one in which]) for which in ([p.shown for p in pairs], drawn)]
            assert abs(shares[0] - shares[1]) < 5 * np.sqrt(0.5 / len(pairs))
    assert {page.record["propensity"] for page in pairs} == {0.6}


def test_a_search_is_decided_alike_whenever_and_page_by_page():
    plan = plan_of(((("a", "b"), 1), (("c", "d"), 1)), "probabilistic", outcome="marginal_bernoulli")
    whole = plan.decide("u", "q", LISTS, now=5.0)
    plan.decide("another", "q", LISTS)
    parts = [plan.decide("u", "q", LISTS, offset=k, limit=4).shown for k in (0, 4, 8)]
    assert sum(parts, ()) == whole.shown and whole.total == 10
    assert plan.rankers("u", "q") == whole.rankers
    assert plan.decide("u", "q", LISTS, now=6.0).record["impression"] == whole.record["impression"]
    others = {plan_of(plan.sets, salt=salt).decide("u", "q", LISTS).shown for salt in "abcdefgh"}
    assert len(others) > 4


def test_nothing_stands_between_users_and_results():
    plan = plan_of(((("a", "b"), 1),), until=100)
    late = plan.decide("u", "q", LISTS, now=100.0)
    assert (late.served, late.shown, late.record) == ("expired", tuple(LISTS["a"][:10]), None)
    for lists, said in (({"a": ["x"]}, "the list of ranker 'b' is missing"), ({"a": [], "b": ["x"]}, "'a' is empty"),
                        ({"a": ["x", "x"], "b": ["y"]}, "'x' appears twice")):  # fmt: skip
        with pytest.raises(InputError, match=said):
            plan.decide("u", "q", lists, now=1.0)


@pytest.mark.parametrize("name", ["rucb", "double_thompson", "interleaved_filter", "beat_the_mean", "rmed1", "mdb"])
def test_one_search_at_a_time_takes_the_path_of_a_simulation(name):
    """Alternating plans and single outcomes give the pulls of `simulate` at each checkpoint."""
    steps, wanted = 300, settings(name, seed=5)
    source = FromMatrix(PreferenceMatrix(P, wanted.rankers), sets="independent_coins")
    (run,) = simulate(source, name, horizon=1000, repetitions=1, seed=5, jobs=1, compiled=False).runs
    planner, coins = Planner(wanted, PlanSettings(batch=1)), stream(5, 0, "feedback")
    order = random_order(4, stream(5, 0, "labels"))
    place, pulls = np.argsort(order), np.zeros((steps + 1, 4), np.int64)
    for t in range(1, steps + 1):
        ((names, _),) = planner.plan().sets
        arms = tuple(wanted.rankers.index(one) for one in names)
        pulls[t] = pulls[t - 1]
        if len(arms) == 1:
            pulls[t, arms[0]] += 1 if POLICIES[name].feedback == "slate" else 2
            planner.learn([])
            continue
        pulls[t, list(arms)] += 1
        if name == "mdb":  # the policy's sets are in the order of its own numbers
            arms = tuple(sorted(arms, key=lambda arm: place[arm]))
        pairs = [(a, b) for k, a in enumerate(arms) for b in arms[k + 1 :]]
        planner.learn([(arms, bytes(1 if coins.random() < P[pair] else 255 for pair in pairs))])
    rows = run.checkpoints <= steps
    assert (pulls[run.checkpoints[rows]] == run.pulls[rows]).all()


@pytest.fixture(scope="module")
def loop(tmp_path_factory):
    """Two processes, three plans, simulated users."""
    rankings = feature_rankers(make_corpus(queries=40, documents=10, features=4))
    wanted = replace(settings(), rankers=rankings.names, incumbent="", deadline=1.0)
    folder = tmp_path_factory.mktemp("loop") / "plans"
    made = Loop(wanted, dict(KEYS), rankings, "navigational", folder, 100, 150, 1)
    return made, list(follow_plans(made, plans=3, processes=2))


def log_of(loop):
    return ClickLog(loop.folder / EXPOSURES, events=loop.folder / EVENTS, skip_bad=None)


def test_the_loop_learns_and_its_log_is_that_of_its_plans(loop):
    made, followed = loop
    plans = {one.plan.version: one.plan for one in followed}
    assert check_plans(log_of(made), plans, made.settings) == []
    assert [one.plan.learned for one in followed] == [0, followed[0].logged, followed[0].logged + followed[1].logged]
    later = next_plan(made.settings, log_of(made), at=2e9)
    assert later.version == 4 and later.learned == sum(one.logged for one in followed)


def test_a_plan_is_the_same_in_whatever_order_the_files_come(loop, tmp_path):
    made, _ = loop
    wanted = next_plan(made.settings, log_of(made), at=2e9).to_json(KEYS)
    for name in (EXPOSURES, EVENTS):
        (tmp_path / name).mkdir()
        files = sorted((made.folder / name).iterdir())
        for number, path in enumerate(random.Random(3).sample(files, len(files))):
            (tmp_path / name / f"{number}.parquet").write_bytes(path.read_bytes())
    moved = made._replace(folder=tmp_path)
    assert next_plan(made.settings, log_of(moved), at=2e9).to_json(KEYS) == wanted


def test_what_is_younger_than_the_deadline_waits(loop):
    made, followed = loop
    begins = followed[2].plan.at
    patient = replace(made.settings, deadline=7000.0)
    found = next_plan(patient, log_of(made), at=begins + 3600, version=4)
    assert found.learned < followed[0].logged + followed[1].logged
    with pytest.raises(InputError, match="has exposures of plan 3, so the next version cannot be 2"):
        next_plan(made.settings, log_of(made), at=2e9, version=2)


def test_a_log_that_did_not_follow_its_plans_is_found(loop, tmp_path):
    made, followed = loop
    plans = {one.plan.version: one.plan for one in followed}
    del plans[2]
    plans[1] = replace(plans[1], salt="another")
    plans[3] = replace(plans[3], at=plans[3].at + 1800)
    said = check_plans(log_of(made), plans, made.settings)
    assert [one.partition(":")[0] for one in said if "fails" not in one] == [
        "rows that differ from the page of plan 1 for their user and query",
        "rows shown by plan 2, whose file is missing",
        "rows shown outside the period of plan 3",
    ]
    first = [one.rpartition("/")[2] for one in said if "fails" not in one]
    assert first == ["1-0.parquet:1", "2-0.parquet:1", "3-0.parquet:1"]


def test_rows_of_something_else_are_refused(tmp_path):
    page = interleave({name: LISTS[name] for name in "ab"}, seed=1)
    row = {"impression": "77", "time": 1.0, "query": "q", "shown": list(page.shown), "clicks": [1],
           "rankers": ["a", "b"], "owners": [0] * 10}  # fmt: skip
    with write_log(tmp_path / "log.jsonl", tuple(row)) as log:
        log.write({name: [value] for name, value in row.items()})
    with pytest.raises(InputError, match="impression '77' belongs to no plan"):
        next_plan(settings(), ClickLog(tmp_path / "log.jsonl"), at=1e9)


def test_the_command_plans_checks_and_keeps(loop, tmp_path):
    made, _ = loop
    keys = "\n".join(f"{name} {secret.hex()}" for name, secret in KEYS.items())
    (tmp_path / "plan.keys").write_text(keys)
    names = json.dumps(list(made.settings.rankers))
    text = f'[experiment]\nname = "shoes"\nrankers = {names}\npolicy = "double_thompson"\n'
    text += "horizon = 1000\ndeadline = 1\n"
    (tmp_path / "shoes.toml").write_text(text)
    tables = ["--exposures", str(made.folder / EXPOSURES), "--events", str(made.folder / EVENTS)]
    words = ["live", "plan", str(tmp_path / "shoes.toml"), *tables, "--at", "2024-01-01", "--check"]
    for _ in range(2):
        done = CliRunner().invoke(cli, [*words, "--out", str(made.folder / "plan.json")])
        assert done.exit_code == 0, done.output
        assert "plan 4 of 'shoes', from" in done.output
    assert (made.folder / "plan.4.json").read_bytes() == (made.folder / "plan.json").read_bytes()
    (made.folder / "plan.old.json").write_text("a copy by the user, which is not the plan of a version")
    assert CliRunner().invoke(cli, [*words, "--out", str(made.folder / "plan.json")]).exit_code == 0
    (made.folder / "plan.old.json").unlink()
    moved = CliRunner().invoke(cli, [*words, "--out", str(tmp_path / "plan.json")])
    assert moved.exit_code and "shown by plan 1, whose file is missing" in moved.output
    (tmp_path / "shoes.toml").write_text(text.replace("double_thompson", "rucb"))
    other = CliRunner().invoke(cli, [*words, "--out", str(made.folder / "plan.json")])
    assert "the settings have changed since plan 4" in str(other.exception)
    (tmp_path / "plan.keys").unlink()
    keyless = CliRunner().invoke(cli, [*words, "--out", str(tmp_path / "plan.json")])
    assert "plan.keys: is missing" in str(keyless.exception) and not (tmp_path / "plan.keys").exists()


@pytest.mark.parametrize(
    "change",
    [{"salt": None}, {"sets": []}, {"draws": 10}, {"top": 0}, {"top": "10"}, {"version": "1-1"}, {"method": "none"},
     {"until": 10**400}, {"sets": [{"rankers": ["a", "a"], "draws": 1000}]}, {"sets": [{"rankers": "ab"}]}],
)  # fmt: skip
def test_an_odd_plan_is_refused_though_it_is_signed(change):
    given = json.loads(next_plan(settings(), None, at=1e9).to_json(KEYS))
    given["plan"] |= change
    given["signature"] = _signature(KEYS["new"], given["plan"])
    with pytest.raises(InputError, match="signed, but not a valid plan"):
        LivePlan.from_json(json.dumps(given), KEYS)


def altered(made, folder, change):
    """Rewrite the exposures of a loop."""
    for name in (EXPOSURES, EVENTS):
        (folder / name).mkdir()
        for path in (made.folder / name).iterdir():
            table = pq.read_table(path)
            pq.write_table(change(table) if name == EXPOSURES else table, folder / name / path.name)
    return log_of(made._replace(folder=folder))


def test_a_log_that_lost_pages_of_a_ranker_or_has_lines_that_cannot_be_used_is_found(loop, tmp_path):
    made, followed = loop
    plans = {one.plan.version: one.plan for one in followed}
    (tmp_path / "lost").mkdir()
    (tmp_path / "bad").mkdir()
    lost = altered(made, tmp_path / "lost", lambda table: table.filter(
        pa.array([not ("1" in row and k % 3) for k, row in enumerate(table["rankers"].to_pylist())])))  # fmt: skip
    said = " ".join(check_plans(lost, plans, made.settings))
    assert "the frequencies of sets of rankers in the log differ from plan 1" in said

    def wrong(table):
        outcomes = ["zzz" if k % 50 == 0 else one for k, one in enumerate(table["outcome"].to_pylist())]
        return table.set_column(table.schema.get_field_index("outcome"), "outcome", pa.array(outcomes))

    said = " ".join(check_plans(altered(made, tmp_path / "bad", wrong), plans, made.settings))
    assert "cannot be used; the first:" in said
