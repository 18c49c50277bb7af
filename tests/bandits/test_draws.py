"""Samples have their distributions: Beta samples, also above a level, normal samples and orders."""

import numpy as np
import pytest
from scipy import stats

from ltr_duel.bandits.thompson import draw_above
from ltr_duel.core import kernel
from ltr_duel.core.draws import beta_above, beta_draw, normal_draw
from ltr_duel.core.random import shuffle, stream

N = 20_000


@pytest.mark.parametrize("a, b", [(1, 1), (1, 7), (1.5, 3.5), (2, 300), (3000, 3000)])
def test_beta_draws_follow_the_beta_distribution(a, b):
    rng = stream(1, "beta", a, b)
    draws = [beta_draw(float(a), float(b), rng) for _ in range(N)]
    assert stats.kstest(draws, stats.beta(a, b).cdf).pvalue > 1e-4


def test_normal_draws_follow_the_normal_distribution():
    rng = stream(2, "normal")
    assert stats.kstest([normal_draw(rng) for _ in range(N)], stats.norm.cdf).pvalue > 1e-4


@pytest.mark.parametrize("a, b, level", [(0, 0, 0.5), (3, 1, 0.5), (1, 3, 0.5), (400, 420, 0.55), (0, 9, 0.2)])
def test_draws_that_may_be_above_a_level_are_those_of_the_beta_distribution(a, b, level):
    law, rng = stats.beta(a + 1, b + 1), stream(4, "above", a, b)
    log_mass = np.log(stats.binom.pmf(a, a + b, 0.5))
    draws = np.array([draw_above(level, a, b, log_mass, rng) for _ in range(N)])
    above = draws[draws > level]
    assert stats.binomtest(above.size, N, law.sf(level)).pvalue > 1e-4
    assert stats.kstest(above, lambda x: (law.cdf(x) - law.cdf(level)) / law.sf(level)).pvalue > 1e-4


@kernel
def many_above(level, a, b, rng, values):
    for k in range(values.size):
        values[k] = beta_above(level, a, b, rng)


@pytest.mark.parametrize("level", [0.01, 0.53, 0.9, 1 - 1e-6])
@pytest.mark.parametrize("a, b", [(0, 0), (0, 40), (40, 0), (3, 8), (900, 1), (5000, 4400)])
def test_draws_known_to_be_above_a_level_are_those_of_the_beta_distribution(a, b, level):
    """A hundred thousand samples, enough to reveal a wrong term in the bounds that decide most samples."""
    law, values = stats.beta(a + 1, b + 1), np.empty(100_000)
    if (mass := law.sf(level)) < 1e-200 or law.cdf(level) < 1e-15:
        level = law.ppf(1e-3) if mass > 0.5 else law.isf(1e-100)  # scipy is exact up to here
    many_above(level, a, b, stream(6, "known", a, b, str(level)), values)
    assert values.min() >= level and values.max() <= 1
    assert stats.kstest(law.sf(values) / law.sf(level), "uniform").pvalue > 1e-5


def test_every_order_is_as_likely_as_any_other():
    rng, counts = stream(3, "shuffle"), {}
    for _ in range(6000):
        values = np.arange(3)
        shuffle(values, rng)
        counts[tuple(values)] = counts.get(tuple(values), 0) + 1
    assert len(counts) == 6
    assert stats.chisquare(list(counts.values())).pvalue > 1e-4
