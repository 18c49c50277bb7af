"""The stored values of ECW-RMED equal recomputed values at each step."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ltr_duel.bandits import POLICIES
from ltr_duel.bandits.compiling import plain_text
from ltr_duel.bandits.ecw_plans import cheapest_plan, insert, new_estimates, new_plans, record
from ltr_duel.preferences.synthetic import arithmetic
from ltr_duel.simulation import FromMatrix, simulate


@pytest.mark.parametrize("between", [1, 4])
def test_the_plan_that_is_kept_is_the_plan_made_anew(between):
    n_arms, rng, sizes, winners = 9, np.random.default_rng(between), [], set()
    estimates, plans = new_estimates(n_arms), new_plans(n_arms)
    count, plan = plain_text(record), plain_text(cheapest_plan)
    for step in range(400 * between):
        count(estimates, plans.superiors.stale, *rng.choice(n_arms, 2, replace=False))
        if step >= 100 and step % between == 0:
            anew = new_plans(n_arms)
            winner = plan(estimates, plans)
            assert winner == plan(estimates, anew)
            np.testing.assert_array_equal(plans.cheapest, anew.cheapest)
            first = slice(estimates.losses[0])
            np.testing.assert_array_equal(plans.superiors.order[0, first], anew.superiors.order[0, first])
            sizes.append((plans.cheapest > 0).sum())
            winners.add(winner)
    assert len(winners) > 3 and np.mean(sizes) > n_arms


def test_of_arms_that_cost_the_same_the_first_by_number_comes_first():
    cost, put = np.array([2.0, 1.0, 2.0, 1.0, 3.0]), plain_text(insert)
    for arrivals in itertools.permutations(range(5)):
        order = np.zeros(5, np.int64)
        for size, arm in enumerate(arrivals):
            put(order, cost, size, arm)
        assert order.tolist() == [1, 3, 0, 2, 4]


def test_the_arm_that_meets_itself_is_named_also_where_others_seem_to_beat_as_many():
    results = simulate(FromMatrix(arithmetic(8, 0.03)), "ecw_rmed", horizon=100_000, repetitions=20, jobs=1)
    played = [int((run.pulls[-1] - run.pulls[-2]).argmax()) for run in results.runs]
    assert [int(run.recommended[-1]) for run in results.runs] == played


def test_the_arm_that_met_itself_is_not_named_once_another_has_fewer_losses():
    _, policy, params = POLICIES.configure("ecw_rmed")
    state = policy.init(3, 0, params)
    state.estimates.wins[:] = [[0, 5, 1], [1, 0, 5], [5, 1, 0]]
    state.estimates.losses[:] = 1
    assert policy.recommend(state, params) == 0  # no plan yet: the first arm that beats the most arms
    state.now[0].winner = 2
    assert policy.recommend(state, params) == 2
    state.estimates.wins[1, 0], state.estimates.losses[:] = 9, [2, 0, 1]
    assert policy.recommend(state, params) == 1
