"""The row of an arm gives no policy an advantage: the arms have other numbers in each repetition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ltr_duel.bandits import POLICIES, MatrixOracle, Run, new_recorder, random_order
from ltr_duel.core import stream
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.simulation import FromMatrix, RunKey, checkpoints, run_once, run_order, run_streams, simulate
from tests.bandits.matrices import bradley_terry
from tests.conftest import coins

SIZE, HORIZON, RUNS = 8, 1000, 200
# Error probability of each comparison of two distributions: of about 1,700, one fails by chance in 600 test runs.
RARE = 1e-6


def _without_winner():
    """Return a matrix whose first arm beats most others and loses to the fourth arm."""
    p = bradley_terry(SIZE)
    p[0, 3], p[3, 0] = 0.35, 0.65
    return p


def _equal_gaps():
    """Return a matrix with a winner that beats all others equally; all other pairs are even."""
    p = np.full((SIZE, SIZE), 0.5)
    p[0, 1:], p[1:, 0] = 0.7, 0.3
    return p


MATRICES = {"equal gaps": _equal_gaps(), "utilities": bradley_terry(SIZE), "no winner": _without_winner()}


def observed(policy, p, winner, seed, runs):
    """Return for each run whether and when the arm is named, and its pulls and Borda regret at some steps."""
    results = simulate(coins(PreferenceMatrix(p)), policy, horizon=HORIZON, repetitions=runs, seed=seed, jobs=2)
    times = results.runs[0].checkpoints
    named = np.array([run.recommended == winner for run in results.runs])
    since = len(times) - np.cumprod(named[:, ::-1], axis=1).sum(axis=1)  # the checkpoint from which on it is named
    some = np.unique(np.searchsorted(times, [1, 3, 10, 30, 100, 300, HORIZON]))
    pulls = np.array([run.pulls[some, winner] for run in results.runs])
    loss = p.mean(axis=1).max() - p.mean(axis=1)
    regret = np.array([run.exposure[some] @ loss for run in results.runs])
    return named[:, some], np.column_stack([since, pulls, regret])


def least_p(policy, kind, runs=RUNS):
    """Compare the distributions with the arm in the first and in the last row; return the smallest p."""
    p = MATRICES[kind]
    named, values = observed(policy, p, 0, 1, runs)
    named_last, values_last = observed(policy, np.ascontiguousarray(p[::-1, ::-1]), SIZE - 1, 2, runs)
    accuracy = [
        stats.fisher_exact([[a, runs - a], [b, runs - b]]).pvalue
        for a, b in zip(named.sum(axis=0).tolist(), named_last.sum(axis=0).tolist(), strict=True)
    ]
    others = [stats.ks_2samp(a, b, method="asymp").pvalue for a, b in zip(values.T, values_last.T, strict=True)]
    return min(accuracy + others)


@pytest.mark.parametrize("kind", ["equal gaps", "no winner"])
@pytest.mark.parametrize("policy", ["rucb", "beat_the_mean", "multi_self_sparring"])
def test_the_row_of_an_arm_changes_no_law(policy, kind):
    assert least_p(policy, kind) > RARE


@pytest.mark.long
@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("policy", POLICIES.names())
def test_the_row_of_an_arm_changes_no_law_for_any_policy(policy, kind):
    assert least_p(policy, kind, 400) > RARE


def test_all_policies_of_a_repetition_have_the_same_numbers_and_other_repetitions_others():
    orders = [run_order(RunKey({}, "", {}, 1, repetition, 8), 6).tolist() for repetition in range(4)]
    assert len(set(map(tuple, orders))) == 4 and all(sorted(order) == list(range(6)) for order in orders)
    keys = [RunKey({}, policy, {}, horizon, 2, 8) for policy in ("rucb", "mdb") for horizon in (5, 500)]
    assert all(run_order(key, 6).tolist() == orders[2] for key in keys)


@pytest.mark.parametrize("policy", ["sparring", "mdb"])
def test_a_run_is_that_of_the_permuted_matrix_put_back(policy):
    p, given, times = bradley_terry(5), POLICIES.configure(policy), checkpoints(300)
    key = RunKey({}, policy, given.params._asdict(), 300, 1, 6)
    order, ranks = run_order(key, 5), np.array([4, 2, 0, 1, 3])
    assert order.tolist() != list(range(5))
    permuted = np.array([[p[i, j] for j in order] for i in order])
    counts = new_recorder(5, times, np.array([ranks[arm] for arm in order]))
    Run(given.component, given.params, 5, MatrixOracle(permuted), run_streams(key), counts).advance(300)
    result = run_once(given, key, FromMatrix(PreferenceMatrix(p)), times, ranks)
    for name in ("pulls", "exposure", "best", "worst"):
        for label, arm in enumerate(order):
            assert (getattr(result, name)[:, arm] == getattr(counts, name)[:, label]).all()
    assert result.recommended.tolist() == [order[label] for label in counts.recommended]


def test_every_permutation_of_arm_labels_is_equally_likely():
    rng = stream(0, "orders")
    orders = [tuple(random_order(3, rng).tolist()) for _ in range(6000)]
    _, counts = np.unique(orders, axis=0, return_counts=True)
    assert len(counts) == 6 and stats.chisquare(counts).pvalue > 1e-3
