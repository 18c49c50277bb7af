"""Oracles from utilities have the distribution of their preference matrix, and correlate the pairs of a slate."""

import numpy as np
import pytest
from scipy.stats import norm

from ltr_duel.bandits.oracle import duel, multiduel
from ltr_duel.core.errors import InputError
from ltr_duel.core.random import Streams, stream
from ltr_duel.preferences.synthetic import UTILITY_SETS
from ltr_duel.simulation.utility import FromUtilities

N = 4_000
ORACLES = {
    "bernoulli, linear": FromUtilities([0.9, 0.2, 0.5]),
    "bernoulli, logistic": FromUtilities([0.9, 0.2, 0.5], link="logistic"),
    "bernoulli, natural": FromUtilities([0.9, 0.2, 0.5], link="natural"),
    "normal scores": FromUtilities([0.8, 0.2, 0.5], "normal"),
}


def streams(seed):
    return Streams(*(stream(seed, name) for name in Streams._fields))


@pytest.mark.parametrize("name", ORACLES)
def test_pairs_and_slates_have_the_law_of_the_matrix(name):
    oracle, p = ORACLES[name].open(), ORACLES[name].preferences().p
    chance, slate, won = streams(1), np.array([2, 0, 1]), np.zeros((3, 3), np.int8)
    pairs, slates = np.zeros((3, 3)), np.zeros((3, 3))
    for _ in range(N):
        for i, j in ((0, 1), (0, 2), (1, 2)):
            outcome = duel(oracle, i, j, chance)
            assert outcome in (-1, 1)
            pairs[i, j] += outcome > 0
        multiduel(oracle, slate, 3, won, chance)
        assert set(np.abs(won[np.triu_indices(3, 1)])) == {1}
        for a in range(3):
            for b in range(a + 1, 3):
                slates[slate[a], slate[b]] += won[a, b] > 0
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert abs(pairs[i, j] / N - p[i, j]) < 5 * 0.5 / np.sqrt(N)
    for i, j in ((2, 0), (2, 1), (0, 1)):
        assert abs(slates[i, j] / N - p[i, j]) < 5 * 0.5 / np.sqrt(N)


def test_bernoulli_utilities_with_the_linear_link_give_half_the_difference_of_the_means():
    p = FromUtilities([0.9, 0.2]).preferences().p
    assert p[0, 1] == pytest.approx((1 + 0.9 - 0.2) / 2)


def test_natural_link_is_a_coin_between_two_zeros():
    p = FromUtilities([0.9, 0.2], link="natural").preferences().p
    assert p[0, 1] == pytest.approx(0.9 * 0.8 + 0.5 * (0.9 * 0.2 + 0.1 * 0.8))


def test_normal_scores_of_a_slate_never_form_a_cycle():
    oracle, chance, won = FromUtilities([0.1, 0.0, 0.0], "normal").open(), streams(2), np.zeros((3, 3), np.int8)
    for _ in range(2000):
        multiduel(oracle, np.arange(3), 3, won, chance)
        assert not won[0, 1] == won[1, 2] == -won[0, 2]


def test_table_1_of_the_multi_dueling_paper():
    assert len(UTILITY_SETS) == 15
    assert {len(u) for u in UTILITY_SETS.values()} == {6, 51, 201}
    p = FromUtilities(UTILITY_SETS["2good4poor"], "normal").preferences().p
    assert p[0, 1] == pytest.approx(norm.cdf(0.1 / np.sqrt(2)))
    assert p[0, 5] == pytest.approx(norm.cdf(0.6 / np.sqrt(2)))


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        ({"means": [0.5, 1.5]}, "a mean must be between 0 and 1, not 1.5"),
        ({"means": [0.5], "link": "probit"}, "no link 'probit'"),
        ({"means": [0.5, np.nan], "link": "normal"}, "must be finite, not nan"),
    ],
)
def test_utilities_out_of_range_are_refused(arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        FromUtilities(**arguments)
