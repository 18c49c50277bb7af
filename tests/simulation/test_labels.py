"""The row of an arm gives no policy an advantage: the arms have other numbers in each repetition."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats

from ltr_duel.bandits import POLICIES, MatrixOracle, Run, duel, multiduel, new_recorder, random_order
from ltr_duel.core import implement, stream
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.simulation import (
    FromMatrix,
    OracleSource,
    RunKey,
    checkpoints,
    run_once,
    run_order,
    run_streams,
    simulate,
)
from tests.bandits.matrices import bradley_terry
from tests.bandits.test_check import broken
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


class Logged(NamedTuple):
    """An oracle that records the compared pairs; the arm with the smaller number wins."""

    pairs: Any


def _duel(oracle, first, second, streams):
    oracle.pairs.append((int(first), int(second)))
    return 1 if first < second else -1


implement(duel, Logged, _duel)


class Logging(OracleSource):
    """A source of such oracles, as written outside the package."""

    names = tuple("abcdef")
    provenance: dict = {"oracle": "logged"}  # noqa: RUF012 -- as short as a user would have it
    compiled = False

    def __init__(self):
        self.logs = []

    def open(self):
        self.logs.append([])
        return Logged(self.logs[-1])


def neighbours(state, params, t, rng):
    """Each of six arms against the next."""
    return t % 6, (t + 1) % 6


def test_all_policies_of_a_repetition_have_the_same_numbers_and_other_repetitions_others():
    source = Logging()
    even, policy = PreferenceMatrix(np.full((6, 6), 0.5), source.names), broken(select=neighbours, deterministic=True)
    simulate(source, policy, horizon=6, repetitions=4, jobs=1, preferences=even, seed=8)
    orders = [run_order(RunKey({}, "", {}, 1, r, 8), 6) for r in range(4)]
    assert len({tuple(order.tolist()) for order in orders}) == 4
    for pairs, order in zip(source.logs[-4:], orders, strict=True):
        assert sorted(order.tolist()) == list(range(6))
        assert pairs == [(order[t % 6], order[(t + 1) % 6]) for t in range(1, 7)]
    keys = [RunKey({}, policy, {}, horizon, 2, 8) for policy in ("rucb", "mdb") for horizon in (5, 500)]
    assert len({tuple(run_order(key, 6).tolist()) for key in keys}) == 1


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


class Other(NamedTuple):
    """The coins of a matrix in an oracle from outside the package."""

    p: Any


def _duel_other(oracle, first, second, streams):
    return duel(MatrixOracle(oracle.p), first, second, streams)


def _multiduel_other(oracle, slate, size, won, streams):
    multiduel(MatrixOracle(oracle.p), slate, size, won, streams)


implement(duel, Other, _duel_other)
implement(multiduel, Other, _multiduel_other)


class FromOther(FromMatrix):
    """A source of such oracles."""

    compiled = False

    def open(self):
        return Other(self.matrix.p)


@pytest.mark.parametrize("policy", ["rucb", "multi_self_sparring"])
def test_an_oracle_from_outside_is_asked_for_the_same_arms(policy):
    matrix = PreferenceMatrix(bradley_terry(4))
    sources = (kind(matrix, sets="independent_coins") for kind in (FromMatrix, FromOther))
    own, other = (simulate(source, policy, horizon=200, repetitions=1, compiled=False).runs[0] for source in sources)
    assert own.pulls.tobytes() == other.pulls.tobytes()


def test_every_order_is_equally_likely():
    rng = stream(0, "orders")
    orders = [tuple(random_order(3, rng).tolist()) for _ in range(6000)]
    _, counts = np.unique(orders, axis=0, return_counts=True)
    assert len(counts) == 6 and stats.chisquare(counts).pvalue > 1e-3
