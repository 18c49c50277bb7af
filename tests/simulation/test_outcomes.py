"""The number of outcomes of a run: one for each compared pair of different arms."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from ltr_duel.bandits.loop import Run
from ltr_duel.bandits.policy import POLICIES
from ltr_duel.bandits.recorder import new_recorder
from ltr_duel.simulation.oracle import FromMatrix
from ltr_duel.simulation.run import simulate
from ltr_duel.simulation.run_result import RunKey
from ltr_duel.simulation.single_run import run_streams
from tests.conftest import bradley_terry, coins

STEPS = 400


def recorded(policy, matrix):
    """Run a policy once; return the outcomes counted at each step, and the path."""
    given = POLICIES.configure(policy)
    columns = 2 if given.component.feedback == "duel" else len(matrix)
    counts = new_recorder(len(matrix), range(1, STEPS + 1), path=(STEPS, columns))
    key = RunKey({}, given.component.name, given.params._asdict(), STEPS, 0, 5)
    oracle = FromMatrix(matrix).open()
    Run(given.component, given.params, len(matrix), oracle, run_streams(key), counts).advance(STEPS)
    return counts.outcomes, counts.path


@pytest.mark.parametrize("policy", ["rucb", "rmed1"])
def test_a_pair_gives_one_outcome_and_an_arm_against_itself_none(policy):
    outcomes, path = recorded(policy, bradley_terry(4, span=6))
    apart = path[:, 0] != path[:, 1]
    assert outcomes.tolist() == np.cumsum(apart).tolist()
    assert 0 < apart.sum() < STEPS


@pytest.mark.parametrize("policy", ["mdb", "random_slate", "multi_self_sparring:size=3"])
def test_a_set_gives_an_outcome_for_each_two_of_its_places_that_hold_different_arms(policy):
    outcomes, path = recorded(policy, bradley_terry(5, span=6))
    slates = [np.repeat(np.arange(5), row) for row in path]
    received = [sum(a != b for a, b in combinations(slate, 2)) for slate in slates]
    assert outcomes.tolist() == np.cumsum(received).tolist()
    assert max(received) > 1


def test_the_tidy_table_holds_the_outcomes_of_each_checkpoint():
    results = simulate(coins(bradley_terry(4)), ["rucb", "mdb"], horizon=200, repetitions=2)
    frame = results.to_frame()
    assert frame["outcomes"].tolist() == np.concatenate([run.outcomes for run in results.runs]).tolist()
    first = frame[(frame["policy"] == "mdb") & (frame["t"] == 1)]
    assert first["outcomes"].tolist() == [4 * 3 / 2] * 2
