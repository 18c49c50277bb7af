"""Scores become rankings: the documents of each query by score, highest first, ties by a rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError, checked_seed, errors, handed_over, numbered, parallel
from ltr_duel.data import Dataset
from ltr_duel.rankers.rankings import Rankings, inverse
from ltr_duel.rankers.ties import REDRAWING, TIE_NUMBERS, TIE_RULES, TieRule, document_keys, tie_breakers

Make = Callable[[str, tuple[int, ...], Any, Callable[[NDArray[Any]], None]], NDArray[Any]]


def rankings_from_scores(
    dataset: Dataset,
    names: tuple[str, ...],
    scores: Callable[[int], NDArray[np.floating[Any]]],
    *,
    ties: TieRule = "fixed_random",
    seed: int = 0,
    jobs: int = -1,
    make: Make | None = None,
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
    make : callable, optional
        Where the arrays lie: ``make(kind, shape, dtype, compute)``; in memory by default.

    Returns
    -------
    Rankings

    Raises
    ------
    InputError
        For an unknown tie rule, or a query of more than 32,767 documents.

    Examples
    --------
    >>> from ltr_duel.data import make_corpus
    >>> dataset = make_corpus(queries=4, documents=6, features=10)
    >>> rankings = rankings_from_scores(dataset, ("by grade",), lambda k: dataset.relevance.astype(float))
    >>> dataset.relevance[rankings.order[0, : dataset.query_ptr[1]]].tolist()  # of the first query
    [4, 2, 2, 1, 1, 1, 1, 0]
    """
    if not isinstance(ties, str) or ties not in TIE_RULES:
        raise errors.unknown_name("tie rule", ties, TIE_RULES)
    seed = checked_seed(seed)
    if dataset.query_sizes.max() > np.iinfo(np.int16).max:
        largest = int(dataset.query_sizes.argmax())
        raise InputError(
            f"{dataset.name}: query {dataset.query_ids[largest]} has {dataset.query_sizes[largest]:,} documents;"
            f" at most {np.iinfo(np.int16).max:,} are possible"
        )
    documents = document_keys(dataset.query_ids, dataset.query_ptr)
    starts = np.repeat(dataset.query_ptr[:-1], dataset.query_sizes)
    make = make or _plain
    square = (len(names), dataset.n_docs)

    def falling(k: int) -> NDArray[np.floating[Any]]:
        lowest_first = -scores(k)
        lowest_first[np.isnan(lowest_first)] = np.inf
        return lowest_first

    def sort(order: NDArray[np.int16], k: int) -> None:
        salt = "" if ties == "shared" else names[k]
        keys = (falling(k), starts) if ties == "file" else (tie_breakers(documents, seed, salt), falling(k), starts)
        order[k] = np.lexsort(keys) - starts

    def each(function: Callable[[NDArray[Any], int], None], array: NDArray[Any], label: str) -> None:
        work = parallel.run_tasks(
            lambda k: function(array, k), range(len(names)), total=len(names), jobs=jobs, label=label, unit="ranker"
        )
        for _ in work:
            pass

    def invert(rank: NDArray[np.int16], k: int) -> None:
        rank[k] = inverse(order[k], dataset.query_ptr)

    def find_ties(tied: NDArray[np.uint8], k: int) -> None:
        ordered = falling(k)[starts + order[k]]
        tied[k, 1:] = ordered[1:] == ordered[:-1]
        tied[k, dataset.query_ptr[:-1]] = 0

    order = make("orders", square, np.int16, lambda array: each(sort, array, "rankers"))
    rank = make("ranks", square, np.int16, lambda array: each(invert, array, "ranks"))
    tied = np.zeros((0, 0), np.uint8)
    if ties in REDRAWING:
        tied = make("ties", square, np.uint8, lambda array: each(find_ties, array, "ties"))
    about = {
        "corpus": dataset.name,
        "corpus_sha256": dataset.sha256,
        "ties": ties,
        "tie_seed": seed,
        "direction": "descending",
    }
    provenance = numbered(about, ties=TIE_NUMBERS)
    return Rankings(names, order, rank, dataset.relevance, dataset.query_ptr, dataset.grades, provenance, tied)


def _plain(kind: str, shape: tuple[int, ...], dtype: Any, compute: Callable[[NDArray[Any]], None]) -> NDArray[Any]:
    """Make an array in memory."""
    array = np.empty(shape, dtype)
    compute(array)
    return handed_over(array)
