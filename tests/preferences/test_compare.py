"""Two matrices: differences in units of their errors, and other settings."""

from __future__ import annotations

import numpy as np
import pytest

from ltr_duel.core import InputError
from ltr_duel.preferences import compare_matrices, estimate_preferences
from ltr_duel.preferences.synthetic import equal_gaps
from tests.conftest import bradley_terry, random_rankings


def test_two_estimates_of_the_same_preferences_differ_by_chance():
    rankings, given = random_rankings(6, 8, 12), {"comparisons": 2000, "outcome": "sampled"}
    a, b = (estimate_preferences(rankings, seed=seed, variance_reduction="none", **given) for seed in (1, 2))
    agreement = compare_matrices(a, b)
    assert agreement.chance > 0.001 and not agreement.settings and len(agreement.pairs) == 15
    assert agreement.pairs["z"].abs().is_monotonic_decreasing
    row = agreement.pairs.iloc[0]
    i, j = a.index(row["first"]), a.index(row["second"])
    assert row["difference"] == a.p[i, j] - b.p[i, j]
    assert row["z"] == pytest.approx(row["difference"] / np.hypot(a.standard_error[i, j], b.standard_error[i, j]))
    other = estimate_preferences(rankings, comparisons=20, outcome="marginal_sign")
    assert compare_matrices(a, other).settings == {"outcome": ("sampled", "marginal_sign")}


def test_exactly_known_matrices_have_no_scores():
    agreement = compare_matrices(bradley_terry(4), equal_gaps(5))
    assert agreement.names == ("0", "1", "2", "3") and agreement.chance is None and agreement.pairs["z"].isna().all()
    with pytest.raises(InputError, match="have 1 rankers in common"):
        compare_matrices(bradley_terry(4), equal_gaps(1))
