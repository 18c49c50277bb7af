"""The row of an arm gives no policy an advantage: the arms have other numbers in each repetition."""

from __future__ import annotations

import hashlib
import json
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats

from ltr_duel.bandits.loop import Run
from ltr_duel.bandits.oracle import MatrixOracle, duel, multiduel, random_order, relabelled
from ltr_duel.bandits.policy import POLICIES
from ltr_duel.bandits.recorder import new_recorder
from ltr_duel.core import as_writable, implement, stream
from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.simulation.oracle import FromMatrix, OracleSource
from ltr_duel.simulation.run import checkpoints, simulate
from ltr_duel.simulation.run_result import AS_GIVEN, RunKey
from ltr_duel.simulation.single_run import run_once, run_order, run_streams
from tests.bandits.matrices import bradley_terry
from tests.bandits.test_check import broken
from tests.conftest import coins

SIZE, HORIZON, RUNS = 8, 1000, 200
# Error probability of each comparison of two distributions: of about 1,700, one fails by chance in 600 test runs.
RARE = 1e-6


def _cyclic():
    """Return a matrix whose first arm beats most others and loses to the fourth arm."""
    p = bradley_terry(SIZE)
    p[0, 3], p[3, 0] = 0.35, 0.65
    return p


def _equal_gaps():
    """Return a matrix with a winner that beats all others equally; all other pairs are even."""
    p = np.full((SIZE, SIZE), 0.5)
    p[0, 1:], p[1:, 0] = 0.7, 0.3
    return p


MATRICES = {"equal gaps": _equal_gaps(), "utilities": bradley_terry(SIZE), "no winner": _cyclic()}


def seen(policy, p, winner, seed, runs):
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
    p = np.ascontiguousarray(MATRICES[kind])
    named, values = seen(policy, p, 0, 1, runs)
    named_last, values_last = seen(policy, np.ascontiguousarray(p[::-1, ::-1]), SIZE - 1, 2, runs)
    accuracy = [
        stats.fisher_exact([[a, runs - a], [b, runs - b]]).pvalue
        for a, b in zip(named.sum(axis=0).tolist(), named_last.sum(axis=0).tolist(), strict=True)
    ]
    others = [stats.ks_2samp(a, b, method="asymp").pvalue for a, b in zip(values.T, values_last.T, strict=True)]
    return min(accuracy + others)


@pytest.mark.parametrize("kind", ["equal gaps", "no winner"])
@pytest.mark.parametrize("policy", ["rucb", "rmed1", "sparring", "beat_the_mean", "multi_self_sparring"])
def test_the_row_of_an_arm_changes_no_law(policy, kind):
    assert least_p(policy, kind) > RARE


@pytest.mark.long
@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("policy", POLICIES.names())
def test_the_row_of_an_arm_changes_no_law_for_any_policy(policy, kind):
    assert least_p(policy, kind, 400) > RARE


class Asked(NamedTuple):
    """An oracle that records the compared arms; the arm with the smaller number wins."""

    log: Any


def _duel(oracle, first, second, streams):
    oracle.log.append((int(first), int(second)))
    return 1 if first < second else -1


def _multiduel(oracle, slate, size, won, streams):
    oracle.log.append(tuple(slate[:size].tolist()))
    for a in range(size):
        for b in range(a + 1, size):
            won[a, b] = 1 if slate[a] < slate[b] else -1


implement(duel, Asked, _duel)
implement(multiduel, Asked, _multiduel)


class Writing(OracleSource):
    """A source of such oracles, as written outside the package."""

    names = tuple("abcdef")
    provenance: dict = {"oracle": "written down"}  # noqa: RUF012 -- as short as a user would have it
    compiled = False

    def __init__(self):
        self.logs = []

    def open(self):
        self.logs.append([])
        return Asked(self.logs[-1])


def neighbours(state, params, t, rng):
    """Each of six arms against the next."""
    return t % 6, (t + 1) % 6


def test_the_numbers_of_a_repetition_are_those_of_all_policies_and_of_no_other_repetition():
    source = Writing()
    even, policy = PreferenceMatrix(np.full((6, 6), 0.5), source.names), broken(select=neighbours, deterministic=True)
    simulate(source, policy, horizon=6, repetitions=4, jobs=1, preferences=even, seed=8)
    asked = source.logs[-4:]
    orders = [run_order(RunKey({}, "", {}, 1, r, 8), 6) for r in range(4)]
    assert len({tuple(order.tolist()) for order in orders}) == 4
    for r, order in enumerate(orders):
        assert sorted(order.tolist()) == list(range(6))
        assert asked[r] == [(order[t % 6], order[(t + 1) % 6]) for t in range(1, 7)]
    keys = [RunKey({}, policy, {}, horizon, 2, 8) for policy in ("rucb", "mdb") for horizon in (5, 500)]
    assert len({tuple(run_order(key, 6).tolist()) for key in keys}) == 1


@pytest.mark.parametrize("policy", ["rucb", "mdb"])
def test_a_run_is_reported_in_the_order_of_the_names(policy):
    p = np.full((5, 5), 0.5)
    p[3, :], p[:, 3], p[3, 3] = 1.0, 0.0, 0.5
    results = simulate(coins(PreferenceMatrix(p)), policy, horizon=2000, repetitions=5)
    for run in results.runs:
        assert run.recommended[-1] == 3 == run.pulls[-1].argmax() == run.exposure[-1].argmax() == run.best[-1].argmax()
        assert run.regret(results.matrix, "weak")[-1] < 100


@pytest.mark.parametrize("policy", ["sparring", "mdb"])
def test_a_run_is_that_of_the_permuted_matrix_put_back(policy):
    p, given, times = bradley_terry(5), POLICIES.configure(policy), checkpoints(300)
    key = RunKey({}, policy, given.params._asdict(), 300, 1, 6)
    order, place = run_order(key, 5), np.array([4, 2, 0, 1, 3])
    assert order.tolist() != list(range(5))
    permuted = np.array([[p[i, j] for j in order] for i in order])
    counts = new_recorder(5, times, np.array([place[arm] for arm in order]))
    expected = Run(given.component, given.params, 5, MatrixOracle(permuted), run_streams(key), counts)
    expected.advance(300)
    found = run_once(given, key, FromMatrix(PreferenceMatrix(p)), times, place)
    for name in ("pulls", "exposure", "best", "worst"):
        for label, arm in enumerate(order):
            assert (getattr(found, name)[:, arm] == getattr(counts, name)[:, label]).all()
    assert found.recommended.tolist() == [order[label] for label in counts.recommended]


@pytest.mark.parametrize("policy", ["rucb", "multi_self_sparring"])
def test_an_oracle_of_any_kind_is_asked_for_the_arms_that_are_meant(policy):
    given, order, p = POLICIES.configure(policy), np.array([2, 0, 3, 1]), bradley_terry(4)
    paths = []
    for oracle in (relabelled(MatrixOracle(p), order), relabelled(Other(p), order)):
        coins = stream(4, "coins")
        streams = run_streams(RunKey({}, policy, {}, 1, 0, 3))._replace(feedback=coins)
        counts = new_recorder(4, path=(200, 2 if given.component.feedback == "duel" else 4))
        run = Run(given.component, given.params, 4, oracle, streams, counts, plain=True)
        run.advance(200)
        paths.append(run.path.tobytes())
    assert paths[0] == paths[1]


class Other(NamedTuple):
    """The coins of a matrix in an oracle from outside the package."""

    p: Any


def _duel_other(oracle, first, second, streams):
    return duel(MatrixOracle(oracle.p), first, second, streams)


def _multiduel_other(oracle, slate, size, won, streams):
    multiduel(MatrixOracle(oracle.p), slate, size, won, streams)


implement(duel, Other, _duel_other)
implement(multiduel, Other, _multiduel_other)


def test_every_order_is_as_likely_as_another():
    rng = stream(0, "orders")
    counts: dict[tuple[int, ...], int] = {}
    for _ in range(6000):
        order = tuple(random_order(3, rng).tolist())
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 6 and stats.chisquare(list(counts.values())).pvalue > 1e-3


def test_a_key_from_before_there_were_labels_names_the_run_that_it_named():
    fields = {"oracle": {"matrix": "ab"}, "policy": "rucb", "params": {"alpha": 0.51}, "horizon": 30, "repetition": 2}
    fields |= {"seed": 5, "checkpoints_per_decade": 20, "measured_by": "", "source": ""}
    old, new = RunKey(**fields, labels=AS_GIVEN), RunKey(**fields)
    assert old.digest == hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest() != new.digest
    p = bradley_terry(4)
    counts, times = new_recorder(4, checkpoints(30)), checkpoints(30)
    rucb = POLICIES.configure("rucb")
    Run(rucb.component, rucb.params, 4, MatrixOracle(as_writable(p)), run_streams(old), counts).advance(30)
    found = run_once(rucb, old, FromMatrix(PreferenceMatrix(p)), times)
    assert (found.pulls == counts.pulls).all() and (found.recommended == counts.recommended).all()
