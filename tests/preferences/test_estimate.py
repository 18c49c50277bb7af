"""Estimated preferences: truth by enumeration, one result on any number of workers, refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ltr_duel.clicks.model import click_model
from ltr_duel.core.errors import InputError
from ltr_duel.interleaving import METHODS
from ltr_duel.preferences.estimate import settings
from ltr_duel.preferences.estimate.api import estimate_preferences
from tests.conftest import make_rankings, random_rankings
from tests.reference.interleaving import expected_outcome

TAU = 3.0

ORDERS = [(2, 0, 3, 1), (0, 1, 2, 3), (3, 1, 0, 2)]
RELEVANCE = [0, 2, 1, 0]


@pytest.mark.parametrize("name", ["perfect", "navigational", "informational"])
@pytest.mark.parametrize("rule", ["marginal_sign", "sampled", "expectation"])
def test_estimates_agree_with_enumeration_within_their_errors(name, rule):
    model = click_model(name, 3)
    matrix = estimate_preferences(
        make_rankings(ORDERS, 3, RELEVANCE), clicks=name, outcome=rule, comparisons=100_000, top=3, seed=1
    )
    for i in range(3):
        for j in range(i + 1, 3):
            truth = (1 + expected_outcome(ORDERS[i], ORDERS[j], RELEVANCE, model, 3, TAU, rule)) / 2
            assert abs(matrix.p[i, j] - truth) < 4.5 * matrix.standard_error[i, j] + 1e-12


def test_standard_errors_are_the_spread_of_estimates():
    rankings = random_rankings(2, 5, 12)
    estimates, errors = [], []
    for seed in range(150):
        matrix = estimate_preferences(rankings, comparisons=200, seed=seed, jobs=1)
        estimates.append(matrix.p[0, 1])
        errors.append(matrix.standard_error[0, 1])
    assert np.std(estimates) == pytest.approx(np.mean(errors), rel=0.2)  # 150 runs: 6 % is one standard error


def test_another_seed_gives_another_estimate():
    rankings = random_rankings(2, 8, 20)
    assert len({estimate_preferences(rankings, comparisons=1000, seed=seed).p[0, 1] for seed in range(5)}) > 1


def test_provenance_says_how_it_was_made():
    about = estimate_preferences(random_rankings(2, 3, 5), comparisons=10, seed=7, top=4).provenance
    assert about["clicks"] == "navigational" and about["outcome"] == "marginal_bernoulli" and about["top"] == 4
    assert about["variance_reduction"] == ["antithetic", "control", "integrated", "stratified"]
    assert about["comparisons"] == 12 and about["seed"] == 7 and set(about["versions"]) >= {"numpy", "ltr-duel"}


def test_input_that_cannot_be_compared_is_refused():
    rankings = random_rankings(3, 3, 5)
    for sentence, arguments in {
        "the number of comparisons must be at least 2, not 1": {"comparisons": 1},
        "no outcome rule of probabilistic called 'marginal'; did you mean 'marginal_sign'": {"outcome": "marginal"},
        "no comparison method 'probabilstic'; did you mean 'probabilistic'": {"method": "probabilstic"},
        "documents shown must be between 1 and 1000, not 0": {"top": 0},
        "no click model 'navigationl'": {"clicks": "navigationl"},
        "number of jobs must be between 1 and 4096": {"jobs": 0},
    }.items():
        with pytest.raises(InputError, match=sentence):
            estimate_preferences(rankings, **{"comparisons": 10, **arguments})
    with pytest.raises(InputError, match=r"at least two rankers; there is 1 \('ranker 0'\)"):
        estimate_preferences(rankings[[0]])
    with pytest.raises(InputError, match="no document has a grade above 0"):
        estimate_preferences(make_rankings(ORDERS, 3, [0, 0, 0, 0]))
    with pytest.raises(InputError, match=r"'navigational' is defined for 2, 3, 5 grades; this corpus has 8 \(0..7\)"):
        estimate_preferences(make_rankings(ORDERS, 8, RELEVANCE))


def test_pieces_of_another_numbers_version_are_counted_again(tmp_path, monkeypatch):
    rankings, options = random_rankings(3, 5, 8), {"comparisons": 100, "variance_reduction": "none"}
    before = estimate_preferences(rankings, store=tmp_path, **options)
    monkeypatch.setitem(settings.NUMBERS, "blocks", 2)
    later = estimate_preferences(rankings, store=tmp_path, **options)
    assert "numbers" not in before.provenance and later.provenance["numbers"] == {"blocks": 2}
    assert len(list(tmp_path.iterdir())) == 2


def test_a_raised_version_of_a_method_is_in_the_provenance():
    method = replace(METHODS["team_draft"], numbers=3)
    about = estimate_preferences(random_rankings(2, 3, 5), method=method, comparisons=10).provenance
    assert about["numbers"] == {"method": 3}
