"""A matrix from sets: each list is one comparison of each pair of its set."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from ltr_duel.clicks.model import ClickModel
from ltr_duel.core.errors import InputError
from ltr_duel.preferences import estimate_preferences
from ltr_duel.preferences.estimate import sampling
from tests.conftest import make_rankings, random_rankings
from tests.reference.interleaving import sign_of, sosm_scores, team_draft_lists

ORDERS = [[0, 1, 2, 3], [2, 3, 0, 1], [3, 1, 0, 2]]
EAGER = ClickModel("eager", (0.0, 1.0), (0.0, 0.0))  # clicks on each relevant document


@pytest.mark.parametrize("size", [3, 2])
def test_preferences_and_errors_are_those_of_all_lists(size):
    rankings = make_rankings(ORDERS, 2, [1, 0, 1, 0])
    matrix = estimate_preferences(rankings, clicks=EAGER, method="sosm", size=size, top=2)
    for pair in itertools.combinations(range(3), 2):
        orders = ORDERS if size == 3 else [ORDERS[k] for k in pair]
        a, b = pair if size == 3 else (0, 1)
        mean = square = 0.0
        for (shown, _), p in team_draft_lists(orders, 2).items():
            scores = sosm_scores(orders, shown, [k for k, document in enumerate(shown) if document in (0, 2)])
            mean += p * sign_of(scores[a] - scores[b])
            square += p * sign_of(scores[a] - scores[b]) ** 2
        error = math.sqrt((square - mean**2) / matrix.comparisons[pair]) / 2
        assert abs(matrix.comparisons[pair] - 4000) <= (0 if size == 3 else 4 * math.sqrt(4000))
        assert matrix.p[pair] == pytest.approx((1 + mean) / 2, abs=4 * error)
        assert matrix.standard_error[pair] == pytest.approx(error, rel=0.1)


def test_sets_of_some_rankers_share_out_the_comparisons_on_any_number_of_workers(tmp_path, monkeypatch):
    rankings = random_rankings(6, 5, 8)
    given = {"method": "team_draft", "size": 3, "comparisons": 500}
    one = estimate_preferences(rankings, jobs=1, **given)
    assert one.tally.lists.sum() == 500 * 6 * 5 // (3 * 2) * 3, "a list of three has three pairs"
    assert abs(one.tally.lists[np.triu_indices(6, 1)] - 500).max() < 4 * math.sqrt(500)
    monkeypatch.setattr(sampling, "_COMPARISONS_IN_A_PIECE", 300)
    estimate_preferences(rankings, jobs=1, store=tmp_path, **given)
    monkeypatch.setattr(sampling, "SlateWorker", None)  # would fail if called
    assert estimate_preferences(rankings, jobs=2, store=tmp_path, **given).p.tobytes() == one.p.tobytes()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"method": "balanced", "size": 3}, "'balanced' does not compare sets of rankers; methods that do: "),
        ({"method": "sosm", "size": 5}, "the size of sets must be between 2 and 4, not 5"),
        ({"method": "probabilistic", "size": 3, "outcome": "expectation"}, "'expectation' is for two rankers"),
        ({"method": "sosm", "until_winner": 0.9}, "goals, and one rival, need pairs"),
        ({"method": "sosm", "against": "ranker 1"}, "goals, and one rival, need pairs"),
    ],
)
def test_what_sets_cannot_do_is_refused(given, says):
    with pytest.raises(InputError, match=says):
        estimate_preferences(random_rankings(4, 3, 5), **given)
