"""Properties of matrices: facts of papers, and literal definitions on random matrices."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from ltr_duel.core import InputError
from ltr_duel.preferences import PreferenceMatrix, arxiv, load_preferences, matrix_properties
from ltr_duel.preferences.properties.bounds import entropy_to_half, gaps, lower_bound
from ltr_duel.preferences.properties.subsets import (
    condorcet_shares,
    draw_winner_set,
    random_condorcet_subset,
    total_order_share,
)
from ltr_duel.preferences.properties.transitivity import gamma_btm, gamma_rucb
from ltr_duel.preferences.synthetic import cyclic, random_preferences
from tests.conftest import ROCK_PAPER_SCISSORS, bradley_terry
from tests.reference import preferences as literal

RANDOM = [random_preferences(6, condorcet=bool(seed % 2), seed=seed) for seed in range(8)]


def test_arxiv_has_the_gamma_of_its_paper_and_breaks_the_triangle_inequality():
    about = matrix_properties(arxiv())
    assert about.gamma_btm == pytest.approx(0.06 / 0.04)  # A, B, D
    assert about.lower_bound == pytest.approx(20.7, abs=0.05)
    assert about.triangle_violations == 3  # D-F: .11 > .04 + .00; C-E: .11 > .05 + .01; D-E: .11 > .04 + .04
    assert not about.total_order and about.even_pairs == 1  # D and F
    assert (about.smallest_gap, about.smallest_gap_error) == (pytest.approx(0.04), 0)


def test_the_published_64_arms(real_data):
    matrix = load_preferences(real_data / "preference_matrices" / "wolfenfeld_PMat_64.npy")
    assert gamma_rucb(matrix) == pytest.approx(47.35, abs=0.005) and gamma_btm(matrix) == pytest.approx(4.28, abs=0.005)
    assert lower_bound(matrix) == pytest.approx(262.1, abs=0.05)
    shares = condorcet_shares(matrix)
    assert shares.min() == pytest.approx(0.976, abs=0.0005) and shares.argmin() + 1 in (21, 22)
    assert shares[2] == pytest.approx(0.9896, abs=0.00005) and shares[0] == shares[-1] == 1
    for size, expected in ((3, 0.988), (10, 0.50), (16, 0.10)):
        assert total_order_share(matrix, size, subsets=20_000) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("matrix", RANDOM, ids=str)
def test_properties_are_those_of_the_literal_definitions(matrix):
    p, about = matrix.p, matrix_properties(matrix)
    assert (about.strong_violations, about.strong_triples) == literal.strong_violations(p)
    assert about.cyclic_triples == literal.cycles(p)
    assert set(about.top_cycle) == {matrix.names[k] for k in literal.smith_set(p)}
    assert about.total_order == literal.is_total_order(p)
    if matrix.condorcet_winner is None:
        assert about.gamma_btm is about.gamma_rucb is about.triangle_violations is about.smallest_gap is None
    else:
        assert about.gamma_btm == pytest.approx(literal.relaxed_gamma(p, every_pair=False))
        assert about.gamma_rucb == pytest.approx(literal.relaxed_gamma(p, every_pair=True))
    assert (about.cycle is None) == (about.cyclic_triples == 0)
    if about.cycle:
        a, b, c = map(matrix.index, about.cycle)
        assert p[a, b] > 0.5 and p[b, c] > 0.5 and p[c, a] > 0.5
    weights = np.array([about.von_neumann_winner.get(name, 0) for name in matrix.names])
    assert weights.sum() == pytest.approx(1) and (weights @ p >= 0.5 - 1e-9).all()
    for size in range(1, 7):
        winners, orders = literal.subset_shares(p, size)
        assert condorcet_shares(matrix)[size - 1] == pytest.approx(winners)
        assert total_order_share(matrix, size) == pytest.approx(orders)


def test_sampled_subsets_estimate_the_share_of_total_orders():
    matrix = random_preferences(12, seed=3)
    exact = total_order_share(matrix, 4, subsets=495)  # C(12, 4): all of them
    assert total_order_share(matrix, 4, subsets=494, seed=1) == pytest.approx(exact, abs=4.5 * np.sqrt(0.25 / 494))


def test_properties_of_circles_and_of_a_single_ranker():
    about = matrix_properties(cyclic())
    assert about.condorcet_winner == "0" and about.cyclic_triples == 1 and about.top_cycle == ("0",)
    assert about.gamma_btm == pytest.approx(4) and about.smallest_gap == pytest.approx(0.1)
    assert about.as_dict()["von_neumann_winner"] == {"0": 1.0}
    circle = matrix_properties(ROCK_PAPER_SCISSORS)
    assert circle.condorcet_winner is circle.lower_bound is None and circle.top_cycle == ("0", "1", "2")
    assert list(circle.von_neumann_winner.values()) == pytest.approx([1 / 3] * 3)
    assert matrix_properties(PreferenceMatrix(np.array([[0.5]]))).condorcet_winner == "0"


def test_the_lower_bound_of_two_arms_is_written_out():
    p = 0.7
    d = (1 - p) * np.log((1 - p) / 0.5) + p * np.log(p / 0.5)
    assert lower_bound(PreferenceMatrix(np.array([[0.5, p], [1 - p, 0.5]]))) == pytest.approx((p - 0.5) / (2 * d))
    assert gaps(ROCK_PAPER_SCISSORS) is None


def test_the_entropy_is_accurate_near_a_half_and_finite_at_the_ends():
    for x in (2.0**-23, -(2.0**-53)):  # d(1/2 + x, 1/2) is about 2 x^2
        assert entropy_to_half(np.array([0.5 + x])) == pytest.approx(2 * x**2, rel=1e-12, abs=0)
    assert entropy_to_half(np.array([0.0, 1.0, 0.5])).tolist() == pytest.approx([np.log(2), np.log(2), 0])


@pytest.mark.parametrize("size", [2, 4])
def test_each_set_with_a_winner_is_equally_likely_and_no_other_is_drawn(size):
    matrix, rng = random_preferences(7, condorcet=False, seed=2), np.random.default_rng(1)
    legal = {
        (winner, *(k for k in subset if k != winner))
        for subset in itertools.combinations(range(7), size)
        for winner in subset
        if all(matrix.p[winner, k] > 0.5 for k in subset if k != winner)
    }
    drawn = Counter(tuple(draw_winner_set(matrix, size, rng).tolist()) for _ in range(200 * len(legal)))
    assert set(drawn) == legal
    chi_square, freedom = sum((count - 200) ** 2 / 200 for count in drawn.values()), len(legal) - 1
    assert chi_square < freedom + 5 * np.sqrt(2 * freedom)


def test_counts_of_sets_may_exceed_every_float():
    picks = draw_winner_set(bradley_terry(2000), 1000, np.random.default_rng(0))
    assert len(set(picks.tolist())) == 1000 and picks[0] == picks.min()


def test_a_random_subset_has_a_winner_or_is_refused():
    chosen = random_condorcet_subset(RANDOM[0], 3, seed=1)
    assert len(chosen) == 3 and chosen.condorcet_winner is not None
    with pytest.raises(InputError, match="no subset of 3 rankers has a Condorcet winner"):
        random_condorcet_subset(ROCK_PAPER_SCISSORS, 3)
