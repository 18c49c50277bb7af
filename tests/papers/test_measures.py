"""Measures: known truths of the published matrices and of the papers' tables, at tiny settings."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from ltr_duel.core.errors import InputError
from ltr_duel.papers.claim_measures import MEASURES as CHECKS
from ltr_duel.papers.figure_files import figures_folder, list_figures
from ltr_duel.papers.measures import MEASURES, properties
from ltr_duel.preferences.io import save_preferences
from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.preferences.properties.subsets import random_condorcet_subset
from ltr_duel.preferences.synthetic import arithmetic, cyclic, random_preferences
from tests.conftest import ROCK_PAPER_SCISSORS, bradley_terry
from tests.reference import preferences as literal

TINY = {"synthetic": {"queries": 8, "documents": 12, "features": 6, "grades": 2, "dead": 0, "constant": 0}}


def found(entry=None, source="surrogate"):
    return SimpleNamespace(entry=entry or {}, source=source, note="")


def figure(name):
    """Return measure and settings of a figure at quick scale, with its sources."""
    (part,) = list_figures(figures_folder())[name].measures
    return part.measure, {**part.settings, **part.quick}, part.sources


def measured(kind, settings, entry=None, source="surrogate", jobs=1):
    return MEASURES[kind](found=found(entry, source), jobs=jobs, **settings)


def numbers(table, column="value"):
    return dict(zip(table["item"], table[column], strict=True))


def test_the_table_of_beat_the_mean_has_its_gamma_and_shows_its_slips():
    kind, settings, sources = figure("beat_the_mean_table_1")
    table = measured(kind, settings, source=sources[0].kind)
    value, printed = numbers(table), numbers(table, "printed")
    assert value["gamma_btm"] == pytest.approx(1.5) and printed["gamma_btm"] == 1.5
    assert value["lower_bound"] == pytest.approx(20.7, abs=0.05)
    assert (value["total_order"], value["pairs_in_order"], value["even_pairs"], value["even D, F"]) == (0, 14, 1, 1)
    excess = {label: round(number, 9) for label, number in value.items() if label.startswith("triangle excess")}
    assert excess == {"triangle excess D, F": 0.07, "triangle excess C, E": 0.05, "triangle excess D, E": 0.03}
    assert value["triangle_violations"] == 3
    pairs = table[table["item"].str.startswith("e[")]
    assert len(pairs) == 30 and pairs["printed"].notna().all()
    differs = pairs[~np.isclose(pairs["value"], pairs["printed"])]
    assert differs["item"].tolist() == ["e[D, B]"], "the misprint, and nothing else"
    assert set(table["source"]) == {"published matrix"} and set(table["rankers"]) == {6}


def test_the_utility_sets_of_multi_dueling_have_the_known_gaps_and_bounds():
    kind, settings, _ = figure("multi_dueling_table_1")
    table = measured(kind, settings, source="as in the paper").set_index(["problem", "item"])["value"]
    assert len(table.index.levels[0]) == 15
    families = ("1good5poor 1good50poor 1good200poor", "2good4poor 11good40poor 41good160poor",
                "3good3poor 21good30poor 81good120poor", "arith6 arith51 arith201", "geom6 geom51 geom201")  # fmt: skip
    constants = ((7.5, 74.7, 298.7), (14.8, 148.4, 593.5), (22.2, 222.1, 888.4), (18.7, 161.3, 639.1),
                 (17.2, 137.8, 543.1))  # fmt: skip
    for family, known in zip(families, constants, strict=True):
        for problem, constant in zip(family.split(), known, strict=True):
            assert table[problem, "lower_bound"] == pytest.approx(constant, abs=0.05), problem
            assert table[problem, "multiduel_bound"] < table[problem, "lower_bound"]
            gap = 0.1643 if problem.startswith("1good") else 0.0282
            assert table[problem, "smallest_gap"] == pytest.approx(gap, abs=5e-5)
    assert table["1good200poor", "mean_gap"] == pytest.approx(0.1643, abs=5e-5)
    assert table["2good4poor", "mean_gap"] == pytest.approx((0.0282 + 4 * 0.1643) / 5, abs=5e-5)


def test_what_the_paper_prints_of_the_utility_sets_is_what_they_have():
    kind, settings, _ = figure("multi_dueling_table_1")
    table = measured(kind, {**settings, "items": []})
    assert table["item"].tolist() == ["utility best", "utility second", "utility last"] * 15
    assert np.allclose(table["value"], table["printed"])
    assert dict(zip(table["problem"], table["rankers"], strict=True))["81good120poor"] == 201


def test_gammas_of_the_published_rankers(real_data):
    kind, settings, sources = figure("rucb_gammas")
    file = real_data / sources[0].file
    table = measured(kind, {**settings, "subsets": 400}, {"file": str(file)}, "published matrix")
    whole = numbers(table[table["rankers"] == 64])
    assert whole == {"gamma_rucb": pytest.approx(47.35, abs=0.005), "gamma_btm": pytest.approx(4.28, abs=0.005)}
    for size in (16, 32):
        part = table[table["rankers"] == size]
        assert (part["printed"].dropna() == {16: 4.85, 32: 11.6}[size]).all()
        quantiles, btm = (
            part.loc[part["item"].str.startswith(f"gamma_{one} quantile"), "value"] for one in ("rucb", "btm")
        )
        assert len(btm) == 5 and (btm.to_numpy() < quantiles.to_numpy()).all() and btm.min() >= 1
        assert len(quantiles) == 5 and quantiles.is_monotonic_increasing and (part["standard_error"] >= 0).all()


def test_the_share_up_to_the_printed_gamma_counts_subsets(tmp_path):
    matrix = random_preferences(9, seed=4)
    save_preferences(matrix, tmp_path / "matrix.parquet")
    gammas = [literal.relaxed_gamma(random_condorcet_subset(matrix, 4, seed=k).p, every_pair=True) for k in range(50)]
    between = float(np.quantile(gammas, 0.3)) + 1e-9
    share = float(np.mean(np.array(gammas) <= between))
    assert 0.3 <= share < 0.45
    settings = {"problem": "toy", "items": [], "subset_sizes": [{"rankers": 4, "printed": between}], "subsets": 50}
    table = measured("properties", settings, {"file": tmp_path / "matrix.parquet"})
    value, error = numbers(table), numbers(table, "standard_error")
    assert value["gamma_rucb share up to printed"] == pytest.approx(share)
    assert error["gamma_rucb share up to printed"] == pytest.approx(np.sqrt(share * (1 - share) / 50))
    assert value["gamma_rucb quantile 0.5"] == pytest.approx(np.median(gammas))
    low, high = np.quantile(gammas, [0.5 - 0.5 / np.sqrt(50), 0.5 + 0.5 / np.sqrt(50)])
    assert error["gamma_rucb quantile 0.5"] == pytest.approx((high - low) / 2)


def test_a_matrix_without_a_winner_has_no_gamma(tmp_path):
    save_preferences(ROCK_PAPER_SCISSORS, tmp_path / "matrix.csv")
    settings = {"problem": "toy", "items": ["gamma_btm", "triangle_violations", "smallest_gap", "lower_bound",
                                            "mean_gap", "multiduel_bound", "cyclic_triples"]}  # fmt: skip
    value = numbers(measured("properties", settings, {"file": tmp_path / "matrix.csv"}))
    assert value.pop("cyclic_triples") == 1 and all(np.isnan(list(value.values())))


def test_shares_of_subsets_of_a_cycle_and_of_a_total_order(tmp_path):
    # Ranker 0 beats a circle of three: sets of three without it are cyclic, and so is the set of all.
    save_preferences(cyclic(), tmp_path / "cyclic.csv")
    table = measured("subset_order", {}, {"file": tmp_path / "cyclic.csv"})
    shares = table.pivot(index="rankers", columns="item", values="value")
    assert shares["condorcet winner"].tolist() == [1, 1, 3 / 4, 1]
    assert shares["total order"].tolist() == [1, 1, 3 / 4, 0]
    assert (table["standard_error"] == 0).all(), "all sets were counted"
    save_preferences(arithmetic(), tmp_path / "order.csv")
    assert (measured("subset_order", {}, {"file": tmp_path / "order.csv"})["value"] == 1).all()


def test_shares_of_winners_have_the_noise_of_the_matrix(tmp_path):
    # Three rankers with nearly even preferences are a circle with probability 1/4; then three have no winner.
    even, clear = (PreferenceMatrix(0.5 + gap * (np.tri(3).T - np.tri(3))) for gap in (1e-6, 0.1))
    readings = []
    for matrix in (even, clear):
        save_preferences(matrix, tmp_path / "matrix.csv")
        table = measured("subset_order", {}, {"file": tmp_path / "matrix.csv"})
        winners = table[table["item"] == "condorcet winner"]
        readings.append(CHECKS["value"].run(winners, take="least"))
    assert readings == [(1, 0, 1), (1, 1, 1)]


def test_drawn_subsets_have_an_error_even_where_none_is_ordered(tmp_path):
    save_preferences(random_preferences(18), tmp_path / "matrix.npy")
    settings, entry = {"subsets": 500, "seed": 1}, {"file": tmp_path / "matrix.npy"}
    one, two = (measured("subset_order", settings, entry, jobs=jobs) for jobs in (1, 2))
    pd.testing.assert_frame_equal(one, two)
    order = one[one["item"] == "total order"].set_index("rankers")
    assert order.loc[15, "value"] == 0 and 1 / 502 <= order.loc[15, "standard_error"] < 0.005
    # Three rankers of independent preferences are in a circle with probability 1/4.
    assert order.loc[3, "standard_error"] == pytest.approx(np.sqrt(3 / 16 / 500), rel=0.1)
    assert order.loc[[1, 2, 17, 18], "standard_error"].tolist() == [0] * 4, "all sets were counted"
    assert (one.loc[one["item"] == "condorcet winner", "standard_error"] == 0).all()


def test_subsets_of_the_published_rankers(real_data):
    kind, settings, sources = figure("rucb_figure_5")
    entry = {"file": str(real_data / sources[0].file)}
    table = measured(kind, {**settings, "subsets": 500}, entry, "published matrix")
    winner, order = (table[table["item"] == item].set_index("rankers") for item in ("condorcet winner", "total order"))
    assert winner["value"].min() == pytest.approx(0.976, abs=5e-4) and winner["value"].idxmin() in (21, 22)
    for size, share in ((3, 0.988), (5, 0.92), (10, 0.50), (16, 0.10), (32, 0)):
        assert abs(order.loc[size, "value"] - share) < max(5 * order.loc[size, "standard_error"], 0.01)


@pytest.mark.parametrize("name", ["rucb_gammas", "rucb_figure_5"])
def test_without_any_data_a_matrix_is_estimated(name, monkeypatch):
    monkeypatch.setattr("ltr_duel.papers.measures.properties._FEW_SUBSETS", 20)
    kind, settings, sources = figure(name)
    assert sources[-1].kind == "surrogate" and sources[-1].settings["synthetic"]["features"] == 64
    small = {**settings, "comparisons": 60, "subsets": 20}
    if "subset_sizes" in settings:
        small["subset_sizes"] = [{"rankers": 3, "printed": 2.0}]
    one, two = (measured(kind, small, TINY, jobs=jobs) for jobs in (1, 2))
    pd.testing.assert_frame_equal(one, two)
    assert set(one["source"]) == {"surrogate"} and one["rankers"].max() == 6


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"matrices": ["arxive"], "items": []}, "no matrix 'arxive'; did you mean 'arxiv'"),
        ({"matrices": ["arxiv"], "items": ["gama_btm"]}, "no property 'gama_btm'; did you mean 'gamma_btm'"),
        ({"problem": "none", "items": []}, "needs a corpus"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_one_sentence(settings, complaint):
    with pytest.raises(InputError, match=complaint):
        measured("properties", settings)


def test_gamma_of_matrices_without_a_violation_is_one():
    """Bradley-Terry matrices are strongly transitive, although gamma over all ordered pairs always exceeds 1."""
    btm, rucb = properties._gammas_of_subsets(bradley_terry(12), 6, 60, 0, 1)
    assert rucb.min() > 1.001 and btm == pytest.approx(np.ones(60))
