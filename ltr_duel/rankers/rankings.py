"""`Rankings`: how each of several rankers orders the documents of each query of a corpus.

An order lists the documents of a query, best first. The ranks say at which place of the order each document is, from 1:

features of one query        order (best first)      rank (of each document, 1 = best)
doc 0  1  2  3               ranker a   2 0 3 1      ranker a   2 4 1 3
BM25   3  1  9  2
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
    """The orders that K rankers give to the documents of each query.

    Parameters
    ----------
    names : tuple of str
        Names of the rankers, all different.
    order : ndarray of int16, shape (K, n_docs)
        For each query, the positions of its documents within the query, from 0, with the best document first.
    rank : ndarray of int16, shape (K, n_docs)
        The rank of each document within its query, 1 for the best document.
    relevance : ndarray of int16, shape (n_docs,)
        The grade of each document.
    query_ptr : ndarray of int64, shape (n_queries + 1,)
        The column at which each query begins. Query q has the columns ``query_ptr[q]:query_ptr[q + 1]``.
    grades : int
        Number of relevance grades, 0 included.
    provenance : dict
        Where the orders come from: the corpus and its SHA-256, the tie rule and its seed.
    tied : ndarray of uint8, shape (K, n_docs), or empty
        The entry is 1 if a document in ``order`` has the same score as the document above it. The array is empty unless
        the tie rule reorders equal scores in each comparison.
    tied_documents : ndarray of int64, shape (K,), or empty
        For each ranker, the number of documents with the same score as another document. The array is empty if scores
        are unknown.
    left_out : tuple of str
        Features that have no ranker, because they are constant within every query.
    query_ids : ndarray of str, shape (n_queries,), or None
    doc_ids : ndarray of str, shape (n_docs,), or None

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
        """The mean share of documents that have the same score as another one, or None if it is unknown."""
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
    rows = mapped.new_array((len(picks), array.shape[1]), array.dtype)
    for row, pick in zip(rows, picks, strict=True):
        row[:] = array[pick]
        mapped.release_pages(row)
        mapped.release_pages(array[pick])
    return handed_over(rows)


def require_rankings(rankings: object) -> None:
    """Raise `InputError` if ``rankings`` is not a `Rankings`."""
    if not isinstance(rankings, Rankings):
        raise InputError(f"rankings must be Rankings, as returned by feature_rankers, not {errors.shown(rankings)}")


def inverse(order: NDArray[np.int16], query_ptr: IntVector) -> NDArray[np.int16]:
    """Return the rank of each document, given the order of one ranker."""
    starts = np.repeat(query_ptr[:-1], np.diff(query_ptr))
    rank = np.empty_like(order)
    rank[starts + order] = np.arange(len(order)) - starts + 1
    return rank
