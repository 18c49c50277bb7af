"""Intervals hold as often as they say, and cover what was not seen."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ltr_duel.advice.answer import Showing, reached, worst_of
from ltr_duel.advice.bounds import Estimate, lower_mean, mean, share, upper_mean
from ltr_duel.core import stream


@pytest.mark.parametrize("hits, n", [(0, 20), (7, 20), (20, 20)])
def test_the_interval_of_a_share_is_that_of_clopper_and_pearson(hits, n):
    found = share(hits, n, 0.9)
    exact = stats.binomtest(hits, n).proportion_ci(0.9, method="exact")
    assert found == pytest.approx((hits / n, exact.low, exact.high))


def test_the_interval_of_a_mean_is_students():
    values = stream(0, "values").random(30)
    exact = stats.t.interval(0.9, 29, values.mean(), stats.sem(values))
    assert mean(values, 0.9)[1:] == pytest.approx(exact)


def test_a_loss_that_was_never_seen_is_within_the_upper_bound():
    """Of runs that each go wrong with probability 0.05, most samples of ten see no such run."""
    rng, n, error = stream(1, "losses"), 10, 0.01
    missed = surprised = 0
    for _ in range(2000):
        values = 1.0 + 0.1 * rng.random(n) + 5.0 * (rng.random(n) < 0.05)
        truth = 1.05 + 5.0 * 0.05
        surprised += truth > upper_mean(values, values.mean() + 5.0, error)
        plain = values.mean() + stats.t.ppf(1 - error, n - 1) * values.std(ddof=1) / np.sqrt(n)
        missed += truth > plain
    assert missed > 1000  # what Student's bound would do
    assert surprised == 0


def test_bounds_of_a_mean_miss_it_as_often_as_they_may():
    rng = stream(2, "normal")
    misses = np.array([lower_mean(rng.standard_normal(12), 0.05) > 0 for _ in range(4000)]).mean()
    assert 0.035 < misses < 0.065


def flat(values):
    return tuple(Estimate(value, value - 0.1, value + 0.1) for value in values)


def test_when_one_knows_is_the_first_checkpoint_after_the_last_failure():
    times = np.array([10, 20, 40, 80])
    assert reached(flat([0.96, 0.9, 0.95, 0.99]), times, 0.95) == (40, 10, None)
    assert reached(flat([0.5, 0.6, 0.7, 0.8]), times, 0.95) == (None, None, None)
    assert reached(flat([1.0, 1.1, 1.1, 1.1]), times, 0.95) == (10, 10, 20)


def test_the_worst_world_is_taken_number_by_number():
    def showing(right, lost):
        one = Estimate(lost, lost - 1, lost + 1)
        return Showing("u", 20, right[-1], reached(right, np.array([1, 2]), 0.5), one, one, one, one, right)

    worlds = showing(flat([0.4, 0.9]), 3.0), showing(flat([0.6, 0.8]), 2.0)
    worst = worst_of(worlds, np.array([1, 2]), 0.5)
    assert worst.right.value == 0.8 and worst.lost.value == 3.0 and worst.loss.high == 4.0
    assert [one.value for one in worst.curve] == [0.4, 0.8]
    assert worst.sure_at.value == 2
