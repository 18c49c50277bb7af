"""The sums of a log's outcomes for each pair of rankers, computed exactly with integers.

The engine sums the outcomes of each pair and cluster (a user, a query, or both), and returns the number of clusters
with each combination of sums. This table is small, because most outcomes are wins, losses or ties. It is sufficient,
because all statistics of independent clusters follow from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ltr_duel.core import FloatVector, IntVector, statistics
from ltr_duel.logs.clusters import (
    Means,
    cautious_means,
    clustered_means,
    naive_means,
    two_way,
)
from ltr_duel.logs.outcomes import UNIT

CLUSTERS = ("user", "query", "both", "impression")
CLUSTER_KEYS = {"user": (("user",),), "query": (("query",),), "both": (("user",), ("query",), ("user", "query"))}


class Sequences(NamedTuple):
    """The sums of a pair's sequence of observations, for tests at any time; each field has one entry per pair."""

    wins: FloatVector  # number of outcomes of 1
    losses: FloatVector  # number of outcomes of -1
    ties: FloatVector  # number of outcomes of 0
    others: FloatVector  # number of other outcomes
    lead: FloatVector  # sum of the other outcomes
    square: FloatVector  # sum of the squares of the other outcomes

    @property
    def n(self) -> FloatVector:
        """Number of observations."""
        return self.wins + self.losses + self.ties + self.others

    @property
    def mean(self) -> FloatVector:
        """Mean of the observations; 0 without observations."""
        n = self.n
        return (self.wins - self.losses + self.lead) / np.where(n > 0, n, 1.0)

    def of(self, pairs: Any) -> Sequences:
        """Return the sums of some of the pairs."""
        return Sequences(*(part[pairs] for part in self))

    def mirrored(self) -> Sequences:
        """Return the sums with the two rankers exchanged."""
        return self._replace(wins=self.losses, losses=self.wins, lead=-self.lead)


class Clusters(NamedTuple):
    """Clusters of one kind, sorted; clusters with the same pair and sums are one entry."""

    pair: IntVector
    n: IntVector  # number of outcomes of a cluster
    total: IntVector  # sum of a cluster's outcomes, in units of 1 / UNIT
    number: IntVector  # number of clusters of the entry

    def of(self, pair: int) -> tuple[FloatVector, FloatVector, FloatVector]:
        """Return number and sum of outcomes of a pair's clusters, and the number of clusters with each combination."""
        part = slice(*np.searchsorted(self.pair, [pair, pair + 1]))
        return self.n[part].astype(np.float64), self.total[part] / UNIT, self.number[part].astype(np.float64)


@dataclass(frozen=True, eq=False)
class PairSums:
    """The sums of all pairs, in clusters of one type of `CLUSTERS`; vectors have shape (pairs,)."""

    cluster: str
    wins: IntVector
    losses: IntVector
    ties: IntVector
    sum: FloatVector  # sum of the outcomes
    square: FloatVector  # sum of the squared outcomes
    sequences: Sequences  # of users' first outcomes (clusters ``user`` and ``both``), or of all outcomes
    kinds: tuple[Clusters, ...]  # user: users; query: queries; both: users, queries, pairs of them; impression: none

    def counts(self) -> FloatVector:
        """Return the number of outcomes of each pair."""
        return (self.wins + self.losses + self.ties).astype(np.float64)

    def naive(self) -> Means:
        """Return the means with errors for independent outcomes."""
        return naive_means(self.counts(), self.sum, self.square)

    def means(self) -> Means:
        """Return the means with clustered errors."""
        return (
            self.naive() if self.cluster == "impression" else self._clustered(lambda _, *each: clustered_means(*each))
        )

    def cautious(self) -> Means:
        """Return means and errors for intervals and tests, see `cautious_means`."""
        if self.cluster == "impression":
            return naive_means(self.counts() + 2, self.sum, self.square + 2)
        return self._clustered(lambda p, n, total, times: cautious_means(n, total, self.square[p : p + 1], times))

    def _clustered(self, means: Callable[..., Means]) -> Means:
        found = []
        for kind in self.kinds:
            found.append(Means.joined(means(p, *(one[None] for one in kind.of(p))) for p in range(len(self.wins))))
        return two_way(*found) if self.cluster == "both" else found[0]

    def sign_p(self) -> FloatVector:
        """Return p-values of the sign test of clusters; for both, the larger of users' and queries' p-values."""
        if self.cluster == "impression":
            return statistics.sign_p(self.wins, self.losses, self.sum, self.square)
        pairs = range(len(self.wins))
        kinds = [[statistics.sign_flip_p(*kind.of(p)[1:]) for p in pairs] for kind in self.kinds[:2]]
        return np.asarray(np.max(kinds, axis=0), np.float64)


class Grouping(NamedTuple):
    """The groups in which outcomes are summed."""

    pairs: int  # number of pairs
    cluster: str  # "user", "query", "both" or "impression"
    whole: bool = False  # whether all outcomes are wins, losses and ties
    named: bool = False  # whether every impression has a user

    @property
    def keys(self) -> Sequence[tuple[str, ...]]:
        """The columns of each dimension of clusters; () if each impression is a cluster."""
        return CLUSTER_KEYS.get(self.cluster, ((),))

    @property
    def unit(self) -> int:
        """The integer that represents the outcome 1 in sums."""
        return 1 if self.whole else UNIT


class Growth(NamedTuple):
    """What each period of the log adds to the sums of each pair, and to the products of its clusters' n and total."""

    pair: IntVector
    block: IntVector  # number of the period
    sums: dict[str, Any]  # columns of `_SUMS`, exact integers; products are floats

    def until(self, name: str, blocks: IntVector, pairs: int) -> Any:
        """Return the sum at the end of each period, shape (blocks, pairs)."""
        out = np.zeros((len(blocks), pairs), self.sums[name].dtype)
        np.add.at(out, (np.searchsorted(blocks, self.block), self.pair), self.sums[name])
        return out.cumsum(axis=0)

    def sequences(self, by: Grouping, blocks: IntVector) -> Sequences:
        """Return the sums of all outcomes, or of users' first ones, as sequences; fields have shape (blocks, pairs)."""
        first = "first_" * (by.cluster in ("user", "both"))
        n, ones, minus, ties, total, square = (
            self.until(first + name, blocks, by.pairs).astype(np.float64) / (by.unit if name in _OF_Y else 1)
            for name in ("n", "ones", "minus", "ties", "total", "square")
        )
        return Sequences(ones, minus, ties, n - ones - minus - ties, total - (ones - minus), square - ones - minus)


_OF_Y = ("total", "square")  # sums in units of outcomes
_SUMS = """
  count(*) AS n, CAST(sum(y) AS BIGINT) AS total, CAST(sum(square) AS BIGINT) AS square,
  count(CASE WHEN y > 0 THEN 1 END) AS won, count(CASE WHEN y < 0 THEN 1 END) AS lost,
  count(CASE WHEN y = {one} THEN 1 END) AS ones, count(CASE WHEN y = -{one} THEN 1 END) AS minus,
  count(CASE WHEN y = 0 THEN 1 END) AS ties"""
_CLUSTERED = """,
  count(CASE WHEN size = 1 THEN 1 END) AS first_n,
  count(CASE WHEN size = 1 AND y = {one} THEN 1 END) AS first_ones,
  count(CASE WHEN size = 1 AND y = -{one} THEN 1 END) AS first_minus,
  count(CASE WHEN size = 1 AND y = 0 THEN 1 END) AS first_ties,
  CAST(coalesce(sum(CASE WHEN size = 1 THEN y END), 0) AS BIGINT) AS first_total,
  CAST(coalesce(sum(CASE WHEN size = 1 THEN square END), 0) AS BIGINT) AS first_square,
  CAST(sum(2 * size - 1) AS DOUBLE) AS nn,
  CAST(sum(lead + (size - 1) * y) AS DOUBLE) AS nt,
  CAST(sum(CAST(y AS {big}) * (2 * lead - y)) AS DOUBLE) AS tt"""
_ROWS = """SELECT pair, {block} AS block, {y} AS y, {square} AS square, line, time{keys} FROM outcomes"""
_RUNNING = """SELECT pair, block, y, square,
  row_number() OVER ({cluster}) AS size,
  CAST(sum(y) OVER ({cluster} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS BIGINT) AS lead,
  CASE WHEN lead(line) OVER ({cluster}) IS NULL THEN 1 END AS last FROM rows_of_pairs"""
_FINAL = """SELECT *, CASE WHEN last = 1 THEN size END AS last_size, CASE WHEN last = 1 THEN lead END AS last_lead
  FROM rows_until"""


def growth(engine: Any, outcomes: Any, keys: tuple[str, ...], by: Grouping, step: float) -> tuple[Growth, Clusters]:
    """Return what each period of ``step`` seconds adds to the sums, and the clusters; 0: the whole log is one period.

    The rows of a cluster are numbered by time, so that each row adds to the cluster's products what its sums grow by:
    of n squared, for example, 2 n - 1. An impression without a user is a cluster of its own. A log beyond
    `Engine.passes` is summed in parts of its clusters, which DuckDB's windows hold in memory.
    """
    chosen = [f'"{key}"' for key in keys]
    if "user" in keys and not by.named:
        chosen.append('CASE WHEN "user" IS NULL THEN line ELSE -1 END AS own')
    names = [name.rpartition(" ")[2] for name in chosen]
    rows = _ROWS.format(
        block=f"CAST(floor(time / {step!r}) AS BIGINT)" if step else "0",
        y="CASE WHEN y > 0 THEN 1 WHEN y < 0 THEN -1 ELSE 0 END" if by.whole else "y",
        square="CASE WHEN y <> 0 THEN 1 ELSE 0 END" if by.whole else "square",
        keys="".join(f", {one}" for one in chosen),
    )
    sums = _SUMS.format(one=by.unit)
    if not keys:
        found = [engine.query(f"SELECT pair, block, {sums} FROM ({rows}) AS r GROUP BY pair, block", outcomes=outcomes)]
        return _growth(found), Clusters(*np.zeros((4, 0), np.int64))
    sums += _CLUSTERED.format(one=by.unit, big="BIGINT" if by.whole else "HUGEINT")
    cluster = f"PARTITION BY {', '.join(['pair', *names])} ORDER BY time, line"
    found = []
    for part in range(engine.passes):
        some = f" WHERE hash({', '.join(names)}) % {engine.passes} = {part}" * (engine.passes > 1)
        each = f"(SELECT * FROM ({rows}) AS r{some}) AS rows_of_pairs"
        until = f"({_RUNNING.format(cluster=cluster).replace('rows_of_pairs', each)}) AS rows_until"
        sets = "GROUPING SETS ((pair, block), (pair, last_size, last_lead))"
        sql = f"SELECT pair, block, last_size, last_lead, {sums} FROM ({_FINAL.replace('rows_until', until)}) AS f"
        found.append(engine.query(f"{sql} GROUP BY {sets}", outcomes=outcomes))
    table = pa.concat_tables(found)
    last = table.filter(pc.is_valid(table["last_size"]))
    pair, size, lead, number = (last[name].to_numpy() for name in ("pair", "last_size", "last_lead", "n"))
    kinds, where = np.unique(np.stack([pair, size, lead], axis=1).astype(np.int64), axis=0, return_inverse=True)
    counts = np.zeros(len(kinds), np.int64)
    np.add.at(counts, where.ravel(), number)
    clusters = Clusters(kinds[:, 0], kinds[:, 1], kinds[:, 2] * (UNIT // by.unit), counts)
    return _growth([table.filter(pc.is_valid(table["block"]))]), clusters


def _growth(tables: list[Any]) -> Growth:
    table = pa.concat_tables(tables)
    columns = {name: table[name].to_numpy() for name in table.column_names}
    return Growth(columns.pop("pair").astype(np.int64), columns.pop("block").astype(np.int64), columns)


def pair_sums(engine: Any, outcomes: Any, by: Grouping, step: float = 0.0) -> tuple[PairSums, list[Growth]]:
    """Return the sums of outcomes, and for each of ``by.keys`` their growth in periods of ``step`` seconds."""
    if len(by.keys) > 1 or engine.passes > 1:
        outcomes = engine.keep("SELECT * FROM o", o=outcomes)
    parts, clusters = zip(*(growth(engine, outcomes, keys, by, step) for keys in by.keys), strict=True)
    blocks = np.unique(parts[0].block) if len(parts[0].block) else np.zeros(1, np.int64)
    n, wins, losses, total, square = (
        parts[0].until(name, blocks, by.pairs)[-1] for name in ("n", "won", "lost", "total", "square")
    )
    sequences = Sequences(*(values[-1] for values in parts[0].sequences(by, blocks)))
    kinds = clusters if any(by.keys) else ()
    sums = PairSums(
        by.cluster, wins, losses, n - wins - losses, total / by.unit, square / by.unit, sequences, tuple(kinds)
    )
    return sums, list(parts)
