"""Scores become rankings: the documents of each query by score, highest first, ties by a rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core.errors import InputError, unknown_name
from ltr_duel.core.parallel import run_tasks
from ltr_duel.data.dataset import Dataset
from ltr_duel.rankers.rankings import Rankings, inverse
from ltr_duel.rankers.ties import REDRAWING, TIE_RULES, TieRule, document_keys, tie_breakers


def rankings_from_scores(
    dataset: Dataset,
    names: tuple[str, ...],
    scores: Callable[[int], NDArray[np.floating[Any]]],
    *,
    ties: TieRule = "fixed_random",
    seed: int = 0,
    jobs: int = -1,
) -> Rankings:
    """Rank the documents of each query by scores of any origin.

    Parameters
    ----------
    dataset : Dataset
    names : tuple of str
        Of the rankers.
    scores : callable
        ``scores(k)`` gives the scores of ranker k; shape (n_docs,). NaN or minus infinity means that the ranker does
        not retrieve the document: it comes after all that it retrieves, ordered by the tie rule. A ranker that
        retrieves nothing for a query is its tie rule there.
    ties : str
        See `ltr_duel.rankers.ties`.
    seed : int
        Of the tie rule.
    jobs : int
        Threads; -1 for all cores.

    Returns
    -------
    Rankings

    Raises
    ------
    InputError
        For an unknown tie rule, or a query of more than 32,767 documents.
    """
    if ties not in TIE_RULES:
        raise unknown_name("tie rule", ties, TIE_RULES)
    if dataset.query_sizes.max() > np.iinfo(np.int16).max:
        largest = int(dataset.query_sizes.argmax())
        raise InputError(
            f"{dataset.name}: query {dataset.query_ids[largest]} has {dataset.query_sizes[largest]:,} documents;"
            f" at most {np.iinfo(np.int16).max:,} are possible"
        )
    order = np.empty((len(names), dataset.n_docs), np.int16)
    rank = np.empty_like(order)
    tied = np.zeros((len(names), dataset.n_docs) if ties in REDRAWING else (0, 0), np.uint8)
    documents = document_keys(dataset.query_ids, dataset.query_ptr)
    starts = np.repeat(dataset.query_ptr[:-1], dataset.query_sizes)

    def sort(k: int) -> None:
        falling = -scores(k)
        falling[np.isnan(falling)] = np.inf
        salt = "" if ties == "shared" else names[k]
        keys = (falling, starts) if ties == "file" else (tie_breakers(documents, seed, salt), falling, starts)
        rows = np.lexsort(keys)
        order[k] = rows - starts
        rank[k] = inverse(order[k], dataset.query_ptr)
        if tied.size:
            tied[k, 1:] = falling[rows][1:] == falling[rows][:-1]
            tied[k, dataset.query_ptr[:-1]] = 0

    for _ in run_tasks(sort, range(len(names)), total=len(names), jobs=jobs, label="rankers", unit="ranker"):
        pass
    provenance = {
        "corpus": dataset.name,
        "corpus_sha256": dataset.sha256,
        "ties": ties,
        "tie_seed": seed,
        "direction": "descending",
    }
    return Rankings(names, order, rank, dataset.relevance, dataset.query_ptr, dataset.grades, provenance, tied)
