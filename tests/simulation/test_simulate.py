"""Simulations: sums of pulls, exact jumps, one result on every way of computation, rejected input."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ltr_duel.bandits.loop import Run
from ltr_duel.bandits.policy import POLICIES as ALL_POLICIES
from ltr_duel.bandits.recorder import new_recorder
from ltr_duel.bandits.state import arrays_in
from ltr_duel.core.errors import InputError
from ltr_duel.simulation.oracle import FromMatrix
from ltr_duel.simulation.run import checkpoints, simulate
from ltr_duel.simulation.run_result import RunKey
from ltr_duel.simulation.single_run import run_streams
from tests.conftest import ROCK_PAPER_SCISSORS, bradley_terry, coins

POLICIES = ["rucb", "mdb"]


def digest(folder: Path) -> str:
    total = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        total.update(path.name.encode() + path.read_bytes())
    return total.hexdigest()


def run(policy, matrix, times, *, jump):
    """Run a policy once; return the counts and the run."""
    given, counts = ALL_POLICIES.configure(policy), new_recorder(len(matrix), times)
    key = RunKey({}, given.component.name, given.params._asdict(), int(times[-1]), 0, 5)
    oracle = FromMatrix(matrix).open()
    run = Run(given.component, given.params, len(matrix), oracle, run_streams(key), counts)
    run.advance(int(times[-1]), jump=jump)
    return counts, run


@pytest.mark.parametrize("policy", [*POLICIES, "rmed1", "rmed2"])
def test_jumps_change_nothing(policy):
    among_rivals = bradley_terry(6)[[3, 1, 0, 2, 5, 4]]  # the winner has rivals with smaller and with larger numbers
    for matrix in (among_rivals, bradley_terry(2), bradley_terry(1), ROCK_PAPER_SCISSORS):
        times = checkpoints(100_000)
        (fast, fast_run), (slow, slow_run) = (run(policy, matrix, times, jump=jump) for jump in (True, False))
        assert fast.pulls.tobytes() == slow.pulls.tobytes()
        assert fast.exposure.tobytes() == slow.exposure.tobytes()
        assert fast.recommended.tolist() == slow.recommended.tolist()
        states = (arrays_in(done.state) for done in (fast_run, slow_run))
        assert all(a.tobytes() == b.tobytes() for (_, a), (_, b) in zip(*states, strict=True))
        assert slow_run.decisions == 100_000


def test_an_easy_problem_is_mostly_jumped_over():
    _, done = run("rucb", bradley_terry(5, span=6), checkpoints(10**6), jump=True)
    assert done.decisions < 10**5


@pytest.mark.parametrize("policy", ["rmed1", "merge_rucb", "mdb"])
def test_a_path_holds_the_steps_that_were_jumped_over(policy):
    p = bradley_terry(3, 6.0)[[2, 0, 1]].p  # the winner is not the arm that an empty path names
    fast, slow = (Run.on_matrix(ALL_POLICIES[policy], p, keep=20_000) for _ in range(2))
    fast.advance(20_000)
    slow.advance(20_000, jump=False)
    assert fast.decisions < slow.decisions == 20_000
    assert np.array_equal(fast.path, slow.path)


@pytest.mark.parametrize("policy", POLICIES)
def test_exposure_adds_up_to_the_step_at_every_checkpoint(policy):
    results = simulate(coins(bradley_terry(7)), policy, horizon=5000, repetitions=2)
    for one in results.runs:
        assert one.exposure.sum(axis=1) == pytest.approx(one.checkpoints, rel=1e-12)
        assert (np.diff(one.pulls, axis=0) >= 0).all()
        assert one.checkpoints[-1] == 5000
    if policy == "rucb":
        assert (results.runs[0].pulls.sum(axis=1) == 2 * results.runs[0].checkpoints).all()


def test_a_horizon_of_ten_billion_steps_is_ordinary():
    results = simulate(coins(bradley_terry(4, span=4)), ["rucb", "mdb"], horizon=10**10, repetitions=1)
    for one in results.runs:
        assert one.exposure[-1].sum() == pytest.approx(10**10, rel=1e-12)
        assert one.recommended[-1] == 0 and one.decisions < 10**6


def test_the_policies_find_the_winner():
    final = simulate(coins(bradley_terry(8, span=3)), POLICIES, horizon=100_000, repetitions=5).final()
    assert final["accuracy"].tolist() == [1.0, 1.0]
    assert (final["steps_to_winner"] < 100_000).all()


def test_workers_and_company_change_nothing(tmp_path):
    matrix = coins(bradley_terry(5))
    one = simulate(matrix, POLICIES, horizon=3000, repetitions=4, jobs=1)
    two = simulate(matrix, POLICIES, horizon=3000, repetitions=4, jobs=2)
    one.save(tmp_path / "one")
    two.save(tmp_path / "two")
    assert digest(tmp_path / "one") == digest(tmp_path / "two")
    alone = simulate(matrix, "mdb", horizon=3000, repetitions=1)
    assert (alone.runs[0].pulls == one.runs[4].pulls).all()


def test_another_seed_gives_other_pulls_and_another_horizon_the_same_start():
    matrix = bradley_terry(5)
    first, other, longer = (
        simulate(matrix, "rucb", horizon=horizon, repetitions=1, seed=seed).runs[0]
        for horizon, seed in ((1000, 0), (1000, 1), (10_000, 0))
    )
    assert (first.pulls != other.pulls).any()
    shared = first.checkpoints[:-1]
    assert (longer.pulls[np.isin(longer.checkpoints, shared)] == first.pulls[:-1]).all()


def test_the_same_configuration_written_otherwise_is_the_same_run():
    matrix = bradley_terry(4)
    plain, spelled = (
        simulate(matrix, text, horizon=500, repetitions=1).runs[0] for text in ("rucb", "rucb:alpha=0.51")
    )
    assert (plain.pulls == spelled.pulls).all() and plain.key.digest == spelled.key.digest


def test_compiled_and_interpreted_give_the_same_bytes(tmp_path):
    matrix = coins(bradley_terry(5))
    for compiled in (True, False):
        simulate(matrix, POLICIES, horizon=2000, repetitions=2, compiled=compiled).save(tmp_path / str(compiled))
    assert digest(tmp_path / "True") == digest(tmp_path / "False")


def test_a_process_without_a_compiler_gives_the_same_bytes(tmp_path):
    script = """
import sys
sys.path.insert(0, sys.argv[2])
from tests.conftest import coins, random_rankings
from ltr_duel.preferences.estimate.api import estimate_preferences
from ltr_duel.preferences.io import save_preferences
from ltr_duel.simulation.simulated_users import SimulatedUsers
from ltr_duel.simulation.run import simulate
rankings = random_rankings(4, 5, 12)
matrix = estimate_preferences(rankings, comparisons=50)
simulate(coins(matrix), ["rucb", "mdb"], horizon=300, repetitions=2).save(sys.argv[1])
users = SimulatedUsers(rankings)
simulate(users, ["rucb", "mdb"], horizon=300, repetitions=1, preferences=matrix).save(sys.argv[1] + "/live")
save_preferences(matrix, sys.argv[1] + "/live/preferences.parquet")
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


def test_numbers_out_of_range_are_refused_before_anything_runs():
    matrix = bradley_terry(3)
    for sentence, arguments in {
        "the horizon must be between 1 and 1e\\+15, not 0": {"horizon": 0},
        "the number of repetitions must be between 1 and 1e\\+06, not 0": {"repetitions": 0},
        "no policy 'rubc'; did you mean 'rucb'": {"policies": "rubc"},
        "a policy is named twice": {"policies": ["rucb", "rucb"]},
        "there is no policy": {"policies": []},
        "alpha must be at least 0.01, not 0.001": {"policies": "rucb:alpha=0.001"},
        "beta must be at least 1, not 0.9": {"policies": "mdb:beta=0.9"},
        "alpha must be a number, not 'x'": {"policies": "rucb:alpha=x"},
        "no parameter of policy rucb called 'alfa'; did you mean 'alpha'": {"policies": "rucb:alfa=1"},
    }.items():
        with pytest.raises(InputError, match=sentence):
            simulate(matrix, **{"policies": "rucb", **arguments})
