"""Orders, ranks and ties by one `numpy.lexsort` over the whole corpus, the required result of the compiled sort."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import interpreted
from ltr_duel.data import Dataset
from ltr_duel.rankers.sorting import document_keys, mix, salt_of


class Ordered(NamedTuple):
    """One ranker's order of a corpus; each array of shape (n_docs,)."""

    order: NDArray[np.int16]
    rank: NDArray[np.int16]
    tied: NDArray[np.uint8]


def ordered(dataset: Dataset, scores: NDArray[Any], ties: str, seed: int, name: str) -> Ordered:
    """Order the documents of each query by falling scores, NaN and minus infinity last."""
    starts = np.repeat(dataset.query_ptr[:-1], dataset.query_sizes)
    falling = -scores
    falling[np.isnan(falling)] = np.inf
    salt = salt_of(seed, "" if ties == "shared" else name)
    breakers = interpreted(mix)(document_keys(dataset.query_ids, dataset.query_ptr) ^ salt)
    order = np.lexsort((falling, starts) if ties == "file" else (breakers, falling, starts)) - starts
    rank = np.empty_like(order)
    rank[starts + order] = np.arange(len(order)) - starts + 1
    sorted_scores = falling[starts + order]
    tied = np.zeros(len(order), np.uint8)
    tied[1:] = sorted_scores[1:] == sorted_scores[:-1]
    tied[dataset.query_ptr[:-1]] = 0
    return Ordered(order.astype(np.int16), rank.astype(np.int16), tied)


def constant_columns(dataset: Dataset) -> tuple[str, ...]:
    """Return the names of the features whose largest and smallest value are equal in each query."""
    starts = dataset.query_ptr[:-1]
    low, high = (ends.reduceat(dataset.features, starts, axis=0) for ends in (np.minimum, np.maximum))
    none = np.logical_and.reduceat(np.isnan(dataset.features), starts, axis=0)
    same = ((low == high) | none).all(axis=0)
    return tuple(name for name, one in zip(dataset.feature_names, same, strict=True) if one)
