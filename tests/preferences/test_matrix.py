"""PreferenceMatrix: winners, counts, parts, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from ltr_duel.core import InputError
from ltr_duel.preferences import PreferenceMatrix, arxiv
from tests.conftest import ROCK_PAPER_SCISSORS, bradley_terry


def test_winners_of_an_order_with_an_even_pair():
    matrix = arxiv()
    assert matrix.condorcet_winner == "A" and matrix.copeland_winners == matrix.borda_winners == ("A",)
    assert matrix.copeland_scores.tolist() == [5, 4, 3, 1.5, 1, 0.5]  # D and F tie exactly
    assert matrix.borda_scores[0] == pytest.approx(0.5 + (0.05 + 0.05 + 0.04 + 0.11 + 0.11) / 5)


@pytest.mark.parametrize("won", [0.75, 0.6, 0.7])  # the sums of .6 and .7 differ in their last bits
def test_a_circle_has_no_condorcet_winner_and_all_copeland_and_borda_winners(won):
    matrix = PreferenceMatrix(np.array([[0.5, won, 1 - won], [1 - won, 0.5, won], [won, 1 - won, 0.5]]))
    assert matrix.condorcet_winner is None
    assert matrix.copeland_winners == matrix.borda_winners == ("0", "1", "2")


@pytest.mark.parametrize(
    "p, sentence",
    [
        ([[0.5, 0.6]], "must be square, not of shape"),
        ([[0.5, 0.6], [0.6, 0.5]], r"p\['0', '1'\] \+ p\['1', '0'\] must be 1, not 1.2"),
        ([[0.5, np.nan], [0.5, 0.5]], r"p\['0', '1'\] must be between 0 and 1, not nan"),
        ([[0.4, 0.6], [0.4, 0.5]], r"p\['0', '0'\] \+ p\['0', '0'\] must be 1, not 0.8"),
    ],
)
def test_tables_that_are_no_preference_matrix_are_refused(p, sentence):
    with pytest.raises(InputError, match=sentence):
        PreferenceMatrix(np.array(p))


@pytest.mark.parametrize("error", [[[0, 0.1], [0.2, 0]], [[0, -0.1], [-0.1, 0]], [[0, np.nan], [np.nan, 0]]])
def test_errors_are_symmetric_and_not_negative(error):
    with pytest.raises(InputError, match="standard_error must be symmetric and must not be negative"):
        PreferenceMatrix(bradley_terry(2).p, (), np.array(error))


def test_the_digest_depends_on_values_and_names():
    p = bradley_terry(3).p
    assert PreferenceMatrix(p).digest == PreferenceMatrix(p.copy()).digest
    others = [PreferenceMatrix(p), PreferenceMatrix(p, ("a", "b", "c")), PreferenceMatrix(p[::-1, ::-1])]
    assert len({matrix.digest for matrix in others}) == 3


def test_a_subset_has_the_order_of_the_request():
    few = arxiv()[["D", 0]]
    assert few.names == ("D", "A") and few.p[1, 0] == 0.5 + 0.04
    for rankers, sentence in (([6], "between 0 and 5, not 6"), (["G"], "no ranker 'G'"), ("A", "a list of names")):
        with pytest.raises(InputError, match=sentence):
            arxiv()[rankers]


def test_a_notebook_shows_the_best_rankers_their_ties_and_the_probability_of_the_winner():
    page = PreferenceMatrix(bradley_terry(20).p, ("<b>", *map(str, range(19))))._repr_html_()
    assert "Condorcet winner: &lt;b&gt;; the first 12 in Copeland order" in page and "<b>" not in page
    assert "no Condorcet winner" in ROCK_PAPER_SCISSORS._repr_html_()
    error, about = 0.01 * (1 - np.eye(2)), {"ties": "fixed_random", "tie_seed": 4}
    matrix = PreferenceMatrix([[0.5, 0.51], [0.49, 0.5]], ("new", "old"), error, provenance=about)
    shown = matrix._repr_html_()  # Phi(1) = .841
    assert "(P = 0.841, tied documents by fixed_random, tie seed 4)" in shown and "<td>0.490</td>" in shown


def test_counts_of_judgements_become_a_matrix_in_which_a_tie_is_half_a_win():
    matrix = PreferenceMatrix.from_counts([[0, 6, 0], [2, 0, 0], [0, 3, 0]], [[0, 2, 0], [2, 0, 0], [0] * 3], "abc")
    assert matrix.p[0].tolist() == [0.5, (6 + 2 / 2) / 10, 0.5] and matrix.p[2, 1] == 1
    assert matrix.comparisons.tolist() == [[0, 10, 0], [10, 0, 3], [0, 3, 0]]
    variance = (6 + 2 - 10 * 0.4**2) / 9  # of eight outcomes 1 or -1 and two ties, with mean (6 - 2) / 10
    assert matrix.standard_error[0, 1] == pytest.approx(np.sqrt(variance / 10) / 2)
    assert np.isinf(matrix.standard_error[0, 2])
    turned = matrix[["b", "a"]]
    assert turned.wins.tolist() == [[0, 2], [6, 0]] and turned.ties[0, 1] == 2


@pytest.mark.parametrize(
    ("wins", "ties", "sentence"),
    [
        ([[0, 1.5], [1, 0]], None, "whole numbers from 0"),
        ([[0, 1], [1, 0]], [0, 0], "of the same size"),
        ([[0, 1], [1, 0]], [[0, 1], [0, 0]], "ties must be symmetric"),
    ],
)
def test_counts_that_do_not_fit_are_refused(wins, ties, sentence):
    with pytest.raises(InputError, match=sentence):
        PreferenceMatrix.from_counts(wins, ties)
