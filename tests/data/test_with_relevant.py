"""Queries without a relevant document: kept by default, left out on request."""

from __future__ import annotations

import numpy as np
import pytest

from ltr_duel.core.errors import InputError
from ltr_duel.data import Dataset


def corpus(relevance):
    """Three queries of 2, 1 and 3 documents."""
    return Dataset(
        np.arange(12, dtype=np.float32).reshape(6, 2), np.array(relevance, np.int16), np.array([0, 2, 3, 6]),
        np.array(["a", "b", "c"]), None, "toy", 3, "x", ("f", "g"),
    )  # fmt: skip


def test_a_query_without_a_relevant_document_is_left_out_with_its_rows():
    kept = corpus([0, 2, 0, 0, 1, 0]).with_relevant()
    assert kept.query_ids.tolist() == ["a", "c"] and kept.query_ptr.tolist() == [0, 2, 5]
    assert kept.features[:, 0].tolist() == [0, 2, 6, 8, 10] and kept.relevance.tolist() == [0, 2, 0, 1, 0]
    assert kept.sha256 != "x"


def test_without_any_relevant_document_nothing_is_left():
    with pytest.raises(InputError, match="no query"):
        corpus([0] * 6).with_relevant()
