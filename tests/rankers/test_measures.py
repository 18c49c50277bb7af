"""Measures: equal to the results of ir-measures, and compared side by side."""

from __future__ import annotations

from dataclasses import replace

import ir_measures
import numpy as np
import pytest
from ir_measures import AP, ERR, RR, P, R, nDCG
from scipy import stats

from ltr_duel.core import InputError
from ltr_duel.core.statistics import holm, mean_test
from ltr_duel.data import make_corpus
from ltr_duel.rankers import evaluate_rankers, feature_rankers, measure_by_query
from ltr_duel.rankers.measures import measure_named, measures_by_query
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
    "P@10": P @ 10,
    "R@10": R @ 10,
    "R@1": R @ 1,
}
FIVE_DIGITS = 5.0e-6 + 1e-12  # gdeval, which computes ERR for ir-measures, prints only five digits


def as_trec(rankings, ranker):
    """Return grades and scores in the form of ir-measures: the scores give the order that is shown to users."""
    qrels, run = {}, {}
    for query in range(rankings.n_queries):
        rows = range(*rankings.query_ptr[query : query + 2])
        qrels[str(query)] = {str(row): int(rankings.relevance[row]) for row in rows}
        run[str(query)] = {str(row): -float(rankings.rank[ranker, row]) for row in rows}
    return qrels, run


def assert_equal_to_theirs(rankings, rankers):
    for ranker in rankers:
        qrels, run = as_trec(rankings, ranker)
        expected = {
            (one.measure, one.query_id): one.value for one in ir_measures.iter_calc(THEIRS.values(), qrels, run)
        }
        for name, measure in THEIRS.items():
            ours = measure_by_query(rankings[[ranker]], name)[0]
            theirs = [expected[measure, str(query)] for query in range(rankings.n_queries)]
            assert ours == pytest.approx(theirs, abs=1e-6), name


def plain_err(grades, k, highest=4):
    value, reached = 0.0, 1.0
    for place, grade in enumerate(grades[:k], 1):
        stops = (2.0**grade - 1) / 2**highest
        value += reached * stops / place
        reached *= 1 - stops
    return value


def test_ir_measures_agrees_with_ties_and_queries_without_relevant_documents():
    corpus = make_corpus(queries=30, documents=15, features=4, seed=3)
    relevance = corpus.relevance.copy()
    relevance[: corpus.query_ptr[2]] = 0
    features = np.asfortranarray(corpus.features.round(1))
    corpus = replace(corpus, relevance=relevance, features=features)
    assert (np.diff(np.sort(features[: corpus.query_ptr[1], 0])) == 0).any()
    assert_equal_to_theirs(feature_rankers(corpus), range(4))


def test_err_is_that_of_its_paper_and_of_gdeval():
    rankings = random_rankings(2, 12, 14, seed=5)
    for ranker in range(2):
        ours = measure_by_query(rankings[[ranker]], "ERR@10")[0]
        grades = [
            rankings.relevance[14 * q : 14 * q + 14][rankings.order[ranker, 14 * q : 14 * q + 14]] for q in range(12)
        ]
        assert ours == pytest.approx([plain_err(one, 10) for one in grades], abs=1e-12)
        theirs = {one.query_id: one.value for one in ir_measures.iter_calc([ERR @ 10], *as_trec(rankings, ranker))}
        assert ours == pytest.approx([theirs[str(q)] for q in range(12)], rel=0, abs=FIVE_DIGITS)


def test_err_of_higher_grades_stays_a_probability():
    rankings = make_rankings([[0, 1]], 7, [6, 6])
    assert 0 < measure_by_query(rankings, "ERR@2")[0, 0] <= 1


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


def test_a_baseline_that_is_no_ranker_is_refused():
    with pytest.raises(InputError, match="no ranker 'bm25'"):
        evaluate_rankers(random_rankings(2, 2, 3), baseline="bm25")


def test_objects_of_ir_measures_are_measured_by_their_definition():
    rankings = random_rankings(2, 12, 10, seed=4)
    measures = [ir_measures.nDCG @ 5, ir_measures.nDCG(dcg="exp-log2") @ 5, ir_measures.AP, ir_measures.RR]
    table = evaluate_rankers(rankings, measures)
    assert table["measure"].drop_duplicates().tolist() == ["nDCG(dcg='log2')@5", "NDCG@5", "MAP", "MRR"]
    for ranker in range(2):
        theirs = ir_measures.calc_aggregate(measures, *as_trec(rankings, ranker))
        mine = table[table["ranker"] == rankings.names[ranker]]["mean"].to_numpy()
        assert mine == pytest.approx([theirs[measure] for measure in measures], abs=5.1e-6)  # gdeval rounds ERR
    for refused in (ir_measures.AP(rel=2), 7):
        with pytest.raises(InputError, match="measure"):
            evaluate_rankers(rankings, [refused])


def test_equal_rankers_differ_with_p_one_and_a_single_query_has_no_interval():
    rankings = make_rankings([[0, 1, 2], [0, 1, 2]], 3, [1, 0, 2])
    table = evaluate_rankers(rankings, ["MAP"])
    assert table[["low", "high", "p"]].isna().all(axis=None)
    order = np.tile([[1, 0, 2]], (2, 2))
    twice = replace(rankings, order=order, relevance=np.array([1, 0, 2, 0, 1, 2]), query_ptr=np.array([0, 3, 6]))
    assert evaluate_rankers(twice, ["MAP"])["p"].iloc[1] == 1


def test_queries_that_are_all_alike_leave_room_for_others():
    rankings = make_rankings([[0, 1, 2], [0, 1, 2]], 3, [1, 0, 2])
    order = np.tile([[1, 0, 2]], (2, 2))
    twice = replace(rankings, order=order, relevance=np.array([1, 0, 2, 1, 0, 2]), query_ptr=np.array([0, 3, 6]))
    found = evaluate_rankers(twice, ["MAP"])
    middle = (1 / 2 + 2 / 3) / 2  # mean of both queries; 2.5 % of samples miss a kind with a share of 1 - .025^(1/2)
    unseen = 1 - 0.025**0.5
    assert found["low"].to_numpy() == pytest.approx(middle * (1 - unseen))
    assert found["high"].to_numpy() == pytest.approx(middle + (1 - middle) * unseen)


@pytest.mark.parametrize(
    ("measures", "complaint"),
    [
        (["NDCG"], "write a cut-off from 1 to 100,000, as in 'NDCG@10'"),
        (["P@0"], "write a cut-off"),
        (["P@100001"], "write a cut-off"),
        (["MPA"], "no measure 'MPA'; did you mean 'MAP'"),
        (["MAP", "map"], "named twice"),
        ([], "name at least one measure"),
    ],
)
def test_measures_that_do_not_exist_are_refused(measures, complaint):
    with pytest.raises(InputError, match=complaint):
        evaluate_rankers(random_rankings(2, 2, 3), measures)


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("nDCG@10", "NDCG@10"),
        ("ndcg_cut_10", "NDCG@10"),
        ("nDCG(dcg='exp-log2')@10", "NDCG@10"),
        ("AP@5", "MAP@5"),
        ("RR", "MRR"),
        ("recip_rank", "MRR"),
        ("recall_20", "R@20"),
    ],
)
def test_names_of_other_tools_are_understood(typed, name):
    assert measure_named(typed).name == name


def test_measures_of_one_pass_are_those_of_a_pass_each():
    rankings = random_rankings(5, 40, 30)
    names = ["MAP", "NDCG@10", "P@3", "MRR@2", "R@100", "ERR@7", "NDCG@1"]
    together = measures_by_query(rankings, [measure_named(name) for name in names])
    for name, values in zip(names, together, strict=True):
        assert values.tobytes() == measure_by_query(rankings, name).tobytes()
