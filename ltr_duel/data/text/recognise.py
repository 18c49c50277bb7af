"""Which well-known corpus a matrix comes from, by its shape and what its columns hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ltr_duel.data.corpora import feature_names

_ROWS_LOOKED_AT = 10_000  # the matrix may be a memory map far larger than memory


def known_names(features: NDArray[np.float32], document: str) -> tuple[str, ...]:
    """Return the names of the columns: the well-known ones, or numbers.

    The number of columns alone proves nothing, so each corpus has to show one more mark.

    Parameters
    ----------
    features : ndarray of float32, shape (n_docs, n_features)
        The matrix.
    document : str
        Id of the first document, "" if it has none.
    """
    columns = features.shape[1]
    if columns == len(feature_names.LETOR4) and document.startswith("GX"):
        return feature_names.LETOR4
    if columns == len(feature_names.LETOR3_GOV) and document.startswith("G"):
        return feature_names.LETOR3_GOV
    if columns in feature_names.RANK_LISTS and document.startswith("GX"):
        return tuple(f"run {i}" for i in range(1, columns + 1))
    if is_ohsumed(columns, document):
        return feature_names.OHSUMED
    if columns == len(feature_names.MSLR) and not document and _looks_like_mslr(features):
        return feature_names.MSLR
    return feature_names.numbered(columns)


def is_ohsumed(columns: int, document: str) -> bool:
    """Whether this is the width and the way to number documents of OHSUMED."""
    return columns == len(feature_names.OHSUMED) and document.isdecimal()


def _looks_like_mslr(features: NDArray[np.float32]) -> bool:
    """Whether the ratios of covered terms lie in 0..1 and the boolean model is boolean, on the first rows."""
    ratios = features[:_ROWS_LOOKED_AT, 5:10]
    boolean = features[:_ROWS_LOOKED_AT, 95:100]
    return bool(np.all((ratios >= 0) & (ratios <= 1)) and np.all((boolean == 0) | (boolean == 1)))
