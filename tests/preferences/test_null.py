"""The null distribution of transitive worlds with the noise of an estimate, against transitive and other worlds."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse.csgraph

from ltr_duel.core import InputError
from ltr_duel.preferences import PreferenceMatrix, arxiv, load_preferences, transitive_null, wins_beyond_noise
from ltr_duel.preferences.properties.null import redrawn, strongly_transitive_fit
from ltr_duel.preferences.properties.transitivity import cyclic_triples, strong_violations

SIZE = 12
APART = np.arange(SIZE)[None, :] - np.arange(SIZE)[:, None]  # how far the column's ranker is below
WORLDS = {  # strongly transitive, each in another way
    "logistic": 1 / (1 + np.exp(-0.08 * APART)),
    "equal gaps": 0.5 + 0.1 * np.sign(APART),
    "far apart or not at all": 0.5 + 0.4 * np.sign(APART) * (np.abs(APART) / (SIZE - 1)) ** 2,
    "near or far alike": 0.5 + 0.4 * np.sign(APART) * (np.abs(APART) / (SIZE - 1)) ** 0.5,
}


def coins(p, comparisons=4000):
    """Return the standard errors of a mean of coins."""
    error = np.triu(np.sqrt(p * (1 - p) / comparisons), 1)
    return error + error.T


def estimated(p, rng, comparisons=4000):
    return PreferenceMatrix(redrawn(p, coins(p, comparisons), rng), (), coins(p, comparisons))


def rejections(worlds, draws):
    """Return in how many estimates of transitive worlds each property is called intransitive at 5 %."""
    rng, count = np.random.default_rng(0), 0
    for number in range(draws):
        table = transitive_null(estimated(worlds[number % len(worlds)], rng), rng, worlds=39)
        count += (table.set_index("property")["p_value"] <= 0.05).astype(int)
    return count


@pytest.mark.parametrize("draws, most", [(12, 3), pytest.param(200, 17, marks=pytest.mark.long)])
def test_of_transitive_worlds_at_most_5_percent_are_called_intransitive(draws, most):
    """10 of 200 and 0.6 of 12 are allowed; more than ``most`` would come in one of 50 draws by chance."""
    count = rejections(list(WORLDS.values()), draws)
    assert len(count) == 9 and count.max() <= most, count


@pytest.mark.long
def test_of_transitive_worlds_with_the_noise_of_a_published_matrix_at_most_5_percent_are_called(real_data):
    p = load_preferences(real_data / "preference_matrices" / "wolfenfeld_PMat_64.npy").p
    fitted = strongly_transitive_fit(p, coins(p))
    wins = np.log(np.clip(p, 0.01, 0.99) / np.clip(1 - p, 0.01, 0.99)).mean(axis=1)
    count = rejections([fitted, 1 / (1 + np.exp(wins[None, :] - wins[:, None]))], 200)
    assert count.max() <= 17, count


def test_the_fit_is_the_closest_strongly_transitive_matrix():
    """Against a quadratic program, four rankers in a known order, all pairs known equally well."""
    truth = np.array([[0.5, 0.6, 0.7, 0.8], [0.4, 0.5, 0.6, 0.7], [0.3, 0.4, 0.5, 0.6], [0.2, 0.3, 0.4, 0.5]])
    p = redrawn(truth, np.full((4, 4), 0.15), np.random.default_rng(0))
    order = np.argsort(-p.sum(axis=1))
    upper = p[np.ix_(order, order)][np.triu_indices(4, 1)]  # 01 02 03 12 13 23
    rises = [(0, 1), (1, 2), (3, 4), (3, 1), (4, 2), (5, 4)]  # the second is at least the first
    solved = scipy.optimize.minimize(
        lambda x: ((x - upper) ** 2).sum(), np.full(6, 0.6), bounds=[(0.5, 1)] * 6, method="SLSQP",
        constraints=[{"type": "ineq", "fun": lambda x, low=low, high=high: x[high] - x[low]} for low, high in rises],
    )  # fmt: skip
    fitted = strongly_transitive_fit(p, np.full((4, 4), 0.1))[np.ix_(order, order)][np.triu_indices(4, 1)]
    assert fitted == pytest.approx(solved.x, abs=2e-3)


@pytest.mark.parametrize("p", WORLDS.values(), ids=WORLDS)
def test_a_fit_is_strongly_transitive_and_keeps_a_strongly_transitive_matrix(p):
    noisy = redrawn(p, coins(p, 400), np.random.default_rng(1))
    fitted = PreferenceMatrix(strongly_transitive_fit(noisy, coins(noisy, 400)))
    assert strong_violations(PreferenceMatrix(noisy))[0] > 0
    assert strong_violations(fitted)[0] == cyclic_triples(fitted) == 0
    assert strongly_transitive_fit(p, coins(p)) == pytest.approx(p, abs=1e-9)


def circle_beyond_noise(matrix):
    """Return the size of the largest set of rankers that beat each other in circles beyond noise."""
    _, label = scipy.sparse.csgraph.connected_components(wins_beyond_noise(matrix), connection="strong")
    return np.bincount(label).max()


def test_cycles_beyond_noise_are_found():
    """Three camps of four, each of which beats the next; in a camp there is an order: 4 x 4 x 4 cycles."""
    rng, camp = np.random.default_rng(2), APART % 3
    p = 0.5 + np.select([camp == 1, camp == 2, APART > 0, APART < 0], [0.1, -0.1, 0.1, -0.1], 0.0)
    world = estimated(p, rng, 1000)
    table = transitive_null(world, rng, worlds=99).set_index("property")
    assert table.loc[["strong_share", "cyclic_triples"], "p_value"].max() <= 0.05
    assert table.loc["cyclic_triples", "observed"] == 64
    assert circle_beyond_noise(world) == 12


def test_a_win_beyond_noise_has_the_error_of_all_pairs_together():
    """Two rankers: one pair, two directions, 2.5 % each, 1.96 errors."""
    for z, beyond in ((1.95, 0), (1.97, 1)):
        p = np.array([[0.5, 0.5 + 0.01 * z], [0.5 - 0.01 * z, 0.5]])
        assert wins_beyond_noise(PreferenceMatrix(p, (), np.array([[0, 0.01], [0.01, 0]])))[0, 1] == beyond


def test_the_range_of_noise_has_no_negative_share():
    """The worlds of a nearly even matrix have far more order than their refits, so that the correction is large."""
    world = estimated(np.full((6, 6), 0.5), np.random.default_rng(3))
    table = transitive_null(world, np.random.default_rng(0), worlds=39)
    assert (table["low"] >= 0).all()
    assert (table["low"] <= table["median"]).all() and (table["median"] <= table["high"]).all()


def test_a_matrix_without_noise_is_refused():
    with pytest.raises(InputError, match="no standard errors"):
        transitive_null(arxiv(), np.random.default_rng(0))
    half = PreferenceMatrix(np.full((2, 2), 0.5), (), np.array([[0, np.inf], [np.inf, 0]]))
    with pytest.raises(InputError, match="never compared"):
        transitive_null(half, np.random.default_rng(0))
