"""Bradley-Terry ratings: equal to a generalised linear model, with intervals that cover."""

from __future__ import annotations

import numpy as np
import pytest

from ltr_duel.core.errors import InputError
from ltr_duel.preferences import PreferenceMatrix, arxiv, synthetic_preferences
from ltr_duel.preferences.ratings import ratings
from ltr_duel.preferences.tally import SCALE, Tally, errors_of, preferences_of
from tests.conftest import ROCK_PAPER_SCISSORS


def counted(wins):
    """Return the matrix of ``wins[i, j]`` wins of i over j, without ties."""
    upper, whole = np.triu_indices(len(wins), 1), int(SCALE)
    lists, total = np.zeros((2, *wins.shape), np.int64)
    lists[upper], total[upper] = (wins + wins.T)[upper], (wins - wins.T)[upper] * whole
    tally = Tally(lists, total, lists * whole, np.zeros_like(lists))
    p, error = preferences_of(tally), errors_of(tally, 1, 0)
    return PreferenceMatrix(p, (), error, lists + lists.T, tally=tally)


def strengths(table, matrix):
    return table.set_index("ranker").loc[list(matrix.names)]


@pytest.mark.parametrize(
    "matrix",
    [
        arxiv(),
        synthetic_preferences("arithmetic"),
        counted(np.array([[0, 30, 45, 20], [20, 0, 33, 9], [5, 17, 0, 31], [10, 11, 19, 0]])),
    ],
    ids=["arxiv", "arithmetic", "counts"],
)
def test_strengths_and_errors_are_those_of_a_generalised_linear_model(matrix):
    models = pytest.importorskip("statsmodels.api")
    counts = matrix.comparisons if matrix.comparisons.any() else 1 - np.eye(len(matrix))
    i, j = np.triu_indices(len(matrix), 1)
    design = np.zeros((len(i), len(matrix)))
    design[np.arange(len(i)), i], design[np.arange(len(i)), j] = 1, -1
    wins = np.stack([counts[i, j] * matrix.p[i, j], counts[i, j] * matrix.p[j, i]], axis=1)
    fit = models.GLM(wins, design[:, 1:], family=models.families.Binomial()).fit(tol=1e-14, maxiter=200)
    centre = np.eye(len(matrix)) - 1 / len(matrix)
    expected, found = centre @ np.r_[0, fit.params], strengths(ratings(matrix), matrix)
    assert np.abs(found["strength"] - expected).max() < 1e-6
    if matrix.comparisons.any():
        covariance = np.zeros((len(matrix), len(matrix)))
        covariance[1:, 1:] = fit.cov_params()
        assert found["standard_error"].to_numpy() == pytest.approx(np.sqrt(np.diag(centre @ covariance @ centre)))
    else:
        assert found[["standard_error", "low", "high"]].isna().all(axis=None)


def coverage(repetitions):
    truth = np.linspace(-1, 1, 6)
    p, rng, covered = 1 / (1 + np.exp(truth - truth[:, None])), np.random.default_rng(4), []
    for _ in range(repetitions):
        wins = np.triu(rng.binomial(50, p), 1)
        matrix = counted(wins + np.tril(50 - wins.T, -1))
        found = strengths(matrix.ratings(), matrix)
        covered.append((found["low"] <= truth) & (truth <= found["high"]))
    return np.mean(covered)


@pytest.mark.parametrize("n", [1000, 100_000, 10_000_000])
def test_a_pair_with_many_wins_does_not_disturb_the_errors_of_the_others(n):
    """Rankers 1 and 2 meet ten times, and lose to ranker 0 nearly always: ranker 0 lost once in all."""
    table = ratings(counted(np.array([[0, n, n], [0, 0, 6], [1, 4, 0]]))).set_index("ranker")
    assert table["standard_error"].to_numpy() == pytest.approx([0.667, 0.444, 0.457], abs=0.002)


def test_intervals_cover_at_their_nominal_rate():
    assert coverage(60) == pytest.approx(0.95, abs=0.035)  # 360 correlated intervals


@pytest.mark.long
def test_intervals_of_four_thousand_matrices_cover_at_their_nominal_rate():
    assert coverage(4000) == pytest.approx(0.95, abs=0.01)


def test_a_ranker_that_never_loses_has_no_finite_strength():
    matrix = PreferenceMatrix([[0.5, 1, 1], [0, 0.5, 0.6], [0, 0.4, 0.5]], ("a", "b", "c"))
    with pytest.raises(InputError, match="no finite strengths fit: a never lost to the other rankers; leave them out"):
        matrix.ratings()
    apart = np.where(np.eye(2, dtype=bool), 0, np.inf)
    with pytest.raises(InputError, match="x were never compared with the other rankers"):
        PreferenceMatrix(np.full((2, 2), 0.5), ("x", "y"), apart).ratings()


def test_a_circle_has_equal_strengths():
    assert np.allclose(ROCK_PAPER_SCISSORS.ratings()["strength"], 0)
