"""Simulations: sums of pulls, exact jumps, one result on every way of computation, rejected input."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ltr_duel.bandits import POLICIES, Run, new_recorder
from ltr_duel.bandits.state import arrays_in
from ltr_duel.core import InputError
from ltr_duel.preferences import estimate_preferences
from ltr_duel.simulation import FromMatrix, RunKey, SimulatedUsers, checkpoints, run_streams, simulate
from tests.conftest import ROCK_PAPER_SCISSORS, bradley_terry, coins, random_rankings

BOTH = ["rucb", "mdb"]  # a policy of pairs and one of sets


def digest(folder: Path) -> str:
    total = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        total.update(path.name.encode() + path.read_bytes())
    return total.hexdigest()


def run_on(policy, matrix, times, *, jump):
    """Run a policy once; return the counts and the run."""
    given, counts = POLICIES.configure(policy), new_recorder(len(matrix), times)
    key = RunKey({}, given.component.name, given.params._asdict(), int(times[-1]), 0, 5)
    run = Run(given.component, given.params, len(matrix), FromMatrix(matrix).open(), run_streams(key), counts)
    run.advance(int(times[-1]), jump=jump)
    return counts, run


@pytest.mark.parametrize("policy", [*BOTH, "rmed1", "rmed2"])
def test_jumps_change_no_counts(policy):
    among_rivals = bradley_terry(6)[[3, 1, 0, 2, 5, 4]]  # the winner has rivals with smaller and with larger numbers
    for matrix in (among_rivals, bradley_terry(2), bradley_terry(1), ROCK_PAPER_SCISSORS):
        times = checkpoints(100_000)
        (fast, fast_run), (slow, slow_run) = (run_on(policy, matrix, times, jump=jump) for jump in (True, False))
        assert fast.pulls.tobytes() == slow.pulls.tobytes()
        assert fast.exposure.tobytes() == slow.exposure.tobytes()
        assert fast.recommended.tolist() == slow.recommended.tolist()
        states = (arrays_in(run.state) for run in (fast_run, slow_run))
        assert all(a.tobytes() == b.tobytes() for (_, a), (_, b) in zip(*states, strict=True))
        assert slow_run.decisions == 100_000


@pytest.mark.parametrize("policy", ["rmed1", "merge_rucb", "mdb"])
def test_a_path_has_the_steps_that_were_jumped_over(policy):
    p = bradley_terry(3, 6.0)[[2, 0, 1]].p  # the winner is not the arm that an empty path names
    fast, slow = (Run.on_matrix(POLICIES[policy], p, keep=20_000) for _ in range(2))
    fast.advance(20_000)
    slow.advance(20_000, jump=False)
    assert fast.decisions < slow.decisions == 20_000
    assert np.array_equal(fast.path, slow.path)


def test_exposure_adds_up_to_the_step_at_every_checkpoint():
    results = simulate(coins(bradley_terry(7)), BOTH, horizon=5000, repetitions=2)
    for run in results.runs:
        assert run.exposure.sum(axis=1) == pytest.approx(run.checkpoints, rel=1e-12)
        assert (np.diff(run.pulls, axis=0) >= 0).all()
        assert run.checkpoints[-1] == 5000
    assert (results.runs[0].pulls.sum(axis=1) == 2 * results.runs[0].checkpoints).all()


def test_a_horizon_of_ten_billion_steps_is_ordinary():
    for run in simulate(coins(bradley_terry(4, span=4)), BOTH, horizon=10**10, repetitions=1).runs:
        assert run.exposure[-1].sum() == pytest.approx(10**10, rel=1e-12)
        assert run.recommended[-1] == 0 and run.decisions < 10**6


def test_neither_workers_nor_other_policies_nor_the_compiler_change_a_run(tmp_path):
    matrix, given = coins(bradley_terry(5)), {"horizon": 2000, "repetitions": 2}
    ways = ({"jobs": 1}, {"jobs": 2}, {"compiled": False})
    results = [simulate(matrix, BOTH, **given, **way) for way in ways]
    digests = {digest(result.save(tmp_path / str(n)).parent) for n, result in enumerate(results)}
    assert len(digests) == 1
    alone = simulate(matrix, "mdb:alpha=0.5", horizon=2000, repetitions=1).runs[0]  # the default, written out
    assert (alone.pulls == results[0].runs[2].pulls).all() and alone.key.digest == results[0].runs[2].key.digest


def test_another_seed_gives_other_pulls_and_another_horizon_the_same_start():
    first, other, longer = (
        simulate(bradley_terry(5), "rucb", horizon=horizon, repetitions=1, seed=seed).runs[0]
        for horizon, seed in ((1000, 0), (1000, 1), (10_000, 0))
    )
    assert (first.pulls != other.pulls).any()
    shared = first.checkpoints[:-1]
    assert (longer.pulls[np.isin(longer.checkpoints, shared)] == first.pulls[:-1]).all()


@pytest.mark.long
def test_a_process_without_a_compiler_gives_the_same_bytes(tmp_path):
    script = """
import sys
sys.path.insert(0, sys.argv[2])
from tests.conftest import coins, random_rankings
from ltr_duel.preferences import estimate_preferences, save_preferences
from ltr_duel.simulation import SimulatedUsers, simulate
rankings = random_rankings(3, 4, 8)
for way in ("none", "auto"):
    matrix = estimate_preferences(rankings, comparisons=8, variance_reduction=way)
    save_preferences(matrix, sys.argv[1] + f"/{way}.parquet")
simulate(coins(matrix), ["rucb", "mdb"], horizon=100, repetitions=1).save(sys.argv[1] + "/coins")
simulate(SimulatedUsers(rankings), ["rucb", "mdb"], horizon=100, repetitions=1, preferences=matrix).save(
    sys.argv[1] + "/users"
)
"""
    root = str(Path(__file__).resolve().parents[2])
    for disabled in "01":
        environment = {**os.environ, "NUMBA_DISABLE_JIT": disabled}
        command = [sys.executable, "-c", script, str(tmp_path / disabled), root]
        subprocess.run(command, env=environment, check=True, timeout=300)
    for compiled in (tmp_path / "0").rglob("*.parquet"):
        assert compiled.read_bytes() == (tmp_path / "1" / compiled.relative_to(tmp_path / "0")).read_bytes()


def test_checkpoints_are_log_spaced_and_end_at_the_horizon():
    assert checkpoints(1).tolist() == [1]
    assert checkpoints(10, 2).tolist() == [1, 3, 10]
    times = checkpoints(123_456)
    assert times[0] == 1 and times[-1] == 123_456 and (np.diff(times) > 0).all()


SETS = [policy.name for policy in POLICIES if policy.feedback == "slate"]


@pytest.mark.parametrize("policy", SETS)
def test_a_policy_of_sets_is_refused_on_a_matrix_unless_coins_are_accepted(policy):
    with pytest.raises(InputError, match=f"'{policy}' compares .*--users CORPUS .*SimulatedUsers.*independent_coins"):
        simulate(FromMatrix(bradley_terry(3)), ["rucb", policy], horizon=10, repetitions=1)


def test_only_runs_of_sets_on_a_matrix_count_as_independent_coins():
    rankings = random_rankings(3, 4, 8)
    matrix, given = estimate_preferences(rankings, comparisons=50), {"horizon": 100, "repetitions": 1}
    pairs, sets = simulate(coins(matrix), BOTH, **given).runs
    users = simulate(SimulatedUsers(rankings), "mdb", preferences=matrix, **given).runs[0]
    assert [run.independent_coins for run in (pairs, sets, users)] == [False, True, False]
    plain = simulate(matrix, "rucb", **given).runs[0]
    assert plain.key == pairs.key and plain.pulls.tobytes() == pairs.pulls.tobytes()


REFUSED = {
    "the horizon must be between 1 and 1e\\+15, not 0": {"horizon": 0},
    "the number of repetitions must be between 1 and 1e\\+06, not 0": {"repetitions": 0},
    "no policy 'rubc'; did you mean 'rucb'": {"policies": "rubc"},
    "a policy is named twice": {"policies": ["rucb", "rucb"]},
    "there is no policy": {"policies": []},
    "alpha must be at least 0.01, not 0.001": {"policies": "rucb:alpha=0.001"},
    "no parameter of policy rucb called 'alfa'; did you mean 'alpha'": {"policies": "rucb:alfa=1"},
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_impossible_settings_are_refused(sentence):
    with pytest.raises(InputError, match=sentence):
        simulate(bradley_terry(3), **{"policies": "rucb", **REFUSED[sentence]})
