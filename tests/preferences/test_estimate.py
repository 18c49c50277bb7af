"""Estimated preferences: one result on any number of workers, goals, sets of rankers, provenance, refusals."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from ltr_duel.clicks import ClickModel
from ltr_duel.core import InputError
from ltr_duel.interleaving import METHODS, method_from_functions
from ltr_duel.preferences import estimate_preferences
from ltr_duel.preferences.estimate import counting
from tests.conftest import make_rankings, random_rankings
from tests.reference.interleaving import sign_of, sosm_scores, team_draft_lists

ORDERS, RELEVANCE = [[0, 1, 2, 3], [2, 3, 0, 1], [3, 1, 0, 2]], [1, 0, 1, 0]


def test_neither_workers_nor_pieces_nor_other_rankers_change_an_estimate(monkeypatch):
    rankings = random_rankings(5, 8, 12)
    first = estimate_preferences(rankings, comparisons=9000, jobs=1)
    monkeypatch.setattr(counting, "_PIECE", 5000)
    second = estimate_preferences(rankings, comparisons=9000, jobs=2)
    assert all((a == b).all() for a, b in zip(first.tally, second.tally, strict=True))
    few = estimate_preferences(rankings[[1, 4]], comparisons=9000)
    assert few.tally.total[0, 1] == first.tally.total[1, 4] and few.comparisons[0, 1] == 9000
    row = estimate_preferences(rankings, comparisons=9000, against="ranker 2")
    assert (row.p[2] == first.p[2]).all() and (row.p[0, 1], row.comparisons[0, 1]) == (0.5, 0)
    assert np.isinf(row.standard_error[0, 1])
    other = estimate_preferences(rankings, comparisons=9000, seed=1)
    assert (other.p != first.p).any()


def test_a_target_error_is_reached_and_hardly_overdone():
    matrix = estimate_preferences(random_rankings(4, 10, 15), comparisons=500, target_error=0.004)
    error = matrix.standard_error[np.triu_indices(4, 1)]
    assert error.max() <= 0.004 and error.min() > 0.002
    assert matrix.provenance["target_error"] == 0.004
    stopped = estimate_preferences(random_rankings(2, 10, 15), comparisons=500, target_error=0.001, at_most=9000)
    assert stopped.comparisons[0, 1] == 9000


@pytest.mark.parametrize(("comparisons", "strata"), [(19, False), (20, True)])
def test_strata_need_twice_as_many_comparisons_as_queries(comparisons, strata):
    matrix = estimate_preferences(random_rankings(2, 10, 5), comparisons=comparisons, jobs=1)
    assert ("stratified" in matrix.provenance["variance_reduction"]) == strata


def test_the_provenance_has_the_settings_and_raised_versions():
    about = estimate_preferences(random_rankings(2, 3, 5), comparisons=10, seed=7, top=4).provenance
    assert about["clicks"] == "navigational" and about["outcome"] == "marginal_bernoulli" and about["top"] == 4
    assert about["variance_reduction"] == ["antithetic", "control", "integrated", "stratified"]
    assert about["comparisons"] == 12 and about["seed"] == 7 and set(about["versions"]) >= {"numpy", "ltr-duel"}
    raised = replace(METHODS["team_draft"], version=3)
    about = estimate_preferences(random_rankings(2, 3, 5), method=raised, comparisons=10).provenance
    assert about["numbers"] == {"method": 3}


def test_the_users_of_a_method_in_plain_python_are_not_integrated():
    def draw(orders, top, rng):
        return orders[0][:top], [0] * min(top, len(orders[0]))

    mine = method_from_functions("mine", draw, lambda orders, shown, clicks, owners: [len(clicks), 0])
    matrix = estimate_preferences(random_rankings(2, 4, 6), method=mine, comparisons=20)
    assert matrix.provenance["variance_reduction"] == ["control", "stratified"]


@pytest.mark.parametrize("size", [3, 2])
def test_preferences_and_errors_in_sets_are_those_of_all_lists(size):
    eager = ClickModel("eager", (0.0, 1.0), (0.0, 0.0))  # clicks on each relevant document
    rankings = make_rankings(ORDERS, 2, RELEVANCE)
    matrix = estimate_preferences(rankings, clicks=eager, method="sosm", size=size, top=2)
    for pair in itertools.combinations(range(3), 2):
        orders = ORDERS if size == 3 else [ORDERS[k] for k in pair]
        a, b = pair if size == 3 else (0, 1)
        mean = square = 0.0
        for (shown, _), p in team_draft_lists(orders, 2).items():
            scores = sosm_scores(orders, shown, [k for k, document in enumerate(shown) if RELEVANCE[document]])
            mean += p * sign_of(scores[a] - scores[b])
            square += p * sign_of(scores[a] - scores[b]) ** 2
        error = math.sqrt((square - mean**2) / matrix.comparisons[pair]) / 2
        assert abs(matrix.comparisons[pair] - 4000) <= (0 if size == 3 else 4 * math.sqrt(4000))
        assert matrix.p[pair] == pytest.approx((1 + mean) / 2, abs=4 * error)
        assert matrix.standard_error[pair] == pytest.approx(error, rel=0.1)


def test_sets_of_some_rankers_share_out_the_comparisons_on_any_number_of_workers(monkeypatch):
    rankings, given = random_rankings(6, 5, 8), {"method": "team_draft", "size": 3, "comparisons": 500}
    first = estimate_preferences(rankings, jobs=1, **given)
    assert first.tally.lists.sum() == 500 * 6 * 5 // (3 * 2) * 3, "a list of three has three pairs"
    assert abs(first.tally.lists[np.triu_indices(6, 1)] - 500).max() < 4 * math.sqrt(500)
    monkeypatch.setattr(counting, "_PIECE", 300)
    assert estimate_preferences(rankings, jobs=2, **given).p.tobytes() == first.p.tobytes()


REFUSED = {
    "number of comparisons must be at least 2, not 1": {"comparisons": 1},
    "at most 1,073,741,824 comparisons": {"comparisons": 2**31},
    "no variance reduction 'stratified'.*auto, none": {"variance_reduction": "stratified"},
    "no ranker 'ranker 9'": {"against": "ranker 9"},
    "standard error must be between 1e-05 and 0.5, not 0": {"target_error": 0.0},
    "'balanced' does not compare sets of rankers; methods that do: ": {"method": "balanced", "size": 3},
    "the size of sets must be between 2 and 3, not 5": {"method": "sosm", "size": 5},
    "'expectation' is for two rankers": {"size": 3, "outcome": "expectation"},
    "a target and one rival need pairs": {"method": "sosm", "against": "ranker 1"},
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_impossible_settings_of_an_estimate_are_refused(sentence):
    with pytest.raises(InputError, match=sentence):
        estimate_preferences(random_rankings(3, 3, 5), **{"comparisons": 10, **REFUSED[sentence]})


def test_estimate_preferences_refuses_a_single_ranker():
    with pytest.raises(InputError, match=r"at least two rankers; there is 1 \('ranker 0'\)"):
        estimate_preferences(random_rankings(3, 3, 5)[[0]])
