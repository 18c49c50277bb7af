"""Intervals, and the probabilities of winners."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ltr_duel.core.errors import InputError
from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.preferences.properties.confidence import (
    borda_confidence,
    condorcet_confidence,
    copeland_confidence,
    pair_confidence,
)
from ltr_duel.preferences.properties.intervals import wilson
from ltr_duel.preferences.tally import SCALE, Tally, errors_of, preferences_of, wins_and_ties
from tests.conftest import ROCK_PAPER_SCISSORS, bradley_terry

UNIT = int(SCALE)


def symmetric(size, value):
    error = np.full((size, size), value)
    np.fill_diagonal(error, 0)
    return error


def test_a_pair_has_as_many_comparisons_as_31_bits_can_count():
    tally = Tally.empty(2)._replace(lists=np.array([[0, 2**31 - 1], [0, 0]]))
    assert tally.kept(2).lists[0, 1] == 2**31 - 1
    for lists in (tally.lists + np.array([[0, 1], [0, 0]]), -tally.lists):
        with pytest.raises(InputError, match="a pair has 0 to 2,147,483,647 comparisons"):
            tally._replace(lists=lists).kept(2)


def test_intervals_are_the_textbook_ones():
    for won, n in ((3, 10), (0, 10), (10, 10), (480, 1000)):
        expected = stats.binomtest(won, n).proportion_ci(0.9, method="wilson")
        low, high = wilson(np.array([won / n]), np.array([float(n)]), 0.9)
        assert (low[0], high[0]) == (pytest.approx(expected.low, abs=1e-9), pytest.approx(expected.high, abs=1e-9))


def test_what_is_exact_has_no_interval_and_what_is_unknown_has_all():
    p, counts = np.array([[0.5, 0.6], [0.4, 0.5]]), np.zeros((2, 2), np.int64)
    low, high = PreferenceMatrix(p).intervals()
    assert (low == p).all() and (high == p).all()
    even = np.full((2, 2), 0.5)
    low, high = PreferenceMatrix(even, (), symmetric(2, np.inf), counts).intervals()
    assert (low[0, 1], high[0, 1], low[0, 0]) == (0, 1, 0.5)


def test_wins_of_every_comparison_leave_room_for_doubt():
    p, counts = np.array([[0.5, 1], [0, 0.5]]), np.array([[0, 20], [20, 0]])
    low, high = PreferenceMatrix(p, (), np.zeros((2, 2)), counts).intervals()
    assert 0.8 < low[0, 1] < 1 and high[0, 1] == 1


def test_a_tally_counts_wins_and_ties():
    def one(value):
        return np.array([[0, value], [0, 0]])

    tally = Tally(one(10), one((5 - 2) * UNIT), one((5 + 2) * UNIT), one(0))  # 5 wins, 2 losses, 3 ties
    wins, ties = wins_and_ties(tally, 1)
    assert (wins[0, 1], wins[1, 0], ties[0, 1], ties[1, 0]) == (5, 2, 3, 3)
    assert preferences_of(tally)[0, 1] == (5 + 3 / 2) / 10
    outcomes = np.array([1] * 5 + [-1] * 2 + [0] * 3)
    expected = outcomes.std(ddof=1) / np.sqrt(10) / 2
    assert errors_of(tally, 1, 0)[0, 1] == pytest.approx(expected)
    turned = tally.among([1, 0])
    assert turned.total[0, 1] == -tally.total[0, 1] and turned.lists[0, 1] == 10
    assert wins_and_ties(Tally(one(10), one(UNIT // 3), one(UNIT), one(0)), 1) is None


def test_condorcet_confidence_is_a_product_over_independent_pairs():
    matrix = PreferenceMatrix(bradley_terry(4, 0.3).p, (), symmetric(4, 0.03))
    rng = np.random.default_rng(0)
    upper = np.triu_indices(4, 1)
    wins = np.zeros(4)
    for _ in range(20_000):
        drawn = np.full((4, 4), 1.0)
        drawn[upper] = matrix.p[upper] + 0.03 * rng.standard_normal(6)
        drawn.T[upper] = 1 - drawn[upper]
        wins += (drawn > 0.5).all(axis=1)
    assert condorcet_confidence(matrix) == pytest.approx(wins / 20_000, abs=0.02)
    assert condorcet_confidence(ROCK_PAPER_SCISSORS).tolist() == [0, 0, 0]
    assert condorcet_confidence(bradley_terry(3)).tolist() == [1, 0, 0]


def test_few_comparisons_make_no_winner_certain():
    """After two wins of two, a share (uniform prior) is above 1/2 with probability 1 - 1/8. Ties change nothing."""
    counts, zero = np.array([[0, 2], [2, 0]]), np.zeros((2, 2))
    won = PreferenceMatrix(np.array([[0.5, 1], [0, 0.5]]), (), zero, counts)
    assert condorcet_confidence(won) == pytest.approx([0.875, 0.125])
    assert copeland_confidence(won)["1"] == pytest.approx(0.125, abs=0.03) and 0 < borda_confidence(won)["1"] < 0.2
    tied = PreferenceMatrix(np.full((2, 2), 0.5), (), zero, counts)
    assert condorcet_confidence(tied).tolist() == [0.5, 0.5]
    assert copeland_confidence(tied)["0"] == pytest.approx(0.5, abs=0.05)


def test_other_winners_are_as_likely_as_in_drawn_matrices():
    matrix = PreferenceMatrix(bradley_terry(4, 0.2).p, (), symmetric(4, 0.03))
    rng = np.random.default_rng(1)
    upper = np.triu_indices(4, 1)
    copeland, borda = np.zeros(4), np.zeros(4)
    for _ in range(10_000):
        drawn = np.full((4, 4), 0.5)
        drawn[upper] = matrix.p[upper] + 0.03 * rng.standard_normal(6)
        drawn.T[upper] = 1 - drawn[upper]
        scores = (drawn > 0.5).sum(axis=1)
        copeland += scores == scores.max()
        borda[drawn.sum(axis=1).argmax()] += 1
    for found, expected in ((copeland_confidence(matrix), copeland), (borda_confidence(matrix), borda)):
        assert [found.get(str(k), 0) for k in range(4)] == pytest.approx(expected / 10_000, abs=0.06)
    assert copeland_confidence(matrix) == copeland_confidence(matrix)
    assert copeland_confidence(ROCK_PAPER_SCISSORS) == {"0": 1, "1": 1, "2": 1}
    assert borda_confidence(bradley_terry(3)) == {"0": 1}


def test_of_two_rankers_the_copeland_winner_is_as_likely_as_the_condorcet_winner():
    matrix = PreferenceMatrix([[0.5, 0.51], [0.49, 0.5]], ("new", "old"), symmetric(2, 0.03))
    assert list(copeland_confidence(matrix).values()) == condorcet_confidence(matrix).tolist()


def test_what_is_unknown_counts_as_an_error_of_one_half():
    """Ranker 0 beats 1 in 0.6 of comparisons without error; neither was compared with ranker 2."""
    p, error = np.full((3, 3), 0.5), np.zeros((3, 3))
    p[0, 1], p[1, 0] = 0.6, 0.4
    error[2, :2] = error[:2, 2] = np.inf
    x, y = np.random.default_rng(1).normal(0.5, 0.5, (2, 100_000))
    first = ((0.6 + x > 0.4 + y) & (0.6 + x > 2 - x - y)).mean()
    assert borda_confidence(PreferenceMatrix(p, (), error), 40_000)["0"] == pytest.approx(first, abs=0.015)


@pytest.mark.parametrize("queries", [5, 3, 2])
def test_the_error_of_stratified_queries_is_that_of_a_two_stage_sample(queries):
    pairs = np.array([(1.0, 0.5), (0.0, -0.5), (-1.0, 0.0)])  # two outcomes for each of three units
    mean, within = pairs.mean(axis=1), (pairs[:, 0] - pairs[:, 1]) ** 2 / 2
    sums = (6, pairs.sum() * UNIT, (mean**2).sum() * UNIT, within.sum() * UNIT)
    tally = Tally(*(np.array([[0, round(value)], [0, 0]]) for value in sums))
    cut = 3 % queries  # units of the pass that was cut short; the others are complete
    noise = within.mean() / 2  # noise of the mean of a unit, given its query
    between = mean.var(ddof=1) - noise
    variance = (3 * noise + cut * (1 - cut / queries) * between) / 3**2
    assert errors_of(tally, 2, queries)[0, 1] == pytest.approx(np.sqrt(variance) / 2)


def test_an_exact_tie_is_beaten_by_nobody():
    matrix = PreferenceMatrix([[0.5, 0.5, 0.6], [0.5, 0.5, 0.5], [0.4, 0.5, 0.5]], ("a", "b", "c"))
    assert pair_confidence(matrix).tolist() == [[0, 0, 1], [0, 0, 0], [0, 0, 0]]
