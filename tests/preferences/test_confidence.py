"""Intervals, errors of counts, and the probabilities of winners."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ltr_duel.core import stream
from ltr_duel.preferences import PreferenceMatrix, condorcet_confidence
from ltr_duel.preferences.properties.confidence import borda_confidence, conclusion_confidence, copeland_confidence
from ltr_duel.preferences.properties.intervals import wilson
from ltr_duel.preferences.tally import SCALE, Tally, errors_of
from tests.conftest import ROCK_PAPER_SCISSORS, bradley_terry


def everywhere(size, value):
    return np.where(np.eye(size, dtype=bool), 0.0, value)


def test_intervals_are_wilsons():
    for won, n in ((3, 10), (0, 10), (10, 10), (480, 1000)):
        expected = stats.binomtest(won, n).proportion_ci(0.9, method="wilson")
        low, high = wilson(np.array([won / n]), np.array([float(n)]), 0.9)
        assert (low[0], high[0]) == (pytest.approx(expected.low, abs=1e-9), pytest.approx(expected.high, abs=1e-9))


def test_a_subset_keeps_the_counts_of_each_pair_in_the_new_order():
    matrix = PreferenceMatrix.from_counts([[0, 20, 3], [10, 0, 4], [5, 6, 0]])
    tally = matrix.tally.among([2, 0, 1])
    expected = PreferenceMatrix.from_counts([[0, 5, 6], [3, 0, 20], [4, 10, 0]]).tally
    assert all((part == other).all() for part, other in zip(tally, expected, strict=True))


def test_exact_entries_have_no_interval_and_unknown_ones_all_of_it():
    p = np.array([[0.5, 0.6], [0.4, 0.5]])
    low, high = PreferenceMatrix(p).intervals()
    assert (low == p).all() and (high == p).all()
    low, high = PreferenceMatrix(np.full((2, 2), 0.5), (), everywhere(2, np.inf)).intervals()
    assert (low[0, 1], high[0, 1], low[0, 0]) == (0, 1, 0.5)
    low, high = PreferenceMatrix.from_counts([[0, 20], [0, 0]]).intervals()
    assert 0.8 < low[0, 1] < 1 and high[0, 1] == 1


@pytest.mark.parametrize("queries", [5, 3, 2])
def test_the_error_of_stratified_queries_is_that_of_a_two_stage_sample(queries):
    pairs = np.array([(1.0, 0.5), (0.0, -0.5), (-1.0, 0.0)])  # two outcomes for each of three units
    mean, within = pairs.mean(axis=1), (pairs[:, 0] - pairs[:, 1]) ** 2 / 2
    sums = (6, pairs.sum() * SCALE, (mean**2).sum() * SCALE, within.sum() * SCALE)
    tally = Tally(*(np.array([[0, round(value)], [0, 0]]) for value in sums))
    cut = 3 % queries  # units of the pass that was cut short; the others are complete
    noise = within.mean() / 2  # noise of the mean of a unit, given its query
    seen = 3 * (1 - 1 / queries) - cut * (1 - cut / queries) / 3  # 3 - 1 in one pass; fewer if a query comes again
    between = (mean.var(ddof=1) - noise) * 2 / (seen or 1)
    variance = (3 * noise + cut * (1 - cut / queries) * between) / 3**2
    assert errors_of(tally, 2, queries)[0, 1] == pytest.approx(np.sqrt(variance) / 2)


def test_the_winners_are_as_likely_as_in_drawn_matrices():
    error = 0.03
    matrix = PreferenceMatrix(bradley_terry(4, 0.2).p, (), everywhere(4, error))
    rng, upper = np.random.default_rng(1), np.triu_indices(4, 1)
    condorcet, copeland, borda = np.zeros((3, 4))
    for _ in range(10_000):
        drawn = np.full((4, 4), 0.5)
        drawn[upper] = matrix.p[upper] + error * rng.standard_normal(6)
        drawn.T[upper] = 1 - drawn[upper]
        scores = (drawn > 0.5).sum(axis=1)
        condorcet += scores == 3
        copeland += scores == scores.max()
        borda[drawn.sum(axis=1).argmax()] += 1
    assert condorcet_confidence(matrix) == pytest.approx(condorcet / 10_000, abs=0.02)
    assert conclusion_confidence(matrix) == condorcet_confidence(matrix)[0]
    for shares, expected in ((copeland_confidence(matrix), copeland), (borda_confidence(matrix), borda)):
        assert [shares.get(str(k), 0) for k in range(4)] == pytest.approx(expected / 10_000, abs=0.06)
    assert copeland_confidence(matrix) == copeland_confidence(matrix)


def test_weak_evidence_about_many_rankers_is_no_evidence_that_none_wins():
    """Forty rankers in a total order with gaps of .05: the product of uniform priors alone gives 1 - 40 / 2^39."""
    rng, certain = stream(5, "coins"), 0
    truth = np.full((40, 40), 0.45) + 0.1 * np.tri(40, k=-1).T + 0.05 * np.eye(40)
    for n in (2, 20, 100, 400) * 5:
        wins = np.triu(rng.binomial(n, truth), 1)
        wins += np.tril(n - wins.T, -1)
        matrix = PreferenceMatrix.from_counts(wins)
        certain += matrix.condorcet_winner is None and conclusion_confidence(matrix) > 0.5
    assert not certain
    circle = np.where(ROCK_PAPER_SCISSORS.p > 0.5, 140, 60) * (1 - np.eye(3, dtype=int))
    assert conclusion_confidence(PreferenceMatrix.from_counts(circle)) > 0.99


def test_exactly_known_winners_are_certain():
    assert condorcet_confidence(bradley_terry(3)).tolist() == [1, 0, 0]
    assert condorcet_confidence(ROCK_PAPER_SCISSORS).tolist() == [0, 0, 0]
    assert conclusion_confidence(ROCK_PAPER_SCISSORS) == 1
    assert copeland_confidence(ROCK_PAPER_SCISSORS) == {"0": 1, "1": 1, "2": 1}
    assert borda_confidence(bradley_terry(3)) == {"0": 1}
    assert condorcet_confidence(PreferenceMatrix(np.full((2, 2), 0.5))).tolist() == [0, 0]


def test_few_comparisons_make_no_winner_certain():
    """After two wins of two, a share (uniform prior) is above 1/2 with probability 1 - 1/8. Ties change nothing."""
    won = PreferenceMatrix.from_counts([[0, 2], [0, 0]])
    assert condorcet_confidence(won) == pytest.approx([0.875, 0.125])
    assert copeland_confidence(won)["1"] == pytest.approx(0.125, abs=0.03) and 0 < borda_confidence(won)["1"] < 0.2
    tied = PreferenceMatrix.from_counts([[0, 0], [0, 0]], [[0, 2], [2, 0]])
    assert condorcet_confidence(tied).tolist() == [0.5, 0.5]


def test_a_pair_that_was_never_compared_has_an_error_of_one_half_in_borda_scores():
    """Ranker 0 beats 1 in 0.6 of comparisons without error; neither was compared with ranker 2."""
    p, error = np.full((3, 3), 0.5), np.zeros((3, 3))
    p[0, 1], p[1, 0] = 0.6, 0.4
    error[2, :2] = error[:2, 2] = np.inf
    x, y = np.random.default_rng(1).normal(0.5, 0.5, (2, 100_000))
    first = ((0.6 + x > 0.4 + y) & (0.6 + x > 2 - x - y)).mean()
    assert borda_confidence(PreferenceMatrix(p, (), error), 40_000)["0"] == pytest.approx(first, abs=0.015)
