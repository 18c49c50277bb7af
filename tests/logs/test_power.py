"""Plans in closed form: exact for few impressions, and as long as the tests need."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ltr_duel.core import InputError
from ltr_duel.logs import PairVariance, compare_log, pairs_in_log, required_impressions
from tests.log_studies.drawn_logs import plan_from_a_log_kept, plan_kept, plan_of_returning_users_kept
from tests.logs.written import log_of


def test_a_plan_finds_its_effect_with_the_power_that_it_promises(rankers=3, effect=0.3):
    fixed, sequential = plan_kept(rankers, effect, 300) / 300
    assert abs(fixed - 0.8) < 0.07 and 0.73 < sequential < 0.95


def test_a_plan_of_users_who_return_finds_its_effect():
    found, plan = plan_of_returning_users_kept(2, 0.3, False, 200)
    assert (found / 200 > 0.71).all() and plan.few_users == (plan.fixed < 40 * 20)


def test_a_plan_counts_as_many_impressions_as_the_sign_test_of_clear_outcomes():
    """With all won, 2 / 2^6 < .05 needs six impressions: below 40 users, the plan says that it is a lower limit."""
    (plan,) = required_impressions(PairVariance("a", "b", 1.0, 1.0))
    assert 5 < plan.fixed <= 6 and plan.few_users
    users = required_impressions(PairVariance("a", "b", 1.0, 1.0, design=20.0, size=20.0))[0]
    assert users.fixed == pytest.approx(20 * plan.fixed, rel=0.02)  # each user is one vote


def test_plans_of_the_sign_test_are_its_exact_numbers():
    """Without ties, y > 1.96 sqrt(n) + 1 has the power of the exact binomial test to within a few percent."""
    (plan,) = required_impressions(PairVariance("a", "b", 0.2, 1.0))
    n = np.arange(150, 260)
    least = stats.binom.isf(0.025, n, 0.5) + 1
    exact = n[np.flatnonzero(stats.binom.sf(least - 1, n, 0.6) >= 0.8)[0]]
    assert plan.fixed == pytest.approx(exact, rel=0.05)


@pytest.mark.parametrize(("settings", "says"), [
    ({"power": 1.0}, "the power must be between"), ({"effects": (2,)}, "the effect"),
    ({"effects": (0.2, 0.6)}, "an effect of 0.6 is impossible: the largest mean outcome of a against b is 0.5"),
])  # fmt: skip
def test_impossible_plans_are_refused(settings, says):
    with pytest.raises(InputError, match=says):
        required_impressions(PairVariance("a", "b", 0.1, 0.5), **settings)


def test_a_plan_from_a_log_is_long_enough_though_its_users_are_few():
    found, _ = plan_from_a_log_kept(20, 20, 0.1, 400, each=25)
    assert found.mean() / 25 > 0.8


def test_a_log_says_how_often_its_users_come_and_one_of_a_policy_is_refused(tmp_path):
    """Users 0 to 29 come once and user 30 thirty times: a random impression is by a user of 15.5 on average."""
    users = [30] * 30 + list(range(30))
    log = log_of(tmp_path / "log.jsonl", [1 - 2 * (user % 3 == 0) for user in users], range(60), users)
    (pair,) = pairs_in_log(compare_log(log))
    assert pair.size == pytest.approx((30 * 30 + 30 * 1) / 60)
    policy = log_of(tmp_path / "log.jsonl", [1, -1, 1] * 20, policy=["rucb"] * 60)
    with pytest.raises(InputError, match="rucb chose the rankers of this log by earlier outcomes"):
        pairs_in_log(compare_log(policy))


def test_a_plan_for_a_winner_is_for_the_best_ranker_and_its_strongest_rival(tmp_path):
    """a wins both of its impressions against c; the means, .5 and 1, are shrunk by what their errors explain."""
    y, rankers = [1 - 2 * (k % 4 == 0) for k in range(400)] + [1, 1], [["a", "b"]] * 400 + [["a", "c"]] * 2
    found = compare_log(log_of(tmp_path / "log.jsonl", y, rankers=rankers))
    second, first = pairs_in_log(found)
    assert (first.second, second.second) == ("b", "c") and (first.each, second.each) == (402 / 400, 201)
    (mean, error), varies = found.cautious[:2], np.mean(found.cautious.mean**2 - found.cautious.error**2)
    assert [first.effect, second.effect] == pytest.approx(mean * varies / (varies + error**2))
    assert second.effect < 0.3 < 0.4 < first.effect
    near, far = (PairVariance("a", "b", effect, 0.5, each=3.0) for effect in (0.05, 0.3))
    plans = [required_impressions(near, tests=3), required_impressions([near, far]), required_impressions([near] * 2)]
    assert plans[1][0] == pytest.approx(plans[0][0], rel=1e-3) and plans[2][0].fixed > 1.2 * plans[0][0].fixed
    with pytest.raises(InputError, match="no ranker has a pair with each other ranker"):
        pairs_in_log(compare_log(log_of(tmp_path / "log.jsonl", [1, -1], rankers=[["a", "b"], ["c", "d"]])))
