"""Settings are read, checked and written; every error names the key, the value, and the valid values."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from ltr_duel.bandits import LivePolicy
from ltr_duel.core import InputError, stream
from ltr_duel.interleaving import METHODS
from ltr_duel.live import Experiment, Settings, live_policy, read_settings, write_settings
from tests.live.shop import opened, settings

GOOD = '[experiment]\nname = "x"\nrankers = ["a", "b", "c"]\npolicy = "rucb:alpha=0.51"\n'


def read(tmp_path, text):
    path = tmp_path / "live.toml"
    path.write_text(text)
    return read_settings(path)


def test_what_is_written_is_read_again(tmp_path):
    given = Settings(
        name="x",
        rankers=("a", "b"),
        policy="multi_self_sparring:size=2",
        method="probabilistic:tau=1",
        top=7,
        horizon=1000,
        confidence=0.9,
        margin=0.01,
        seed=5,
        deadline=3.5,
        order="shown",
        serve={"port": 1},
    )
    write_settings(given, tmp_path / "live.toml")
    assert read_settings(tmp_path / "live.toml") == given


def test_the_file_says_only_what_is_not_by_default(tmp_path):
    write_settings(read(tmp_path, GOOD), tmp_path / "again.toml")
    assert (tmp_path / "again.toml").read_text().split("\n")[0] == "[experiment]"
    assert "top" not in (tmp_path / "again.toml").read_text()
    assert read_settings(tmp_path / "again.toml") == read(tmp_path, GOOD)


@pytest.mark.parametrize(
    "text, sentence",
    [
        (GOOD.replace("rucb", "rubc"), "experiment.policy: no policy 'rubc'; did you mean 'rucb'"),
        (GOOD + "topp = 3\n", "experiment: no key 'topp'; did you mean 'top'"),
        (GOOD + "top = 0\n", "experiment.top: the value must be between 1 and 1000, not 0"),
        (
            GOOD + 'method = "sosm"\n',
            "method: 'rucb.*' requires a method that compares two rankers, which 'sosm' does not",
        ),
        (GOOD + 'method = "probabilistic"\noutcome = "expectation"\n', "is a number"),
        (GOOD + 'outcome = "sampled"\n', "no outcome rule of team_draft called 'sampled'"),
        (GOOD + "confidence = 1.0\n", "experiment.confidence: the value must be between"),
        (GOOD + "margin = -0.1\n", "experiment.margin: "),
        (GOOD + 'order = "early"\n', "no order of outcomes 'early'"),
        (GOOD.replace('"a", "b", "c"', '"a"'), "rankers: there must be 2 to 200, not 1"),
        (GOOD.replace('"a", "b", "c"', '"a", "a"'), "is given twice"),
        (GOOD.replace("rucb:alpha=0.51", "savage"), "horizon: policy 'savage' requires the number .* horizon = 100000"),
        (GOOD.replace("rucb:alpha=0.51", "mdb"), "ok"),
        (
            GOOD.replace("rucb:alpha=0.51", "mdb") + 'method = "balanced"\n',
            "requires a method that compares sets of rankers, which 'balanced' does not",
        ),
        ("[experimen]\n", "no table 'experimen'; did you mean 'experiment'"),
        ('name = "x"\n', r"no table 'name'; .*the keys of an experiment follow a line \[experiment\]"),
        ("", r'the table \[experiment\] is missing; for example: \[experiment\] with name = "shoes"'),
        (
            GOOD.replace("rankers =", "context ="),
            r"key 'rankers' is missing; for example: rankers = \[\"old\", \"new\"\]",
        ),
        (GOOD.replace("name =", "outcome ="), "key 'name' is missing; for example: name = "),
        (GOOD + "method = ''\n", r"experiment.method: no comparison method ''; \(balanced, .*team_draft\)"),
        (GOOD + "method = 3\n", r"experiment.method: no comparison method 3; \(balanced, .*team_draft\)"),
        (GOOD.replace('"rucb:alpha=0.51"', "0"), r"experiment.policy: no policy 0; \(auto, auto_sets, "),
        (GOOD + "order = 1\n", r"experiment.order: no order of outcomes 1; \(arrival, shown\)"),
        ("serve = 3\n" + GOOD, "serve: must be a table"),
        ("[experiment\n", "not TOML"),
    ],
)
def test_wrong_settings_are_refused_in_one_sentence(tmp_path, text, sentence):
    if sentence == "ok":
        assert read(tmp_path, text).policy == "mdb"
        return
    with pytest.raises(InputError, match=sentence) as found:
        read(tmp_path, text)
    assert "live.toml" in str(found.value)


def test_python_is_told_the_same():
    with pytest.raises(InputError, match="top: the value must be between 1 and 1000, not 0"):
        Settings(name="x", rankers=("a", "b"), policy="rucb", top=0)


def test_the_policy_takes_the_path_of_the_first_repetition():
    made = live_policy(Settings(name="x", rankers=("a", "b", "c"), policy="random", seed=4))
    order = np.argsort(stream(4, 0, "labels").random(3))
    same = LivePolicy("random", 3, rng=stream(4, 0, "policy", "random:{}"), order=order)
    for _ in range(20):
        assert made.ask() == same.ask()
        for one in (made, same):
            one.tell(0 if len(set(one.ask())) == 1 else 1)


def test_a_store_draws_a_seed_that_nobody_gave_and_keeps_it(tmp_path):
    given, seeds = settings(seed=None), []
    for name in ("one", "two"):
        for _ in range(2):
            with Experiment.open(tmp_path / name, given) as experiment:
                seeds.append(experiment.settings.seed)
        with pytest.raises(InputError, match="began with seed"):
            Experiment.open(tmp_path / name, settings(seed=seeds[-1] + 1))
    assert seeds[0] == seeds[1] != seeds[2] == seeds[3]


@pytest.mark.parametrize(
    "policy, method, outcome",
    [
        ("rucb", "probabilistic", "marginal_bernoulli"),
        ("multi_self_sparring:size=3", "probabilistic", "sampled"),
        ("rucb", "team_draft", METHODS.configure("team_draft").component.default_outcome()),
    ],
)
def test_a_new_store_takes_the_unbiased_rule_and_records_it(tmp_path, policy, method, outcome):
    given = settings(policy=policy, method=method)
    for one in (given, given, None, replace(given, outcome=outcome)):
        with Experiment.open(tmp_path / "shop.db", one) as experiment:
            assert experiment.settings.outcome == experiment.state().outcome == outcome
    with closing(sqlite3.connect(tmp_path / "shop.db")) as db:
        (text,) = db.execute("SELECT value FROM about WHERE key = 'settings'").fetchone()
    assert f'outcome = "{outcome}"\n' in text


def test_a_store_keeps_its_outcome_rule(tmp_path):
    unnamed = settings(method="probabilistic", seed=5)
    opened(tmp_path, replace(unnamed, outcome="marginal_sign")).close()
    with opened(tmp_path, replace(unnamed, margin=0.1)) as experiment:
        assert experiment.settings.outcome == experiment.state().outcome == "marginal_sign"
    with pytest.raises(InputError, match="began with outcome 'marginal_sign', not 'marginal_bernoulli'"):
        opened(tmp_path, replace(unnamed, outcome="marginal_bernoulli"))
    with pytest.raises(InputError, match="began with method"):
        opened(tmp_path, settings(seed=5))


@pytest.mark.parametrize(
    "rankers, method, outcome, taken",
    [
        (("a", "b", "c"), "team_draft", "", "auto_sets"),
        (("a", "b", "c"), "sosm", "", "auto_sets"),
        (("a", "b"), "team_draft", "", "auto"),  # a set of two is a pair
        (("a", "b", "c"), "balanced", "", "auto"),
        (("a", "b", "c"), "probabilistic", "marginal_bernoulli", "auto"),
    ],
)
def test_without_a_policy_auto_compares_sets_where_the_method_does(rankers, method, outcome, taken):
    assert Settings(name="x", rankers=rankers, method=method, outcome=outcome).policy == taken
