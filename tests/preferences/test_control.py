"""Control variates: the subtracted part has mean zero, depends on the query, and not on other rankers."""

from __future__ import annotations

import numpy as np
import pytest

from ltr_duel.clicks.model import click_model
from ltr_duel.core.errors import InputError
from ltr_duel.data import make_corpus
from ltr_duel.interleaving.comparison import Comparer
from ltr_duel.preferences.estimate import control
from ltr_duel.preferences.estimate.api import estimate_preferences
from ltr_duel.preferences.estimate.control import fitted_slope, gains_of, random_rankers, taken_off
from ltr_duel.preferences.estimate.settings import make_settings
from ltr_duel.preferences.tally import SCALE, Tally, preferences_of
from ltr_duel.rankers import feature_rankers
from tests.conftest import make_rankings, random_rankings


def settings_of(rankings, users="navigational", top=10, seed=0):
    return make_settings(rankings, users, "probabilistic", "", top, seed)


def test_a_gain_adds_up_clicks_by_rank():
    rankings = random_rankings(3, 4, 7, grades=3, seed=1)
    model = click_model("navigational", 3)
    gains = gains_of(Comparer(rankings, model, top=5))
    for r in range(3):
        for q in range(4):
            begin, end = rankings.query_ptr[q : q + 2]
            grades = rankings.relevance[begin:end][rankings.order[r, begin:end]][:5]
            slow = sum(model.p_click[grade] / rank for rank, grade in enumerate(grades, 1))
            assert gains[r, q] == pytest.approx(slow, abs=1e-12)


def test_what_is_taken_off_is_given_back():
    settings = settings_of(random_rankings(5, 30, 12, seed=2))
    taken, gains = taken_off(settings), gains_of(settings.comparer)
    slope = fitted_slope(settings)
    assert slope > 0.3
    assert taken.mean(axis=1) == pytest.approx(0, abs=1e-14)
    assert taken == pytest.approx(slope * (gains - gains.mean(axis=1, keepdims=True)), abs=1e-12)


def test_steep_slopes_and_large_gains_leave_outcomes_within_what_a_tally_holds():
    gains = np.random.default_rng(0).uniform(0, 8, (3, 50))
    control.centre(gains, 20.0, 4.0)
    assert np.ptp(gains, axis=1).max() <= 4 and gains.mean(axis=1) == pytest.approx(0, abs=1e-14)


@pytest.mark.parametrize("users", ["perfect", "navigational", "informational"])
def test_the_slope_of_rankers_at_random_is_about_the_best_for_others(users, monkeypatch):
    """No other slope gives clearly less variance, and none at all gives much more."""
    rankings = feature_rankers(make_corpus(queries=1000, documents=20, features=4, dead=0, constant=0, seed=3))
    options = {"clicks": users, "outcome": "marginal_sign", "comparisons": 1990, "jobs": 1}  # too few for strata
    slope = fitted_slope(settings_of(rankings, users=users))
    variance = {}
    for factor in (0.0, 0.7, 1.0, 1.4):
        monkeypatch.setattr(control, "fitted_slope", lambda *given, factor=factor: factor * slope)
        error = estimate_preferences(rankings, **options).standard_error[np.triu_indices(4, 1)]
        variance[factor] = (error**2).mean()
    assert variance[1.0] < 1.05 * min(variance.values())
    assert variance[1.0] < 0.8 * variance[0.0]


def test_a_set_of_rankers_changes_no_pair():
    rankings = random_rankings(5, 20, 12, seed=4)
    options = {"comparisons": 200, "top": 5, "jobs": 1}
    whole = estimate_preferences(rankings, **options)
    alone = estimate_preferences(rankings[[1, 3]], **options)
    assert whole.tally.total[1, 3] == alone.tally.total[0, 1]
    assert whole.tally.square[1, 3] == alone.tally.square[0, 1]


def test_where_queries_say_nothing_nothing_is_taken_off():
    rankings = make_rankings([(0, 1, 2), (2, 1, 0)], 3, [2, 2, 2])
    settings = settings_of(rankings, top=3)
    assert fitted_slope(settings) == 0
    assert not taken_off(settings).any()


def test_rankers_at_random_have_every_order():
    rankings = random_rankings(2, 300, 4, grades=3, seed=6)
    made = random_rankers(settings_of(rankings).comparer, np.random.default_rng(0)).rankings
    assert (len(made), made.n_queries) == (8, 256)
    orders = made.order.reshape(8, -1, 4)
    ranks = made.rank.reshape(8, -1, 4)
    assert (np.take_along_axis(ranks, orders.astype(int), axis=2) == np.arange(1, 5)).all()
    counts = np.unique(orders.reshape(-1, 4), axis=0, return_counts=True)[1]
    assert len(counts) == 24 and counts.min() > 50  # sample size 2,048; 85 expected in each cell
    spans = {tuple(rankings.relevance[a : a + 4]) for a in rankings.query_ptr[:-1]}
    assert {tuple(made.relevance[a : a + 4]) for a in made.query_ptr[:-1]} <= spans


def test_few_comparisons_make_no_impossible_matrix():
    rankings = feature_rankers(make_corpus(queries=60, documents=20, features=6, seed=7))
    for seed in range(20):
        matrix = estimate_preferences(rankings, clicks="perfect", comparisons=2, seed=seed, jobs=1)
        assert ((matrix.p >= 0) & (matrix.p <= 1)).all()
        assert matrix.wins is None and matrix.ties is None


def test_a_mean_beyond_every_p_is_certain():
    tally = Tally.empty(2)._replace(lists=np.array([[0, 2], [0, 0]]), total=np.array([[0, int(2.4 * SCALE)], [0, 0]]))
    assert preferences_of(tally).tolist() == [[0.5, 1.0], [0.0, 0.5]]


@pytest.mark.parametrize("part, value, possible", [("total", 9, True), ("total", 9.1, False), ("square", 82, False)])
def test_what_is_beyond_a_corrected_outcome_is_refused(part, value, possible):
    lists = np.array([[0, 10], [0, 0]])
    tally = Tally.empty(2)._replace(lists=lists, **{part: (lists * value * SCALE).astype(np.int64)})
    if possible:
        assert tally.kept(2).lists[0, 1] == 10
    else:
        with pytest.raises(InputError, match=f"impossible: '{part}'"):
            tally.kept(2)
