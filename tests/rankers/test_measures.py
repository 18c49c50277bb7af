"""Measures: derived by hand, equal to the results of ir-measures, and compared side by side."""

from __future__ import annotations

from dataclasses import replace
from math import log2

import ir_measures
import numpy as np
import pytest
from ir_measures import AP, ERR, RR, P, R, nDCG
from scipy import stats

from ltr_duel.core import InputError
from ltr_duel.core.statistics import holm, mean_test
from ltr_duel.data import load_dataset, make_corpus
from ltr_duel.rankers import evaluate_rankers, feature_rankers, measure_by_query, rankers_named
from tests.conftest import make_rankings, random_rankings

GAINS = {grade: 2**grade - 1 for grade in range(5)}
THEIRS = {
    "NDCG@10": nDCG(gains=GAINS) @ 10,
    "NDCG@3": nDCG(gains=GAINS) @ 3,
    "MAP": AP,
    "MAP@5": AP @ 5,
    "MRR": RR,
    "MRR@10": RR @ 10,
    "P@5": P @ 5,
    "R@10": R @ 10,
    "R@1": R @ 1,
    "ERR@10": ERR @ 10,
}
FIVE_DIGITS = 5.0e-6 + 1e-12  # gdeval, which computes ERR for ir-measures, prints only five digits


def assert_equal_to_theirs(rankings):
    for ranker in range(len(rankings)):
        qrels, run = {}, {}  # scores give the order that users see
        for query in range(rankings.n_queries):
            rows = range(*rankings.query_ptr[query : query + 2])
            qrels[str(query)] = {str(row): int(rankings.relevance[row]) for row in rows}
            run[str(query)] = {str(row): -float(rankings.rank[ranker, row]) for row in rows}
        values = ir_measures.iter_calc(THEIRS.values(), qrels, run)
        expected = {(value.measure, value.query_id): value.value for value in values}
        for name, measure in THEIRS.items():
            theirs = [expected[measure, str(query)] for query in range(rankings.n_queries)]
            near = FIVE_DIGITS if name.startswith("ERR") else 1e-6
            assert measure_by_query(rankings, name)[ranker] == pytest.approx(theirs, rel=0, abs=near), (name, ranker)


def test_ir_measures_agrees_with_ties_and_queries_without_relevant_documents():
    corpus = make_corpus(queries=30, documents=15, features=4, seed=3)
    relevance, features = corpus.relevance.copy(), np.asfortranarray(corpus.features.round(1))
    relevance[: corpus.query_ptr[2]] = 0
    assert (np.diff(np.sort(features[: corpus.query_ptr[1], 0])) == 0).any()
    assert_equal_to_theirs(feature_rankers(replace(corpus, relevance=relevance, features=features)))


def test_ir_measures_agrees_on_mq2008(real_data):
    corpus = load_dataset(real_data / "MQ2008" / "Fold1" / "test.txt.gz")
    assert (corpus.features[:, 5] == 0).all() and (
        np.maximum.reduceat(corpus.relevance, corpus.query_ptr[:-1]) == 0
    ).any()
    assert_equal_to_theirs(rankers_named(corpus, ["features:1,6,25"]))  # 6: nothing but ties


def test_gain_is_two_to_the_grade_and_discount_is_the_logarithm_of_the_rank():
    rankings = make_rankings([[2, 0, 1], [1, 0, 2]], 3, [1, 0, 2])
    ideal = 3 / log2(2) + 1 / log2(3)
    assert measure_by_query(rankings).mean(axis=1) == pytest.approx([1, (1 / log2(3) + 3 / log2(4)) / ideal])


def test_only_k_documents_count_but_the_ideal_is_made_of_all():
    rankings = make_rankings([[0, 1, 2, 3]], 3, [0, 1, 2, 2])
    assert measure_by_query(rankings, "NDCG@2")[0, 0] == pytest.approx((1 / log2(3)) / (3 / log2(2) + 3 / log2(3)))
    assert measure_by_query(rankings, "NDCG@1")[0, 0] == 0


def test_err_is_the_expected_reciprocal_rank_of_the_stop():
    rankings = make_rankings([[0, 1, 2]], 3, [1, 0, 2])
    stops = (1 / 16, 0, 3 / 16)  # (2^grade - 1) / 2^4
    assert measure_by_query(rankings, "ERR@3")[0, 0] == stops[0] + (1 - stops[0]) * stops[2] / 3
    rankings = make_rankings([[0, 1]], 7, [6, 6])  # grades above 4
    assert measure_by_query(rankings, "ERR@2")[0, 0] == 63 / 64 + 1 / 64 * 63 / 64 / 2


def test_a_query_without_relevant_documents_is_zero_and_stays_in_the_mean():
    rankings = random_rankings(2, 4, 6)
    rankings = replace(rankings, relevance=np.where(np.arange(24) < 6, 0, rankings.relevance).astype(np.int16))
    for name in ("NDCG@10", "ERR@10", "MAP", "MRR", "P@3", "R@3"):
        values = measure_by_query(rankings, name)
        assert (values[:, 0] == 0).all() and (values[:, 1:] > 0).any()


def test_the_evaluation_is_means_intervals_and_corrected_paired_tests():
    rankings = random_rankings(4, 40, 10, seed=2)
    table = evaluate_rankers(rankings, ["NDCG@5", "MAP"])
    assert table["measure"].tolist() == ["NDCG@5"] * 4 + ["MAP"] * 4
    mine = table[table["measure"] == "NDCG@5"]
    values = dict(zip(rankings.names, measure_by_query(rankings, "NDCG@5"), strict=True))
    best = mine["ranker"].iloc[0]
    assert mine["mean"].is_monotonic_decreasing and np.isnan(mine["p"].iloc[0])
    p = [stats.ttest_rel(values[name], values[best]).pvalue for name in mine["ranker"][1:]]
    assert mine["p"].iloc[1:].to_numpy() == pytest.approx(holm(np.array(p), family=6), rel=0.05)  # signs, nearly t
    for row in mine.itertuples():
        interval = stats.t.interval(0.95, 39, values[row.ranker].mean(), stats.sem(values[row.ranker]))
        assert (row.low, row.high) == pytest.approx(interval)
        assert row.difference == pytest.approx(values[row.ranker].mean() - values[best].mean())


def test_rankers_are_compared_with_named_baselines_and_corrected_for_these_pairs():
    rankings = random_rankings(4, 40, 10, seed=2)
    values, names = measure_by_query(rankings, "MAP"), rankings.names
    table = evaluate_rankers(rankings, "MAP", baseline=[names[2], names[0]]).set_index(["baseline", "ranker"])
    pairs = [(2, 0), (2, 1), (2, 3), (0, 1), (0, 3)]
    p = holm(np.array([mean_test(values[j] - values[i]) for i, j in pairs]))
    for (i, j), corrected in zip(pairs, p, strict=True):
        row = table.loc[(names[i], names[j])]
        assert row["p"] == pytest.approx(corrected)
        assert row["difference"] == pytest.approx(values[j].mean() - values[i].mean())
    assert table.loc[(names[0], names[2]), "p"] == table.loc[(names[2], names[0]), "p"]
    assert np.isnan(table.loc[(names[2], names[2]), "p"]) and len(table) == 2 * 4


def twice(*relevance):
    """Return two equal rankers on two queries of three documents, in the order 1, 0, 2."""
    rankings = make_rankings([[0, 1, 2], [0, 1, 2]], 3, [1, 0, 2])
    ptr, order = np.array([0, 3, 6]), np.tile(np.array([1, 0, 2], np.int16), (2, 2))
    return replace(rankings, order=order, relevance=np.array(relevance), query_ptr=ptr)


def test_objects_of_ir_measures_are_measured_by_their_definition():
    rankings = random_rankings(2, 12, 10, seed=4)
    measures = [nDCG @ 5, nDCG(dcg="exp-log2") @ 5, AP, RR]
    table = evaluate_rankers(rankings, measures)
    assert table["measure"].drop_duplicates().tolist() == ["nDCG(dcg='log2')@5", "NDCG@5", "MAP", "MRR"]
    relevance = rankings.relevance.reshape(12, 10).astype(float)
    grades, ideal = np.take_along_axis(relevance, rankings.order[0].reshape(12, 10), axis=1), -np.sort(-relevance)
    discount = 1 / np.log2(np.arange(2, 7))
    linear = measure_by_query(rankings, nDCG @ 5)[0]
    assert linear == pytest.approx((grades[:, :5] @ discount) / (ideal[:, :5] @ discount))


@pytest.mark.parametrize(
    ("text", "name"), [("ndcg_cut_10", "NDCG@10"), ("AP@5", "MAP@5"), ("recip_rank", "MRR"), ("recall_20", "R@20")]
)
def test_names_of_other_tools_are_understood(text, name):
    assert evaluate_rankers(random_rankings(2, 3, 4), text)["measure"].iloc[0] == name


def test_equal_rankers_differ_with_p_one_and_a_single_query_has_no_interval():
    table = evaluate_rankers(make_rankings([[0, 1, 2], [0, 1, 2]], 3, [1, 0, 2]), ["MAP"])
    assert table[["low", "high", "p"]].isna().all(axis=None)
    assert evaluate_rankers(twice(1, 0, 2, 0, 1, 2), ["MAP"])["p"].iloc[1] == 1


def test_intervals_of_identical_queries_leave_room_for_others():
    table = evaluate_rankers(twice(1, 0, 2, 1, 0, 2), ["MAP"])
    middle = (1 / 2 + 2 / 3) / 2  # mean of both queries; 2.5 % of samples miss a kind with a share of 1 - .025^(1/2)
    unseen = 1 - 0.025**0.5
    assert table["low"].to_numpy() == pytest.approx(middle * (1 - unseen))
    assert table["high"].to_numpy() == pytest.approx(middle + (1 - middle) * unseen)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"measures": ["NDCG"]}, "write a cut-off from 1 to 100,000, as in 'NDCG@10'"),
        ({"measures": ["P@100001"]}, "write a cut-off"),
        ({"measures": ["MPA"]}, "no measure 'MPA'; did you mean 'MAP'"),
        ({"measures": ["MAP", "map"]}, "named twice"),
        ({"measures": []}, "name at least one measure"),
        ({"baseline": "bm25"}, "no ranker 'bm25'"),
    ],
)
def test_measures_and_baselines_that_do_not_exist_are_refused(given, complaint):
    with pytest.raises(InputError, match=complaint):
        evaluate_rankers(random_rankings(2, 2, 3), **given)
