"""Estimates over all orders of tied documents, with reduced variance."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from ltr_duel.data import make_corpus
from ltr_duel.preferences import estimate_preferences
from ltr_duel.rankers import feature_rankers
from tests.rankers.test_features import make_dataset

METHODS = [("probabilistic", "marginal_bernoulli"), ("probabilistic", "marginal_sign"), ("team_draft", "")]


def estimate(features, ties, **given):
    return estimate_preferences(feature_rankers(make_dataset(features, [5]), ties=ties), jobs=1, top=3, **given)


@pytest.mark.parametrize(("method", "outcome"), METHODS)
def test_a_preference_is_the_mean_over_all_orders_of_ties(method, outcome):
    """Of two rankers, the first ties three documents: six orders, each of them untied here."""
    how = {"method": method, "outcome": outcome, "clicks": "navigational"}
    other = np.array([2.0, 4.0, 1.0, 3.0, 5.0])
    orders = [np.array([*(1 + np.array(order) / 8), 2.0, 0.0]) for order in permutations(range(3))]
    each = [
        estimate(np.stack([order, other], axis=1), "file", comparisons=20_000, seed=seed, **how)
        for seed, order in enumerate(orders)
    ]
    found = estimate([[1, 2], [1, 4], [1, 1], [2, 3], [0, 5]], "resample", comparisons=80_000, seed=9, **how)
    assert np.ptp([one.p[0, 1] for one in each]) > 0.01, "the order of ties matters"
    error = np.hypot(found.standard_error[0, 1], np.hypot.reduce([one.standard_error[0, 1] for one in each]) / 6)
    assert abs(found.p[0, 1] - np.mean([one.p[0, 1] for one in each])) < 4 * error < 0.01
    assert found.provenance["variance_reduction"]


def test_errors_are_smaller_than_those_of_plain_comparisons_and_both_agree():
    corpus = make_corpus(queries=30, documents=20, features=4, seed=3)
    anew = feature_rankers(corpus, ties="resample")
    plain, reduced = (estimate_preferences(anew, comparisons=8000, variance_reduction=way) for way in ("none", "auto"))
    pairs = np.triu_indices(4, 1)
    z = (plain.p - reduced.p)[pairs] / np.hypot(plain.standard_error, reduced.standard_error)[pairs]
    assert np.abs(z).max() < 4
    assert (reduced.standard_error < plain.standard_error / 2)[pairs].all()


def test_lists_with_two_orders_of_ties_are_not_reduced():
    corpus = make_corpus(queries=6, documents=8, features=3)
    twice = feature_rankers(corpus, ties="redraw_at_inference")
    assert "variance_reduction" not in estimate_preferences(twice, comparisons=10).provenance
