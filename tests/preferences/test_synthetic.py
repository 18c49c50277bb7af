"""Matrices from formulas, and printed matrices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from ltr_duel.core.errors import InputError
from ltr_duel.preferences import synthetic
from ltr_duel.preferences.io import load_preferences
from ltr_duel.preferences.properties.bounds import gaps, lower_bound
from ltr_duel.preferences.properties.transitivity import gamma_btm, total_order
from ltr_duel.preferences.published import arxiv


def test_links_are_written_out():
    u, v = 0.8, 0.3
    for link, expected in (
        ("linear", (1 + u - v) / 2),
        ("logistic", 1 / (1 + np.exp(v - u))),
        ("normal", norm.cdf((u - v) / np.sqrt(2))),
    ):
        assert synthetic.from_utilities([u, v], link).p[0, 1] == pytest.approx(expected)


def test_each_named_matrix_is_one():
    for name in synthetic.SYNTHETIC:
        matrix = synthetic.synthetic_preferences(name)
        assert (matrix.p + matrix.p.T == 1).all() and matrix.provenance["name"] == name
        assert synthetic.synthetic_preferences(name).digest == matrix.digest


CONSTANTS = {  # of the lower bound, as printed
    "1good5poor": 7.5, "1good50poor": 74.7, "1good200poor": 298.7, "2good4poor": 14.8, "11good40poor": 148.4,
    "41good160poor": 593.5, "3good3poor": 22.2, "21good30poor": 222.1, "81good120poor": 888.4,
    "arith6": 18.7, "arith51": 161.3, "arith201": 639.1, "geom6": 17.2, "geom51": 137.8, "geom201": 543.1,
}  # fmt: skip


def test_the_fifteen_sets_have_their_sizes_gaps_and_bounds():
    for name, constant in CONSTANTS.items():
        matrix = synthetic.synthetic_preferences(name)
        assert len(matrix) == sum(int(n) for n in "".join(c if c.isdigit() else " " for c in name).split())
        gap = gaps(matrix)
        assert gap.max() == pytest.approx(norm.cdf(0.6 / np.sqrt(2)) - 0.5) == pytest.approx(0.1643, abs=5e-5)
        assert sorted(gap)[1] == pytest.approx(0.1643 if name[:5] == "1good" else 0.0282, abs=5e-5)
        assert lower_bound(matrix) == pytest.approx(constant, abs=0.06), name


def test_the_families_of_beat_the_mean():
    assert (gaps(synthetic.equal_gaps(5))[1:] == pytest.approx(0.1)) and gamma_btm(synthetic.equal_gaps(5)) == 1
    for gamma in (1.3, 2.0):
        matrix = synthetic.strong_neighbours(6, gamma)
        assert gamma_btm(matrix) == pytest.approx(gamma)
        # with arms numbered from 1: .1 gamma if 1 < i = j - 1, else .1
        expected = [[0.1 * gamma if 1 < i == j - 1 else 0.1 for j in range(1, 7) if j > i] for i in range(1, 7)]
        assert [(matrix.p[i, i + 1 :] - 0.5).tolist() for i in range(6)] == [pytest.approx(row) for row in expected]
    normal = synthetic.logistic_normal(20, seed=4)
    assert total_order(normal) == normal.names and normal.digest != synthetic.logistic_normal(20, seed=5).digest


def test_the_sets_of_the_utility_papers():
    assert synthetic.UTILITY_FAMILIES["one_strong_arm"](4).tolist() == [1, 0, 0.25, 0.5]
    assert synthetic.UTILITY_FAMILIES["linear_list"](3).tolist() == [0, 0.5, 1]
    assert synthetic.UTILITY_FAMILIES["close_arms"](5).tolist() == pytest.approx([1, 0.995, 0.99, 0.4, 0.5])
    assert synthetic.UTILITY_FAMILIES["uniform_arms"](1000).mean() == pytest.approx(0.5, abs=0.05)


def test_random_matrices_have_a_winner_or_not_as_asked():
    for seed in range(10):
        assert synthetic.random_preferences(5, condorcet=True, seed=seed).condorcet_winner == "0"
        assert synthetic.random_preferences(3, condorcet=False, seed=seed).condorcet_winner is None


def test_public_files_agree_with_the_rules(real_data):
    folder = real_data / "preference_matrices"
    for name, matrix in (("arithmetic", synthetic.arithmetic()), ("cyclic", synthetic.cyclic())):
        assert load_preferences(folder / f"komiyama_pref_{name}.txt").p == pytest.approx(matrix.p)
    copy = load_preferences(folder / "komiyama_pref_arxiv.txt").p
    assert np.argwhere(np.abs(copy - arxiv().p) > 1e-9).tolist() == [[1, 3], [3, 1]]  # .55 there, .56 in the paper


def test_a_circle_beats_the_next_half():
    p = synthetic.cyclic(6).p[1:, 1:]
    assert [(row > 0.5).sum() for row in p] == [2] * 5
    assert synthetic.geometric(4).p[1, 2] == pytest.approx(0.7) and total_order(synthetic.geometric(4)) is not None


def test_what_cannot_be_made_is_refused():
    for sentence, make in {
        "no link 'probit'": lambda: synthetic.from_utilities([0, 1], "probit"),
        "within 1 of each other, not 2": lambda: synthetic.from_utilities([0, 2], "linear"),
        "finite numbers": lambda: synthetic.from_utilities([0, np.nan]),
        "no synthetic preference matrix 'arith7'; did you mean": lambda: synthetic.synthetic_preferences("arith7"),
        "gamma times the gap must be between 0.1 and 0.5": lambda: synthetic.strong_neighbours(5, 9),
        "without a Condorcet winner must be at least 3": lambda: synthetic.random_preferences(2, condorcet=False),
    }.items():
        with pytest.raises(InputError, match=sentence):
            make()
