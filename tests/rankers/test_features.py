"""Feature rankers: orders, ties, constant columns, refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ltr_duel.core.errors import InputError
from ltr_duel.core.mapped import is_kept
from ltr_duel.data.dataset import Dataset
from ltr_duel.rankers import rankers_named
from ltr_duel.rankers.features import column_means, constant_features, feature_rankers


def make_dataset(features, sizes, query_ids=None, names=None) -> Dataset:
    features = np.asfortranarray(features, dtype=np.float32)
    ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    relevance = (np.arange(len(features)) % 2).astype(np.int16)
    query_ids = np.array(query_ids or [f"q{k}" for k in range(len(sizes))])
    names = names or tuple(str(k + 1) for k in range(features.shape[1]))
    return Dataset(features, relevance, ptr, query_ids, None, "toy", 2, "0" * 64, names)


def test_documents_are_ordered_by_the_feature_highest_first_within_each_query():
    rankings = feature_rankers(make_dataset([[3], [9], [-1], [0.5], [7]], [3, 2]))
    assert rankings.order.tolist() == [[1, 0, 2, 1, 0]]
    assert rankings.rank.tolist() == [[2, 1, 3, 2, 1]]


def test_ties_are_fixed_by_the_seed_and_differ_between_rankers_and_queries():
    dataset = make_dataset(np.zeros((400, 2)), [200, 200])
    one, again, other = (feature_rankers(dataset, seed=seed, drop_constant=False).order for seed in (1, 1, 2))
    assert (one == again).all()
    assert (one != other).any()
    assert (one[0] != one[1]).any(), "two constant rankers must not become twins"
    assert (one[0][:200] != one[0][200:]).any(), "each query has ties of its own"


def test_ties_do_not_leak_the_order_of_the_file():
    rankings = feature_rankers(make_dataset(np.zeros((20_000, 1)), [20] * 1000), drop_constant=False)
    first = np.bincount(rankings.order.reshape(1000, 20)[:, 0], minlength=20)
    assert ((first - 50) ** 2 / 50).sum() < 19 + 6 * np.sqrt(2 * 19)


def test_ties_of_one_query_do_not_depend_on_the_rest_of_the_corpus():
    values = np.zeros((30, 1))
    together = feature_rankers(make_dataset(values, [10, 20], ["a", "b"]), drop_constant=False).order[0, 10:]
    alone = feature_rankers(make_dataset(values[10:], [20], ["b"]), drop_constant=False).order[0]
    assert (together == alone).all()


def test_columns_constant_within_every_query_are_reported_and_dropped():
    dataset = make_dataset([[1, 5, 0], [1, 6, 0], [2, 7, 0], [2, 7, 0]], [2, 2])
    assert constant_features(dataset) == ("1", "3")
    left = feature_rankers(dataset)
    assert left.names == ("2",) and repr(left).endswith("left out, constant within each query: 1 and 3>")
    assert feature_rankers(dataset, drop_constant=False).names == ("1", "2", "3")
    assert feature_rankers(dataset, features=["2", "3"]).names == ("2", "3"), "named ones are used"
    assert rankers_named(dataset, ["features"]).names == ("2",)
    assert rankers_named(dataset, ["a=features:3", "2"]).names == ("a", "2")
    with pytest.raises(InputError, match="no ranker is left"):
        feature_rankers(make_dataset([[1], [1]], [2]))


def test_the_share_of_tied_documents_is_a_mean_over_rankers_and_goes_with_a_subset():
    rankings = feature_rankers(make_dataset([[1, 1], [1, 2], [2, 3], [2, 4], [2, 4], [3, 5]], [3, 3]))
    assert rankings.tied_documents.tolist() == [4, 2]
    assert rankings.tied_share == (4 / 6 + 2 / 6) / 2 and rankings[["2"]].tied_share == 2 / 6
    assert replace(rankings, tied_documents=np.zeros(0, np.int64)).tied_share is None, "scores are not known"


def test_a_subset_keeps_order_and_refuses_unknown_names():
    rankings = feature_rankers(make_dataset(np.random.default_rng(2).random((6, 4)), [6]))
    subset = rankings[["3", "1"]]
    assert subset.names == ("3", "1")
    assert (subset.order == rankings.order[[2, 0]]).all()
    with pytest.raises(InputError, match="no ranker '9'"):
        rankings[["9"]]


def test_a_query_too_long_for_16_bits_is_refused():
    with pytest.raises(InputError, match=r"query q0 has 40,000 documents; at most 32,767"):
        feature_rankers(make_dataset(np.zeros((40_000, 1)), [40_000]), drop_constant=False)


def test_rank_lists_are_read_the_other_way_round_and_missing_documents_come_last():
    dataset = replace(make_dataset([[2], [1], [np.nan], [3]], [4]), lower_is_better=True)
    assert feature_rankers(dataset).order.tolist() == [[1, 0, 3, 2]]


def test_orders_are_computed_once_and_mapped_from_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("LTR_DUEL_HOME", str(tmp_path))
    dataset = make_dataset(np.random.default_rng(3).integers(0, 3, (200, 4)), [100, 100])
    plain = feature_rankers(dataset)
    assert not is_kept(plain.order) and not list(tmp_path.iterdir())
    first, other = (feature_rankers(dataset, cache=True, seed=seed) for seed in (0, 1))
    assert (other.order != plain.order).any(), "another seed, another entry"
    monkeypatch.setattr("ltr_duel.rankers.scores.rank_documents", None)  # nothing is sorted a second time
    for rankings in (first, feature_rankers(dataset, cache=True)):
        assert is_kept(rankings.order) and is_kept(rankings.rank)
        assert (rankings.order == plain.order).all() and (rankings.rank == plain.rank).all()
        assert rankings.tied_share == plain.tied_share


def test_means_of_features_are_of_values_scaled_within_each_query():
    dataset = make_dataset([[3, 1], [9, 1], [6, np.nan], [0.5, 2], [7.5, 2]], [3, 2])
    assert column_means(dataset).tolist() == pytest.approx([(0 + 1 + 0.5 + 0 + 1) / 5, (1 + 1 + 0 + 0 + 0) / 5])
