"""Measurements without policies: known truths at tiny settings, and on the published matrix."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ltr_duel.data import make_corpus, write_svmlight
from ltr_duel.papers import arxiv_properties, distortion, figures_folder, stored_runs, subset_gammas, subset_shares
from ltr_duel.preferences import (
    condorcet_shares,
    gamma_rucb,
    random_condorcet_subset,
    save_preferences,
    synthetic_preferences,
)
from ltr_duel.preferences.synthetic import random_preferences
from tests.conftest import bradley_terry

COUNTED = {"comparisons": 10_000}


def values(table, column="value"):
    return dict(zip(table["item"], table[column], strict=True))


def test_the_table_of_beat_the_mean_has_its_gamma_and_its_slips():
    assert values(arxiv_properties(entry={}, jobs=1)) == {
        "gamma": pytest.approx(0.06 / 0.04),
        "pairs that the order A, ..., F does not contradict": 15,
        "violations of the triangle inequality": 3,
        "violations of strong transitivity": 4,
        "triples in which A beats B beats C": 20 - 3,  # three contain the even pair of D and F in between
    }


@pytest.fixture
def published(tmp_path):
    """Return a function that stores a matrix and describes it like a published one."""

    def store(matrix):
        save_preferences(matrix, tmp_path / "matrix.csv")
        return {"file": tmp_path / "matrix.csv", **COUNTED}

    return store


def test_shares_of_sets_are_exact_and_their_ends_are_possible_for_the_truth(published):
    matrix = synthetic_preferences("cyclic")  # three of four rankers beat each other in a circle, by far
    table = subset_shares(entry=published(matrix), jobs=1, subsets=1000)
    winner, order = (table[table["item"] == item] for item in ("condorcet winner", "total order"))
    assert winner["value"].tolist() == pytest.approx(condorcet_shares(matrix)) and winner["value"].min() == 0.75
    assert order["value"].tolist() == [1, 1, 0.75, 0]
    assert order["high"].iloc[-1] == 0, "the circle is beyond noise, so the whole set has no order"
    assert (winner["low"] <= winner["value"]).all() and (winner["value"] <= winner["high"] + 0.05).all()
    below = table[table["item"].str.startswith("sizes from")].iloc[0]
    assert (below["value"], below["low"], below["high"]) == (4, 4, 4)


def test_an_order_within_noise_leaves_every_share_open(published):
    p = bradley_terry(5).p.copy()
    p[0, 1], p[1, 0] = 0.499, 0.501  # by chance, the second ranker looks better than the first
    found = {**published(bradley_terry(5)), "comparisons": 10}
    table = subset_shares(entry=found, jobs=1, subsets=100)
    assert set(table.loc[table["item"] == "total order", "high"]) == {1.0}


def test_gammas_of_random_subsets_and_the_percentile_of_a_printed_one(published, monkeypatch):
    monkeypatch.setattr("ltr_duel.papers.measures._WORLDS", 19)
    monkeypatch.setattr("ltr_duel.papers.measures._FEW_SUBSETS", 9)
    matrix = random_preferences(9, seed=4)
    drawn = [gamma_rucb(random_condorcet_subset(matrix, 4, seed=k)) for k in range(10)]
    printed = float(np.quantile(drawn, 0.3)) + 1e-9
    table = subset_gammas(entry=published(matrix), jobs=1, printed={"4": printed}, subsets=10)
    four = table[(table["item"] == "gamma") & (table["rankers"] == 4)].iloc[0]
    assert (four["value"], four["low"], four["high"]) == pytest.approx((np.median(drawn), min(drawn), max(drawn)))
    assert four["percentile"] == pytest.approx(100 * np.mean(np.array(drawn) <= printed))
    assert values(table)["comparisons of each pair"] == 10_000
    assert 0.05 <= values(table)["p of strong transitivity"] <= 1


def test_the_published_64_arms_rest_on_6248_comparisons_of_each_pair(real_data):
    p = np.load(real_data / "preference_matrices" / "wolfenfeld_PMat_64.npy")
    assert np.abs(p * 6248 - np.round(p * 6248)).max() < 1e-9
    assert np.abs(p * 4000 - np.round(p * 4000)).max() > 0.4, "not 4,000, as the paper prints"


def test_distortion_has_intervals_over_resampled_queries(tmp_path):
    write_svmlight(make_corpus(queries=6, documents=12, features=8, grades=3, dead=0, constant=0), tmp_path / "c.txt")
    settings = {"clicks": ["navigational"], "sizes": [2, 4, 99], "multileavings": 40, "repetitions": 3}
    settings |= {"comparisons": 100, "resamples": 3}
    found = {"path": tmp_path / "c.txt"}
    table = distortion(entry=found, jobs=1, corpus="toy", **settings)
    assert table["rankers"].tolist() == [2, 4] and set(table["queries"]) == {6}, "no set is larger than the corpus"
    assert (table["low"] <= table["value"]).all() and (table["value"] <= table["high"]).all()
    assert (table["low"] >= 0).all() and (table["high"] <= 100).all() and table["high"].max() > 0
    fewer = distortion(entry=found, jobs=1, corpus="toy", without=0, **settings)
    assert not fewer["value"].equals(table["value"])
    pd.testing.assert_frame_equal(table, distortion(entry=found, jobs=2, corpus="toy", **settings))


def test_the_stored_runs_of_figure_2_bottom_are_a_hundred_trials():
    file = figures_folder() / "beat_the_mean_figure_2_bottom.csv"
    frame = stored_runs(entry={}, jobs=1, file=str(file), horizon=10**10)
    assert len(frame) == 11 * 3 * 100 and set(frame["gamma"]) == {round(1 + k / 10, 1) for k in range(11)}
    assert frame.groupby(["gamma", "policy"])["repetition"].nunique().eq(100).all()
    assert (frame["regret_average"] > 0).all() and frame["problem"].nunique() == 11
