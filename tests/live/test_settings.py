"""Settings are read, checked and written; an error names the key, the value, and the legal values."""

from __future__ import annotations

import pytest

from ltr_duel.core import InputError
from ltr_duel.live import Settings, read_settings, with_seed, write_settings

GOOD = '[experiment]\nname = "x"\nrankers = ["a", "b", "c"]\npolicy = "rucb:alpha=0.51"\n'


def read(tmp_path, text):
    path = tmp_path / "live.toml"
    path.write_text(text)
    return read_settings(path)


def test_written_settings_are_read_again(tmp_path):
    given = Settings(
        name="x", rankers=("a", "b"), policy="multi_self_sparring:size=2", method="probabilistic:tau=1", top=7,
        horizon=1000, batch=50, window=3.5, share=0.25, holdback=0.5, count="shown", confidence=0.9, margin=0.01,
        seed=2**127, credit="purchase", context=("device",), incumbent="b", serve={"port": 1},
    )  # fmt: skip
    write_settings(given, tmp_path / "live.toml")
    assert read_settings(tmp_path / "live.toml") == given


def test_the_file_has_the_method_and_only_other_values_than_the_defaults(tmp_path):
    write_settings(read(tmp_path, GOOD), tmp_path / "again.toml")
    text = (tmp_path / "again.toml").read_text()
    assert text.count(" = ") == 4 and 'method = "team_draft"' in text
    assert read_settings(tmp_path / "again.toml") == read(tmp_path, GOOD)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (GOOD.replace("rucb", "rubc"), "experiment.policy: no policy 'rubc'; did you mean 'rucb'"),
        (GOOD + "topp = 3\n", "experiment: no key 'topp'; did you mean 'top'"),
        (GOOD + "top = 0\n", "experiment.top: the value must be between 1 and 1000, not 0"),
        (GOOD + "batch = 0\n", "experiment.batch: the value must be between 1 and 100000, not 0"),
        (GOOD + "share = 0.5\nholdback = 0.6\n", "sum to more than 1: the share is at most 0.4"),
        (GOOD + 'count = "all"\n', r"no way to count impressions 'all'; \(seen, shown\)"),
        (GOOD + "window = -1\n", "experiment.window: the value must be between 0"),
        (GOOD + "seed = -1\n", "experiment.seed: "),
        (GOOD + 'incumbent = "z"\n', "incumbent: no ranker 'z'"),
        (GOOD + 'context = ["query"]\n', "'query' is a column of every log"),
        (GOOD + 'method = "sosm"\n', "'rucb.*' requires a method that compares two rankers, which 'sosm' does not"),
        (GOOD + 'method = "probabilistic"\noutcome = "expectation"\n', "is a number"),
        (GOOD + 'outcome = "sampled"\n', "no outcome rule of team_draft called 'sampled'"),
        (GOOD.replace('"a", "b", "c"', '"a"'), "rankers: there must be 2 to 200, not 1"),
        (GOOD.replace('"a", "b", "c"', '"a", "a"'), "is given twice"),
        (GOOD.replace('"a", "b", "c"', r'"a\u001fb", "a", "b"'), "rankers: a name contains the control character 0x1f"),
        (GOOD.replace("rucb:alpha=0.51", "savage"), "horizon: policy 'savage' requires the number .* horizon = 100000"),
        ("[experimen]\n", "no table 'experimen'; did you mean 'experiment'"),
        ('name = "x"\n', r"no table 'name'; .*the keys of an experiment follow a line \[experiment\]"),
        ("", r'the table \[experiment\] is missing; for example: \[experiment\] with name = "shoes"'),
        (GOOD.replace("name =", "outcome ="), "key 'name' is missing; for example: name = "),
        ("serve = 3\n" + GOOD, "serve: must be a table"),
        ("[experiment\n", "not TOML"),
    ],
)
def test_wrong_settings_are_refused_in_one_sentence(tmp_path, text, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        read(tmp_path, text)
    assert "live.toml" in str(caught.value)


@pytest.mark.parametrize(
    ("rankers", "method", "outcome", "policy", "rule"),
    [
        (("a", "b", "c"), "team_draft", "", "auto_sets", "credit"),
        (("a", "b"), "team_draft", "", "auto", "credit"),  # a set of two is a pair
        (("a", "b", "c"), "probabilistic", "", "auto_sets", "sampled"),
        (("a", "b", "c"), "probabilistic", "marginal_bernoulli", "auto", "marginal_bernoulli"),
        (("a", "b"), "probabilistic", "", "auto", "marginal_bernoulli"),
    ],
)
def test_the_policy_and_the_outcome_rule_fit_the_rankers_and_the_method(rankers, method, outcome, policy, rule):
    settings = Settings(name="x", rankers=rankers, method=method, outcome=outcome)
    assert (settings.policy, settings.outcome) == (policy, rule)


def test_a_seed_is_drawn_only_if_there_is_none():
    settings = Settings(name="x", rankers=("a", "b"), policy="random")
    assert with_seed(settings).seed != with_seed(settings).seed
    assert with_seed(with_seed(settings)).seed is not None
    assert with_seed(Settings(name="x", rankers=("a", "b"), policy="random", seed=0)).seed == 0
