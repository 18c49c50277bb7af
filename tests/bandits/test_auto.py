"""`auto` handles many equal arms, circles, and problems without a Condorcet winner."""

from __future__ import annotations

import numpy as np
import pytest

from ltr_duel.bandits import POLICIES, Run
from ltr_duel.core import stream
from ltr_duel.data import make_corpus
from ltr_duel.preferences import PreferenceMatrix, estimate_preferences
from ltr_duel.rankers import feature_rankers
from ltr_duel.simulation import FromMatrix, SimulatedUsers, simulate


def one_good_arm(size, gap):
    p = np.full((size, size), 0.5)
    p[0, 1:], p[1:, 0] = 0.5 + gap, 0.5 - gap
    return PreferenceMatrix(p)


def named(matrix, horizon, runs=8):
    results = simulate(matrix, "auto", horizon=horizon, repetitions=runs, seed=3, jobs=1, checkpoints_per_decade=1)
    return [int(run.recommended[-1]) for run in results.runs]


def test_an_arm_that_began_badly_comes_back_among_many_equal_ones():
    assert named(one_good_arm(60, 0.2), 100_000) == [0] * 8


def test_a_favourite_that_one_arm_beats_is_not_the_winner():
    p = np.full((10, 10), 0.5)
    for i in range(10):
        p[i, i + 1 :] = 0.9 if i == 1 else 0.6
    p[0, 1:] = 0.57
    p = np.triu(p, 1)
    assert named(PreferenceMatrix(p + np.tril(1 - p.T, -1) + np.eye(10) / 2), 30_000) == [0] * 8


def test_without_a_winner_the_answer_beats_the_most():
    """Arm 0 beats 1, 2 and 3 and loses to 4; every other arm beats at most two arms."""
    wins = [(0, 1), (0, 2), (0, 3), (4, 0), (1, 2), (1, 4), (2, 3), (2, 4), (3, 1), (3, 4)]
    p = np.full((5, 5), 0.5)
    for i, j in wins:
        p[i, j], p[j, i] = 0.7, 0.3
    matrix = PreferenceMatrix(p)
    assert matrix.condorcet_winner is None and matrix.copeland_winners == ("0",)
    assert named(matrix, 30_000).count(0) >= 7


def test_users_are_asked_about_sets_and_a_matrix_about_pairs():
    rankings = feature_rankers(make_corpus(queries=10, documents=8, features=6))
    matrix = estimate_preferences(rankings, comparisons=100)
    for source, places in (
        (SimulatedUsers(rankings), 5),
        (FromMatrix(matrix), 2),
        (SimulatedUsers(rankings[[0, 1]]), 2),
    ):
        measured = matrix[list(source.names)]
        (run,) = simulate(source, "auto", horizon=50, repetitions=1, jobs=1, preferences=measured).runs
        assert run.label == "auto" and run.pulls[-1].sum() == 50 * places


@pytest.mark.parametrize("size", [1, 2])
def test_few_arms_are_no_special_case(size):
    run = Run.on_matrix(POLICIES["auto"], one_good_arm(size, 0.3).p, seed=int(stream(0, "few").integers(100)))
    run.advance(2000)
    assert run.recommend() == 0
