"""Matrices from formulas, and printed matrices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from ltr_duel.core import InputError
from ltr_duel.preferences import arxiv, load_preferences, synthetic, synthetic_preferences
from ltr_duel.preferences.properties.bounds import gaps, lower_bound
from ltr_duel.preferences.properties.transitivity import gamma_btm, is_total_order


def test_link_functions_of_utilities_are_written_out():
    u, v = 0.8, 0.3
    for link, expected in (
        ("linear", (1 + u - v) / 2),
        ("logistic", 1 / (1 + np.exp(v - u))),
        ("normal", norm.cdf((u - v) / np.sqrt(2))),
    ):
        assert synthetic.from_utilities([u, v], link).p[0, 1] == pytest.approx(expected)


CONSTANTS = {  # of the lower bound, as printed
    "1good5poor": 7.5, "1good50poor": 74.7, "1good200poor": 298.7, "2good4poor": 14.8, "11good40poor": 148.4,
    "41good160poor": 593.5, "3good3poor": 22.2, "21good30poor": 222.1, "81good120poor": 888.4,
    "arith6": 18.7, "arith51": 161.3, "arith201": 639.1, "geom6": 17.2, "geom51": 137.8, "geom201": 543.1,
}  # fmt: skip


def test_the_fifteen_sets_of_the_multi_dueling_paper_have_their_sizes_gaps_and_bounds():
    for name, constant in CONSTANTS.items():
        matrix = synthetic_preferences(name)
        assert len(matrix) == sum(int(n) for n in "".join(c if c.isdigit() else " " for c in name).split())
        gap = np.sort(gaps(matrix))
        assert gap[-1] == pytest.approx(norm.cdf(0.6 / np.sqrt(2)) - 0.5)
        nearest = 0.6 if name[:5] == "1good" else 0.1
        assert gap[1] == pytest.approx(norm.cdf(nearest / np.sqrt(2)) - 0.5)
        assert lower_bound(matrix) == pytest.approx(constant, abs=0.06), name


def test_the_families_of_beat_the_mean():
    assert (gaps(synthetic.equal_gaps(5))[1:] == pytest.approx(0.1)) and gamma_btm(synthetic.equal_gaps(5)) == 1
    matrix = synthetic.strong_neighbours(6, 1.3)
    assert gamma_btm(matrix) == pytest.approx(1.3)
    # with arms numbered from 1: .1 gamma if 1 < i = j - 1, else .1
    expected = [[0.13 if 1 < i == j - 1 else 0.1 for j in range(1, 7) if j > i] for i in range(1, 7)]
    assert [(matrix.p[i, i + 1 :] - 0.5).tolist() for i in range(6)] == [pytest.approx(row) for row in expected]
    normal = synthetic.logistic_normal(20, seed=4)
    assert is_total_order(normal) and normal.condorcet_winner == "0"
    assert normal.digest != synthetic.logistic_normal(20, seed=5).digest


def test_the_sets_of_the_utility_papers():
    make = synthetic.UTILITY_FAMILIES
    assert make["one_strong_arm"](4).tolist() == [1, 0, 0.25, 0.5]
    assert make["linear_list"](3).tolist() == [0, 0.5, 1]
    assert make["close_arms"](5).tolist() == pytest.approx([1, 0.995, 0.99, 0.4, 0.5])
    assert make["uniform_arms"](1000).mean() == pytest.approx(0.5, abs=0.05)


def test_a_random_matrix_has_a_winner_or_not_by_request():
    for seed in range(10):
        assert synthetic.random_preferences(5, condorcet=True, seed=seed).condorcet_winner == "0"
        assert synthetic.random_preferences(3, condorcet=False, seed=seed).condorcet_winner is None


def test_public_files_agree_with_the_rules(real_data):
    folder = real_data / "preference_matrices"
    for name, matrix in (("arithmetic", synthetic.arithmetic()), ("cyclic", synthetic.cyclic())):
        assert load_preferences(folder / f"komiyama_pref_{name}.txt").p == pytest.approx(matrix.p)
    copy = load_preferences(folder / "komiyama_pref_arxiv.txt").p
    assert np.argwhere(np.abs(copy - arxiv().p) > 1e-9).tolist() == [[1, 3], [3, 1]]  # .55 there, .56 in the paper


def test_an_arm_on_a_circle_beats_the_next_half():
    p = synthetic.cyclic(6).p[1:, 1:]
    assert [(row > 0.5).sum() for row in p] == [2] * 5
    assert synthetic.geometric(4).p[1, 2] == pytest.approx(0.5 + 0.4 / 2)


def test_a_family_has_a_member_for_each_combination():
    matrices = list(synthetic.members("strong_neighbours", size=[4, 6], gamma=[1.0, 1.5]))
    names = ["K=4 gamma=1", "K=4 gamma=1.5", "K=6 gamma=1", "K=6 gamma=1.5"]
    assert [" ".join(words) for words, _, _ in matrices] == names
    assert matrices[3][1] == {"size": 6, "gamma": 1.5}
    assert (matrices[3][2].p == synthetic.strong_neighbours(6, 1.5).p).all()
    (first, facts, a), (second, _, b) = synthetic.members("logistic_normal", size=[5], draws=2)
    assert (first, second, facts["draw"]) == (["K=5", "#1"], ["K=5", "#2"], 1)
    assert (a.p == synthetic.logistic_normal(5, 0).p).all() and (b.p == synthetic.logistic_normal(5, 1).p).all()


REFUSED = {
    "no link 'probit'": lambda: synthetic.from_utilities([0, 1], "probit"),
    "within 1 of each other, not 2": lambda: synthetic.from_utilities([0, 2], "linear"),
    "finite numbers": lambda: synthetic.from_utilities([0, np.nan]),
    "no synthetic preference matrix 'arith7'; did you mean": lambda: synthetic_preferences("arith7"),
    "gamma times the gap must be between 0.1 and 0.5": lambda: synthetic.strong_neighbours(5, 9),
    "draws: the family 'equal_gaps'": lambda: list(synthetic.members("equal_gaps", size=[5], draws=2)),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_impossible_matrices_are_refused(sentence):
    with pytest.raises(InputError, match=sentence):
        REFUSED[sentence]()
