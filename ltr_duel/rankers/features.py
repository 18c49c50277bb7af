"""Make one ranker from each feature of a corpus. The ranker orders documents by the feature, highest value first.

As in the published experiments, the highest value comes first even if the opposite order would be better. In corpora
for rank aggregation, features are ranks, so the lowest value comes first. If a document has no value of the feature
(NaN), the ranker does not retrieve the document.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError, IntVector, arguments, checked_seed, errors, mapped
from ltr_duel.data import Dataset
from ltr_duel.rankers.rankings import Rankings
from ltr_duel.rankers.scores import rankings_from_scores
from ltr_duel.rankers.ties import TieRule

_FORMAT = 2  # version of cached orders and ranks; increase it when the meaning of these arrays changes


def feature_rankers(
    dataset: Dataset,
    *,
    features: Sequence[str] | None = None,
    ties: TieRule = "fixed_random",
    seed: int = 0,
    drop_constant: bool = True,
    jobs: int = -1,
    cache: bool | None = None,
) -> Rankings:
    """Build one ranker for each feature.

    Parameters
    ----------
    dataset : Dataset
    features : sequence of str, optional
        Names of the features to use. By default all.
    ties : {"fixed_random", "shared", "file", "resample", "redraw_at_inference"}
        The rule that orders documents with equal values (see `ltr_duel.rankers.ties`).
    seed : int
        The seed of the tie rule.
    drop_constant : bool
        Whether to leave out features that are constant within every query, because they cannot order documents. The
        result lists them as ``left_out``. Features that you name in ``features`` are always used.
    jobs : int
        Number of threads, or -1 for one on each core.
    cache : bool, optional
        Whether to store the orders on disk, so that they are computed only once. By default, they are stored if the
        features of the corpus are on disk, too.

    Returns
    -------
    Rankings

    Raises
    ------
    InputError
        If a feature or the tie rule is unknown, a query has more than 32,767 documents, or no ranker is left.

    Examples
    --------
    >>> from ltr_duel.data import make_corpus
    >>> rankings = feature_rankers(make_corpus(queries=4, documents=6, features=10), features=["2", "1"])
    >>> rankings.names, rankings.order.shape == rankings.rank.shape
    (('2', '1'), True)
    """
    arguments.require_type("the corpus", dataset, Dataset)
    seed = checked_seed(seed)
    left_out = constant_features(dataset) if drop_constant and features is None else ()
    names = dataset.feature_names if features is None else arguments.as_names("features", features)
    for name in names:
        errors.require_one_of(f"feature in {dataset.name} called", name, dataset.feature_names)
    names = tuple(name for name in names if name not in left_out)
    if left_out and not names:
        raise InputError(
            f"{dataset.name}: every feature is constant within each query, so no ranker is left; --keep-constant (in"
            " Python drop_constant=False) ranks by them"
        )
    key = {"sha256": dataset.sha256, "features": names, "ties": ties, "seed": seed, "format": _FORMAT}
    key |= {"lower_is_better": dataset.lower_is_better}
    stored = mapped.is_kept(dataset.features) if cache is None else cache
    scores = {name: partial(feature_scores, dataset, dataset.feature_names.index(name)) for name in names}
    rankings = rankings_from_scores(dataset, scores, ties=ties, seed=seed, jobs=jobs, cache_key=key if stored else None)
    return replace(rankings, left_out=left_out)


def feature_scores(dataset: Dataset, column: int) -> NDArray[Any]:
    """Return the values of a feature as scores, negated if the features are ranks."""
    values = dataset.features[:, column]
    scores = values * np.float32(-1 if dataset.lower_is_better else 1)
    mapped.release_pages(values)
    return np.asarray(scores)


def constant_features(dataset: Dataset) -> tuple[str, ...]:
    """Return the names of the features that are constant within every query."""
    names = []
    for name, values in zip(dataset.feature_names, dataset.features.T, strict=True):
        if _is_constant(values, dataset.query_ptr):
            names.append(name)
        mapped.release_pages(values)
    return tuple(names)


def _is_constant(values: NDArray[Any], query_ptr: IntVector) -> bool:
    first, queries = 0, 64
    while first < len(query_ptr) - 1:
        ptr = query_ptr[first : first + queries + 1]
        block, starts = values[ptr[0] : ptr[-1]], ptr[:-1] - ptr[0]
        block = np.where(np.isnan(block), -np.inf, block)  # documents that are not retrieved tie
        if (np.maximum.reduceat(block, starts) != np.minimum.reduceat(block, starts)).any():
            return False
        first, queries = first + queries, 4 * queries
    return True


def column_means(dataset: Dataset) -> NDArray[np.float64]:
    """Return the mean of each feature over all documents, after its values were scaled to 0..1 within each query.

    If a feature is constant within a query, its values become 0. Missing values count as 0 before scaling.
    """
    start, length = dataset.query_ptr[:-1], np.diff(dataset.query_ptr)
    means = np.empty(dataset.n_features)
    for column in range(dataset.n_features):
        values = np.nan_to_num(dataset.features[:, column].astype(np.float64))
        mapped.release_pages(dataset.features[:, column])
        low, high = np.minimum.reduceat(values, start), np.maximum.reduceat(values, start)
        reach = np.where(high > low, high - low, 1.0)
        means[column] = ((values - np.repeat(low, length)) / np.repeat(reach, length)).mean()
    return means
