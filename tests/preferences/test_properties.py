"""Properties of matrices: known facts, and reference implementations on random matrices."""

from __future__ import annotations

import numpy as np
import pytest

from ltr_duel.core.errors import InputError
from ltr_duel.preferences.io import load_preferences
from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.preferences.properties.bounds import entropy_to_half, lower_bound, multiduel_bound
from ltr_duel.preferences.properties.subsets import condorcet_shares, random_condorcet_subset, total_order_share
from ltr_duel.preferences.properties.summary import gaps_table, matrix_properties, von_neumann_winner
from ltr_duel.preferences.properties.transitivity import (
    cyclic_triples,
    find_cycle,
    gamma_btm,
    gamma_rucb,
    strong_violations,
    top_cycle,
    total_order,
    triangle_violations,
)
from ltr_duel.preferences.published import arxiv
from ltr_duel.preferences.synthetic import arithmetic, cyclic, random_preferences
from tests.conftest import ROCK_PAPER_SCISSORS
from tests.reference import preferences as literal

RANDOM = [random_preferences(6, condorcet=bool(seed % 2), seed=seed) for seed in range(12)]


def test_arxiv_has_the_gamma_of_its_paper_and_breaks_the_triangle_inequality():
    assert gamma_btm(arxiv()) == pytest.approx(0.06 / 0.04)  # A, B, D
    assert lower_bound(arxiv()) == pytest.approx(20.7, abs=0.05)
    table = triangle_violations(arxiv())
    assert [(r.j, r.k, round(r.excess, 9)) for r in table.itertuples()] == [
        ("D", "F", 0.07),  # .11 > .04 + .00
        ("C", "E", 0.05),  # .11 > .05 + .01
        ("D", "E", 0.03),  # .11 > .04 + .04
    ]
    assert total_order(arxiv()) is None  # D and F are even


def test_the_published_64_arms(real_data):
    matrix = load_preferences(real_data / "preference_matrices" / "wolfenfeld_PMat_64.npy")
    assert gamma_rucb(matrix) == pytest.approx(47.35, abs=0.005) and gamma_btm(matrix) == pytest.approx(4.28, abs=0.005)
    shares = condorcet_shares(matrix)
    assert shares.min() == pytest.approx(0.976, abs=0.0005) and shares.argmin() + 1 in (21, 22)
    assert shares[2] == pytest.approx(0.9896, abs=0.00005) and shares[0] == shares[-1] == 1
    for size, expected in ((3, 0.988), (5, 0.92), (10, 0.50), (16, 0.10)):
        assert total_order_share(matrix, size, subsets=20_000) == pytest.approx(expected, abs=0.02)
    assert total_order_share(matrix, 32, subsets=2000) == 0


def test_lower_bounds_of_the_published_matrices(real_data):
    folder = real_data / "preference_matrices"
    for name, constant in (
        ("wolfenfeld_PMat_64.npy", 262.1), ("MergeDTS_MSLR-Nabigational.txt.gz", 584.9),
        ("MergeDTS_MSLR-Perfect.txt.gz", 461.6),
    ):  # fmt: skip
        matrix = load_preferences(folder / name)
        assert lower_bound(matrix) == pytest.approx(constant, abs=0.05)
        assert multiduel_bound(matrix).constant < constant


@pytest.mark.parametrize("matrix", RANDOM, ids=str)
def test_fast_and_literal_properties_agree(matrix):
    p = matrix.p
    assert strong_violations(matrix) == literal.strong_violations(p)
    assert cyclic_triples(matrix) == literal.cycles(p)
    assert set(top_cycle(matrix)) == {matrix.names[k] for k in literal.smith_set(p)}
    assert (total_order(matrix) is not None) == literal.is_total_order(p)
    if matrix.condorcet_winner is None:
        assert gamma_btm(matrix) is gamma_rucb(matrix) is triangle_violations(matrix) is None
    else:
        assert gamma_btm(matrix) == pytest.approx(literal.relaxed_gamma(p, every_pair=False))
        assert gamma_rucb(matrix) == pytest.approx(literal.relaxed_gamma(p, every_pair=True))
    cycle = find_cycle(matrix)
    assert (cycle is None) == (literal.cycles(p) == 0)
    if cycle:
        a, b, c = map(matrix.index, cycle)
        assert p[a, b] > 0.5 and p[b, c] > 0.5 and p[c, a] > 0.5
    for size in range(1, 7):
        winners, orders = literal.subset_shares(p, size)
        assert condorcet_shares(matrix)[size - 1] == pytest.approx(winners)
        assert total_order_share(matrix, size) == pytest.approx(orders)


def test_drawn_subsets_estimate_the_share():
    matrix = random_preferences(12, seed=3)
    exact = total_order_share(matrix, 4, subsets=495)  # C(12, 4): all of them
    assert total_order_share(matrix, 4, subsets=494, seed=1) == pytest.approx(exact, abs=4.5 * np.sqrt(0.25 / 494))


def test_the_von_neumann_winner_beats_or_ties_everyone():
    assert von_neumann_winner(ROCK_PAPER_SCISSORS) == pytest.approx([1 / 3] * 3)
    for matrix in RANDOM:
        weights = von_neumann_winner(matrix)
        assert weights.sum() == pytest.approx(1) and (weights @ matrix.p >= 0.5 - 1e-9).all()
        if matrix.condorcet_winner is not None:
            assert weights[matrix.index(matrix.condorcet_winner)] == pytest.approx(1)


def test_the_bound_for_sets_is_a_duel_for_two_arms_and_less_for_more():
    p = 0.7
    matrix = PreferenceMatrix(np.array([[0.5, p], [1 - p, 0.5]]))
    assert multiduel_bound(matrix) == (pytest.approx(lower_bound(matrix)), True)
    all_arms = arithmetic()
    e = all_arms.p[0] - 0.5
    told = np.where(all_arms.p < 0.5, entropy_to_half(all_arms.p), 0).sum(axis=1)[1:]
    exact = multiduel_bound(all_arms)
    assert exact.exact and exact.constant <= min(lower_bound(all_arms), e.mean() / told.min()) + 1e-12
    some = multiduel_bound(all_arms, most_arms=4)
    assert not some.exact and exact.constant - 1e-9 <= some.constant <= lower_bound(all_arms) + 1e-9
    assert multiduel_bound(ROCK_PAPER_SCISSORS) is None


@pytest.mark.parametrize("gap", [1e-5, 4e-8, 1e-8, 1e-12, 2.0**-53])
@pytest.mark.parametrize("most_arms", [12, 2])
def test_the_bound_for_sets_has_a_solution_for_near_ties(gap, most_arms):
    p = np.array([[0.5, 0.5 + gap, 0.7], [0.5 - gap, 0.5, 0.6], [0.3, 0.4, 0.5]])
    gap = p[0, 1] - 0.5  # the gap in double precision
    found = multiduel_bound(PreferenceMatrix(p), most_arms).constant
    nearly_all = gap / 2 / (2 * gap**2)  # cost of separating the first two by their duels; the third costs less than 2
    assert nearly_all * (1 - 1e-6) <= found <= min(nearly_all + 2, lower_bound(PreferenceMatrix(p)) * (1 + 1e-6))


def test_everything_in_one_go():
    about = matrix_properties(cyclic())
    assert about.condorcet_winner == "0" and about.cyclic_triples == 1 and about.top_cycle == ("0",)
    assert about.gamma_btm == pytest.approx(4) and about.smallest_gap == pytest.approx(0.1)
    assert about.as_dict()["von_neumann_winner"] == {"0": 1.0}
    none = matrix_properties(ROCK_PAPER_SCISSORS)
    assert none.condorcet_winner is none.gamma_btm is none.lower_bound is none.smallest_gap is None
    assert none.top_cycle == ("0", "1", "2") and none.condorcet_confidence == {}
    assert gaps_table(arxiv())["ranker"].tolist() == ["D", "B", "C", "E", "F"]
    assert matrix_properties(PreferenceMatrix(np.array([[0.5]]))).condorcet_winner == "0"


def test_a_random_subset_with_a_winner():
    chosen = random_condorcet_subset(RANDOM[0], 3, seed=1)
    assert len(chosen) == 3 and chosen.condorcet_winner is not None
    with pytest.raises(InputError, match="no subset of 3 rankers has a Condorcet winner"):
        random_condorcet_subset(ROCK_PAPER_SCISSORS, 3)
    with pytest.raises(InputError, match="between 1 and 3, not 4"):
        random_condorcet_subset(ROCK_PAPER_SCISSORS, 4)
