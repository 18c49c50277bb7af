"""Ties drawn again before the clicks are credited, on NP2004: the artifact that shaped a published matrix.

A ranker whose feature is constant within the query (the five IDF features) is then not recognised as the source of
its own documents, and loses to all others. With a fixed order of ties, this ranker does not lose.
"""

from __future__ import annotations

import numpy as np
import pytest

from ltr_duel.data.load import load_dataset
from ltr_duel.preferences.estimate.api import estimate_preferences
from ltr_duel.rankers.features import constant_features, feature_rankers

PUBLISHED = "preference_matrices/wolfenfeld_PMat_64.npy"


@pytest.fixture
def np2004(real_data):
    return load_dataset(real_data / "NP2004" / "Fold1")


def matrix_of(dataset, ties, rankers, outcome="marginal_sign", comparisons=400):
    names = constant_features(dataset)
    assert [dataset.feature_names.index(name) + 1 for name in names] == [6, 7, 8, 9, 10]
    others = [name for name in dataset.feature_names if name not in names]
    chosen = [*names, *others[:: len(others) // (rankers - 5)][: rankers - 5]]
    rankings = feature_rankers(dataset, features=chosen, ties=ties)
    return estimate_preferences(rankings, clicks="informational", outcome=outcome, comparisons=comparisons).p


def win_rates(p):
    """Return each row's mean over the others."""
    return (p.sum(axis=1) - 0.5) / (len(p) - 1)


def test_constant_features_lose_to_everybody_if_ties_are_drawn_again_before_crediting(np2004):
    redrawn = matrix_of(np2004, "redraw_at_inference", 10)
    assert (redrawn[:5, 5:] < 0.2).all(), "they lose to all others"
    assert np.abs(redrawn[:5, :5] - 0.5).max() < 0.1, "and tie among themselves (standard error .025)"


@pytest.mark.long
def test_the_recovered_matrix_is_informational_clicks_and_redrawn_ties(np2004, real_data):
    published = np.load(real_data / PUBLISHED)
    np.fill_diagonal(published, 0.5)
    expected = np.sort(win_rates(published))
    apart = {}
    for ties in ("redraw_at_inference", "fixed_random"):
        p = matrix_of(np2004, ties, 64, comparisons=1000)
        apart[ties] = np.sqrt(((np.sort(win_rates(p)) - expected) ** 2).mean())
        if ties == "redraw_at_inference":
            assert win_rates(p)[:5] == pytest.approx([0.093] * 5, abs=0.02)
            assert win_rates(p)[5:].min() > 0.35
        else:
            assert win_rates(p)[:5] == pytest.approx([0.467] * 5, abs=0.02)
    assert apart["redraw_at_inference"] < 0.02 and apart["fixed_random"] > 0.09
