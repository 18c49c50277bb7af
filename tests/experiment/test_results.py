"""Results read from a store: one table over all problems, policies and horizons."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ltr_duel.core.errors import InputError
from ltr_duel.experiment.results import StudyResults
from ltr_duel.experiment.run import run_experiment
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


def test_the_last_row_of_each_run_says_when_the_winner_was_identified(results):
    final = results.final()
    assert len(final) == 48 and (final["t"] == final["horizon"]).all()
    known = final[final["problem"] != "cycle"]
    assert (np.isfinite(known["identified_at"]) == (known["correct"] == 1)).all()


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
