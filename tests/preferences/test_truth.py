"""The estimate against the truth by enumeration, for all users, rules and tie orders, with and without reductions."""

from __future__ import annotations

import functools
from itertools import permutations

import numpy as np
import pytest

from ltr_duel.clicks import click_model
from ltr_duel.data import make_corpus
from ltr_duel.preferences import estimate_preferences
from ltr_duel.rankers import feature_rankers
from tests.conftest import random_rankings
from tests.rankers.test_features import make_dataset
from tests.reference.preferences import exact_preferences

USERS = ("perfect", "navigational", "informational", "almost_random", "random")
RULES = ("marginal_sign", "sampled", "marginal_bernoulli", "expectation")
WAYS = ("none", "auto")
TOP, TAU = 3, 3.0
UPPER = np.triu_indices(4, 1)


@functools.cache
def truth(users, rule, queries=3):
    rankings = random_rankings(4, queries, 4, grades=3, seed=5)
    return rankings, exact_preferences(rankings, click_model(users, 3), TOP, TAU, rule)


def estimate(users, rule, way, comparisons, seed=0, queries=3):
    rankings, p = truth(users, rule, queries)
    settings = {"clicks": users, "outcome": rule, "variance_reduction": way, "comparisons": comparisons}
    return estimate_preferences(rankings, top=TOP, seed=seed, jobs=1, **settings), p


def z_scores(*given, **more):
    matrix, p = estimate(*given, **more)
    difference, error = (matrix.p - p)[UPPER], matrix.standard_error[UPPER]
    return np.where(np.abs(difference) < 1e-9, 0.0, difference / np.maximum(error, 1e-12))


def test_errors_of_pairs_are_independent_if_the_last_pass_over_the_queries_is_cut_short():
    rankings = feature_rankers(make_corpus(queries=40, documents=10, features=12, seed=1))
    words = {"comparisons": 80, "outcome": "expectation", "clicks": "perfect", "against": "1", "jobs": 1}
    rows = [estimate_preferences(rankings, seed=seed, **words) for seed in range(60)]
    p, error = (np.array([getattr(row, name)[0, 1:] for row in rows]) for name in ("p", "standard_error"))
    expected = np.sqrt(np.square(error).mean(axis=0).sum())
    assert p.sum(axis=1).std() < 1.4 * expected, "4 standard errors; 2.3 if all pairs see the same part of the pass"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rule", RULES)
def test_estimates_agree_with_enumeration(rule, way):
    z = np.concatenate([z_scores(users, rule, way, 24_000) for users in USERS])
    assert np.abs(z).max() < 4.5
    assert (z**2).mean() < 2.2  # 30 scores: one in 10,000 by chance


def coverage(rule, way, runs, comparisons, queries):
    inside = []
    for seed in range(runs):
        matrix, p = estimate("navigational", rule, way, comparisons, seed, queries)
        low, high = matrix.intervals(0.95)
        inside.append(((low <= p) & (p <= high))[UPPER])
    return np.mean(inside)


@pytest.mark.parametrize("way", WAYS)
def test_intervals_cover_at_their_nominal_rate(way):
    # 50 runs of 6 pairs: a standard error of about 1.4 %
    assert coverage("marginal_sign", way, 50, 480, 20) == pytest.approx(0.95, abs=0.04)


@pytest.mark.long
@pytest.mark.parametrize("queries", [3, 40], ids=["many passes", "less than a pass"])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("way", WAYS)
def test_intervals_cover_for_every_rule_and_way(way, rule, queries):
    # 400 runs of 6 pairs: a standard error of .5 %
    assert coverage(rule, way, 400, 132, queries) == pytest.approx(0.95, abs=0.025)


@pytest.mark.long
@pytest.mark.parametrize("users", USERS)
@pytest.mark.parametrize("rule", RULES)
def test_many_scores_are_normal(users, rule):
    scores = np.concatenate([z_scores(users, rule, way, 8000, seed) for seed in range(40) for way in WAYS])
    scores = scores[scores != 0]  # pairs that never differ under these users
    assert np.abs(scores).max() < 4.5
    assert scores.std() == pytest.approx(1, abs=0.12) and abs(scores.mean()) < 0.25


def test_reduced_variance_needs_a_tenth_of_the_lists():
    rankings, given = random_rankings(2, 50, 30, seed=2), {"clicks": "informational", "comparisons": 8000}
    plain, reduced = (estimate_preferences(rankings, variance_reduction=way, **given) for way in WAYS)
    assert plain.standard_error[0, 1] ** 2 > 10 * reduced.standard_error[0, 1] ** 2


@pytest.mark.parametrize(("method", "outcome"), [("probabilistic", "marginal_sign"), ("team_draft", "")])
def test_with_resampled_ties_a_preference_is_the_mean_over_all_orders_of_ties(method, outcome):
    """Of two rankers, the first ties three documents: six orders, each of them untied here."""
    given = {"method": method, "outcome": outcome, "jobs": 1, "top": 3}
    other = np.array([2.0, 4.0, 1.0, 3.0, 5.0])
    p, errors = [], []
    for seed, order in enumerate(permutations(range(3))):
        features = np.stack([[*(1 + np.array(order) / 8), 2.0, 0.0], other], axis=1)
        untied = feature_rankers(make_dataset(features, [5]), ties="file")
        matrix = estimate_preferences(untied, comparisons=10_000, seed=seed, **given)
        p.append(matrix.p[0, 1])
        errors.append(matrix.standard_error[0, 1])
    tied = feature_rankers(make_dataset([[1, 2], [1, 4], [1, 1], [2, 3], [0, 5]], [5]), ties="resample")
    matrix = estimate_preferences(tied, comparisons=40_000, seed=9, **given)
    error = np.hypot(matrix.standard_error[0, 1], np.hypot.reduce(errors) / 6)
    assert np.ptp(p) > 0.01, "the order of ties matters"
    assert abs(matrix.p[0, 1] - np.mean(p)) < 4 * error < 0.015
    assert "integrated" in matrix.provenance["variance_reduction"]
