"""Counts of pages by groups of users, for tests that stay valid if a user is shown the same set of rankers repeatedly.

A page is the list of one impression. If the set of rankers is the same on all pages of a user, these pages are not
independent samples. The tests therefore sum all pages of a user.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ltr_duel.core import IntVector
from ltr_duel.logs.findings import flipped
from ltr_duel.logs.hashing import HashVector, hash_rows, hash_texts, hash_users
from ltr_duel.logs.table import ragged

_GROUPS = 512  # maximum number of groups of users, formed by a hash; a group counts as one user
_CELLS = 1_000_000  # maximum of the product (number of groups of users) * (number of sets of rankers)
_UNIT = 1 << 30  # weight of a page; an integer, because sums of integers do not depend on the order
PERIODS = 240  # number of short periods into which the log's time is divided

Sets = list[tuple[str, ...]]


class Users:
    """The sets of rankers that each user was shown."""

    def __init__(self, engine: Any, rows: Any, orders: Sets, names: Sets) -> None:
        import ibis

        hashes = _hashes(pa.array(orders, pa.list_(pa.string())))
        order, numbers = np.argsort(hashes), np.array([names.index(tuple(sorted(one))) for one in orders])
        self._hashes, self._numbers = hashes[order], numbers[order]
        self._engine, self.shape = engine, (int(np.clip(_CELLS // len(names), 32, _GROUPS)), len(names))
        user = rows.user if "user" in rows.columns else ibis.null("string")
        # A page without a user counts as a separate user.
        self.rows = rows.mutate(user=user, own=user.isnull().ifelse(rows.line, -1))

    def counted(self, rows: Any, keys: list[str], **sums: Any) -> Any:
        """Group rows by user, rankers and `keys`; yield arrays: user group, index of the set, keys, count, sums."""
        found = rows.group_by("user", "own", "rankers", *keys).agg(n=rows.count(), **sums)
        for batch in self._engine.stream(found, 1 << 16):
            user = hash_users(batch, batch.column("own").to_numpy().astype(np.uint64))
            rankers = self._numbers[np.searchsorted(self._hashes, _hashes(batch.column("rankers")))]
            group = (user % np.uint64(self.shape[0])).astype(np.int64)
            yield group, rankers, *(batch.column(name).to_numpy() for name in (*keys, "n", *sums))


def pages_of_users(users: Users, blocks: int) -> NDArray[np.int64]:
    """Return the numbers of pages, shape (groups of users, sets, blocks of time)."""
    out = np.zeros((*users.shape, blocks), np.int64)
    for group, rankers, block, n in users.counted(users.rows, ["block"]):
        np.add.at(out, (group, rankers, np.minimum(block, blocks - 1)), n)
    return out


class EmptyPages(NamedTuple):
    """Counts and test of empty pages; a page counts if its rankers have already shown documents for the same query."""

    pages: int  # number of pages that count
    empty: int  # number of empty pages among them
    p: float  # p-value of "no set of rankers has more empty pages than others"


def empty_pages(users: Users) -> EmptyPages:
    """Test whether some sets of rankers have more pages without a document than others.

    If a set of rankers finds no document for a query, all its pages for the query are empty. Therefore, only pages
    after the first page with documents for the same query and set are tested. This selection depends on earlier pages
    only, so it favours neither full nor empty pages.

    Two tests assign random signs to deviations from the expected counts. The first assigns one sign per user; all pages
    of a user for one query within one tenth of the time have a total weight of 1. The second assigns one sign per short
    period, because an outage may affect only the sets of rankers that are shown during the outage. The larger p-value
    is returned.

    The tests assume that a ranker's documents for a query neither change nor depend on the user. A failure that affects
    all pages of a query, or all rankers equally, is not detected. If rankers agree, the page shows documents without
    owners, so it is not empty.
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
