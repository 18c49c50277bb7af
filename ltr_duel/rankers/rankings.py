"""The rankings that a set of rankers gives to a corpus: the order of the documents of each query, and its inverse.

features, query 7            order (best first)      rank (of each document, 1 = best)
doc 0  1  2  3               ranker a   2 0 3 1      ranker a   2 4 1 3
BM25   3  1  9  2            ranker b   ...          ranker b   ...
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import (
    InputError,
    IntVector,
    MarkMatrix,
    SmallIntMatrix,
    SmallIntVector,
    errors,
    frozen,
    handed_over,
    mapped,
    notebook,
    several,
)


@dataclass(frozen=True, eq=False)
class Rankings:
    """The orders of K rankers on all queries of a corpus. Columns ``query_ptr[q]:query_ptr[q + 1]`` belong to query q.

    Parameters
    ----------
    names : tuple of str
        Names of the rankers, all different.
    order : ndarray of int16, shape (K, n_docs)
        Positions within the query (0-based), best document first.
    rank : ndarray of int16, shape (K, n_docs)
        Rank of each document within its query, 1 = best; the inverse of ``order``.
    relevance : ndarray of int16, shape (n_docs,)
    query_ptr : ndarray of int64, shape (n_queries + 1,)
    grades : int
    provenance : dict
        Corpus, its digest, tie rule and seed, as JSON.
    tied : ndarray of uint8, shape (K, n_docs), or empty
        1 where the document at this position of the order ties with the document above it, for tie rules that order
        ties again in each comparison.
    tied_documents : ndarray of int64, shape (K,), or empty
        Number of documents that the tie rule orders; empty if the scores are not known.
    left_out : tuple of str
        Features that are no rankers because they are constant within every query.
    query_ids : ndarray of str, shape (n_queries,), or None
    doc_ids : ndarray of str, shape (n_docs,), or None
        Ids of the corpus, if it has any.

    Raises
    ------
    InputError
        If two rankers have the same name, or there is no ranker.

    Examples
    --------
    >>> from ltr_duel.data import make_corpus
    >>> from ltr_duel.rankers import feature_rankers
    >>> rankings = feature_rankers(make_corpus(queries=4, documents=6, features=10))
    >>> len(rankings), rankings[["7", "2"]].names, rankings.n_queries
    (10, ('7', '2'), 4)
    """

    names: tuple[str, ...]
    order: SmallIntMatrix = field(repr=False)
    rank: SmallIntMatrix = field(repr=False)
    relevance: SmallIntVector = field(repr=False)
    query_ptr: IntVector = field(repr=False)
    grades: int
    provenance: dict[str, Any]
    tied: MarkMatrix = field(default_factory=lambda: np.zeros((0, 0), np.uint8), repr=False)
    tied_documents: IntVector = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)
    left_out: tuple[str, ...] = ()
    query_ids: NDArray[np.str_] | None = field(default=None, repr=False)
    doc_ids: NDArray[np.str_] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if len(set(self.names)) != len(self.names):
            raise InputError("two rankers have the same name")
        if not self.names:
            raise InputError("there is no ranker left")
        for name in ("order", "rank", "relevance", "query_ptr", "tied", "tied_documents"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, wanted: Sequence[str | int]) -> Rankings:
        """Return the rankings of the given rankers (names or positions), in the given order."""
        if isinstance(wanted, str) or not isinstance(wanted, Iterable):
            raise InputError(f"rankers are chosen by a list of names or positions, not by {errors.shown(wanted)}")
        picks = [self._position(ranker) for ranker in wanted]
        return replace(
            self,
            names=tuple(self.names[k] for k in picks),
            order=_rows(self.order, picks),
            rank=_rows(self.rank, picks),
            tied=_rows(self.tied, picks) if self.tied.size else self.tied,
            tied_documents=self.tied_documents[picks] if self.tied_documents.size else self.tied_documents,
        )

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.query_ptr) - 1

    @property
    def tied_share(self) -> float | None:
        """Share of documents that the tie rule orders, averaged over the rankers; None if it is not known."""
        return float(self.tied_documents.mean()) / len(self.relevance) if self.tied_documents.size else None

    @property
    def longest_query(self) -> int:
        """Number of documents of the largest query."""
        return int(np.diff(self.query_ptr).max())

    def __repr__(self) -> str:
        return f"<{self._summary()}>"

    def _repr_html_(self) -> str:
        return notebook.notebook_html([self._summary()], ("position", "ranker"), list(enumerate(self.names)))

    def _summary(self) -> str:
        corpus = f" on {self.provenance['corpus']}" if "corpus" in self.provenance else ""
        sizes = f"{several(len(self), 'ranker')}, {several(self.n_queries, 'query')}"
        left_out = f"; left out, constant within each query: {errors.listed(self.left_out)}" if self.left_out else ""
        documents = several(len(self.relevance), "document")
        return f"Rankings{corpus}: {sizes}, {documents}, grades 0..{self.grades - 1}{left_out}"

    def _position(self, wanted: str | int) -> int:
        if not isinstance(wanted, str):
            return errors.require_whole("the position of a ranker", wanted, 0, len(self) - 1)
        errors.require_one_of("ranker", wanted, self.names)
        return self.names.index(wanted)


def _rows(array: NDArray[Any], picks: list[int]) -> NDArray[Any]:
    """Return a copy of some rows."""
    rows = mapped.new_array((len(picks), array.shape[1]), array.dtype)
    for row, pick in zip(rows, picks, strict=True):
        row[:] = array[pick]
        mapped.release_pages(row)
        mapped.release_pages(array[pick])
    return handed_over(rows)


def require_rankings(rankings: object) -> None:
    """Raise `InputError` unless ``rankings`` are `Rankings`."""
    if not isinstance(rankings, Rankings):
        raise InputError(f"rankings must be Rankings, as returned by feature_rankers, not {errors.shown(rankings)}")


def inverse(order: NDArray[np.int16], query_ptr: IntVector) -> NDArray[np.int16]:
    """Return the ranks of documents for one ranker's order."""
    starts = np.repeat(query_ptr[:-1], np.diff(query_ptr))
    rank = np.empty_like(order)
    rank[starts + order] = np.arange(len(order)) - starts + 1
    return rank
