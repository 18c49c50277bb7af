"""Rankings that rows of a log carry, as the lists that the kernels of the methods read.

The same rankings come again and again in a log, so they are read once: rows that say the same are found by hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import IntVector, SmallIntMatrix, kernel
from ltr_duel.interleaving import Lists
from ltr_duel.logs.hashing import HashVector, hash_rows, hash_texts
from ltr_duel.logs.table import ragged

MOST_DOCUMENTS, MOST_RANKERS = 10_000, 200
_REMEMBERED = 1 << 14


class Orders(NamedTuple):
    """The rankings of one query, documents numbered as the first ranker orders them."""

    ids: HashVector  # (documents,) the document of each number
    order: SmallIntMatrix  # (rankers, documents) numbers, best first
    rank: SmallIntMatrix  # (rankers, documents) of each number, 1 = best


class RowLists(NamedTuple):
    """The lists of some rows: row n has query ``query[n]``; ``first[q]`` is a row of the batch that has query q."""

    lists: Lists
    ids: HashVector  # (n_docs,) documents of all queries
    query: IntVector
    first: IntVector


class RankingStore:
    """Reads the column ``rankings``, and remembers what it has read."""

    def __init__(self) -> None:
        self._known: dict[int, Orders | str] = {}
        self._hashes: HashVector = np.zeros(0, np.uint64)
        self._column: Any = None

    def open(self, column: Any, also: HashVector | None = None) -> None:
        """Take the rankings of a batch; rows that differ in ``also`` are kept apart, whatever they say."""
        self._column = column
        inner, ptr = ragged(column)
        texts, inner_ptr = ragged(inner)
        self._texts = texts
        self._of_rows = ptr
        self._of_lists = inner_ptr
        self._ids = hash_texts(texts)
        self._hashes = hash_rows(hash_rows(self._ids, inner_ptr), ptr)
        if also is not None:
            self._hashes = hash_rows(np.stack([self._hashes, also], axis=1).ravel(), 2 * np.arange(len(also) + 1))
        if len(self._known) > _REMEMBERED:
            self._known.clear()

    def of(self, rows: IntVector, rankers: int) -> tuple[RowLists, NDArray[np.bool_], dict[int, str]]:
        """Return the lists of rows that interleave so many rankers, which rows have some, and what is wrong."""
        different, first, inverse = np.unique(self._hashes[rows], return_index=True, return_inverse=True)
        found = [self._orders(int(h), int(rows[f]), rankers) for h, f in zip(different, first, strict=True)]
        good = [one for one in found if not isinstance(one, str)]
        known = np.array([not isinstance(one, str) for one in found])
        place, fit = np.cumsum(known) - 1, known[inverse]
        wrong = {int(rows[n]): str(found[inverse[n]]) for n in np.flatnonzero(~fit)}
        sizes = [len(one.ids) for one in good]
        ptr = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        empty = np.zeros((rankers, 0), np.int16)
        lists = Lists(
            np.concatenate([empty, *(one.order for one in good)], axis=1),
            np.concatenate([empty, *(one.rank for one in good)], axis=1),
            ptr,
        )
        ids = np.concatenate([np.zeros(0, np.uint64), *(one.ids for one in good)])
        return RowLists(lists, ids, place[inverse][fit].astype(np.int64), rows[first[known]]), fit, wrong

    def _orders(self, key: int, row: int, rankers: int) -> Orders | str:
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._read(row)
        if not isinstance(known, str) and len(known.order) != rankers:
            return f"{len(known.order)} rankings for {rankers} rankers"
        return known

    def _read(self, row: int) -> Orders | str:
        """Read the rankings of a row, or say what is wrong with them."""
        bounds = self._of_lists[self._of_rows[row] : self._of_rows[row + 1] + 1]
        lists = [self._ids[start:stop] for start, stop in pairwise(bounds)]
        if not lists or not 1 <= len(lists[0]) <= MOST_DOCUMENTS:
            return f"'rankings' must hold lists of 1 to {MOST_DOCUMENTS:,} documents"
        if len(np.unique(lists[0])) < len(lists[0]):
            return "a document is twice in a ranking"
        order = numbered(lists[0], lists)
        if order is None:
            return "the rankings differ in their documents; only a page token says where missing ones were put"
        return Orders(lists[0], order, ranks_of(order))


def numbered(ids: HashVector, lists: Sequence[HashVector]) -> SmallIntMatrix | None:
    """Return lists of documents as their numbers, places in ``ids``; None if one does not hold the same documents."""
    ascending = np.argsort(ids)
    alphabet = ids[ascending]
    order = np.empty((len(lists), len(ids)), np.int16)
    for r, one in enumerate(lists):
        if len(one) != len(ids) or (np.sort(one) != alphabet).any():
            return None
        order[r] = ascending[np.searchsorted(alphabet, one)]
    return order


def ranks_of(order: SmallIntMatrix) -> SmallIntMatrix:
    """Return the rank of each number, 1 = best."""
    rank = np.empty_like(order)
    ranks = np.arange(1, order.shape[1] + 1, dtype=np.int16)[None, :]
    np.put_along_axis(rank, order.astype(np.int64), np.broadcast_to(ranks, order.shape), axis=1)
    return rank


@kernel
def number_shown(
    rows: IntVector, ptr: IntVector, shown: HashVector, lists: RowLists, numbers: IntVector, missing: IntVector
) -> None:
    """Write the number of each shown document of the rows; where a row shows another one, note which."""
    for n in range(rows.shape[0]):
        missing[n] = -1
        start, stop = lists.lists.query_ptr[lists.query[n]], lists.lists.query_ptr[lists.query[n] + 1]
        for k in range(ptr[rows[n]], ptr[rows[n] + 1]):
            numbers[k] = -1
            for d in range(start, stop):
                if lists.ids[d] == shown[k]:
                    numbers[k] = d - start
                    break
            if numbers[k] < 0:
                missing[n] = k
