"""The compiled sort inside each query returns the bytes of a sort of the whole corpus."""

from __future__ import annotations

import numpy as np
import pytest

from ltr_duel.core import InputError
from ltr_duel.rankers import constant_features, rankings_from_scores
from ltr_duel.rankers.ties import REDRAWING, TIE_RULES
from tests.rankers.test_features import make_dataset
from tests.reference.rankings import constant_columns, ordered

SIZES = [1, 2, 15, 16, 17, 31, 33, 1, 64, 100, 257]
DOCUMENTS = sum(SIZES)
RNG = np.random.default_rng(7)


def one_step_apart(dtype, start):
    """Return neighbouring floats, many of them twice, in random order."""
    bits = np.array(start, dtype).view(f"i{np.dtype(dtype).itemsize}") + RNG.integers(0, DOCUMENTS // 2, DOCUMENTS)
    return bits.astype(f"i{np.dtype(dtype).itemsize}").view(dtype)


SCORES = {
    "all different": RNG.normal(size=DOCUMENTS),
    "whole numbers from -3 to 3": RNG.integers(-3, 4, DOCUMENTS).astype(np.float64),
    "all tied": np.zeros(DOCUMENTS),
    "both zeros": RNG.choice([0.0, -0.0], DOCUMENTS),
    "nothing retrieved": np.full(DOCUMENTS, np.nan),
    "nan, both infinities, zero and one": RNG.choice([np.nan, -np.nan, -np.inf, np.inf, 0.0, -0.0, 1.0], DOCUMENTS),
    "sorted already": -np.arange(DOCUMENTS, dtype=np.float64),
    "sorted the other way round": np.arange(DOCUMENTS, dtype=np.float64),
    "largest and smallest floats": RNG.choice([1e308, -1e308, 3e38, 1e-38, 5e-324, -5e-324, 1e-45, 0], DOCUMENTS),
    "one step of a double apart": one_step_apart(np.float64, 1.0),
    "one step of a negative double apart": one_step_apart(np.float64, -1.0),
    "subnormal doubles": one_step_apart(np.float64, 0.0),
    "in steps of 2^-40": 1 + RNG.integers(0, 40, DOCUMENTS) * 2.0**-40,
}
SCORES["one step of a single apart"] = one_step_apart(np.float32, 1.0)
SCORES["subnormal singles"] = one_step_apart(np.float32, 0.0)


def assert_as_reference(dataset, scores, ties, seed=5):
    rankings = rankings_from_scores(dataset, {"a": scores, "b": scores}, ties=ties, seed=seed, jobs=1)
    for k, name in enumerate("ab"):
        expected = ordered(dataset, scores, ties, seed, name)
        assert rankings.order[k].tobytes() == expected.order.tobytes()
        assert rankings.rank[k].tobytes() == expected.rank.tobytes()
        if ties in REDRAWING:
            assert rankings.tied[k].tobytes() == expected.tied.tobytes()
        below = np.append(expected.tied[1:], 0)  # ties with the document below
        assert rankings.tied_documents[k] == (expected.tied | below).sum()
    assert rankings.tied.shape == ((2, dataset.n_docs) if ties in REDRAWING else (0, 0))


@pytest.mark.parametrize("ties", TIE_RULES)
@pytest.mark.parametrize("name", SCORES)
def test_orders_ranks_and_ties_are_those_of_a_sort_of_the_whole_corpus(name, ties):
    assert_as_reference(make_dataset(np.zeros((DOCUMENTS, 1)), SIZES), SCORES[name], ties)


@pytest.mark.parametrize("kind", ["different", "tied", "close"])
def test_a_query_of_32767_documents_is_ordered_like_any_other(kind):
    sizes = [3, 32_767, 1]
    numbers = np.arange(sum(sizes))
    RNG.shuffle(numbers)
    scores = {"different": numbers / 7, "tied": numbers * 0.0, "close": 1 + numbers // 3 * 2.0**-52}[kind]
    assert_as_reference(make_dataset(np.zeros((len(numbers), 1)), sizes), scores, "resample")


@pytest.mark.parametrize("given", [np.zeros(5), np.zeros((6, 1)), np.array(["a"] * 6)])
def test_scores_that_are_not_one_number_a_document_are_refused(given):
    with pytest.raises(InputError, match=r"'a' has scores of .* one number for each of the 6 documents is needed"):
        rankings_from_scores(make_dataset(np.zeros((6, 1)), [4, 2]), {"a": given})


def test_scores_are_computed_once_for_orders_ranks_and_ties():
    calls = []
    dataset = make_dataset(np.zeros((6, 1)), [4, 2])
    scores = {name: lambda name=name: calls.append(name) or np.zeros(6) for name in "ab"}
    rankings_from_scores(dataset, scores, ties="resample", jobs=1)
    assert calls == ["a", "b"]


def test_constant_columns_are_those_whose_extremes_are_equal_in_each_query():
    values = [0.0, -0.0, 1.0, np.nan, np.inf, -np.inf]
    columns = np.random.default_rng(3).choice(values, (40, 300), p=[0.7, 0.1, 0.05, 0.05, 0.05, 0.05])
    columns[:, :30] = np.repeat(np.arange(4), 10)[:, None]
    columns[39, 10:20] = np.nan
    columns[5, 20:30] = -7
    columns[:, 40] = np.inf
    columns[:, 41] = np.nan
    dataset = make_dataset(columns, [10, 10, 10, 10])
    names = constant_features(dataset)
    assert names == constant_columns(dataset)
    assert set(names) >= {str(k + 1) for k in (*range(10), 40)}


@pytest.mark.parametrize("first", [0, 63, 64, 319, 320, 999])
def test_a_column_that_varies_in_a_single_query_is_not_constant(first):
    for value in (-1.0, np.nan):
        column = np.repeat(np.arange(1000.0), 3)
        column[3 * first + 1] = value
        assert constant_features(make_dataset(column[:, None], [3] * 1000)) == ()
