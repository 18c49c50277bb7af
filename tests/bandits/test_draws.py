"""Beta and normal draws have the distributions they are named for."""

import numpy as np
import pytest
from scipy import stats

from ltr_duel.core.draws import beta_draw, normal_draw
from ltr_duel.core.random import shuffle, stream

N = 20_000


@pytest.mark.parametrize("a, b", [(1, 1), (1, 7), (9, 1), (2, 2), (1.5, 3.5), (2, 300), (5000, 40), (3000, 3000)])
def test_beta_draws_follow_the_beta_distribution(a, b):
    rng = stream(1, "beta", a, b)
    draws = [beta_draw(float(a), float(b), rng) for _ in range(N)]
    assert stats.kstest(draws, stats.beta(a, b).cdf).pvalue > 1e-4


def test_normal_draws_follow_the_normal_distribution():
    rng = stream(2, "normal")
    assert stats.kstest([normal_draw(rng) for _ in range(N)], stats.norm.cdf).pvalue > 1e-4


def test_every_order_is_as_likely_as_any_other():
    rng, counts = stream(3, "shuffle"), {}
    for _ in range(6000):
        values = np.arange(3)
        shuffle(values, rng)
        counts[tuple(values)] = counts.get(tuple(values), 0) + 1
    assert len(counts) == 6
    assert stats.chisquare(list(counts.values())).pvalue > 1e-4
