"""Bradley-Terry ratings: equal to a generalised linear model, with intervals that cover."""

from __future__ import annotations

import numpy as np
import pytest

from ltr_duel.core import InputError
from ltr_duel.preferences import PreferenceMatrix, arxiv
from tests.conftest import ROCK_PAPER_SCISSORS

COUNTED = PreferenceMatrix.from_counts([[0, 30, 45, 20], [20, 0, 33, 9], [5, 17, 0, 31], [10, 11, 19, 0]])


def ratings(matrix):
    return matrix.ratings().set_index("ranker").loc[list(matrix.names)]


@pytest.mark.parametrize("matrix", [arxiv(), COUNTED], ids=["exact", "counts"])
def test_strengths_and_errors_are_those_of_a_generalised_linear_model(matrix):
    models = pytest.importorskip("statsmodels.api")
    size, estimated = len(matrix), matrix.comparisons.any()
    counts = matrix.comparisons if estimated else 1 - np.eye(size)
    i, j = np.triu_indices(size, 1)
    design = np.zeros((len(i), size))
    design[np.arange(len(i)), i], design[np.arange(len(i)), j] = 1, -1
    wins = np.stack([counts[i, j] * matrix.p[i, j], counts[i, j] * matrix.p[j, i]], axis=1)
    fit = models.GLM(wins, design[:, 1:], family=models.families.Binomial()).fit(tol=1e-14, maxiter=200)
    centre, table = np.eye(size) - 1 / size, ratings(matrix)
    assert np.abs(table["strength"] - centre @ np.r_[0, fit.params]).max() < 1e-6
    covariance = np.zeros((size, size))
    covariance[1:, 1:] = fit.cov_params()
    expected = np.sqrt(np.diag(centre @ covariance @ centre)) if estimated else [np.nan] * size
    assert table["standard_error"].to_numpy() == pytest.approx(expected, nan_ok=True)


def coverage(repetitions):
    truth = np.linspace(-1, 1, 6)
    p, rng, covered = 1 / (1 + np.exp(truth - truth[:, None])), np.random.default_rng(4), []
    for _ in range(repetitions):
        wins = np.triu(rng.binomial(50, p), 1)
        table = ratings(PreferenceMatrix.from_counts(wins + np.tril(50 - wins.T, -1)))
        covered.append((table["low"] <= truth) & (truth <= table["high"]))
    return np.mean(covered)


@pytest.mark.parametrize("matrices, error", [(20, 0.06), pytest.param(4000, 0.01, marks=pytest.mark.long)])
def test_intervals_cover_at_their_nominal_rate(matrices, error):
    assert coverage(matrices) == pytest.approx(0.95, abs=error)  # six correlated intervals of each


@pytest.mark.parametrize("n", [1000, 10_000_000])
def test_a_pair_with_many_wins_does_not_disturb_the_errors_of_the_others(n):
    """Rankers 1 and 2 meet ten times, and lose to ranker 0 nearly always: ranker 0 lost once in all."""
    table = ratings(PreferenceMatrix.from_counts([[0, n, n], [0, 0, 6], [1, 4, 0]]))
    assert table["standard_error"].to_numpy() == pytest.approx([0.667, 0.444, 0.457], abs=0.002)


def test_a_ranker_that_never_loses_has_no_finite_strength():
    matrix = PreferenceMatrix([[0.5, 1, 1], [0, 0.5, 0.6], [0, 0.4, 0.5]], ("a", "b", "c"))
    with pytest.raises(InputError, match="no finite strengths fit: a never lost to the other rankers; leave them out"):
        matrix.ratings()
    with pytest.raises(InputError, match="x were never compared with the other rankers"):
        PreferenceMatrix.from_counts([[0, 0], [0, 0]], names=("x", "y")).ratings()


def test_a_circle_has_equal_strengths():
    assert np.allclose(ROCK_PAPER_SCISSORS.ratings()["strength"], 0)
