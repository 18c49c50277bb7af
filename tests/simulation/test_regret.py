"""Regret from pulls, and tables of regret."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ltr_duel.bandits import POLICIES
from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.simulation.regret import cumulative_regret, loss_per_arm
from ltr_duel.simulation.results import Results
from ltr_duel.simulation.run import simulate
from ltr_duel.simulation.run_result import RunKey, RunResult, source_of
from tests.conftest import ROCK_PAPER_SCISSORS, bradley_terry

P = PreferenceMatrix(np.array([[0.5, 0.6, 0.8], [0.4, 0.5, 0.7], [0.2, 0.3, 0.5]]), ("a", "b", "c"))


def a_run(recommended, exposure, repetition=0, label="mine"):
    key = RunKey({}, label, {}, 4, repetition, 0)
    exposure = np.array(exposure, float)
    return RunResult(key, label, np.array([1, 2, 4]), exposure.astype(int), exposure, np.array(recommended), 4)


def test_losses_are_gaps_and_copeland_differences():
    assert loss_per_arm(P, "average") == pytest.approx([0, 0.1, 0.3])
    assert loss_per_arm(P, "copeland") == pytest.approx([0, 1 / 2, 2 / 2])
    assert np.isnan(loss_per_arm(ROCK_PAPER_SCISSORS, "average")).all()
    assert loss_per_arm(ROCK_PAPER_SCISSORS, "copeland").tolist() == [0, 0, 0]


def test_a_pair_costs_the_mean_of_its_gaps():
    once_b_against_c = np.array([[0, 0.5, 0.5]])
    assert cumulative_regret(once_b_against_c, loss_per_arm(P, "average")) == pytest.approx([(0.1 + 0.3) / 2])


def test_the_tidy_table_has_one_row_a_checkpoint():
    frame = Results([a_run([2, 1, 0], [[0, 0.5, 0.5], [1, 0.5, 0.5], [3, 0.5, 0.5]])], P).to_frame()
    regrets = [f"regret_{name}" for name in ("average", "strong", "weak", "copeland", "borda")]
    assert list(frame.columns) == ["policy", "repetition", "t", *regrets, "recommended", "outcomes"]
    assert frame["t"].tolist() == [1, 2, 4]
    assert frame["regret_average"].tolist() == pytest.approx([0.2, 0.2, 0.2])
    assert frame["recommended"].tolist() == ["c", "b", "a"]


def test_the_summary_says_when_the_winner_was_settled_on():
    flat = np.tile([1.0, 0, 0], (3, 1))
    runs = [a_run(r, flat, k) for k, r in enumerate([[0, 1, 0], [0, 0, 0], [0, 0, 2]])]
    final = Results(runs, P).final().iloc[0]
    assert final["accuracy"] == pytest.approx(2 / 3)
    assert final["steps_to_winner"] == 4  # median of 4, 1 and never


def test_without_a_condorcet_winner_only_copeland_regret_is_a_number():
    results = Results([a_run([0, 0, 0], np.tile([1.0, 0, 0], (3, 1)))], ROCK_PAPER_SCISSORS)
    assert results.to_frame()["regret_average"].isna().all()
    assert results.to_frame()["regret_copeland"].notna().all()
    assert np.isnan(results.final()["accuracy"].iloc[0])


def test_the_pulls_lie_beside_the_regret(tmp_path):
    import pandas as pd

    results = Results([a_run([0, 0, 0], [[0, 1, 1], [1, 2, 1], [4, 3, 1]])], bradley_terry(3))
    results.save(tmp_path)
    pulls = pd.read_parquet(tmp_path / "pulls.parquet")
    assert pulls[pulls["t"] == 4]["pulls"].tolist() == [4, 3, 1]
    assert set(pd.read_parquet(tmp_path / "results.parquet")) >= {"policy", "repetition", "t", "regret_average"}


def test_the_digest_of_a_run_knows_everything_that_determines_it():
    base = {"oracle": {"m": 1}, "policy": "rucb", "params": {"alpha": 0.51}, "horizon": 9, "repetition": 0, "seed": 0}
    changes = [
        {"oracle": {"m": 2}},
        {"policy": "mdb"},
        {"params": {"alpha": 1.0}},
        {"horizon": 8},
        {"repetition": 1},
        {"seed": 1},
    ]
    assert len({RunKey(**{**base, **change}).digest for change in [{}, *changes]}) == len(changes) + 1


def test_a_raised_version_of_a_policy_gives_its_runs_other_names_and_the_same_numbers():
    first, other = (
        simulate(bradley_terry(3), policy, horizon=50, repetitions=1, jobs=1).runs[0]
        for policy in ("rucb", replace(POLICIES["rucb"], numbers=2))
    )
    assert (first.key.source, other.key.source) == ("", "policy 2") and first.key.digest != other.key.digest
    assert first.pulls.tobytes() == other.pulls.tobytes()
    assert source_of(replace(POLICIES["rucb"], numbers=2), "ab12") == "ab12 policy 2"
