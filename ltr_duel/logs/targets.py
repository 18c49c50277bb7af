"""Learn from a log how rankers order each query's documents, and number the documents of the log's rows accordingly.

The documents of each query are numbered once. Rows with rankings list all documents. A page token lists only the shown
documents, but contains the ranks of all documents by each of its rankers; two tokens of a query are therefore linked by
a common ranker. A row can be used if each of its rankers orders the documents as in the first row that has this ranker
and query.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError, IntVector, MarkVector, SmallIntMatrix, SmallIntVector, kernel
from ltr_duel.interleaving import METHODS, Lists
from ltr_duel.logs.crediting import Clicked, number_rows, ranked, wrong_rows
from ltr_duel.logs.hashing import HashVector, hash_rows, hash_texts
from ltr_duel.logs.pages import PageReader, Pages
from ltr_duel.logs.table import marks_of, ragged


class Weighable(NamedTuple):
    """Rows that interleave the same rankers by one method, with the document numbers of their queries."""

    method: str  # method with parameters
    outcome: str
    rankers: tuple[str, ...]
    queries: HashVector  # (rows,)
    clicked: Clicked  # `query` is the index of the row in `queries`


class Orders:
    """The ranks of each query's documents by each ranker, keyed by the hash of the query."""

    def __init__(self) -> None:
        self.known: dict[int, dict[str, SmallIntVector]] = {}

    def weighable(self, table: Any, wrong: dict[int, str]) -> Iterator[Weighable]:
        """Yield the rows of a batch whose query is known, in groups; add error messages of bad rows to `wrong`."""
        raise NotImplementedError

    def keep(self, names: tuple[str, str]) -> None:
        """Drop the queries that lack one of the two rankers."""
        self.known = {q: ranks for q, ranks in self.known.items() if all(name in ranks for name in names)}

    def matched(
        self, method: str, outcome: str, rankers: tuple[str, ...], queries: HashVector, lists: Lists, clicked: Clicked
    ) -> Weighable:
        """Return the rows whose query and rankings are known, with documents in the known numbering."""
        different, inverse = np.unique(queries, return_inverse=True)
        ranks = [self.known.get(query, {}) for query in different.tolist()]
        tables = [np.stack([one[name] for name in rankers]) for one in ranks if all(name in one for name in rankers)]
        fit = np.array([all(name in one for name in rankers) for one in ranks], np.bool_)
        sizes = np.zeros(len(different), np.int64)
        sizes[fit] = [table.shape[1] for table in tables]
        known = np.concatenate([np.zeros((len(rankers), 0), np.int16), *tables], axis=1)
        ptr = np.concatenate([[0], np.cumsum(sizes)])
        same, numbers = np.zeros(len(queries), np.uint8), clicked.numbers.copy()
        number_alike(lists, clicked, inverse.astype(np.int64), ptr, known, numbers, same)
        held = np.flatnonzero(same)
        part = clicked._replace(rows=clicked.rows[held], query=np.arange(len(held)), numbers=numbers)
        return Weighable(method, outcome, rankers, queries[held], part)


@kernel
def number_alike(
    own: Lists,
    clicked: Clicked,
    of: IntVector,
    ptr: IntVector,
    ranks: SmallIntMatrix,
    numbers: IntVector,
    same: MarkVector,
) -> None:
    """Mark the rows whose rankings are known, and write the known numbers of their shown documents.

    Row n has list ``clicked.query[n]`` of `own`; its known ranks are ``ranks[:, ptr[of[n]]:ptr[of[n] + 1]]``.
    """
    rankers = own.order.shape[0]
    for n in range(same.shape[0]):
        start, first = own.query_ptr[clicked.query[n]], ptr[of[n]]
        size = own.query_ptr[clicked.query[n] + 1] - start
        if ptr[of[n] + 1] - first != size or size == 0:
            continue
        same[n] = 1
        row = clicked.rows[n]
        for f in range(size):
            d = own.order[0, start + ranks[0, first + f] - 1]  # the document with the known number f
            for a in range(1, rankers):
                if own.rank[a, start + d] != ranks[a, first + f]:
                    same[n] = 0
            for k in range(clicked.ptr[row], clicked.ptr[row + 1]):
                if clicked.numbers[k] == d:
                    numbers[k] = f


def rows_with(table: Any) -> dict[str, NDArray[np.bool_]]:
    """Return the rows of a batch that have rankings, and the other rows that have a page token."""
    rankings = marks_of(table, "rankings") & marks_of(table, "rankers")
    return {"rankings": rankings, "page": marks_of(table, "page") & ~rankings}


class RankedTargets(Orders):
    """Rankings as in the first row of each query and ranker; documents are numbered by the query's first ranking."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers: dict[int, dict[str, int]] = {}
        self._first: dict[int, dict[str, int]] = {}  # query -> ranker -> hash of the ranking

    def learn(self, table: Any) -> None:
        """Learn the rankings of a batch."""
        held = rows_with(table)["rankings"]
        if not held.any():
            return
        rankers, ptr = ragged(table.column("rankers"))
        queries, (lists, list_ptr) = hash_texts(table.column("query")), ragged(table.column("rankings"))
        texts, bounds = ragged(lists)
        rows = np.repeat(np.flatnonzero(held), np.diff(ptr)[held])
        entries = np.concatenate([np.arange(ptr[r], ptr[r + 1]) for r in np.flatnonzero(held)])
        place = list_ptr[rows] + entries - ptr[rows]
        fit = place < list_ptr[rows + 1]
        rows, entries, place = rows[fit], entries[fit], place[fit]
        both = np.stack([queries[rows], hash_texts(rankers)[entries]], axis=1)
        _, first = np.unique(hash_rows(both.ravel(), 2 * np.arange(len(both) + 1)), return_index=True)
        for n in np.sort(first).tolist():
            name, query, m = rankers[int(entries[n])].as_py(), int(queries[rows[n]]), int(place[n])
            if name in self.known.get(query, {}):
                continue
            ids = texts[int(bounds[m]) : int(bounds[m + 1])].to_pylist()
            numbers = self._numbers.setdefault(query, {one: k for k, one in enumerate(ids)})
            if len(ids) == len(numbers) == len(set(ids)) and all(one in numbers for one in ids):
                ranks = np.empty(len(ids), np.int16)
                ranks[[numbers[one] for one in ids]] = np.arange(1, len(ids) + 1)
                self.known.setdefault(query, {})[name] = ranks
                self._first.setdefault(query, {})[name] = int(_list_hashes(texts, bounds[m : m + 2])[0])

    def keep(self, names: tuple[str, str]) -> None:
        """Drop the queries that lack one of the two rankers, and the ids of all documents."""
        super().keep(names)
        self._numbers.clear()

    def weighable(self, table: Any, wrong: dict[int, str]) -> Iterator[Weighable]:
        """Yield the rows whose query is known, in groups."""
        queries = hash_texts(table.column("query"))
        hashes = np.array(list(self.known), np.uint64)
        known = rows_with(table)["rankings"] & np.isin(queries, hashes, kind="sort")  # avoids an overflow of numpy 2.0
        if not known.any():
            return
        texts, ptr = ragged(table.column("shown"))
        rankings = table.column("rankings")
        all_lists = ranked(rankings, texts)
        hashes = _list_hashes(*ragged(ragged(rankings)[0]))
        rankers, ranker_ptr = ragged(table.column("rankers"))
        groups = hash_rows(hash_texts(rankers), ranker_ptr)
        clicks, click_ptr = ragged(table.column("clicks"))
        owners = np.full(len(texts), -1, np.int32)
        label, rule = _method(table, known)
        for group in np.unique(groups[known]).tolist():
            rows = np.flatnonzero(known & (groups == group))
            names = tuple(rankers[int(ranker_ptr[rows[0]]) : int(ranker_ptr[rows[0] + 1])].to_pylist())
            lists = all_lists.of(rows)
            own = number_rows(lists, len(names), ptr[rows], ptr[rows + 1])
            unfit = wrong_rows(own, rows, lists.stop - lists.ptr, len(names), texts)
            wrong |= unfit
            learnt = [self._first[query].get(names[0], 0) for query in queries[rows].tolist()]
            good = ~np.isin(rows, list(unfit))
            good[good] &= hashes[lists.ptr[good]] == np.array(learnt, np.uint64)[good]
            part = np.flatnonzero(good)
            clicked = Clicked(rows[part], part, ptr, own.numbers, owners, click_ptr, clicks)
            yield self.matched(label, rule, names, queries[rows[part]], own.lists, clicked)


def _list_hashes(texts: Any, bounds: IntVector) -> HashVector:
    """Return a hash of each ranking."""
    first = int(bounds[0])
    return hash_rows(hash_texts(texts[first : int(bounds[-1])]), bounds - first)


def _method(table: Any, rows: NDArray[np.bool_]) -> tuple[str, str]:
    """Return the method and the rule of some rows of a batch."""
    found: list[str | None] = []
    for name in ("method", "outcome"):
        texts: list[str | None] = [None]
        if name in table.schema.names:
            texts = table.column(name).filter(rows).unique().to_pylist()
        if len(texts) > 1:
            raise InputError(f"weights need one method in the whole log, not {texts}")
        found.append(texts[0])
    label, method, _ = METHODS.configure(found[0] or "team_draft")
    return label, found[1] or method.default_outcome(sets=True)


class PageTargets(Orders):
    """The ranks in page tokens; documents are numbered by the query's first token."""

    def __init__(self) -> None:
        super().__init__()
        self._pages = PageReader()

    def learn(self, table: Any) -> None:
        """Learn the tokens of a batch."""
        for pages in self._read(table, {}):
            queries = hash_texts(table.column("query"))[pages.clicked.rows]
            different, first = np.unique(queries, return_index=True)
            for query, n in zip(different.tolist(), pages.clicked.query[first], strict=True):
                part = slice(*pages.lists.query_ptr[n : n + 2])
                _join(
                    self.known.setdefault(query, {}),
                    pages.head.rankers,
                    pages.lists.order[:, part],
                    pages.lists.rank[:, part],
                )

    def weighable(self, table: Any, wrong: dict[int, str]) -> Iterator[Weighable]:
        """Yield the rows whose query is known, in groups."""
        for pages in self._read(table, wrong):
            queries = hash_texts(table.column("query"))[pages.clicked.rows]
            head = pages.head
            yield self.matched(head.method, head.outcome, head.rankers, queries, pages.lists, pages.clicked)

    def _read(self, table: Any, wrong: dict[int, str]) -> Iterator[Pages]:
        rows = np.flatnonzero(rows_with(table)["page"])
        if len(rows):
            page, shown, clicks = (table.column(name) for name in ("page", "shown", "clicks"))
            together, alone = self._pages.read(page, shown, clicks, rows)
            yield from together
            for row in alone.tolist():
                try:
                    yield self._pages.read_one(page, shown, clicks, row)
                except InputError as error:
                    wrong[row] = str(error)


def _join(known: dict[str, SmallIntVector], rankers: tuple[str, ...], order: Any, rank: Any) -> None:
    """Add a token's rankers to the known rankers of the token's query.

    This requires that no ranker is known yet, or that some of the token's rankers are known, all with the same ranks.
    """
    here = {name: a for a, name in enumerate(rankers)}
    common = [name for name in rankers if name in known]
    if not known:
        known.update({name: rank[a].copy() for name, a in here.items()})
    elif common and len(common) < len(rankers) and len(known[common[0]]) == order.shape[1]:
        number = order[here[common[0]], known[common[0]] - 1]  # number in the token, for each document
        if all((rank[here[name], number] == known[name]).all() for name in common):
            known.update({name: rank[a, number] for name, a in here.items()})
