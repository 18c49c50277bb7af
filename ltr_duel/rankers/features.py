"""One ranker for each feature column: the documents of a query by that feature, highest first.

Direction is always descending, also where ascending would rank better: the arms of the published experiments.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core.errors import InputError, unknown_name
from ltr_duel.core.parallel import run_tasks
from ltr_duel.data.dataset import Dataset
from ltr_duel.rankers.rankings import Rankings, inverse
from ltr_duel.rankers.ties import TIE_RULES, TieRule, document_keys, tie_breakers


def feature_rankers(
    dataset: Dataset,
    *,
    features: Sequence[str] | None = None,
    ties: TieRule = "fixed_random",
    seed: int = 0,
    drop_constant: bool = False,
    jobs: int = -1,
) -> Rankings:
    """Build one ranker for each feature.

    Parameters
    ----------
    dataset : Dataset
    features : sequence of str, optional
        Names of the features to use; all by default.
    ties : {"fixed_random", "file"}
        How tied documents are ordered (see `ltr_duel.rankers.ties`).
    seed : int
        Of the tie rule.
    drop_constant : bool
        Leave out features that are constant within every query. They order nothing: such a ranker is its tie rule.
    jobs : int
        Threads; -1 for all cores.

    Returns
    -------
    Rankings

    Raises
    ------
    InputError
        For an unknown feature or tie rule, a query of more than 32,767 documents, or where no ranker is left.
    """
    if ties not in TIE_RULES:
        raise unknown_name("tie rule", ties, TIE_RULES)
    if dataset.query_sizes.max() > np.iinfo(np.int16).max:
        largest = int(dataset.query_sizes.argmax())
        raise InputError(
            f"{dataset.name}: query {dataset.query_ids[largest]} has {dataset.query_sizes[largest]:,} documents;"
            f" at most {np.iinfo(np.int16).max:,} are possible"
        )
    columns = _chosen(dataset, features)
    if drop_constant:
        constant = set(constant_features(dataset))
        columns = [c for c in columns if dataset.feature_names[c] not in constant]
        if not columns:
            raise InputError(f"{dataset.name}: every feature is constant within each query: no ranker is left")

    order = np.empty((len(columns), dataset.n_docs), np.int16)
    rank = np.empty_like(order)
    documents = document_keys(dataset.query_ids, dataset.query_ptr)
    starts = np.repeat(dataset.query_ptr[:-1], dataset.query_sizes)

    def sort(k: int) -> None:
        name = dataset.feature_names[columns[k]]
        scores = np.ascontiguousarray(dataset.features[:, columns[k]])
        breakers = tie_breakers(documents, seed, name) if ties == "fixed_random" else None
        order[k] = _sorted_within(scores, breakers, starts) - starts
        rank[k] = inverse(order[k], dataset.query_ptr)

    for _ in run_tasks(sort, range(len(columns)), total=len(columns), jobs=jobs, label="rankers", unit="ranker"):
        pass
    provenance = {
        "corpus": dataset.name,
        "corpus_sha256": dataset.sha256,
        "ties": ties,
        "tie_seed": seed,
        "direction": "descending",
    }
    names = tuple(dataset.feature_names[c] for c in columns)
    return Rankings(names, order, rank, dataset.relevance, dataset.query_ptr, dataset.grades, provenance)


def constant_features(dataset: Dataset) -> tuple[str, ...]:
    """Return the names of the features that have a single value within each query: they order nothing."""
    starts = dataset.query_ptr[:-1]
    names = []
    for column, name in enumerate(dataset.feature_names):
        scores = dataset.features[:, column]
        if (np.maximum.reduceat(scores, starts) == np.minimum.reduceat(scores, starts)).all():
            names.append(name)
    return tuple(names)


def _chosen(dataset: Dataset, features: Sequence[str] | None) -> list[int]:
    if features is None:
        return list(range(dataset.n_features))
    for name in features:
        if name not in dataset.feature_names:
            raise unknown_name(f"feature in {dataset.name} called", name, dataset.feature_names)
    return [dataset.feature_names.index(name) for name in features]


def _sorted_within(
    scores: NDArray[np.float32], breakers: NDArray[np.uint64] | None, starts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the rows sorted by query, then score descending, then tie breaker (else the order of the file)."""
    keys = (-scores, starts) if breakers is None else (breakers, -scores, starts)
    return np.lexsort(keys)
