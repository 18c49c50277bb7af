"""The estimate against the truth by enumeration, for all users, rules and ways to reduce its variance."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from ltr_duel.clicks.model import ClickModel, click_model
from ltr_duel.preferences.estimate.api import estimate_preferences
from tests.conftest import random_rankings
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


def z_scores(users, rule, way, comparisons, seed=0, queries=3):
    rankings, p = truth(users, rule, queries)
    matrix = estimate_preferences(
        rankings,
        clicks=users,
        outcome=rule,
        variance_reduction=way,
        comparisons=comparisons,
        top=TOP,
        seed=seed,
        jobs=1,
    )
    difference, error = (matrix.p - p)[UPPER], matrix.standard_error[UPPER]
    return np.where(np.abs(difference) < 1e-9, 0.0, difference / np.maximum(error, 1e-12))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rule", RULES)
def test_estimates_agree_with_enumeration(rule, way):
    z = np.concatenate([z_scores(users, rule, way, 24_000) for users in USERS])
    assert np.abs(z).max() < 4.5
    assert (z**2).mean() < 2.2  # 30 scores: one in 10,000 by chance


@pytest.mark.parametrize("way", WAYS)
def test_reduced_variance_is_real(way):
    """The standard deviation of many estimates equals their standard errors; 120 runs determine it to 6.5 %."""
    rankings, _ = truth("navigational", "marginal_sign", 40)
    runs = [
        estimate_preferences(rankings[[0, 1]], top=TOP, comparisons=120, seed=seed, variance_reduction=way, jobs=1)
        for seed in range(120)
    ]
    estimates, variances = (
        np.array(v) for v in zip(*((m.p[0, 1], m.standard_error[0, 1] ** 2) for m in runs), strict=True)
    )
    assert estimates.std() == pytest.approx(np.sqrt(variances.mean()), rel=0.2)


def coverage(rule, way, runs, comparisons, queries, users="navigational"):
    rankings, p = truth(users, rule, queries)
    inside = []
    for seed in range(runs):
        matrix = estimate_preferences(
            rankings,
            clicks=users,
            outcome=rule,
            variance_reduction=way,
            comparisons=comparisons,
            top=TOP,
            seed=seed,
            jobs=1,
        )
        low, high = matrix.intervals(0.95)
        inside.append(((low <= p) & (p <= high))[UPPER])
    return np.mean(inside)


@pytest.mark.parametrize("way", WAYS)
def test_intervals_cover_at_their_nominal_rate(way):
    # 100 runs of 6 pairs: a standard error of about 1 %; 90 % would be seen in 97 of 100 studies
    assert coverage("marginal_sign", way, 100, 480, 20) == pytest.approx(0.95, abs=0.028)


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
    rankings = random_rankings(2, 50, 30, seed=2)
    plain, reduced = (
        estimate_preferences(rankings, clicks="informational", comparisons=8000, variance_reduction=way).standard_error[
            0, 1
        ]
        for way in WAYS
    )
    assert plain**2 > 10 * reduced**2


def test_a_user_model_of_ones_own_is_integrated_too():
    model = ClickModel("mine", (0.2, 0.5, 0.9), (0.3, 0.1, 0.5), stop_on="examine", position_bias=0.7)
    rankings, _ = truth("perfect", "marginal_sign")
    played, integrated = (
        estimate_preferences(rankings, clicks=model, comparisons=40_000, top=TOP, variance_reduction=way)
        for way in WAYS
    )
    z = (played.p - integrated.p)[UPPER] / np.hypot(played.standard_error, integrated.standard_error)[UPPER]
    assert np.abs(z).max() < 4.5
