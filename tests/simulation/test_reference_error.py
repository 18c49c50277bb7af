"""The effect of an estimated matrix's error on regret."""

from __future__ import annotations

import numpy as np
import pytest

from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.simulation import Results, simulate
from tests.conftest import ROCK_PAPER_SCISSORS, bradley_terry

SIZE, ERROR = 5, 0.01
TRUTH, NOISE = bradley_terry(SIZE, span=3), ERROR * (1 - np.eye(SIZE))


@pytest.fixture(scope="module")
def runs():
    return simulate(TRUTH, "rucb", horizon=2000, repetitions=3, jobs=1).runs


def test_two_errors_of_the_matrix_hold_the_true_regret_in_95_percent(runs):
    rng, estimates = np.random.default_rng(1), []
    for _ in range(400):
        noise = np.triu(rng.standard_normal((SIZE, SIZE)) * ERROR, 1)
        results = Results(runs, PreferenceMatrix(TRUTH.p + noise - noise.T, TRUTH.names, NOISE))
        regret = np.mean([run.regret(results.matrix, "average")[-1] for run in runs])
        estimates.append((regret, results.reference_errors()[0]))
    regret, error = np.array(estimates).T
    truth = np.mean([run.regret(TRUTH, "average")[-1] for run in runs])
    assert regret.std() == pytest.approx(error.mean(), rel=0.12)  # 3 standard errors of a spread of 400
    assert (np.abs(regret - truth) < 1.96 * error).mean() == pytest.approx(0.95, abs=0.033)


def test_errors_of_pairs_that_share_lists_add_up(runs):
    estimate = PreferenceMatrix(TRUTH.p, TRUTH.names, NOISE, provenance={"size": 3})
    displayed = np.mean([run.exposure[-1] for run in runs], axis=0)
    assert Results(runs, estimate).reference_errors() == pytest.approx([ERROR * displayed[1:].sum()])  # 0 is best


def test_an_exact_matrix_has_no_error_and_without_a_winner_there_is_no_average_regret(runs):
    assert Results(runs, TRUTH).reference_errors() == [0]
    results = simulate(ROCK_PAPER_SCISSORS, "rucb", horizon=100, repetitions=1, jobs=1)
    assert results.reference_errors() == [0]
    estimate = PreferenceMatrix(ROCK_PAPER_SCISSORS.p, (), ERROR * (1 - np.eye(3)))
    assert np.isnan(Results(results.runs, estimate).reference_errors()).all()
    assert results.summary()["mean"].notna().all()  # means of Copeland regret
