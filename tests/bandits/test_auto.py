"""`auto` handles many equal arms and problems without a Condorcet winner; `auto_sets` counts copies of an arm."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from ltr_duel.bandits import POLICIES, Run
from ltr_duel.bandits.compiling import plain_text
from ltr_duel.bandits.policies.auto import best_challenger
from ltr_duel.core import stream
from ltr_duel.data import make_corpus
from ltr_duel.preferences import PreferenceMatrix, estimate_preferences
from ltr_duel.rankers import feature_rankers
from ltr_duel.simulation import FromMatrix, SimulatedUsers, simulate
from tests.bandits.matrices import bradley_terry


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


def test_in_a_tenth_of_the_steps_the_challenger_is_the_arm_with_the_fewest_duels():
    certain = {"pooled": np.ones(3), "prefer": np.ones((3, 3)), "worst": np.ones(3)}
    state, rng = SimpleNamespace(rate=np.array([0.9, 0.8, 0.2]), met=np.array([50, 40, 1]), **certain), stream(1, "met")
    drawn = np.bincount([plain_text(best_challenger)(state, 0, rng) for _ in range(1000)], minlength=3)
    assert drawn[0] == 0 and stats.binomtest(int(drawn[2]), 1000, 0.1).pvalue > 1e-4


def test_without_a_winner_the_answer_beats_the_most():
    """Arm 0 beats 1, 2 and 3 and loses to 4; every other arm beats at most two arms."""
    p = np.full((5, 5), 0.5)
    for i, j in [(0, 1), (0, 2), (0, 3), (4, 0), (1, 2), (1, 4), (2, 3), (2, 4), (3, 1), (3, 4)]:
        p[i, j], p[j, i] = 0.7, 0.3
    assert named(PreferenceMatrix(p), 30_000).count(0) >= 7


def test_users_are_asked_about_sets_and_a_matrix_about_pairs():
    rankings = feature_rankers(make_corpus(queries=10, documents=8, features=6))
    matrix = estimate_preferences(rankings, comparisons=100)
    for source, places in ((SimulatedUsers(rankings), 5), (FromMatrix(matrix), 2)):
        (run,) = simulate(source, "auto", horizon=50, repetitions=1, jobs=1, preferences=matrix).runs
        assert run.label == "auto" and run.pulls[-1].sum() == 50 * places


@pytest.mark.parametrize("size", [1, 2])
def test_auto_runs_with_few_arms(size):
    run = Run.on_matrix(POLICIES["auto"], one_good_arm(size, 0.3).p, seed=1)
    run.advance(2000)
    assert run.recommend() == 0


def above_half(won, lost):
    return stats.beta.sf(0.5, won + 1.0, lost + 1.0)


def test_the_stored_probabilities_are_those_of_the_counts():
    run = Run.on_matrix(POLICIES["auto"], bradley_terry(5), seed=2)
    run.advance(3000)
    state, wins, others = run.state, run.state.wins, ~np.eye(5, dtype=bool)
    prefer, met, won = above_half(wins, wins.T), (wins + wins.T).sum(axis=1), wins.sum(axis=1)
    np.testing.assert_allclose(state.prefer[others], prefer[others], atol=1e-12)
    np.testing.assert_allclose(state.pooled, above_half(won, met - won), atol=1e-12)
    worst = np.where(others, prefer, 1.0).min(axis=1)
    chance = np.minimum(np.minimum(state.pooled, 8 * worst), 0.95) * (1 + 0.001 * (won + 1) / (met + 2))
    np.testing.assert_allclose(state.evidence, 1 - chance, atol=1e-9)


def test_auto_sets_counts_agreeing_copies_at_most_three_times_and_an_arm_against_itself_both_ways():
    """Arms 0 and 1 twice, arm 2 once. Arm 0 wins its four pairs with arm 1, its copies disagree about arm 2."""
    _, policy, params = POLICIES.configure("auto_sets")
    state, won, slate = policy.init(5, 0, params), np.zeros((5, 5), np.int8), np.array([0, 1, 0, 1, 2])
    won[0, 1], won[0, 3], won[1, 2], won[2, 3] = 1, 1, -1, 1
    won[0, 4], won[2, 4], won[1, 4], won[3, 4] = 1, -1, -1, -1
    policy.update(state, params, 1, slate, 5, won, stream(0))
    assert state.bandits.good[0].tolist() == [3 + 1, 1, 2, 0, 0]
    assert state.bandits.bad[0].tolist() == [1, 3 + 2 + 1, 0, 0, 0]
