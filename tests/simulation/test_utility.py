"""Oracles from utilities have the distribution of their preference matrix, and correlate the pairs of a slate."""

import numpy as np
import pytest
from scipy.stats import norm

from ltr_duel.bandits import duel, multiduel
from ltr_duel.core import InputError, Streams, stream
from ltr_duel.preferences import UTILITY_SETS
from ltr_duel.simulation import FromUtilities

N = 4_000
MEANS = {"linear": [0.9, 0.2, 0.5], "logistic": [0.9, 0.2, 0.5], "natural": [0.9, 0.2, 0.5], "normal": [0.8, 0.2, 0.5]}
WIN_FOR_ONE = {  # Pr(utility 1 wins against utility 0), and between equal utilities 1/2
    "linear": 1.0,
    "logistic": 1 / (1 + np.exp(-1)),
    "natural": 1.0,
}


def streams(seed):
    return Streams(*(stream(seed, name) for name in Streams._fields))


@pytest.mark.parametrize("link", MEANS)
def test_pairs_and_slates_have_the_law_of_the_matrix(link):
    source = FromUtilities(MEANS[link], link)
    oracle, p = source.open(), source.preferences().p
    chance, slate, won = streams(1), np.array([2, 0, 1]), np.zeros((3, 3), np.int8)
    pairs, slates = np.zeros((3, 3)), np.zeros((3, 3))
    for _ in range(N):
        for i, j in ((0, 1), (0, 2), (1, 2)):
            pairs[i, j] += duel(oracle, i, j, chance)
        multiduel(oracle, slate, 3, won, chance)
        assert set(np.abs(won[np.triu_indices(3, 1)])) == {1}
        for a, b in ((0, 1), (0, 2), (1, 2)):
            slates[slate[a], slate[b]] += won[a, b]
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert abs(pairs[i, j] / N - (2 * p[i, j] - 1)) < 5 / np.sqrt(N)
    for i, j in ((2, 0), (2, 1), (0, 1)):
        assert abs(slates[i, j] / N - (2 * p[i, j] - 1)) < 5 / np.sqrt(N)


@pytest.mark.parametrize("link", WIN_FOR_ONE)
def test_bernoulli_utilities_win_by_the_link(link):
    better, worse = 0.9 * (1 - 0.2), 0.2 * (1 - 0.9)  # utilities 1 and 0, or 0 and 1; otherwise equal
    win = WIN_FOR_ONE[link]
    expected = better * win + worse * (1 - win) + (1 - better - worse) / 2
    assert FromUtilities([0.9, 0.2], link).preferences().p[0, 1] == pytest.approx(expected)


def test_normal_utilities_of_a_slate_never_form_a_cycle():
    oracle, chance, won = FromUtilities([0.1, 0.0, 0.0], "normal").open(), streams(2), np.zeros((3, 3), np.int8)
    for _ in range(2000):
        multiduel(oracle, np.arange(3), 3, won, chance)
        assert not won[0, 1] == won[1, 2] == -won[0, 2]


def test_table_1_of_the_multi_dueling_paper():
    p = FromUtilities(UTILITY_SETS["2good4poor"], "normal").preferences().p
    assert p[0, 1] == pytest.approx(norm.cdf(0.1 / np.sqrt(2)))
    assert p[0, 5] == pytest.approx(norm.cdf(0.6 / np.sqrt(2)))


@pytest.mark.parametrize(
    "given, sentence",
    [
        ({"means": [0.5, 1.5]}, "a mean must be between 0 and 1, not 1.5"),
        ({"means": [0.5], "link": "probit"}, "no link 'probit'"),
        ({"means": [0.5, np.nan], "link": "normal"}, "a mean must be between .* not nan"),
        ({"means": [0.5, 0.4], "names": ["a", "a"]}, "2 arms need 2 different names"),
    ],
)
def test_utilities_out_of_range_are_refused(given, sentence):
    with pytest.raises(InputError, match=sentence):
        FromUtilities(**given)
