"""Two matrices: differences in errors."""

from __future__ import annotations

import numpy as np
import pytest

from ltr_duel.core.errors import InputError
from ltr_duel.preferences.compare import compare_matrices
from ltr_duel.preferences.estimate.api import estimate_preferences
from ltr_duel.preferences.synthetic import equal_gaps
from tests.conftest import bradley_terry, random_rankings


@pytest.fixture(scope="module")
def estimates():
    rankings = random_rankings(6, 8, 12)
    return [estimate_preferences(rankings, comparisons=2000, seed=seed, variance_reduction="none") for seed in (1, 2)]


def test_two_estimates_of_one_thing_differ_by_chance(estimates):
    agreement = compare_matrices(*estimates)
    assert agreement.chance > 0.001 and not agreement.settings and len(agreement.pairs) == 15
    assert agreement.pairs["z"].abs().is_monotonic_decreasing
    row = agreement.pairs.iloc[0]
    a, b = (m[[row["first"], row["second"]]] for m in estimates)
    assert row["difference"] == a.p[0, 1] - b.p[0, 1]
    assert row["z"] == pytest.approx(row["difference"] / np.hypot(a.standard_error[0, 1], b.standard_error[0, 1]))


def test_other_rules_are_named():
    rankings = random_rankings(3, 8, 12)
    one, other = (
        estimate_preferences(rankings, comparisons=500, outcome=rule, variance_reduction="none")
        for rule in ("sampled", "marginal_sign")
    )
    assert compare_matrices(one, other).settings == {"outcome": ("sampled", "marginal_sign")}


def test_matrices_known_exactly_have_no_scores():
    agreement = compare_matrices(bradley_terry(4), equal_gaps(5))
    assert agreement.names == ("0", "1", "2", "3") and agreement.chance is None and agreement.pairs["z"].isna().all()
    with pytest.raises(InputError, match="have 0 rankers in common"):
        compare_matrices(bradley_terry(2), bradley_terry(2).relabelled(["x", "y"]))
