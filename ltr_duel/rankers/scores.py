"""Make rankings from scores. The highest score comes first, and a tie rule orders documents with equal scores."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ltr_duel.core import (
    InputError,
    IntVector,
    arguments,
    as_writable,
    checked_seed,
    errors,
    mapped,
    numbered,
    parallel,
)
from ltr_duel.data import Dataset, cached_arrays
from ltr_duel.rankers.rankings import Rankings
from ltr_duel.rankers.sorting import Ranked, Scored, blocks_of, document_keys, rank_documents, salt_of
from ltr_duel.rankers.ties import REDRAWING, TIE_NUMBERS, TIE_RULES, TieRule

Arrays = dict[str, NDArray[Any]]  # orders, ranks, tied_documents, and ties for rules that order ties again


class Ranker(NamedTuple):
    """One ranker: its name, a function that returns its scores, and its description."""

    name: str
    scores: Callable[[], NDArray[np.floating[Any]]]  # (n_docs,), a higher score is better; NaN: not retrieved
    origin: dict[str, Any]  # for the provenance: kind, file, SHA-256, number of unknown documents


def coverage(scores: NDArray[Any], dataset: Dataset) -> dict[str, Any]:
    """Return how many documents and queries a ranker retrieves, and whether its scores are equal within each query."""
    starts = dataset.query_ptr[:-1]
    scores = np.where(scores > -np.inf, scores, np.nan)
    counts = np.add.reduceat(~np.isnan(scores), starts, dtype=np.int64)
    alike = (np.fmax.reduceat(scores, starts) == np.fmin.reduceat(scores, starts))[counts > 1]
    equal = bool(alike.size and alike.all())
    return {"retrieved": int(counts.sum()), "queries": int(np.count_nonzero(counts)), "equal_scores": equal}


def rankings_from_scores(
    dataset: Dataset,
    scores: Mapping[str, ArrayLike | Callable[[], NDArray[Any]]],
    *,
    ties: TieRule = "fixed_random",
    seed: int = 0,
    jobs: int = -1,
    cache_key: Mapping[str, object] | None = None,
) -> Rankings:
    """Rank the documents of each query by the scores of each ranker.

    Parameters
    ----------
    dataset : Dataset
    scores : mapping or DataFrame
        The name of each ranker, and its scores, shape (n_docs,), or a function that returns them. If the score of a
        document is NaN or minus infinity, the ranker does not retrieve the document. The document is then ranked
        after all retrieved documents, in the order of the tie rule.
    ties, seed, jobs
        The same parameters as in `feature_rankers`.
    cache_key : mapping, optional
        If a key is given, the orders are stored in the cache under this key. It must contain all facts that determine
        the scores.

    Returns
    -------
    Rankings

    Raises
    ------
    InputError
        If the tie rule is unknown, a query has more than 32,767 documents, or the scores are not one number for each
        document.

    Examples
    --------
    >>> from ltr_duel.data import make_corpus
    >>> dataset = make_corpus(queries=4, documents=6, features=10)
    >>> rankings = rankings_from_scores(dataset, {"by grade": dataset.relevance})
    >>> dataset.relevance[rankings.order[0, : dataset.query_ptr[1]]].tolist()  # of the first query
    [4, 2, 2, 1, 1, 1, 1, 0]
    """
    errors.require_one_of("tie rule", ties, TIE_RULES)
    seed, names = checked_seed(seed), tuple(arguments.as_names("the rankers of scores", scores))
    size, most = dataset.query_sizes.max(), np.iinfo(np.int16).max
    if size > most:
        query = dataset.query_ids[dataset.query_sizes.argmax()]
        raise InputError(f"{dataset.name}: query {query} has {size:,} documents; at most {most:,} are possible")
    documents, query_ptr = document_keys(dataset.query_ids, dataset.query_ptr), as_writable(dataset.query_ptr)
    blocks, untied = list(blocks_of(query_ptr)), np.zeros(0, np.uint8)

    def compute(arrays: Arrays) -> None:
        def rank(k: int) -> None:
            salt = salt_of(seed, "" if ties == "shared" else names[k])
            ranked = Ranked(arrays["orders"][k], arrays["ranks"][k], arrays["ties"][k] if "ties" in arrays else untied)
            values = scores[names[k]]
            with np.errstate(over="ignore"):  # hashes overflow by design; numpy would warn in interpreted code
                bits = _bits(names[k], values() if callable(values) else values, dataset)
                scored = Scored(bits, query_ptr, documents, salt, ties != "file")
                arrays["tied_documents"][k] = rank_documents(scored, blocks, ranked)
            for row in ranked:
                mapped.release_pages(row)

        tasks = range(len(names))
        work = parallel.run_tasks(rank, tasks, total=len(tasks), jobs=jobs, label="rankers", unit="ranker")
        with mapped.small_pages(arrays.values()):  # comparisons read a few positions of each ranker
            deque(work, 0)

    shape = (len(names), dataset.n_docs)
    kinds: dict[str, tuple[DTypeLike, tuple[int, ...]]] = {"orders": (np.int16, shape), "ranks": (np.int16, shape)}
    if ties in REDRAWING:
        kinds["ties"] = np.uint8, shape
    kinds["tied_documents"] = np.int64, shape[:1]
    arrays = cached_arrays(cache_key, kinds, compute)
    origin = {"corpus": dataset.name, "corpus_sha256": dataset.sha256, "ties": ties, "tie_seed": seed}
    return Rankings(
        names,
        arrays["orders"],
        arrays["ranks"],
        dataset.relevance,
        dataset.query_ptr,
        dataset.grades,
        numbered(origin | {"direction": "descending"}, ties=TIE_NUMBERS),
        arrays.get("ties", np.zeros((0, 0), np.uint8)),
        arrays["tied_documents"],
        query_ids=dataset.query_ids,
        doc_ids=dataset.doc_ids,
    )


def _bits(name: str, values: Any, dataset: Dataset) -> IntVector:
    scores = np.asarray(values)
    if scores.shape != (dataset.n_docs,) or scores.dtype.kind not in "fiu":
        needed = f"one number for each of the {dataset.n_docs:,} documents is needed"
        raise InputError(f"ranker '{name}' has scores of {scores.dtype} and shape {scores.shape}; {needed}")
    return as_writable(np.ascontiguousarray(scores, np.float64)).view(np.int64)
