"""The effect of an estimated matrix's error on regret."""

from __future__ import annotations

import numpy as np
import pytest

from ltr_duel import simulate
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.simulation import Results
from tests.conftest import bradley_terry

SIZE, ERROR = 5, 0.01


def measured_by_estimates(draws):
    """Return regret and error of the same runs by many estimates of a matrix, and the regret by the matrix itself."""
    truth = bradley_terry(SIZE, span=3)
    runs = simulate(truth, "rucb", horizon=2000, repetitions=3, jobs=1).runs
    error = ERROR * ~np.eye(SIZE, dtype=bool)
    rng, found = np.random.default_rng(1), []
    for _ in range(draws):
        noise = np.triu(rng.standard_normal((SIZE, SIZE)) * ERROR, 1)
        results = Results(runs, PreferenceMatrix(truth.p + noise - noise.T, truth.names, error))
        found.append((results.final()["regret_average"][0], results.reference_errors()[0]))
    return np.array(found), Results(runs, truth).final()["regret_average"][0]


def test_two_errors_of_the_matrix_hold_the_true_regret_in_95_percent():
    found, truth = measured_by_estimates(400)
    assert found[:, 0].std() == pytest.approx(found[:, 1].mean(), rel=0.12)  # 3 standard errors of a spread of 400
    assert (np.abs(found[:, 0] - truth) < 1.96 * found[:, 1]).mean() == pytest.approx(0.95, abs=0.033)


def test_where_pairs_share_queries_the_error_is_that_of_errors_of_one_sign():
    truth = bradley_terry(SIZE, span=3)
    runs = simulate(truth, "rucb", horizon=2000, repetitions=3, jobs=1).runs
    error = ERROR * ~np.eye(SIZE, dtype=bool)
    estimate = PreferenceMatrix(truth.p, truth.names, error, provenance={"variance_reduction": ["stratified"]})
    winner = int(np.argmax(truth.p.mean(axis=1)))
    shown = np.mean([run.exposure[-1] for run in runs], axis=0)
    assert Results(runs, estimate).reference_errors() == pytest.approx([ERROR * (shown.sum() - shown[winner])])


def test_a_matrix_known_exactly_moves_nothing_and_without_a_winner_there_is_no_regret_to_move():
    circle = PreferenceMatrix(np.array([[0.5, 0.6, 0.4], [0.4, 0.5, 0.6], [0.6, 0.4, 0.5]]))
    results = simulate(circle, "rucb", horizon=100, repetitions=1, jobs=1)
    assert np.isnan(results.reference_errors()).all()
    assert results.summary()["mean"].notna().all()  # means of Copeland regret
    assert simulate(bradley_terry(3), "rucb", horizon=100, repetitions=1, jobs=1).reference_errors() == [0]
