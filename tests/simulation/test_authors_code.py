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


def mean_and_error(real_data, policy, runs):
    matrix = load_preferences(real_data / "preference_matrices" / "zwcao_sushi16.npy")
    results = simulate(matrix, policy, horizon=100_000, repetitions=runs, seed=1, jobs=1)
    row = results.summary().iloc[0]
    return row["mean"], row["se"]


def assert_near(policy, ours, theirs):
    assert abs(ours[0] - theirs[0]) < 3 * np.hypot(ours[1], theirs[1]), f"{policy}: {ours}, theirs {theirs}"


@pytest.mark.parametrize("policy", ["rmed1", "rucb"])
def test_ten_runs_cost_as_much_as_with_the_authors_code(real_data, policy):
    assert_near(policy, mean_and_error(real_data, policy, 10), THEIRS[policy])


@pytest.mark.long
@pytest.mark.parametrize("policy", THEIRS)
def test_regrets_are_those_of_the_authors_code(real_data, policy):
    assert_near(policy, mean_and_error(real_data, policy, 40), THEIRS[policy])


@pytest.mark.long
@pytest.mark.parametrize("policy", BETWEEN)
def test_regrets_of_base_bandits_lie_among_those_of_the_authors_code(real_data, policy):
    (mean, error), (least, most) = mean_and_error(real_data, policy, 40), BETWEEN[policy]
    assert least - 3 * error < mean < most + 3 * error
