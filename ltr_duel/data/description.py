"""What is in a corpus: sizes, grades, and columns that cannot rank."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import arguments, mapped
from ltr_duel.data.dataset import Dataset


class Description(NamedTuple):
    """Facts about a corpus; columns are given as positions from 0."""

    sizes: NDArray[np.int64]  # (n_queries,) documents of each query
    grade_counts: NDArray[np.int64]  # (grades,) documents of each grade
    queries_without_relevant: int  # queries whose documents all have grade 0
    dead: list[int]  # columns that are zero everywhere
    constant: list[int]  # columns, not dead, that do not vary within any query
    twins: list[tuple[int, int]]  # pairs of columns, neither dead nor constant, with the same values everywhere
    missing: dict[int, int]  # NaNs in each column that has any


def describe(dataset: Dataset) -> Description:
    """Describe a corpus; reads every value once.

    Parameters
    ----------
    dataset : Dataset
        The corpus.

    Returns
    -------
    Description

    Examples
    --------
    >>> from ltr_duel.data import make_corpus
    >>> describe(make_corpus(queries=3, documents=10, grades=2)).grade_counts.tolist()
    [29, 4]
    """
    arguments.require_type("the corpus", dataset, Dataset)
    starts = dataset.query_ptr[:-1]
    dead, constant, twins, missing = [], [], [], {}
    first_with: dict[bytes, int] = {}
    for column in range(dataset.n_features):
        values = np.array(dataset.features[:, column])
        mapped.release_pages(dataset.features[:, column])
        if lost := int(np.count_nonzero(np.isnan(values))):
            missing[column] = lost
        if not np.any(values):
            dead.append(column)
        elif not lost and np.all(np.maximum.reduceat(values, starts) == np.minimum.reduceat(values, starts)):
            constant.append(column)
        else:
            digest = hashlib.sha256((values + np.float32(0)).tobytes()).digest()  # -0 and 0 are the same
            if digest in first_with:
                twins.append((first_with[digest], column))
            else:
                first_with[digest] = column
    best = np.maximum.reduceat(dataset.relevance, starts)
    return Description(
        sizes=dataset.query_sizes,
        grade_counts=np.bincount(dataset.relevance, minlength=dataset.grades),
        queries_without_relevant=int(np.count_nonzero(best == 0)),
        dead=dead,
        constant=constant,
        twins=twins,
        missing=missing,
    )
