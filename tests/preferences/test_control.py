"""Control variates: the subtracted part has mean zero, depends on the query, and not on other rankers."""

from __future__ import annotations

import numpy as np
import pytest

from ltr_duel.clicks import click_model
from ltr_duel.core import InputError
from ltr_duel.data import make_corpus
from ltr_duel.interleaving import Comparer
from ltr_duel.preferences import estimate_preferences
from ltr_duel.preferences.estimate import control
from ltr_duel.preferences.estimate.settings import make_settings
from ltr_duel.preferences.tally import SCALE, Tally, preferences_of
from ltr_duel.rankers import feature_rankers
from tests.conftest import make_rankings, random_rankings


def settings_of(rankings, users="navigational", top=10):
    return make_settings(rankings, users, "probabilistic", "", top, 0)


def test_a_gain_adds_up_clicks_by_rank():
    rankings, model = random_rankings(3, 4, 7, grades=3, seed=1), click_model("navigational", 3)
    gains = control.gains_of(Comparer(rankings, model, top=5))
    for r in range(3):
        for q in range(4):
            begin, end = rankings.query_ptr[q : q + 2]
            grades = rankings.relevance[begin:end][rankings.order[r, begin:end]][:5]
            expected = sum(model.p_click[grade] / rank for rank, grade in enumerate(grades, 1))
            assert gains[r, q] == pytest.approx(expected, abs=1e-12)


def test_the_mean_of_the_subtracted_part_is_added_back():
    settings = settings_of(random_rankings(5, 30, 12, seed=2))
    gains, slope = control.gains_of(settings.comparer), control.fitted_slope(settings)
    expected = slope * (gains - gains.mean(axis=1, keepdims=True))
    assert slope > 0.3
    assert control.corrections_of(settings) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("users", ["perfect", "informational"])
def test_the_slope_of_random_rankers_is_about_the_best_for_others(users, monkeypatch):
    """No other slope gives clearly less variance, and none at all gives much more."""
    rankings = feature_rankers(make_corpus(queries=1000, documents=20, features=4, dead=0, constant=0, seed=3))
    options = {"clicks": users, "outcome": "marginal_sign", "comparisons": 1990, "jobs": 1}  # too few for strata
    slope = control.fitted_slope(settings_of(rankings, users))
    variance = {}
    for factor in (0.0, 0.7, 1.0, 1.4):
        monkeypatch.setattr(control, "fitted_slope", lambda *_, factor=factor: factor * slope)
        error = estimate_preferences(rankings, **options).standard_error[np.triu_indices(4, 1)]
        variance[factor] = (error**2).mean()
    assert variance[1.0] < 1.05 * min(variance.values())
    assert variance[1.0] < 0.8 * variance[0.0]


def test_nothing_is_subtracted_if_queries_predict_nothing():
    settings = settings_of(make_rankings([(0, 1, 2), (2, 1, 0)], 3, [2, 2, 2]), top=3)
    assert control.fitted_slope(settings) == 0 and not control.corrections_of(settings).any()


def test_random_rankers_have_every_order_equally_often():
    settings = settings_of(random_rankings(2, 300, 4, grades=3, seed=6))
    rankings = control.random_rankers(settings.comparer, np.random.default_rng(0)).rankings
    orders, ranks = rankings.order.reshape(8, -1, 4), rankings.rank.reshape(8, -1, 4)
    assert (np.take_along_axis(ranks, orders.astype(int), axis=2) == np.arange(1, 5)).all()
    counts = np.unique(orders.reshape(-1, 4), axis=0, return_counts=True)[1]
    assert len(counts) == 24 and counts.min() > 50  # 8 rankers x 256 queries; 85 expected of each order


def test_few_comparisons_make_no_impossible_matrix():
    rankings = feature_rankers(make_corpus(queries=60, documents=20, features=6, seed=7))
    for seed in range(20):
        matrix = estimate_preferences(rankings, clicks="perfect", comparisons=2, seed=seed, jobs=1)
        assert ((matrix.p >= 0) & (matrix.p <= 1)).all() and matrix.wins is None
    beyond = Tally(*np.zeros((4, 2, 2), np.int64))._replace(lists=np.array([[0, 2], [0, 0]]))
    beyond.total[0, 1] = int(2.4 * SCALE)
    assert preferences_of(beyond).tolist() == [[0.5, 1.0], [0.0, 0.5]]


@pytest.mark.parametrize("part, value", [("total", 9.1), ("square", 82)])
def test_sums_beyond_those_of_corrected_outcomes_are_refused(part, value):
    tally = Tally.empty(2)
    tally.lists[0, 1] = 10
    getattr(tally, part)[0, 1] = int(10 * value * SCALE)
    with pytest.raises(InputError, match=f"impossible: '{part}'"):
        tally.checked(2)
