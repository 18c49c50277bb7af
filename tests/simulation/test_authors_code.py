"""Regrets on the sushi matrix agree with public code, within the errors of both.

HuasenWu/DuelingBandits, the program of D-TS's authors, compiled and run on the same matrix: Kamishima's sushi data, 16
arms, 100,000 steps, average regret, mean and standard error of that program's runs. The program has a separate loop
and separate random numbers, so only the algorithms are shared.
"""

from __future__ import annotations

import numpy as np
import pytest

from ltr_duel.preferences import load_preferences
from ltr_duel.simulation import simulate

STEPS, RUNS = 100_000, 40
THEIRS = {  # policy as here: mean, standard error
    "double_thompson": (261, 14),
    "rcs": (744, 51),
    "rmed1": (465, 16),
    "rucb": (1110, 56),
    "ccb": (1230, 43),
    "savage": (4392, 42),
    "ecw_rmed": (758, 24),
}
BETWEEN = {  # their first arm wins ties: the least and the largest regret over some orders of the arms
    "sparring:alpha=2.5": (2074, 2296),
    "multisbm:alpha=2.5": (4767, 8915),
}


@pytest.fixture
def sushi(real_data):
    """Return the matrix, which cannot be part of the project."""
    return load_preferences(real_data / "preference_matrices" / "zwcao_sushi16.npy")


def mean_and_error(matrix, policy, runs):
    done = simulate(matrix, policy, horizon=STEPS, repetitions=runs, seed=1, jobs=1).runs
    last = np.array([run.regret(matrix, "average")[-1] for run in done])
    return last.mean(), last.std(ddof=1) / np.sqrt(runs)


def assert_near(policy, ours, theirs):
    difference, error = ours[0] - theirs[0], np.hypot(ours[1], theirs[1])
    assert abs(difference) < 3 * error, f"{policy}: {ours[0]:.0f} +- {ours[1]:.0f}, theirs {theirs[0]} +- {theirs[1]}"


@pytest.mark.parametrize("policy", ["rmed1", "rucb"])
def test_ten_runs_cost_what_they_cost_with_the_authors_code(sushi, policy):
    assert_near(policy, mean_and_error(sushi, policy, 10), THEIRS[policy])


@pytest.mark.long
@pytest.mark.parametrize("policy", THEIRS)
def test_regrets_are_those_of_the_authors_code(sushi, policy):
    assert_near(policy, mean_and_error(sushi, policy, RUNS), THEIRS[policy])


@pytest.mark.long
@pytest.mark.parametrize("policy", BETWEEN)
def test_regrets_of_ucb_boxes_lie_among_those_of_the_authors_code(sushi, policy):
    (mean, error), (least, most) = mean_and_error(sushi, policy, RUNS), BETWEEN[policy]
    assert least - 3 * error < mean < most + 3 * error
