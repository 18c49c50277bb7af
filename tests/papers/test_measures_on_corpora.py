"""Measures that simulate users on a corpus: the results match the simulated truth."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from ltr_duel.core.errors import InputError
from ltr_duel.data.load import load_dataset
from ltr_duel.data.synthetic import make_corpus
from ltr_duel.data.text.write import write_svmlight
from ltr_duel.papers.measures import MEASURES
from ltr_duel.papers.measures.np2004_provenance import QUANTILES, _compared, _parts, profile
from ltr_duel.preferences.estimate.api import estimate_preferences
from ltr_duel.preferences.synthetic import arithmetic
from ltr_duel.rankers.features import feature_rankers
from ltr_duel.simulation.distortion import distortion_table, measure_distortion
from tests.conftest import random_rankings

TIES = ("fixed_random", "redraw_at_inference")
SHAPE = {"queries": 5, "documents": 20, "features": 8, "grades": 2, "ties": 1.0, "constant": 0.25, "dead": 0}
QUICK = {"corpus": "toy", "clicks": ["navigational"], "sizes": [2, 4], "multileavings": 40, "repetitions": 3,
         "comparisons": 100}  # fmt: skip


def measured(kind, settings, entry, jobs=1):
    return MEASURES[kind](
        found=SimpleNamespace(entry=entry, source="surrogate", note="", reading={}), jobs=jobs, **settings
    )


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Return the file of a small corpus with many ties."""
    path = tmp_path_factory.mktemp("corpus") / "train.txt"
    write_svmlight(make_corpus(**SHAPE), path)
    return path


def publish(corpus, folder, ties, clicks="informational"):
    """Write a matrix that was estimated under known conditions, with shuffled rankers; return the entry."""
    rankings = feature_rankers(load_dataset(corpus), ties=ties, drop_constant=False)
    matrix = estimate_preferences(
        rankings, clicks=clicks, comparisons=4000, seed=11, outcome="marginal_sign", variance_reduction="none"
    )
    shuffled = np.random.default_rng(0).permutation(len(matrix)).tolist()
    np.save(folder / "matrix.npy", matrix.p[np.ix_(shuffled, shuffled)])
    return {"path": corpus, "file": folder / "matrix.npy"}


@pytest.mark.parametrize("truth", TIES)
def test_the_way_a_matrix_was_made_comes_nearest_to_it(corpus, tmp_path, truth):
    settings = {"comparisons": 4000, "variants": [{"clicks": "informational", "ties": ties} for ties in TIES]}
    table = measured("np2004_provenance", settings, publish(corpus, tmp_path, truth))
    rmse = table[table["item"] == "rmse"].set_index("ties")["value"]
    assert rmse[truth] < 0.008 < 0.04 < rmse.drop(truth).item()
    right = table[(table["ties"] == truth) & (table["item"] != "rmse")]
    assert len(right) == 6 and np.allclose(right["value"], right["printed"], atol=0.03)
    assert (table["standard_error"] > 0).all() and set(table["top"]) == {10} and set(table["rankers"]) == {8}


def test_click_model_outcome_and_length_of_the_list_are_those_asked_for(corpus, tmp_path):
    changes = ({}, {"clicks": "perfect"}, {"outcome": "sampled"}, {"top": 3})
    variants = [{"clicks": "informational", "ties": "redraw_at_inference", **change} for change in changes]
    table = measured(
        "np2004_provenance", {"comparisons": 2000, "variants": variants}, publish(corpus, tmp_path, TIES[1])
    )
    right, *others = table.loc[table["item"] == "rmse", "value"]
    assert right < 0.01 and min(others) > 0.02
    cells = table.loc[table["item"] == "rmse", ["clicks", "outcome", "top"]].to_numpy().tolist()
    assert cells == [["informational", "marginal_sign", 10], ["perfect", "marginal_sign", 10],
                     ["informational", "sampled", 10], ["informational", "marginal_sign", 3]]  # fmt: skip


def test_a_query_without_relevant_documents_goes_with_the_one_before_it():
    grades = np.repeat([0, 1, 1, 0, 1, 0], 4).astype(np.int16)
    rankings = dataclasses.replace(random_rankings(3, 6, 4), relevance=grades)
    parts = _parts(rankings)
    assert [part.n_queries for part in parts] == [2, 2, 2]
    assert np.array_equal(np.concatenate([part.rank for part in parts], axis=1), rankings.rank)
    assert np.array_equal(np.concatenate([part.order for part in parts], axis=1), rankings.order)
    assert [part.query_ptr.tolist() for part in parts] == [[0, 4, 8]] * 3
    assert [part.relevance.tolist() for part in parts] == [[0] * 4 + [1] * 4, [1] * 4 + [0] * 4, [1] * 4 + [0] * 4]


def test_the_error_is_that_of_drawing_the_queries_anew(tmp_path):
    write_svmlight(make_corpus(**{**SHAPE, "queries": 1}), tmp_path / "train.txt")
    settings = {"comparisons": 50, "variants": [{"clicks": "informational", "ties": "fixed_random"}]}
    table = measured("np2004_provenance", settings, publish(tmp_path / "train.txt", tmp_path, "fixed_random"))
    assert table["standard_error"].max() < 1e-12, "there is only one query to draw"


def test_parts_of_different_size_that_agree_leave_no_error():
    p = arithmetic(4, 0.1).p
    answers = _compared(np.array([0.7, 0.2, 0.1]), np.array([p, p, p]), p, seed=0)
    assert [item for item, *_ in answers] == ["rmse", *(f"quantile {q:g}" for q in QUANTILES)]
    assert max(error for _, _, error, _ in answers) < 1e-12
    assert answers[0][1] < 1e-12 and all(value == pytest.approx(wanted) for _, value, _, wanted in answers[1:])


def test_a_part_counts_by_its_share_as_often_as_it_is_drawn():
    few, many = arithmetic(4, 0.1).p, arithmetic(4, 0.02).p  # the largest gaps are .3 and .06
    *_, (item, value, error, _) = _compared(np.array([0.998, 0.001, 0.001]), np.array([many, few, few]), many, seed=0)
    assert item == "quantile 1" and value == pytest.approx(0.06, abs=0.001)
    without = (2 / 3) ** 3  # three draws of three parts miss the large one
    assert error == pytest.approx(0.24 * np.sqrt(without * (1 - without)), rel=0.1)


def test_the_number_of_workers_changes_nothing(corpus, tmp_path):
    entry = publish(corpus, tmp_path, "fixed_random")
    settings = {"comparisons": 100, "seed": 3, "variants": [{"clicks": "perfect", "ties": "redraw_at_inference"}]}
    one, two = (measured("np2004_provenance", settings, entry, jobs) for jobs in (1, 2))
    pd.testing.assert_frame_equal(one, two)


def test_the_profile_of_a_matrix_is_its_row_means_and_quantiles():
    # p = 1/2 + (j - i) / 10 for four rankers: row means 1/2 +- .05, +- .15; gaps .1 three times, .2 twice, .3 once.
    means, quantiles = np.split(profile(arithmetic(4, 0.1).p), [4])
    assert means == pytest.approx([0.35, 0.45, 0.55, 0.65])
    assert quantiles == pytest.approx(np.quantile([0.1, 0.1, 0.1, 0.2, 0.2, 0.3], [0.1, 0.25, 0.5, 0.75, 0.9, 1]))
    assert np.allclose(profile(arithmetic(4, 0.1).p[::-1, ::-1]), profile(arithmetic(4, 0.1).p)), "no names"


def test_without_data_or_without_the_published_matrix_it_cannot_be_said(corpus, tmp_path):
    settings = {"comparisons": 100, "variants": []}
    for entry in ({}, {"path": corpus}, {"file": "matrix.npy"}, {"synthetic": SHAPE}):
        with pytest.raises(InputError, match="needs both the feature files of NP2004 and the published matrix"):
            measured("np2004_provenance", settings, entry)
    np.save(tmp_path / "matrix.npy", arithmetic(4).p)
    with pytest.raises(InputError, match="has 8 features; the published matrix has 4"):
        measured("np2004_provenance", settings, {"path": corpus, "file": tmp_path / "matrix.npy"})


def test_distortion_has_a_row_for_each_cell_beside_the_printed_number():
    entry = {"synthetic": {"queries": 6, "documents": 8, "features": 4, "grades": 5, "constant": 0, "dead": 0}}
    settings = {**QUICK, "clicks": ["perfect", "navigational"], "sizes": [2, 3, 100],
                "printed": {"navigational": [0.5, 1.5, 2.5]}}  # fmt: skip
    one, two = (measured("distortion", settings, entry, jobs) for jobs in (1, 2))
    pd.testing.assert_frame_equal(one, two)
    assert one[["clicks", "rankers"]].to_numpy().tolist() == [
        ["perfect", 2], ["perfect", 3], ["navigational", 2], ["navigational", 3],
    ]  # fmt: skip
    assert one["printed"].isna().tolist() == [True, True, False, False] and one["printed"].sum() == 2
    rankings = feature_rankers(make_corpus(**entry["synthetic"]))
    asked = {key: settings[key] for key in ("clicks", "multileavings", "repetitions", "comparisons")}
    frame = measure_distortion(rankings, methods=["sosm"], sizes=[2, 3], seed=0, **asked)
    table = distortion_table(frame)[["percent", "standard_error", "percent_clear"]]
    assert (table["percent"] > table["percent_clear"]).any(), "or the two could be confused here"
    assert one[["value", "standard_error", "clear"]].to_numpy().tolist() == table.to_numpy().tolist()
    assert set(one["of"]) == {4} and set(one["source"]) == {"surrogate"} and set(one["corpus"]) == {"toy"}


def test_rankers_that_order_nothing_and_the_one_left_out_are_not_in_the_sets(monkeypatch):
    seen = []

    def spy(rankings, **kwargs):
        seen.append(rankings.names)
        raise InputError("enough")

    monkeypatch.setattr("ltr_duel.papers.measures.distortion.measure_distortion", spy)
    entry = {"synthetic": {"queries": 6, "documents": 8, "features": 8, "grades": 5, "constant": 0.25, "dead": 0}}
    constant = set(map(str, range(1, 9))) - set(names_of(entry))
    assert len(constant) == 2
    position = int(names_of(entry)[2]) - 1
    for more in ({}, {"without": position}):
        with pytest.raises(InputError, match="enough"):
            measured("distortion", {**QUICK, **more}, entry)
    plain, without = (list(names) for names in seen)
    assert plain == list(names_of(entry))
    assert without == [*plain[:2], *plain[3:]]


def names_of(entry):
    return feature_rankers(make_corpus(**entry["synthetic"])).names
