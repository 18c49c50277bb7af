"""Sets with a Condorcet winner are sampled uniformly, without other sets."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.preferences.properties.subsets import draw_winner_set
from tests.conftest import ROCK_PAPER_SCISSORS, bradley_terry


def random_matrix(size, seed=0):
    p = np.triu(np.random.default_rng(seed).random((size, size)), 1)
    return PreferenceMatrix(p + np.tril(1 - p.T, -1) + np.eye(size) / 2)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_each_set_with_a_winner_is_equally_likely_and_no_other_is_drawn(size):
    matrix, rng = random_matrix(7), np.random.default_rng(1)
    legal = {
        (winner, *(k for k in subset if k != winner))
        for subset in itertools.combinations(range(7), size)
        for winner in subset
        if all(matrix.p[winner, k] > 0.5 for k in subset if k != winner)
    }
    drawn = Counter(tuple(draw_winner_set(matrix, size, rng).tolist()) for _ in range(200 * len(legal)))
    assert set(drawn) == legal
    chi_square = sum((count - 200) ** 2 / 200 for count in drawn.values())
    freedom = len(legal) - 1
    assert chi_square < freedom + 5 * np.sqrt(2 * freedom)


def test_without_a_winner_the_set_is_empty():
    assert draw_winner_set(ROCK_PAPER_SCISSORS, 3, np.random.default_rng(0)).size == 0
    assert draw_winner_set(ROCK_PAPER_SCISSORS, 2, np.random.default_rng(0)).size == 2


def test_counts_beyond_any_float_are_no_trouble():
    matrix = bradley_terry(2000)
    picks = draw_winner_set(matrix, 1000, np.random.default_rng(0))
    assert len(set(picks.tolist())) == 1000 and picks[0] == picks.min()
