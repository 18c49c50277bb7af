"""Sets of arms on a matrix: rejected by default, independent coins on request, and the same pairs either way."""

from __future__ import annotations

import pytest

from ltr_duel.bandits.policy import POLICIES
from ltr_duel.core.errors import InputError
from ltr_duel.preferences.estimate.api import estimate_preferences
from ltr_duel.simulation.oracle import FromMatrix
from ltr_duel.simulation.run import simulate
from ltr_duel.simulation.run_result import RunKey
from ltr_duel.simulation.simulated_users import SimulatedUsers
from tests.conftest import bradley_terry, coins, random_rankings


def test_a_policy_of_sets_is_refused_on_a_matrix_unless_coins_are_accepted():
    for policy in (policy.name for policy in POLICIES if policy.feedback == "slate"):
        for source in (bradley_terry(3), FromMatrix(bradley_terry(3))):
            with pytest.raises(InputError, match=f"'{policy}' compares sets .* SimulatedUsers .*independent_coins"):
                simulate(source, ["rucb", policy], horizon=10, repetitions=1)


def test_only_one_word_is_known():
    with pytest.raises(InputError, match="'independent_coin'; did you mean 'independent_coins'"):
        FromMatrix(bradley_terry(3), sets="independent_coin")


def test_pairs_keep_their_keys_and_their_pulls_whether_sets_are_allowed_or_not():
    matrix = bradley_terry(4)
    plain, beside = (simulate(one, "rucb", horizon=500, repetitions=1).runs[0] for one in (matrix, coins(matrix)))
    given = POLICIES["rucb"].params()._asdict()
    assert plain.key == beside.key == RunKey({"oracle": "matrix", "matrix": matrix.digest}, "rucb", given, 500, 0, 0)
    assert plain.pulls.tobytes() == beside.pulls.tobytes()


def test_only_runs_of_sets_on_a_matrix_count_as_independent_coins():
    rankings = random_rankings(3, 4, 8)
    matrix = estimate_preferences(rankings, comparisons=50)
    pairs, sets = simulate(coins(matrix), ["rucb", "mdb"], horizon=100, repetitions=1).runs
    live = simulate(SimulatedUsers(rankings), "mdb", horizon=100, repetitions=1, preferences=matrix).runs[0]
    assert [one.independent_coins for one in (pairs, sets, live)] == [False, True, False]
