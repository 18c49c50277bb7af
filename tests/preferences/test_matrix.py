"""PreferenceMatrix: winners, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from ltr_duel.core.errors import InputError
from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.preferences.properties.bounds import entropy_to_half, gaps, lower_bound
from ltr_duel.preferences.properties.confidence import borda_confidence
from ltr_duel.preferences.published import arxiv
from tests.conftest import ROCK_PAPER_SCISSORS, bradley_terry

ARXIV = arxiv().p


def test_winners_of_a_total_order():
    matrix = PreferenceMatrix(ARXIV, tuple("ABCDEF"))
    assert matrix.condorcet_winner == matrix.borda_winner == "A"
    assert matrix.copeland_winners == ("A",)
    assert matrix.copeland_scores.tolist() == [5, 4, 3, 1.5, 1, 0.5]  # D and F tie exactly
    assert matrix.borda_scores[0] == pytest.approx(0.5 + (0.05 + 0.05 + 0.04 + 0.11 + 0.11) / 5)


def test_a_cycle_has_no_condorcet_winner_and_all_copeland_winners():
    assert ROCK_PAPER_SCISSORS.condorcet_winner is None
    assert ROCK_PAPER_SCISSORS.copeland_winners == ("0", "1", "2")
    assert gaps(ROCK_PAPER_SCISSORS) is None and lower_bound(ROCK_PAPER_SCISSORS) is None


@pytest.mark.parametrize("won", [0.75, 0.6, 0.7])  # the sums of .6 and .7 differ in their last bits
def test_rankers_with_equal_mean_win_rates_are_all_borda_winners(won):
    matrix = PreferenceMatrix(np.array([[0.5, won, 1 - won], [1 - won, 0.5, won], [won, 1 - won, 0.5]]))
    assert matrix.borda_winners == ("0", "1", "2") and matrix.borda_winner == "0"
    assert borda_confidence(matrix) == {"0": 1, "1": 1, "2": 1}


def test_an_exact_half_is_never_a_win():
    matrix = PreferenceMatrix(np.array([[0.5, 0.5], [0.5, 0.5]]))
    assert matrix.condorcet_winner is None
    assert matrix.copeland_scores.tolist() == [0.5, 0.5]


def test_the_lower_bound_of_two_arms_is_written_out():
    p = 0.7
    d = (1 - p) * np.log((1 - p) / 0.5) + p * np.log(p / 0.5)
    assert lower_bound(PreferenceMatrix(np.array([[0.5, p], [1 - p, 0.5]]))) == pytest.approx((p - 0.5) / (2 * d))


def test_the_entropy_is_accurate_near_a_half_and_finite_at_the_ends():
    x = 2.0**-23
    assert entropy_to_half(np.array([0.5 + x])) == pytest.approx(2 * x**2, rel=1e-12, abs=0)
    nearest = 2.0**-53  # between a half and the next number below it
    assert entropy_to_half(np.array([0.5 - nearest])) == pytest.approx(2 * nearest**2, rel=1e-12, abs=0)
    assert entropy_to_half(np.array([0.0, 1.0, 0.5])).tolist() == pytest.approx([np.log(2), np.log(2), 0])


@pytest.mark.parametrize(
    "p, sentence",
    [
        ([[0.5, 0.6]], "must be square, not of shape"),
        ([[0.5, 0.6], [0.6, 0.5]], r"p\['0', '1'\] \+ p\['1', '0'\] must be 1, not 1.2"),
        ([[0.5, np.nan], [0.5, 0.5]], r"p\['0', '1'\] must be between 0 and 1, not nan"),
        ([[0.5, 1.5], [-0.5, 0.5]], "must be between 0 and 1, not 1.5"),
        ([[0.4, 0.6], [0.4, 0.5]], r"p\['0', '0'\] \+ p\['0', '0'\] must be 1, not 0.8"),
    ],
)
def test_what_is_no_preference_matrix_is_refused(p, sentence):
    with pytest.raises(InputError, match=sentence):
        PreferenceMatrix(np.array(p))


def test_names_must_differ_and_fit():
    with pytest.raises(InputError, match="2 rankers needs 2 different names"):
        PreferenceMatrix(bradley_terry(2).p, ("a", "a"))


def test_the_digest_knows_values_and_names():
    p = bradley_terry(3).p
    assert PreferenceMatrix(p).digest == PreferenceMatrix(p.copy()).digest
    assert PreferenceMatrix(p).digest != PreferenceMatrix(p, ("a", "b", "c")).digest
    assert PreferenceMatrix(p).digest != PreferenceMatrix(p[::-1, ::-1]).digest


def test_subsets_and_other_names():
    matrix = PreferenceMatrix(ARXIV, tuple("ABCDEF"))
    few = matrix[["D", 0]]
    assert few.names == ("D", "A") and few.p[1, 0] == ARXIV[0, 3]
    assert matrix.relabelled({"A": "best"}).condorcet_winner == "best"
    assert matrix.relabelled(tuple("UVWXYZ")).names == tuple("UVWXYZ")
    for wanted, sentence in (([6], "numbered from 0 to 5; there is no 6"), (["G"], "no ranker 'G'")):
        with pytest.raises(InputError, match=sentence):
            matrix[wanted]
    with pytest.raises(InputError, match="6 different names"):
        matrix.relabelled({"A": "B"})


def test_a_notebook_shows_the_best_and_escapes_names():
    page = PreferenceMatrix(bradley_terry(20).p, ("<b>", *map(str, range(19))))._repr_html_()
    assert "Condorcet winner: &lt;b&gt;; the first 12 in Copeland order" in page and "<b>" not in page
    assert "no Condorcet winner" in ROCK_PAPER_SCISSORS._repr_html_()
    assert PreferenceMatrix(ARXIV, tuple("ABCDEF")).to_frame().loc["A", "F"] == 0.61


@pytest.mark.parametrize("error", [[[0, 0.1], [0.2, 0]], [[0, -0.1], [-0.1, 0]], [[0, np.nan], [np.nan, 0]]])
def test_errors_are_symmetric_and_not_negative(error):
    with pytest.raises(InputError, match="standard_error must be symmetric and must not be negative"):
        PreferenceMatrix(bradley_terry(2).p, (), np.array(error))


def test_a_notebook_shows_the_order_of_ties_beside_the_probability_of_the_winner():
    error = 0.01 * (1 - np.eye(2))
    about = {"ties": "fixed_random", "tie_seed": 4}
    matrix = PreferenceMatrix([[0.5, 0.51], [0.49, 0.5]], ("new", "old"), error, provenance=about)
    shown = matrix._repr_html_()
    assert "(P = 0.841, tied documents by fixed_random, tie seed 4)" in shown and "<td>0.490</td>" in shown
    assert PreferenceMatrix(matrix.p, provenance={"ties": "file", "tie_seed": 4}).tie_order == "file"


def test_counts_of_judgements_become_a_matrix_in_which_a_tie_is_half_a_win():
    matrix = PreferenceMatrix.from_counts([[0, 6, 0], [2, 0, 0], [0, 3, 0]], [[0, 2, 0], [2, 0, 0], [0] * 3], "abc")
    assert matrix.p[0].tolist() == [0.5, (6 + 2 / 2) / 10, 0.5] and matrix.p[2, 1] == 1
    assert matrix.comparisons.tolist() == [[0, 10, 0], [10, 0, 3], [0, 3, 0]]
    variance = (6 + 2 - 10 * 0.4**2) / 9  # of eight outcomes 1 or -1 and two ties, with mean (6 - 2) / 10
    assert matrix.standard_error[0, 1] == pytest.approx(np.sqrt(variance / 10) / 2)
    assert np.isinf(matrix.standard_error[0, 2])
    assert matrix.wins[0, 1] == 6 and matrix.ties[1, 0] == 2


@pytest.mark.parametrize(
    ("wins", "ties", "sentence"),
    [
        ([[0, 1.5], [1, 0]], None, "whole numbers from 0"),
        ([[0, -1], [1, 0]], None, "whole numbers from 0"),
        ([[0, 1, 1], [1, 0, 1]], None, "square tables"),
        ([[0, 1], [1, 0]], [0, 0], "of the same size"),
        ([[0, 1], [1, 0]], [[0, 1], [0, 0]], "ties must be symmetric"),
    ],
)
def test_counts_that_do_not_fit_are_refused(wins, ties, sentence):
    with pytest.raises(InputError, match=sentence):
        PreferenceMatrix.from_counts(wins, ties)
