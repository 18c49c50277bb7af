"""NDCG: computed manually, and by scikit-learn."""

from __future__ import annotations

from dataclasses import replace
from math import log2

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from ltr_duel.rankers import measure_by_query
from tests.conftest import make_rankings, random_rankings


def test_gain_is_two_to_the_grade_and_discount_is_the_logarithm_of_the_rank():
    rankings = make_rankings([[2, 0, 1], [1, 0, 2]], 3, [1, 0, 2])
    ideal = 3 / log2(2) + 1 / log2(3)
    assert measure_by_query(rankings).mean(axis=1) == pytest.approx([1, (1 / log2(3) + 3 / log2(4)) / ideal])


def test_only_k_documents_count_but_the_ideal_is_made_of_all():
    rankings = make_rankings([[0, 1, 2, 3]], 3, [0, 1, 2, 2])
    assert measure_by_query(rankings, "NDCG@2") == pytest.approx(
        np.array([[(1 / log2(3)) / (3 / log2(2) + 3 / log2(3))]])
    )
    assert measure_by_query(rankings, "NDCG@1") == pytest.approx(np.array([[0]]))


def test_a_query_without_relevant_documents_is_zero_and_stays_in_the_mean():
    rankings = random_rankings(2, 4, 6)
    relevance = rankings.relevance.copy()
    relevance[:6] = 0
    rankings = replace(rankings, relevance=relevance)
    table = measure_by_query(rankings, "NDCG@10")
    assert (table[:, 0] == 0).all() and (table[:, 1:] > 0).all()
    assert measure_by_query(rankings).mean(axis=1) == pytest.approx(table[:, 1:].sum(axis=1) / 4)


@pytest.mark.parametrize("k", [1, 3, 10, 25])
def test_scikit_learn_agrees(k):
    rankings = random_rankings(4, 7, 20, seed=k)
    table = measure_by_query(rankings, f"NDCG@{k}")
    for ranker in range(4):
        for query in range(7):
            rows = slice(20 * query, 20 * query + 20)
            gain = 2.0 ** rankings.relevance[rows] - 1
            expected = ndcg_score([gain], [-rankings.rank[ranker, rows].astype(float)], k=k)
            assert table[ranker, query] == pytest.approx(expected, abs=1e-12)


def test_the_order_by_grade_is_perfect_and_no_order_is_better():
    rng = np.random.default_rng(0)
    grades = rng.integers(0, 5, 30)
    orders = [np.argsort(-grades, kind="stable"), *(rng.permutation(30) for _ in range(20))]
    scores = measure_by_query(make_rankings(orders, 5, grades))[:, 0]
    assert scores[0] == pytest.approx(1) and (scores[1:] < 1).all()
