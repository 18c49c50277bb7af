"""Results read from a store: one table over all problems, policies and horizons."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ltr_duel.analysis import spread_sentence, summary_table
from ltr_duel.core.errors import InputError
from ltr_duel.experiment.results import StudyResults
from ltr_duel.experiment.run import run_experiment
from ltr_duel.experiment.stored_runs import digests
from ltr_duel.preferences import PreferenceMatrix, save_preferences
from ltr_duel.simulation import RunKey
from tests.conftest import bradley_terry
from tests.experiment.conftest import plan_of

SPEC = """
policies = ["rucb", "mdb"]
horizon = [100, 1000]
repetitions = 4
regrets = ["average", "weak", "utility"]

[[matrices]]
name = "cycle"
p = [[0.5, 0.7, 0.3], [0.3, 0.5, 0.7], [0.7, 0.3, 0.5]]

[[utilities]]
set = ["1good5poor", "2good4poor"]
"""


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    path = tmp_path_factory.mktemp("spec") / "spec.toml"
    path.write_text(SPEC)
    return plan_of(path)


@pytest.fixture(scope="module")
def results(plan, tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    run_experiment(plan, folder)
    return StudyResults(folder)


def test_the_table_has_a_row_for_each_run_and_checkpoint(results):
    frame = results.to_frame()
    assert list(frame["problem"].unique()) == ["cycle", "1good5poor", "2good4poor"] == results.problems
    assert len(frame.groupby(["problem", "policy", "horizon", "repetition"])) == 3 * 2 * 2 * 4
    assert {"regret_average", "regret_weak", "regret_utility", "recommended", "correct", "rankers"} <= set(frame)
    cycle = frame[frame["problem"] == "cycle"]
    assert cycle["regret_average"].isna().all() and cycle["correct"].isna().all()
    assert frame[frame["problem"] == "1good5poor"]["regret_utility"].notna().all()
    assert "regret_copeland" in results.to_frame(("copeland",))


@pytest.mark.parametrize("at_once", [1, 2_000, 1 << 18])
def test_the_table_is_that_of_the_runs_one_by_one(results, monkeypatch, at_once):
    monkeypatch.setattr("ltr_duel.experiment.study_table._AT_ONCE", at_once)
    frame = results.to_frame()
    slow = [one.to_frame(("average", "weak", "utility")) for _, one in results]
    pd.testing.assert_frame_equal(frame[list(slow[0])], pd.concat(slow, ignore_index=True))
    summary = results.summary("regret_weak")
    for study, one in results:
        fast = summary[(summary["problem"] == study.problem) & (summary["horizon"] == study.horizon)]
        pd.testing.assert_frame_equal(fast[fast.columns[2:-1]].reset_index(drop=True), one.summary("regret_weak"))
        assert (fast["reference_error"] == 0).all()


def test_the_last_rows_alone_are_those_of_the_whole_table(results):
    for study, _ in results:
        whole, _ = results._table(study, ("average", "weak"))
        last, labels = results._study_table(study, ("average", "weak"), last=True)
        expected = whole.groupby(["policy", "repetition"], sort=False).tail(1).reset_index(drop=True)
        pd.testing.assert_frame_equal(last.frame(labels), expected)
        assert len(expected) == 8 < len(whole)


def test_a_summary_has_the_error_of_the_reference_of_each_policy(tmp_path):
    names = ("A", "B", "C")
    estimate = PreferenceMatrix(bradley_terry(3).p, names, 0.01 * ~np.eye(3, dtype=bool))
    save_preferences(estimate, tmp_path / "estimate.parquet")
    spec = tmp_path / "spec.toml"
    spec.write_text(
        "policies = ['rucb', 'rmed1']\nhorizon = 200\nrepetitions = 3\n"
        "matrices = [{ name = 'estimate', file = 'estimate.parquet' }]"
    )
    run_experiment(plan_of(spec), tmp_path / "out")
    results = StudyResults(tmp_path / "out")
    expected = results.results("estimate").reference_errors()
    assert results.summary()["reference_error"].tolist() == pytest.approx(expected) and (expected > 0.1).all()
    assert results.summary("regret_borda")["reference_error"].isna().all()
    table = summary_table(results.summary())
    assert table["error of the reference matrix"].tolist() == [f"{one:,.1f}" for one in expected]
    assert "the standard error of the mean that comes from that estimate" in spread_sentence(table)
    assert "not known" in spread_sentence(summary_table(results.summary("regret_borda")))


def test_a_digest_is_that_of_the_whole_key():
    oracle = {"repetition": 7, "matrix": "a", "zeta": {"repetition": 0}}
    key = RunKey(oracle, "rucb", {"alpha": 0.51, "repetition": 1}, horizon=9, repetition=12, seed=3, source="é")
    own = {name: one for name, one in vars(key).items() if name != "repetition"}
    digest = digests(own)
    assert digest(12) == key.digest != digest(1) == replace(key, repetition=1).digest


def test_runs_in_batches_and_with_delays_are_read_as_they_were_written(tmp_path):
    """The runs have every setting that a key contains only if it differs from the default."""
    spec = 'policies = ["rucb"]\nhorizon = 200\nrepetitions = 1\nbatch = 50\ndelay = 7\n'
    (tmp_path / "study.toml").write_text(spec + '[[matrices]]\nfamily = "equal_gaps"\nsize = 3\n')
    plan = plan_of(tmp_path / "study.toml")
    run_experiment(plan, tmp_path / "runs")
    run = StudyResults(tmp_path / "runs").results(plan.problems[0].name).runs[0]
    assert (run.key.batch, run.key.delay) == (50, 7)


def test_the_last_row_of_each_run_says_when_the_winner_was_identified(results):
    final = results.final()
    assert len(final) == 48 and (final["t"] == final["horizon"]).all()
    known = final[final["problem"] != "cycle"]
    assert (np.isfinite(known["identified_at"]) == (known["correct"] == 1)).all()
    keys = ["problem", "horizon", "policy", "repetition"]
    found = final.set_index(keys)["identified_at"]
    for key, run in results.to_frame().groupby(keys):
        winner = results.matrix(key[0]).condorcet_winner
        late = run.loc[run["recommended"] != winner, "t"].max()  # NaN if the winner is always recommended
        after = run.loc[~(run["t"] <= late), "t"].tolist()
        np.testing.assert_equal(found[key], (after or [np.inf])[0] if winner else np.nan)


def test_one_problem_alone_gives_ordinary_results(results):
    one = results.results("1good5poor", 100)
    assert one.policies == ["rucb", "mdb"] and len(one.runs) == 8 and len(one.matrix) == 6
    assert results.results("1good5poor").runs[0].key.horizon == 1000
    assert len(results.plot("1good5poor").figure.axes) == 1
    with pytest.raises(InputError, match="did you mean '1good5poor'"):
        results.results("1good5por")
    with pytest.raises(InputError, match="with horizon 7"):
        results.results("1good5poor", 7)


def test_a_summary_compares_within_each_problem_and_horizon(results, tmp_path):
    table = results.summary()
    assert list(table.columns[:3]) == ["problem", "horizon", "policy"] and len(table) == 3 * 2 * 2
    frame = results.to_frame()
    mine = frame.query("problem == '1good5poor' and policy == 'rucb' and t == 1000 and horizon == 1000")
    row = table.query("problem == '1good5poor' and policy == 'rucb' and horizon == 1000")
    assert row["mean"].item() == pytest.approx(mine["regret_average"].mean())
    assert len(pd.read_csv(results.to_csv(tmp_path / "t.csv"))) == len(frame)
