"""Intervals and tests: each against enumeration, arithmetic, or scipy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from ltr_duel.core import statistics


def enumerated(x):
    """Return the share of all sign patterns whose sum is at least as far from 0."""
    sums = [abs(np.dot(signs, x)) for signs in itertools.product((-1, 1), repeat=len(x))]
    return np.mean(np.array(sums) >= abs(np.sum(x)) - 1e-9)


@pytest.mark.parametrize("x", [[1, 1, -1, 2], [40, 1, 1, 1, 1, 1, -1, 1], [0.5, 1.5, -1.0], [0, 0, 7]])
def test_flipped_signs_are_counted_as_by_enumeration(x):
    assert statistics.sign_flip_p(x) == pytest.approx(enumerated([value for value in x if value]))


def test_numbers_that_are_not_whole_are_rounded_to_a_thousandth_of_their_sum():
    x = np.random.default_rng(0).normal(0.5, 1, 14)
    assert statistics.sign_flip_p(x) == pytest.approx(enumerated(x), rel=0.02)


@pytest.mark.parametrize(("heavy", "won", "lost"), [(400, 5100, 4500), (3000, 5600, 4400), (200, 5000, 4900)])
def test_one_heavy_user_among_thousands_does_not_hide_them(heavy, won, lost):
    light, lead = stats.binom(won + lost, 0.5), heavy + won - lost
    expected = sum(light.sf((won + lost + lead + sign * heavy) / 2 - 1) for sign in (-1, 1))
    assert statistics.sign_flip_p([heavy, 1, -1], [1, won, lost]) == pytest.approx(expected, rel=0.1)


def test_no_p_value_is_0_and_without_variation_it_is_1():
    assert statistics.sign_flip_p(np.zeros(5)) == statistics.mean_test(np.zeros(5)) == 1
    assert statistics.sign_flip_p(np.ones(300)) == pytest.approx(2.0**-299)
    assert statistics.sign_flip_p(np.ones(10_000)) > 0 and statistics.sign_p(1e6, 0, 1e6, 1e6) > 0
    assert statistics.student_p([3.0, 1.0], [1e-9, 0.0], [1e6, 4.0])[0] > 0
    assert statistics.student_p(1.0, 0.0, 4.0) == 1
    assert np.isinf(statistics.student_reach(0.0, 0.0, 0.95))


@pytest.mark.parametrize(("x", "times"), [([1, -1, 0], [3000, 2900, 9]), ([0.3, -0.7, 1.1], [4, 2, 3])])
def test_equal_observations_may_be_counted_instead_of_listed(x, times):
    assert statistics.sign_flip_p(x, times) == pytest.approx(statistics.sign_flip_p(np.repeat(x, times)))


def test_the_sign_test_of_many_signs_is_normal():
    x = np.random.default_rng(1).normal(0.1, 1, 2000)
    assert statistics.sign_flip_p(x) == pytest.approx(stats.ttest_1samp(x, 0).pvalue, rel=0.1)


@pytest.mark.parametrize("wins, losses", [(8, 2), (5, 5), (900, 800)])
def test_the_sign_test_of_counts_is_the_binomial_test(wins, losses):
    expected = stats.binomtest(wins, wins + losses).pvalue
    assert statistics.sign_p(wins, losses, wins - losses, wins + losses) == pytest.approx(expected)


def test_the_bound_for_outcomes_between_0_and_1_is_not_below_the_exact_value():
    for x in np.clip(np.random.default_rng(2).uniform(-1, 1, (20, 12)) + 0.3, -1, 1):
        bound = statistics.sign_p((x > 0).sum(), (x < 0).sum(), x.sum(), (x**2).sum())
        assert bound >= min(1, statistics.sign_flip_p(x) * 0.99)


def test_the_signed_ranks_are_those_of_wilcoxon():
    x = np.random.default_rng(3).normal(0.4, 1, 20)
    assert statistics.signed_rank_p(x) == pytest.approx(stats.wilcoxon(x, method="exact").pvalue)


@pytest.mark.parametrize("hits", [0, 3, 9])
def test_the_interval_of_a_share_is_the_textbook_interval(hits):
    expected = stats.binomtest(hits, 9).proportion_ci(0.9, method="exact")
    assert np.array(statistics.clopper_pearson(hits, 9, 0.9)) == pytest.approx([expected.low, expected.high])


def test_student_s_interval_and_test_are_scipy_s():
    x = np.random.default_rng(4).normal(0.4, 1, 12)
    expected, error = stats.ttest_1samp(x, 0), x.std(ddof=1) / 12**0.5
    assert statistics.student_p(x.mean(), error, 11.0) == pytest.approx(expected.pvalue)
    half = np.diff(expected.confidence_interval(0.9))[0] / 2
    assert statistics.student_reach(error, 11.0, 0.9) == pytest.approx(half)


def test_corrected_p_values_count_the_tests_of_the_family():
    p = np.array([0.02, np.nan, 0.01])
    assert statistics.holm(p).tolist() == pytest.approx([0.02, np.nan, 0.02], nan_ok=True)  # 2 x .01, then 1 x .02
    assert statistics.holm(p, family=3).tolist() == pytest.approx([0.04, np.nan, 0.03], nan_ok=True)  # 3 x .01, 2 x .02
