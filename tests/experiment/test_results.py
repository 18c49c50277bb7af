"""Results read from a store: one table over all problems, policies and horizons."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from ltr_duel.analysis import spread_sentence, summary_table
from ltr_duel.core.errors import InputError
from ltr_duel.experiment import Backend, StudyResults, run_experiment, study_bibtex
from ltr_duel.preferences import PreferenceMatrix, save_preferences
from tests.conftest import bradley_terry
from tests.experiment.conftest import matrix_spec, schedule_of

ONE = Backend(jobs=1)
SPEC = """
policies = ["rucb", "mdb"]
horizon = [100, 1000]
repetitions = 4
regrets = ["average", "weak", "utility"]

[[matrices]]
name = "cycle"
answers = "independent_coins"
p = [[0.5, 0.7, 0.3], [0.3, 0.5, 0.7], [0.7, 0.3, 0.5]]

[[utilities]]
set = ["1good5poor", "2good4poor"]
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    (folder / "spec.toml").write_text(SPEC)
    run_experiment(schedule_of(folder / "spec.toml"), folder / "out", backend=ONE)
    return StudyResults(folder / "out")


def test_the_table_has_a_row_for_each_run_and_checkpoint(results):
    frame = results.to_frame()
    assert list(frame["problem"].unique()) == ["cycle", "1good5poor", "2good4poor"] == results.problems
    assert len(frame.groupby(["problem", "policy", "horizon", "repetition"])) == 3 * 2 * 2 * 4
    assert {"regret_average", "regret_weak", "regret_utility", "recommended", "correct", "rankers"} <= set(frame)
    cycle = frame[frame["problem"] == "cycle"]
    assert cycle["regret_average"].isna().all() and cycle["correct"].isna().all()
    assert frame[frame["problem"] == "1good5poor"]["regret_utility"].notna().all()
    assert "regret_copeland" in results.to_frame(("copeland",))


def test_a_summary_has_the_error_of_the_reference_of_each_policy(tmp_path):
    names = ("A", "B", "C")
    estimate = PreferenceMatrix(bradley_terry(3).p, names, 0.01 * ~np.eye(3, dtype=bool))
    save_preferences(estimate, tmp_path / "estimate.parquet")
    (spec := tmp_path / "spec.toml").write_text(
        "policies = ['rucb', 'rmed1']\nhorizon = 200\nrepetitions = 3\n"
        "matrices = [{ name = 'estimate', file = 'estimate.parquet' }]"
    )
    run_experiment(schedule_of(spec), tmp_path / "out", backend=ONE)
    results = StudyResults(tmp_path / "out")
    expected = results.results("estimate").reference_errors()
    assert results.summary()["reference_error"].tolist() == pytest.approx(expected) and (expected > 0.1).all()
    assert results.summary("regret_borda")["reference_error"].isna().all()
    table = summary_table(results.summary())
    assert table["error of the reference matrix"].tolist() == [f"{error:,.1f}" for error in expected]
    assert "the standard error of the mean that comes from that estimate" in spread_sentence(table)
    assert "not known" in spread_sentence(summary_table(results.summary("regret_borda")))


def test_the_last_row_of_each_run_says_when_the_winner_was_identified(results):
    final = results.final()
    assert len(final) == 48 and (final["t"] == final["horizon"]).all()
    frame = results.to_frame()
    keys = ["problem", "policy", "horizon", "repetition"]
    identified = final.set_index(keys)["identified_at"]
    for key, run in frame.groupby(keys):
        winner = results.matrix(key[0]).condorcet_winner
        wrong = run.loc[run["recommended"] != winner, "t"].max()
        after = run.loc[~(run["t"] <= wrong), "t"].tolist()
        np.testing.assert_equal(identified[key], (after or [np.inf])[0] if winner else np.nan)


def test_a_problem_has_results_at_each_of_its_horizons(results):
    condition = results.results("1good5poor", 100)
    runs = [(run.label, run.key.repetition) for run in condition.runs]
    assert runs == [(policy, repetition) for policy in ("rucb", "mdb") for repetition in range(4)]
    assert condition.policies == ["rucb", "mdb"] and len(condition.matrix) == 6
    assert results.results("1good5poor").runs[0].key.horizon == 1000
    with pytest.raises(InputError, match="did you mean '1good5poor'"):
        results.results("1good5por")
    with pytest.raises(InputError, match="no runs on '1good5poor' with horizon 7"):
        results.results("1good5poor", 7)


def test_a_summary_compares_within_each_problem_and_horizon(results):
    table = results.summary()
    assert list(table.columns[:3]) == ["problem", "horizon", "policy"] and len(table) == 3 * 2 * 2
    frame = results.to_frame()
    mine = frame.query("problem == '1good5poor' and policy == 'rucb' and t == 1000 and horizon == 1000")
    row = table.query("problem == '1good5poor' and policy == 'rucb' and horizon == 1000")
    assert row["mean"].item() == pytest.approx(mine["regret_average"].mean())
    weak = results.summary("regret_weak").query("problem == '1good5poor' and horizon == 1000").reset_index(drop=True)
    alone = results.results("1good5poor").summary("regret_weak")
    pd.testing.assert_frame_equal(weak[alone.columns], alone)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("horizon = 5", "horizon = 5\nseed = 8", "have results of 'rucb' with different seed"),
        ("horizon = 5", "horizon = 5\nbatch = 2", "have results of 'rucb' with different batch"),
        ("0.7], [0.4", "0.8], [0.4", "have different problems 'm'"),
    ],
)
def test_two_studies_that_a_table_could_not_distinguish_are_refused(spec_file, tmp_path, old, new, message):
    text, out = matrix_spec(["rucb"]), tmp_path / "out"
    changed = text.replace(old, new).replace("[0.3, 0.4", "[0.2, 0.4" if "0.8" in new else "[0.3, 0.4")
    schedules = [schedule_of(spec_file(content, f"{k}.toml")) for k, content in enumerate((text, changed))]
    for schedule in schedules:
        run_experiment(schedule, out, backend=ONE)
    with pytest.raises(InputError, match=message) as error:
        StudyResults(out)
    for schedule in schedules:
        digits = schedule.study.digest[:8]
        assert f"{digits} ({schedule.file.path})" in str(error.value)
        assert len(StudyResults(out, [digits]).final()) == 4
    with pytest.raises(InputError, match="no study abc; it contains"):
        StudyResults(out, ["abc"])


CITED = """
policies = ["rucb", "mdb", "savage", "auto"]
horizon = 20
repetitions = 1
[[corpora]]
name = "Istella"
synthetic = { queries = 6, documents = 8, features = 4, grades = 3 }
comparisons = 40
clicks = ["perfect", "navigational"]
answers = "users"
slates = "probabilistic"
"""


def test_every_work_is_cited_once_and_a_corpus_without_reference_is_named(spec_file, tmp_path, monkeypatch):
    run_experiment(schedule_of(spec_file(CITED)), tmp_path / "out", backend=ONE)
    results = StudyResults(tmp_path / "out")
    text = study_bibtex(results)
    keys = re.findall(r"^@\w+\{(\S+),", text, re.M)
    assert len(keys) == len(set(keys)) and "%" not in text.replace("\\%", "")
    assert {"zoghi2014rucb", "brost2016mdb", "urvoy2013generic", "hofmann2011probabilistic"} <= set(keys)
    assert {"dato2016fast", "schuth2015probabilistic", "sui2017multidueling"} <= set(keys), "'auto' ran as 'auto_sets'"
    sets, pairs = ("probabilistic", "sampled"), ("probabilistic", "marginal_bernoulli")
    rows = set(results.final()[["policy", "method", "outcome"]].itertuples(index=False, name=None))
    assert rows == {("rucb", *pairs), ("savage", *pairs), ("mdb", *sets), ("auto", *sets)}
    for data, key in ("MQ2008/Fold1", "qin2013"), ("OHSUMED/Fold1", "qin2010"), ("Gov/2004_np/Fold1", "qin2010"):
        results.data = dict.fromkeys(results.problems, data)
        assert f"{key}letor" in study_bibtex(results), "the corpus counts, whatever the user calls it"
    monkeypatch.setattr("ltr_duel.experiment.cite._corpus", lambda name: None)
    assert study_bibtex(results).startswith("% no reference is known for the corpus 'Istella'\n")
