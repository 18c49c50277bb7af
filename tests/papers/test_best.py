"""Multiple comparisons with the best: exact values if they can be computed, otherwise simulated error rates."""

from __future__ import annotations

import numpy as np
import pytest

from ltr_duel.papers.best import _balanced, _differences, compare_with_best

LAWS = {
    "normal": lambda rng, shape: 1 + 0.3 * rng.standard_normal(shape),
    "exponential": lambda rng, shape: rng.exponential(1.0, shape),
    "lognormal": lambda rng, shape: rng.lognormal(-0.5, 1.0, shape),
    "one run in five pays thirty times as much": lambda rng, shape: (
        np.where(rng.random(shape) < 0.2, 30, 1) * rng.uniform(0.9, 1.1, shape) / 6.8
    ),
}


def test_the_error_of_a_log_ratio_is_that_of_the_delta_method():
    # Means 2 and 4; x / 2 - y / 4 is 1/2 - 3/4, 1 - 1, 3/2 - 5/4: -1/4, 0, 1/4, with variance 1/16.
    paid = np.array([[1.0, 3.0], [2.0, 4.0], [3.0, 5.0]])
    difference, error = _differences(paid, np.full((1, 3), 1 / 3))
    assert difference[0, 1, 0] == pytest.approx(np.log(2)) and error[0, 1, 0] == pytest.approx(np.sqrt(1 / 16 / 3))


def test_balanced_quantiles_hold_for_all_columns_at_once():
    beyond = np.abs(np.random.default_rng(1).standard_normal((4000, 6))) * [1, 2, 3, 4, 5, 1e6]
    reach = _balanced(beyond)
    assert (beyond <= reach).all(axis=1).mean() == pytest.approx(0.95, abs=0.002)
    shares = (beyond <= reach).mean(axis=0)
    assert np.ptp(shares) < 1e-9 and shares[0] == pytest.approx(0.95 ** (1 / 6), abs=0.003)


def test_a_luck_that_all_share_hides_no_difference():
    luck = np.random.default_rng(2).lognormal(0, 1, 20)
    paid = np.outer(luck, [1.0, 1.1]) * np.random.default_rng(3).uniform(0.99, 1.01, (20, 2))
    low, high = compare_with_best(paid, np.random.default_rng(4))
    assert low[1] > 1.05 and high[1] < 1.15 and high[0] == 1


def test_five_runs_tell_nothing():
    low, high = compare_with_best(np.ones((5, 2)), np.random.default_rng(0))
    assert np.isnan(low).all() and np.isnan(high).all()


def test_the_same_runs_and_the_same_stream_give_the_same_bounds():
    paid = np.random.default_rng(5).exponential(1, (20, 4))
    once, again = (compare_with_best(paid, np.random.default_rng(6)) for _ in range(2))
    np.testing.assert_array_equal(once, again)


@pytest.mark.parametrize("law, means", [("normal", (1, 1, 1, 1)), *((law, (1, 1.3, 2, 10)) for law in LAWS)])
def test_all_bounds_hold_together_in_at_least_19_of_20_studies(law, means):
    """Of 100 studies of 20 runs at most 9 may fail: a rate of 5 % gives more in one of 35 samples."""
    rng = np.random.default_rng(7)
    truth, failed = np.array(means) / min(means), 0
    for _ in range(100):
        low, high = compare_with_best(LAWS[law](rng, (20, len(means))) * means, rng)
        failed += not ((low <= truth) & (truth <= high)).all()
    assert failed <= 9


def test_the_only_policy_that_may_be_the_best_is_told_from_all_others():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        paid = np.column_stack([rng.gamma(4, 3000, 20), rng.gamma(1.2, 19000, 20), rng.gamma(12, 3100, 20)])
        low, high = compare_with_best(paid, np.random.default_rng(1000 + seed))
        assert ((high == 1).any() and (low == 1).sum() == 1) or ((high > 1).all() and (low == 1).sum() > 1), seed
