"""Boundaries of planned looks: published tables, integration on a grid, and simulated paths."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ltr_duel.core import stream
from ltr_duel.core.statistics import look_boundaries, spent_error

FIVE = np.arange(1.0, 6.0) / 5
PUBLISHED = {  # Lan, DeMets 1983: five equal looks, both sides of .05 (by Reboussin, DeMets, Kim, Lan 2000)
    "obrien_fleming": [4.8769, 3.3569, 2.6803, 2.2898, 2.0310],
    "pocock": [2.4380, 2.4268, 2.4101, 2.3966, 2.3859],
}


def brownian(times):
    return np.minimum.outer(times, times)


def spent_on_a_grid(times, bounds, points=2001):
    """Return the probability of a crossing up to each look, by integration (Armitage and others 1969)."""
    spent, crossed = [], 0.0
    grid, density = np.zeros(1), np.ones(1)
    for k, (time, bound) in enumerate(zip(times, bounds, strict=True)):
        step = np.sqrt(time - (times[k - 1] if k else 0.0))
        edge = bound * np.sqrt(time)
        width = grid[1] - grid[0] if k else 1.0
        beyond = stats.norm.sf((edge - grid) / step) + stats.norm.cdf((-edge - grid) / step)
        crossed += float(density @ beyond) * width
        spent.append(crossed)
        new = np.linspace(-edge, edge, points)
        density = (stats.norm.pdf((new[:, None] - grid) / step) / step) @ density * width
        density[[0, -1]] /= 2  # trapezoidal rule
        grid = new
    return np.array(spent)


@pytest.mark.parametrize("shape", PUBLISHED)
def test_five_equal_looks_have_the_boundaries_of_the_published_table(shape):
    found = look_boundaries(brownian(FIVE), spent_error(FIVE, 0.05, shape=shape))
    assert found == pytest.approx(PUBLISHED[shape], abs=1e-3)


@pytest.mark.parametrize(("constant", "power"), [(2.413, 0.0), (2.040, 0.5)])
def test_the_constants_of_pocock_and_of_obrien_and_fleming_spend_one_in_twenty(constant, power):
    """2.413 at each of five looks (Pocock 1977), and 2.040 sqrt(5 / k) (O'Brien, Fleming 1979)."""
    bounds = constant * FIVE**-power
    spent = spent_on_a_grid(FIVE, bounds)
    assert spent[-1] == pytest.approx(0.05, abs=1e-4)
    assert look_boundaries(brownian(FIVE), spent) == pytest.approx(bounds, abs=2e-3)


@pytest.mark.parametrize("alpha", [0.05, 0.05 / 190])
def test_looks_at_any_times_spend_what_is_to_be_spent(alpha):
    times = np.array([0.1, 0.15, 0.5, 0.55, 1.0])
    spent = spent_error(times, alpha)
    found = look_boundaries(7.0 * brownian(times), spent)
    assert spent_on_a_grid(times, found)[1:] == pytest.approx(spent[1:], abs=5e-3 * alpha)
    assert (np.diff(found) < 0).all()


def test_one_look_is_a_single_test_and_a_look_without_an_error_to_spend_stops_nothing():
    assert look_boundaries([[3.0]], [0.05]) == pytest.approx([1.959964], abs=1e-4)
    found = look_boundaries(brownian(FIVE[:2]), [0.0, 0.05])
    assert np.isinf(found[0]) and found[1] == pytest.approx(1.959964, abs=1e-3)


def test_estimates_that_are_alike_need_less_and_any_covariance_keeps_the_error():
    """Users with individual tastes come at each of four looks: variances t + t^2 tau, covariances s t tau."""
    times = np.arange(1.0, 5.0)
    covariance = brownian(times) + 2.0 * np.multiply.outer(times, times)
    spent = spent_error(times / 4, 0.05, shape="pocock")
    found = look_boundaries(covariance, spent)
    assert (found[1:] < look_boundaries(brownian(np.diag(covariance)), spent)[1:] - 0.05).all()
    paths = stream(0, "paths").multivariate_normal(np.zeros(4), covariance, 200_000)
    crossed = np.maximum.accumulate(np.abs(paths) >= found * np.sqrt(np.diag(covariance)), axis=1).mean(axis=0)
    assert crossed == pytest.approx(spent, abs=4 * np.sqrt(0.05 / 200_000))
