"""Adaptive numbers of comparisons: a target for the error, and the search for the Condorcet winner."""

from __future__ import annotations

import numpy as np
import pytest

from ltr_duel.clicks.model import click_model
from ltr_duel.preferences.estimate.api import estimate_preferences
from ltr_duel.preferences.estimate.goals import beaten_for_certain
from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.rankers.rankings import Rankings, inverse
from tests.conftest import make_rankings, random_rankings
from tests.reference.preferences import exact_preferences, winner_of


def test_a_target_error_is_reached_and_hardly_overdone():
    matrix = estimate_preferences(random_rankings(4, 10, 15), comparisons=500, target_error=0.004)
    error = matrix.standard_error[np.triu_indices(4, 1)]
    assert error.max() <= 0.004 and error.min() > 0.002
    assert matrix.provenance["target_error"] == 0.004
    stopped = estimate_preferences(random_rankings(2, 10, 15), comparisons=500, target_error=0.001, at_most=9000)
    assert stopped.comparisons[0, 1] == 9000


def test_the_winner_is_found_and_only_its_row_is_dear():
    rankings = random_rankings(6, 8, 20)
    matrix = estimate_preferences(rankings, comparisons=100, until_winner=0.99)
    search = matrix.provenance["search"]
    assert search["known"] and search["winner"] == matrix.condorcet_winner == "ranker 3"
    others = [k for k in range(6) if k != 3]
    assert matrix.comparisons[3].max() > 100 and matrix.comparisons[np.ix_(others, others)].max() <= 4000
    assert estimate_preferences(rankings, comparisons=100, until_winner=0.99, jobs=1).digest == matrix.digest


def test_twins_are_never_told_apart_and_that_is_said():
    rankings = make_rankings([(0, 1, 2, 3), (0, 1, 2, 3), (3, 2, 1, 0)], 3, [2, 1, 0, 0])
    search = estimate_preferences(rankings, comparisons=500, until_winner=0.95, at_most=16_000).provenance["search"]
    assert search["winner"] is None and not search["known"]
    assert search["candidates"] == ["ranker 0", "ranker 1"]


def test_a_circle_is_known_to_have_no_winner():
    # Three queries with one relevant document each; a ranker has it at these places of their lists:
    places = [(0, 1, 2), (2, 0, 1), (1, 2, 0)]  # a beats b, b beats c and c beats a, on two queries of three each
    rows = [[d for place in mine for d in [*[1, 2][:place], 0, *[1, 2][place:]]] for mine in places]
    ptr, order = np.array([0, 3, 6, 9]), np.array(rows, np.int16)
    rank = np.stack([inverse(row, ptr) for row in order])
    relevance = np.array([2, 0, 0] * 3, np.int16)
    rankings = Rankings(("a", "b", "c"), order, rank, relevance, ptr, 3, {"corpus": "circle"})
    truth = exact_preferences(rankings, click_model("perfect", 3), 3, 3.0, "marginal_sign")
    assert winner_of(truth) is None
    matrix = estimate_preferences(
        rankings, clicks="perfect", outcome="marginal_sign", top=3, comparisons=500, until_winner=0.99
    )
    assert matrix.provenance["search"]["known"] and matrix.provenance["search"]["winner"] is None
    assert matrix.condorcet_winner is None


@pytest.mark.long
def test_the_answer_is_wrong_no_more_often_than_allowed():
    rankings = random_rankings(4, 3, 4, grades=3, seed=5)
    truth = exact_preferences(rankings, click_model("navigational", 3), 3, 3.0, "marginal_sign")
    winner = winner_of(truth)
    wrong = 0
    for seed in range(300):
        matrix = estimate_preferences(
            rankings,
            outcome="marginal_sign",
            top=3,
            comparisons=100,
            until_winner=0.8,
            at_most=200_000,
            seed=seed,
            jobs=1,
        )
        search = matrix.provenance["search"]
        expected = None if winner is None else rankings.names[winner]
        wrong += search["known"] and search["winner"] != expected
    assert wrong <= 300 * 0.2 + 3 * np.sqrt(300 * 0.2 * 0.8)


def test_certainty_is_one_sided():
    p, error = np.array([[0.5, 0.6], [0.4, 0.5]]), np.array([[0, 0.03], [0.03, 0]])
    matrix = PreferenceMatrix(p, (), error, np.array([[0, 270], [270, 0]]))
    assert beaten_for_certain(matrix, 0.001)[0, 1] and not beaten_for_certain(matrix, 0.0001)[0, 1]  # z = 3.3
    assert not beaten_for_certain(matrix, 0.001)[1, 0]
