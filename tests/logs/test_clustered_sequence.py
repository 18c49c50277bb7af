"""The sequence of all impressions: values of the authors' library, its expectation, and its requirements."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats
from scipy.integrate import quad

from ltr_duel.core import statistics
from ltr_duel.logs.clusters import Means
from ltr_duel.logs.sequential import _EVEN, Clustered, _components, _rho, normal_boundary
from tests.logs.drawn import users_needed


def e_value(deviation, variance, alpha, tuned_at):
    constant, slope = _components(variance, alpha, tuned_at)
    return np.exp(constant + slope * np.asarray(deviation)[..., None] ** 2).sum(axis=-1)


def test_the_tuned_part_has_the_values_of_the_authors_library():
    """confseq tests its normal mixture against R: at S = 10, V = 100, tuned at V = 100 and alpha = .05."""
    assert _rho(0.05, 100.0) == pytest.approx(12.60056, abs=1e-5)
    constant, slope = _components(100.0, 0.05, 100.0)
    alone = constant[-1] - np.log(0.5), slope[-1]  # half of the weight
    assert alone[0] + alone[1] * 10**2 / 100 == pytest.approx(-0.6510052, abs=1e-6)
    assert np.sqrt(100 * (np.log(20) - alone[0]) / alone[1]) == pytest.approx(30.35209, abs=1e-5)


@pytest.mark.parametrize("variance", [3.0, 200.0, 50_000.0])
def test_the_e_value_is_the_ratio_of_normal_densities_mixed_over_the_drift(variance):
    """If the drift is sampled with variance 1 / rho, S at time V has variance V + V^2 / rho."""
    rho = np.concatenate([[_rho(0.01, 1000.0)], _EVEN])
    weight = np.concatenate([[0.5], np.full(len(_EVEN), 0.5 / len(_EVEN))])
    for deviation in (0.0, 1.5, 4.0):
        s = deviation * np.sqrt(variance)
        ratio = stats.norm.pdf(s, 0, np.sqrt(variance + variance**2 / rho)) / stats.norm.pdf(s, 0, np.sqrt(variance))
        assert e_value(deviation, variance, 0.01, 1000.0) == pytest.approx(weight @ ratio)


def test_the_e_value_is_expected_to_be_one():
    for variance in (0.5, 10.0, 30.0):
        mean = quad(lambda x, v=variance: stats.norm.pdf(x) * e_value(x, v, 0.05, 1000.0), -37, 37, limit=200)[0]
        assert mean == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("alpha", [0.05, 0.05 / 190])
def test_the_boundary_is_where_the_e_value_reaches_the_level(alpha):
    variance = np.geomspace(0.1, 1e7, 30)
    assert e_value(normal_boundary(variance, alpha, 1000.0), variance, alpha, 1000.0) == pytest.approx(1 / alpha)


def test_at_no_variance_does_the_boundary_cost_half_as_much_again_as_the_best_one():
    """The best boundary, tuned to a variance, is at a squared deviation of 9.2. At 10, the tuned part alone has 82."""
    ratio = 1000 / _rho(0.05, 1000.0)
    best = (1 + 1 / ratio) * (np.log1p(ratio) + 2 * np.log(20))
    assert best == pytest.approx(9.2, abs=0.05)
    square = normal_boundary(np.geomspace(30, 1e6, 50), 0.05, 1000.0) ** 2
    assert (square < 1.53 * best).all() and square.min() < 1.12 * best
    assert normal_boundary(10.0, 0.05, 1000.0) ** 2 < 16


def test_clear_results_of_users_who_come_twice_do_not_take_longer_than_by_their_first_impressions():
    first, every = users_needed(0.5, 40, visits=2, correlation=0.2, square=0.7).mean(axis=0)
    assert every < first


def after(times, mean, error, freedom):
    """Return the sequence after multiplying the impressions of a pair, with the same mean and variance."""
    means = Means(np.array([mean]), np.array([error]) / np.sqrt(times), np.array([freedom * times]))
    n, deviations = np.array([1000.0 * times]), special.ndtri(statistics.student_p(mean, error, freedom) / 2)
    return Clustered(means, 2 * special.ndtr(np.array([deviations * np.sqrt(times)])), n).sequence(0.95, 3)


@pytest.mark.parametrize(("mean", "margin"), [(0.03, 0.0), (-0.002, 0.03)])
def test_the_further_impressions_are_those_at_which_the_sequence_decides(mean, margin):
    means = Means(np.array([mean]), np.array([0.02]), np.array([200.0]))
    (times,) = Clustered(means, statistics.student_p(*means), np.array([1000.0])).further(0.95, 3, margin)
    for part, decided in ((0.99, False), (1.01, True)):
        found = after(part * times, mean, 0.02, 200.0)
        won = found.low[0] > 0 or found.high[0] < 0
        assert bool(won or (margin > found.high[0] and found.low[0] > -margin)) == decided
