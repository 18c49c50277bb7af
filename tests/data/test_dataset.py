"""`Dataset`, its description, synthetic corpora, and writing as text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ltr_duel.core import InputError
from ltr_duel.data import Dataset, describe, load_dataset, make_corpus, write_svmlight
from ltr_duel.rankers import constant_features


def corpus(relevance):  # three queries of 2, 1 and 3 documents
    return Dataset(
        np.arange(12, dtype=np.float32).reshape(6, 2), np.array(relevance, np.int16), np.array([0, 2, 3, 6]),
        np.array(["a", "b", "c"]), None, "toy", 3, "x", ("f", "g"),
    )  # fmt: skip


def test_a_query_without_a_relevant_document_is_left_out_with_its_rows():
    kept = corpus([0, 2, 0, 0, 1, 0]).with_relevant()
    assert kept.query_ids.tolist() == ["a", "c"] and kept.query_ptr.tolist() == [0, 2, 5]
    assert kept.features[:, 0].tolist() == [0, 2, 6, 8, 10] and kept.relevance.tolist() == [0, 2, 0, 1, 0]
    assert kept.sha256 != "x"
    with pytest.raises(InputError, match="no query"):
        corpus([0] * 6).with_relevant()


def test_a_description_names_duplicate_constant_and_empty_columns_and_counts_missing_values():
    columns = [[1, 2, 3, 4], [0, 0, 0, 0], [5, 5, 7, 7], [1, 2, 3, 4], [np.nan, 1, 2, 2], [np.nan] * 4]
    made = Dataset(
        np.array(columns, np.float32).T, np.array([0, 0, 1, 2]), np.array([0, 2, 4]), np.array(["a", "b"]), None,
        "toy", 3, "x", tuple("abcdef"),
    )  # fmt: skip
    facts = describe(made)
    assert (facts.dead, facts.constant, facts.twins, facts.missing) == ([1], [1, 2, 5], [(0, 3)], {4: 1, 5: 4})
    assert constant_features(made) == ("b", "c", "f")
    assert facts.sizes.tolist() == [2, 2] and facts.grade_counts.tolist() == [2, 1, 1]
    assert facts.queries_without_relevant == 1


@pytest.mark.parametrize("grades", [2, 3, 5, 8])
def test_a_synthetic_corpus_has_the_shape_and_the_defects_that_were_asked_for(grades):
    made = make_corpus(queries=50, documents=20, features=100, grades=grades, dead=0.05, constant=0.07, twins=0)
    assert (made.n_queries, made.n_features, made.grades) == (50, 100, grades)
    assert made.query_sizes.min() >= 10 and made.query_sizes.max() <= 30
    assert (len(describe(made).dead), len(describe(made).constant)) == (5, 12)
    counts = np.bincount(made.relevance, minlength=grades)
    assert np.all(counts > 0) and (grades == 8 or counts.argmax() == 0)


@pytest.mark.parametrize("name, sparse", [("a.txt", False), ("a.txt.gz", True)])
def test_text_keeps_values_of_any_size(tmp_path, name, sparse):
    values = [1e-45, 3e38, -0.0, 1.1754944e-38, 1 / 3, 16777216.0, 5.4e7, 1e-13, 123456.789]
    any_bits = np.random.default_rng(0).integers(0, 2**32, 9_000, np.uint32).view(np.float32)
    numbers = np.concatenate([np.float32(values), any_bits[np.isfinite(any_bits)]])
    made = make_corpus(queries=10, documents=20, features=50)
    made = replace(made, features=np.asfortranarray(np.resize(numbers, made.features.shape)), sha256="")
    again = load_dataset(write_svmlight(made, tmp_path / name, sparse=sparse), features=50)
    assert np.array_equal(again.features, made.features) and again.doc_ids.tolist() == made.doc_ids.tolist()
    assert sparse or again.sha256 == made.sha256
