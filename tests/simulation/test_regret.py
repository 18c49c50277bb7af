"""Regret from pulls: each kind against its definition, step by step, and tables of regret."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from ltr_duel.bandits import POLICIES, Run, new_recorder
from ltr_duel.core import InputError
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.simulation import FromMatrix, Results, RunKey, RunResult, run_streams, simulate, source_of
from ltr_duel.simulation.regret import REGRETS, arm_ranks, loss_per_arm
from tests.conftest import ROCK_PAPER_SCISSORS, bradley_terry, coins

P = PreferenceMatrix(np.array([[0.5, 0.6, 0.8], [0.4, 0.5, 0.7], [0.2, 0.3, 0.5]]), ("a", "b", "c"))
# The best arm stands last, so that an order of the arms by number would be wrong.
MATRIX = PreferenceMatrix(np.ascontiguousarray(bradley_terry(5).p[::-1, ::-1]))
STEPS = 400


def a_run(recommended, exposure, repetition=0):
    key, exposure = RunKey({}, "mine", {}, 4, repetition, 0), np.array(exposure, float)
    counts = exposure.astype(int)
    return RunResult(
        key, "mine", np.array([1, 2, 4]), counts, exposure, np.array(recommended), 4, counts, counts, np.zeros(3, int)
    )


def slates_of(policy):
    """Run a policy; return its counts and the slate of each step. Arm 4 is the best, arm 0 the worst."""
    given = POLICIES.configure(policy)
    columns = 2 if given.component.feedback == "duel" else 5
    ranks = arm_ranks(MATRIX)
    counts = new_recorder(5, range(1, STEPS + 1), ranks, path=(STEPS, columns))
    key = RunKey({}, given.component.name, given.params._asdict(), STEPS, 0, 5)
    Run(given.component, given.params, 5, FromMatrix(MATRIX).open(), run_streams(key), counts).advance(STEPS)
    slates = counts.path.tolist() if columns == 2 else [np.repeat(np.arange(5), row).tolist() for row in counts.path]
    parts = (counts.times, counts.pulls, counts.exposure, counts.recommended, STEPS)
    return RunResult(key, policy, *parts, counts.best, counts.worst, counts.outcomes), slates


@pytest.mark.parametrize("policy", ["rucb", "mdb", "multi_self_sparring:size=3"])
def test_every_kind_of_regret_is_the_sum_over_steps_of_its_definition(policy):
    run, slates = slates_of(policy)
    gap, utility = MATRIX.p[4] - 0.5, np.array([0.1, 0.2, 0.3, 0.4, 0.9])
    borda = MATRIX.borda_scores.max() - MATRIX.borda_scores
    expected = {
        "average": [gap[s].mean() for s in slates],
        "strong": [gap[s].max() for s in slates],
        "weak": [gap[s].min() for s in slates],
        "borda": [borda[s].mean() for s in slates],
        "copeland": [np.mean([(4 - k) / 4 for k in s]) for s in slates],  # arm k beats k of its 4 rivals
        "utility": [(0.9 - utility[s]).mean() for s in slates],
        "ndcg": [(0.9 - utility[s]).mean() for s in slates],
    }
    for name, losses in expected.items():
        assert run.regret(MATRIX, name, utility) == pytest.approx(np.cumsum(losses)), name
    outcomes = [sum(a != b for a, b in combinations(s, 2)) for s in slates]
    assert run.outcomes.tolist() == np.cumsum(outcomes).tolist()
    assert max(outcomes) > 0


@pytest.mark.parametrize("policy", ["rucb", "mdb"])
def test_each_step_has_one_best_and_one_worst_arm(policy):
    run = simulate(coins(MATRIX), policy, horizon=10**6, repetitions=1).runs[0]
    assert (run.best.sum(axis=1) == run.checkpoints).all() and (run.worst.sum(axis=1) == run.checkpoints).all()


def test_ranks_follow_the_gap_to_the_winner():
    assert arm_ranks(MATRIX).tolist() == [4, 3, 2, 1, 0]
    assert arm_ranks(ROCK_PAPER_SCISSORS).tolist() == [0, 1, 2]
    assert loss_per_arm(P, "average") == pytest.approx([0, 0.1, 0.3])


def test_undefined_regrets_are_nan_and_unknown_ones_refused():
    results = simulate(ROCK_PAPER_SCISSORS, "rucb", horizon=100, repetitions=1)
    frame = results.to_frame(tuple(REGRETS))
    for name in ("average", "strong", "weak", "utility", "ndcg"):
        assert frame[f"regret_{name}"].isna().all(), name
    assert frame["regret_borda"].notna().all() and frame["regret_copeland"].notna().all()
    assert np.isnan(results.final()["accuracy"].iloc[0])
    with pytest.raises(InputError, match="no regret 'avrage'; did you mean 'average'"):
        results.to_frame("avrage")
    measured = Results(results.runs, ROCK_PAPER_SCISSORS, {"utility": np.array([0.0, 0.5, 1.0])})
    assert measured.to_frame()["regret_utility"].notna().all()


def test_the_tidy_table_has_one_row_for_each_checkpoint():
    frame = Results([a_run([2, 1, 0], [[0, 0.5, 0.5], [1, 0.5, 0.5], [3, 0.5, 0.5]])], P).to_frame()
    regrets = [f"regret_{name}" for name in ("average", "strong", "weak", "copeland", "borda")]
    assert list(frame.columns) == ["policy", "repetition", "t", *regrets, "recommended", "outcomes"]
    assert frame["t"].tolist() == [1, 2, 4]
    assert frame["regret_average"].tolist() == pytest.approx([(0.1 + 0.3) / 2] * 3)
    assert frame["recommended"].tolist() == ["c", "b", "a"]


def test_the_final_table_has_the_time_from_which_the_winner_is_recommended():
    flat = np.tile([1.0, 0, 0], (3, 1))
    runs = [a_run(r, flat, k) for k, r in enumerate([[0, 1, 0], [0, 0, 0], [0, 0, 2]])]
    final = Results(runs, P).final().iloc[0]
    assert final["accuracy"] == pytest.approx(2 / 3)
    assert final["steps_to_winner"] == 4  # median of 4, 1 and never


def test_saved_pulls_lie_beside_the_regret(tmp_path):
    Results([a_run([0, 0, 0], [[0, 1, 1], [1, 2, 1], [4, 3, 1]])], bradley_terry(3)).save(tmp_path)
    pulls = pd.read_parquet(tmp_path / "pulls.parquet")
    assert pulls[pulls["t"] == 4]["pulls"].tolist() == [4, 3, 1]
    assert set(pd.read_parquet(tmp_path / "results.parquet")) >= {"policy", "repetition", "t", "regret_average"}


def test_the_digest_of_a_run_depends_on_everything_that_determines_it():
    base = {"oracle": {"m": 1}, "policy": "rucb", "params": {"alpha": 0.51}, "horizon": 9, "repetition": 0, "seed": 0}
    other = {"oracle": {"m": 2}, "policy": "mdb", "params": {"alpha": 1.0}, "horizon": 8, "repetition": 1, "seed": 1}
    keys = [RunKey(**base), *(RunKey(**base | {name: value}) for name, value in other.items())]
    assert len({key.digest for key in keys}) == 7


def test_a_raised_version_of_a_policy_gives_its_runs_other_names_and_the_same_numbers():
    raised = replace(POLICIES["rucb"], version=2)
    results = simulate(bradley_terry(3), "rucb", horizon=50, repetitions=1, jobs=1)
    (first,), (other,) = results.runs, simulate(bradley_terry(3), raised, horizon=50, repetitions=1, jobs=1).runs
    assert (first.key.source, other.key.source) == ("", "policy 2") and first.key.digest != other.key.digest
    assert first.pulls.tobytes() == other.pulls.tobytes()
    assert source_of(raised, "ab12") == "ab12 policy 2"
