"""What groups of users were shown: for tests that hold where a user is shown one set of rankers again and again.

Such pages are no independent draws, so all pages of a user are taken together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ltr_duel.core import IntVector
from ltr_duel.logs.findings import flipped
from ltr_duel.logs.hashing import HashVector, hash_rows, hash_texts
from ltr_duel.logs.table import ragged

_GROUPS = 512  # of users: those whom a hash puts together count as one
_CELLS = 1_000_000  # groups of users and sets of rankers
_UNIT = 1 << 30  # of a page: sums are whole numbers, the same in any order
PERIODS = 240  # short parts of the time

Sets = list[tuple[str, ...]]


class Users:
    """Who was shown which set of rankers.

    Parameters
    ----------
    engine : Engine
    rows : ibis Table
        With ``rankers``, ``line``, and, where users have names, ``user``.
    orders : list of tuple of str
        What the rows have as ``rankers``.
    names : list of tuple of str
        The sets of rankers, each sorted.
    """

    def __init__(self, engine: Any, rows: Any, orders: Sets, names: Sets) -> None:
        import ibis

        hashes = _hashes(pa.array(orders, pa.list_(pa.string())))
        order, numbers = np.argsort(hashes), np.array([names.index(tuple(sorted(one))) for one in orders])
        self._hashes, self._numbers = hashes[order], numbers[order]
        self._engine, self.shape = engine, (int(np.clip(_CELLS // len(names), 32, _GROUPS)), len(names))
        user = rows.user if "user" in rows.columns else ibis.null("string")
        self.rows = rows.mutate(user=user, own=user.isnull().ifelse(rows.line, -1))  # no name: each page is one's own

    def counted(self, rows: Any, keys: list[str], **sums: Any) -> Any:
        """Yield group of users, number of the set, and further columns of rows that are alike in keys."""
        found = rows.group_by("user", "own", "rankers", *keys).agg(n=rows.count(), **sums)
        for batch in self._engine.stream(found, 1 << 16):
            own = batch.column("own").to_numpy()
            user = np.where(own >= 0, own.astype(np.uint64), hash_texts(batch.column("user")))
            rankers = self._numbers[np.searchsorted(self._hashes, _hashes(batch.column("rankers")))]
            group = (user % np.uint64(self.shape[0])).astype(np.int64)
            yield group, rankers, *(batch.column(name).to_numpy() for name in (*keys, "n", *sums))


def pages_of_users(users: Users, blocks: int) -> NDArray[np.int64]:
    """Return numbers of pages, shape (groups of users, sets, blocks of time)."""
    out = np.zeros((*users.shape, blocks), np.int64)
    for group, rankers, block, n in users.counted(users.rows, ["block"]):
        np.add.at(out, (group, rankers, np.minimum(block, blocks - 1)), n)
    return out


class EmptyPages(NamedTuple):
    """Pages without a document, for a query for which the same rankers had shown documents before."""

    pages: int  # for such a query
    empty: int
    p: float  # of "no set of rankers has more of them"


def empty_pages(users: Users) -> EmptyPages:
    """Test whether pages without a document are more often those of some sets of rankers.

    Null: a page may be empty because its rankers find nothing for its query, and then all of their pages are. After
    their first page with documents, a page of theirs is empty by an accident, and among pages of a query in a tenth of
    the time it strikes all sets alike. Which pages are after the first one with documents depends on earlier pages
    only, so these are no choice of full or empty ones. What users have more or less than their query's share gets
    random signs, all of a user's together; and then all of a short time together, as where an outage of all meets the
    pair of the hour. The larger p counts. In a cell each user counts once, by the share of empty pages: else one whose
    pages all fail would be all that the cell expects.

    It assumes that what rankers find for a query neither depends on the user nor changes: else one set may lose all
    documents of a query where another keeps some. It finds a ranker that fails on some pages, so that nothing is shown,
    where queries come back. It cannot find a failure on all pages of a query, nor one of all rankers alike. Pages that
    show documents, of which no ranker owns one, are no part of it: rankers that agree on a query show such pages, and
    two that are alike often do.

    Parameters
    ----------
    users : Users
        Of rows with ``query``, ``block``, ``period`` (shorter, from 0 to `PERIODS`), and ``empty`` for 1 without a
        document, else 0.
    """
    import ibis

    rows = users.rows
    rows = rows.semi_join(rows.filter(rows.empty == 1).select("query").distinct(), "query")
    full = ibis.ifelse(rows.empty == 1, ibis.null("int64"), rows.line).min()
    rows = rows.mutate(since=full.over(group_by=("query", "rankers")))
    rows = rows.filter(rows.line > rows.since)
    alike, own = ibis.window(group_by=("query", "block")), ("query", "block", "user", "own")
    rows = rows.mutate(weight=ibis.literal(_UNIT, "int64") // rows.count().over(ibis.window(group_by=own)))
    lost = rows.weight * rows["empty"]
    rows = rows.mutate(cell=rows.weight.sum().over(alike).cast("int64"), cell_lost=lost.sum().over(alike).cast("int64"))
    lost = (rows.weight * rows["empty"]).sum().cast("int64")
    sums = {"weight": rows.weight.sum().cast("int64"), "lost": lost, "empty": rows["empty"].sum().cast("int64")}
    beyond, expected = np.zeros(users.shape, np.int64), np.zeros(users.shape[1], np.int64)
    by_time, found = np.zeros((PERIODS, users.shape[1]), np.int64), np.zeros(2, np.int64)
    for group, rankers, *columns in users.counted(rows, ["cell", "cell_lost", "period"], **sums):
        cell, cell_lost, period, n, weight, lost, empty = columns
        usual: IntVector = np.rint(weight * (cell_lost / cell)).astype(np.int64)
        np.add.at(beyond, (group, rankers), lost - usual)
        np.add.at(by_time, (np.minimum(period, PERIODS - 1), rankers), lost - usual)
        np.add.at(expected, rankers, usual)
        found += n.sum(), empty.sum()
    p = [flipped(one / _UNIT, expected / _UNIT) for one in (beyond, by_time)]
    return EmptyPages(int(found[0]), int(found[1]), max(p) if not np.isnan(p).any() else np.nan)


def _hashes(rankers: Any) -> HashVector:
    texts, ptr = ragged(rankers)
    return hash_rows(hash_texts(texts), ptr)
