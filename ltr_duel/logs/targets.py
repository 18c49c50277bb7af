"""How two rankers order the documents of a query, learnt from rows that others made, in the numbers of each row.

Rows with rankings name all documents, so the two rankings are found by their ids. A page token names the shown
documents only, but it tells the ranks of all of them by each of its rankers; so what joins two tokens of a query is a
ranker that both have.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from ltr_duel.core import InputError, IntVector, MarkVector, SmallIntMatrix, SmallIntVector, kernel
from ltr_duel.interleaving import METHODS, Lists
from ltr_duel.logs.crediting import Clicked
from ltr_duel.logs.hashing import hash_texts
from ltr_duel.logs.lists import Ranked, number_rows, ranked, wrong_rows
from ltr_duel.logs.pages import PageReader, Pages
from ltr_duel.logs.table import Texts, ragged, texts_of


class Weighable(NamedTuple):
    """Rows of one method, with the lists of their own rankers and, in the same numbers, of the two that are wanted."""

    method: str  # with its parameters
    outcome: str
    own: Lists
    wanted: Lists
    clicked: Clicked


def rows_with(table: Any) -> dict[str, NDArray[np.bool_]]:
    """Return which rows of a batch have rankings, and which of the others a page token."""

    def valid(name: str) -> NDArray[np.bool_]:
        if name not in table.schema.names:
            return np.zeros(table.num_rows, np.bool_)
        return np.asarray(table.column(name).is_valid().to_numpy(zero_copy_only=False))

    rankings = valid("rankings") & valid("rankers")
    return {"rankings": rankings, "page": valid("page") & ~rankings}


class RankedTargets:
    """The two rankings of each query, as the first rows that hold them have them."""

    def __init__(self, names: tuple[str, str]) -> None:
        self._names = names
        self._found: dict[int, dict[str, tuple[bytes, IntVector]]] = {}  # query -> ranker -> ids, and their sizes
        self.met: set[str] = set()

    def learn(self, table: Any) -> None:
        """Take the rankings of a batch."""
        if not rows_with(table)["rankings"].any():
            return
        rankers, ptr = ragged(table.column("rankers"))
        queries, lists = hash_texts(table.column("query")), ranked(table.column("rankings"))
        for name in self._names:
            entries = np.flatnonzero(pc.fill_null(pc.equal(rankers, name), False).to_numpy(zero_copy_only=False))
            entries = entries[(entries >= ptr[0]) & (entries < ptr[-1])]
            rows = np.searchsorted(ptr, entries, "right") - 1
            place = lists.ptr[rows] + entries - ptr[rows]
            held = place < lists.stop[rows]
            different, first = np.unique(queries[rows[held]], return_index=True)
            for query, m in zip(different.tolist(), place[held][first], strict=True):
                bounds = lists.ids.ptr[lists.begin[m] : lists.end[m] + 1]
                ids = lists.ids.data[bounds[0] : bounds[-1]].tobytes(), np.diff(bounds)
                self._found.setdefault(query, {}).setdefault(name, ids)
                self.met.add(name)

    def close(self) -> None:
        """Put those of the queries that have both into one place."""
        both = sorted(query for query, lists in self._found.items() if len(lists) == len(self._names))
        lists = [self._found[query][name] for query in both for name in self._names]
        self._found.clear()
        self._queries = np.array(both, np.uint64)
        self._ends = np.cumsum([0, *(len(sizes) for _, sizes in lists)])
        sizes = np.concatenate([np.zeros(1, np.int64), *(sizes for _, sizes in lists)])
        self._ids = Texts(np.cumsum(sizes), np.frombuffer(b"".join(ids for ids, _ in lists), np.uint8))

    def weighable(self, table: Any, wrong: dict[int, str]) -> Iterator[Weighable]:
        """Yield the rows whose query has both rankings, of the documents that the row ranks."""
        queries = hash_texts(table.column("query"))
        known = rows_with(table)["rankings"] & np.isin(queries, self._queries)
        if not known.any():
            return
        texts, ptr = ragged(table.column("shown"))
        shown, all_lists = texts_of(texts), ranked(table.column("rankings"))
        sizes = np.diff(ragged(table.column("rankers"))[1])
        clicks, click_ptr = ragged(table.column("clicks"))
        owners = np.full(len(texts), -1, np.int32)
        label, rule = _method(table, known)
        for size in np.unique(sizes[known]).tolist():
            rows = np.flatnonzero(known & (sizes == size))
            lists = all_lists.of(rows)
            own = number_rows(lists, size, shown, ptr[rows], ptr[rows + 1])
            unfit = wrong_rows(own, rows, lists.stop - lists.ptr, size, texts)
            wrong |= unfit
            wanted, same = self._in_numbers_of(lists, queries[rows])
            query = np.flatnonzero(same & ~np.isin(rows, list(unfit)))
            clicked = Clicked(rows[query], query, ptr, own.numbers, owners, click_ptr, clicks)
            yield Weighable(label, rule, own.lists, wanted, clicked)

    def _in_numbers_of(self, rows: Ranked, queries: Any) -> tuple[Lists, NDArray[np.bool_]]:
        """Return the two rankings in the numbers of each row, and where the row ranks the same documents."""
        n, shift = len(queries), len(rows.ids.ptr)
        ids = Texts(
            np.concatenate([rows.ids.ptr, self._ids.ptr + len(rows.ids.data)]),
            np.concatenate([rows.ids.data, self._ids.data]),
        )
        place = 2 * np.searchsorted(self._queries, queries)
        some = rows.stop > rows.ptr
        head = np.where(some, rows.ptr, 0)
        first, last = (np.where(some, bound[head], 0) for bound in (rows.begin, rows.end))
        bounds = [shift + self._ends[place + k] for k in range(3)]
        begin, end = (np.stack(parts, axis=1) for parts in ([first, *bounds[:2]], [last, *bounds[1:]]))
        three = Ranked(3 * np.arange(n), 3 * np.arange(1, n + 1), begin.ravel(), end.ravel(), ids)
        none = np.zeros(n, np.int64)
        found = number_rows(three, 3, Texts(np.zeros(1, np.int64), np.zeros(0, np.uint8)), none, none)
        order, rank, ptr = found.lists
        return Lists(order[1:], rank[1:], ptr), found.wrong == 0


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
    return label, found[1] or method.outcomes[0]


class PageTargets:
    """The ranks of all rankers of a query, in the numbers of its first token."""

    def __init__(self, names: tuple[str, str]) -> None:
        self._names = names
        self._found: dict[int, dict[str, SmallIntVector]] = {}  # query -> ranker -> ranks
        self._pages = PageReader()
        self.met: set[str] = set()

    def learn(self, table: Any) -> None:
        """Take the tokens of a batch."""
        for pages in self._read(table, {}):
            self.met.update(pages.head.rankers)
            queries = hash_texts(table.column("query"))[pages.clicked.rows]
            different, first = np.unique(queries, return_index=True)
            for query, n in zip(different.tolist(), pages.clicked.query[first], strict=True):
                part = slice(*pages.lists.query_ptr[n : n + 2])
                _join(
                    self._found.setdefault(query, {}),
                    pages.head.rankers,
                    pages.lists.order[:, part],
                    pages.lists.rank[:, part],
                )

    def close(self) -> None:
        """Drop the queries that do not have both."""
        self._found = {q: ranks for q, ranks in self._found.items() if all(name in ranks for name in self._names)}

    def weighable(self, table: Any, wrong: dict[int, str]) -> Iterator[Weighable]:
        """Yield the rows whose query has both, and whose own rankers order its documents as elsewhere."""
        for pages in self._read(table, wrong):
            needed = (*pages.head.rankers, *self._names)
            queries = hash_texts(table.column("query"))[pages.clicked.rows]
            different, inverse = np.unique(queries, return_inverse=True)
            ranks = [self._found.get(query, {}) for query in different.tolist()]
            known = [
                np.stack([one[name] for name in needed]) if all(name in one for name in needed) else None
                for one in ranks
            ]
            sizes = [0 if one is None else one.shape[1] for one in known]
            table_of = np.concatenate(
                [np.zeros((len(needed), 0), np.int16), *(one for one in known if one is not None)], axis=1
            )
            ptr = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
            shape = (len(self._names), pages.lists.order.shape[1])
            wanted = Lists(np.zeros(shape, np.int16), np.zeros(shape, np.int16), pages.lists.query_ptr)
            same = np.zeros(len(queries), np.uint8)
            carry_over(pages.lists, pages.clicked.query, inverse.astype(np.int64), ptr, table_of, wanted, same)
            held = np.flatnonzero(same)
            clicked = pages.clicked._replace(rows=pages.clicked.rows[held], query=pages.clicked.query[held])
            yield Weighable(pages.head.method, pages.head.outcome, pages.lists, wanted, clicked)

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
    """Add the rankers of a token to those known, if it has one of them and agrees about all that it has."""
    here = {name: a for a, name in enumerate(rankers)}
    common = [name for name in rankers if name in known]
    if not known:
        known.update({name: rank[a].copy() for name, a in here.items()})
    elif common and len(common) < len(rankers) and len(known[common[0]]) == order.shape[1]:
        number = order[here[common[0]], known[common[0]] - 1]  # in the token, of each document
        if all((rank[here[name], number] == known[name]).all() for name in common):
            known.update({name: rank[a, number] for name, a in here.items()})


@kernel
def carry_over(
    own: Lists, query: IntVector, of: IntVector, ptr: IntVector, ranks: SmallIntMatrix, wanted: Lists, same: MarkVector
) -> None:
    """Write the last two of the known ranks in the numbers of each row, if its own rankers have the ranks known.

    Row n is ``query[n]`` of its own lists, and ``ranks[:, ptr[of[n]]:ptr[of[n] + 1]]`` is known.
    """
    rankers = own.order.shape[0]
    for n in range(same.shape[0]):
        start, first = own.query_ptr[query[n]], ptr[of[n]]
        size = own.query_ptr[query[n] + 1] - start
        if ptr[of[n] + 1] - first != size:
            continue
        same[n] = 1
        for f in range(first, first + size):
            d = own.order[0, start + ranks[0, f] - 1]
            for a in range(1, rankers):
                if own.rank[a, start + d] != ranks[a, f]:
                    same[n] = 0
            for t in range(wanted.order.shape[0]):
                r = ranks[rankers + t, f]
                wanted.rank[t, start + d] = r
                wanted.order[t, start + r - 1] = d
