"""The sums of a log's outcomes for each pair of rankers, computed exactly with integers.

The engine sums the outcomes of each pair and cluster (a user, a query, or both), and returns the number of clusters
with each combination of sums. This table is small, because most outcomes are wins, losses or ties. It is sufficient,
because all statistics of independent clusters follow from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import FloatVector, IntVector, statistics
from ltr_duel.logs.clusters import (
    Kinds,
    Means,
    cautious_means,
    clustered_means,
    kinds_of,
    naive_means,
    two_way,
)
from ltr_duel.logs.engine import named
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

    def sizes(self, pair: int) -> Kinds:
        """Return the kinds of a pair's clusters, by their sizes."""
        size, _, number = self.of(pair)
        return kinds_of(size, number)

    def half(self, pair: int) -> float:
        """Return the cluster size such that clusters of this size or more have half of the pair's outcomes."""
        size, _, number = self.of(pair)
        order = np.argsort(-size)
        size, held = size[order], (size * number)[order].cumsum()
        return float(size[np.searchsorted(held, held[-1] / 2)]) if len(size) else 0.0


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

    def per_user(self) -> PairSums:
        """Return sums in which each user is one outcome: a win of the ranker with the larger sum, or a tie."""
        users = self.kinds[0]
        sign = np.sign(users.total)
        each = Clusters(users.pair, np.ones_like(users.n), sign * UNIT, users.number)
        counts = [np.zeros(len(self.wins), np.int64) for _ in range(3)]
        for side, count in zip((1, -1, 0), counts, strict=True):
            np.add.at(count, users.pair, np.where(sign == side, users.number, 0))
        wins, losses, ties = counts
        plain = wins.astype(np.float64) - losses, wins.astype(np.float64) + losses
        none = Sequences(*np.zeros((len(Sequences._fields), len(wins))))  # because a user's outcome may still change
        return PairSums("user", wins, losses, ties, *plain, none, (each,))

    def _clustered(self, means: Callable[..., Means]) -> Means:
        found = []
        for kind in self.kinds:
            found.append(Means.joined(means(p, *(one[None] for one in kind.of(p))) for p in range(len(self.wins))))
        return two_way(*found) if self.cluster == "both" else found[0]

    def cautious_of_each(self) -> tuple[Means, ...]:
        """Return `cautious` by users alone and by queries alone, if clustered by both; otherwise ()."""
        if self.cluster != "both":
            return ()
        each = zip(CLUSTERS[:2], self.kinds[:2], strict=True)
        return tuple(replace(self, cluster=name, kinds=(kind,)).cautious() for name, kind in each)

    def sign_p(self) -> FloatVector:
        """Return p-values of the sign test of clusters; for both, the larger of users' and queries' p-values."""
        if self.cluster == "impression":
            return statistics.sign_p(self.wins, self.losses, self.sum, self.square)
        pairs = range(len(self.wins))
        kinds = [[statistics.sign_flip_p(*kind.of(p)[1:]) for p in pairs] for kind in self.kinds[:2]]
        return np.asarray(np.max(kinds, axis=0), np.float64)

    def sizes(self) -> list[Kinds]:
        """Return the kinds of each pair's clusters; for both, those of users or queries, whichever are larger."""
        kinds = [[kind.sizes(p) for kind in self.kinds[:2]] or [((1.0, 1.0),)] for p in range(len(self.wins))]
        return [max(some, key=lambda kind: sum(n * share for n, share in kind)) for some in kinds]

    def half(self) -> list[float]:
        """Return `Clusters.half` of each pair; for both, the larger of users' and queries' values."""
        return [max((kind.half(p) for kind in self.kinds[:2]), default=0.0) for p in range(len(self.wins))]


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


def cells(engine: Any, outcomes: Any, keys: tuple[str, ...], by: Grouping, step: float = 0.0) -> Any:
    """Return the sums of each pair, cluster and, with ``step`` (in seconds), period of time, as a relation.

    ``total`` is in units of 1 / UNIT, or of 1 if all outcomes are wins, losses and ties. An impression without a user
    is a cluster of its own. ``begin`` is a code of the first line and its outcome.
    """
    columns = [*map(named, keys)]
    chosen = ["pair", *columns]
    if "user" in keys and not by.named:
        columns.append(own := 'CASE WHEN "user" IS NULL THEN line ELSE -1 END')
        chosen.append(f"{own} AS own")
    if step:
        columns.append(block := f"CAST(floor(time / {step!r}) AS BIGINT)")
        chosen.append(f"{block} AS block")
    won, lost = (f"count(CASE WHEN y {sign} 0 THEN 1 END)" for sign in "><")
    total, square, ones, minus = f"{won} - {lost}", f"{won} + {lost}", won, lost
    if not by.whole:
        total, square = "CAST(sum(y) AS BIGINT)", "CAST(sum(square) AS BIGINT)"
        ones, minus = (f"count(CASE WHEN y = {value} THEN 1 END)" for value in (UNIT, -UNIT))
    sums = {"n": "count(*)", "total": total, "square": square, "won": won, "lost": lost, "ones": ones, "minus": minus}
    if keys:
        sums["begin"] = f"min(line * {4 * UNIT} + y + {UNIT})"
    chosen += [f"{value} AS {named(name)}" for name, value in sums.items()]
    sql = f"SELECT {', '.join(chosen)} FROM outcomes GROUP BY {', '.join(['pair', *columns])}"
    return engine.keep(sql, outcomes=outcomes)


def pair_sums(engine: Any, outcomes: Any, by: Grouping, by_time: Sequence[Any] = ()) -> PairSums:
    """Return the sums of outcomes; ``by_time``: the results of `cells` for each of ``by.keys``, if available."""
    parts = by_time or [cells(engine, outcomes, keys, by) for keys in by.keys]
    dimensions = [_classes(engine, part, keys, by, bool(by_time)) for part, keys in zip(parts, by.keys, strict=True)]
    found = dimensions[0]

    def by_pair(values: Any, where: Any = True) -> IntVector:
        out = np.zeros(by.pairs, np.int64)
        np.add.at(out, found["pair"], np.where(where, values, 0))
        return out

    wins, losses = by_pair(found["won"]), by_pair(found["lost"])
    n, total = by_pair(found["n"] * found["clusters"]), by_pair(found["total"] * found["clusters"])
    square = by_pair(found["square"])
    if by.cluster in ("user", "both"):
        sequences = _sequence(by_pair, found["seen"], found["clusters"], found["seen"] ** 2 // UNIT * found["clusters"])
    else:
        ones, minus = by_pair(found["ones"]), by_pair(found["minus"])
        rest = n - ones - minus - (n - wins - losses)
        parts = (ones, minus, n - wins - losses, rest, (total - (ones - minus) * UNIT) / UNIT)
        sequences = Sequences(*(np.asarray(one, np.float64) for one in (*parts, square / UNIT - ones - minus)))
    clusters = tuple(Clusters(*(one[name] for name in ("pair", "n", "total", "clusters"))) for one in dimensions)
    kinds = clusters if by.cluster in CLUSTER_KEYS else ()
    return PairSums(by.cluster, wins, losses, n - wins - losses, total / UNIT, square / UNIT, sequences, kinds)


def _classes(engine: Any, cells: Any, keys: tuple[str, ...], by: Grouping, timed: bool) -> dict[str, IntVector]:
    """Return the number of clusters with equal sums; without keys, all impressions of a pair are one cluster."""
    of = ["pair", *map(named, keys), *(["own"] if "user" in keys and not by.named else [])]
    sums = ("n", "total", "square", "won", "lost", "ones", "minus")
    each = "cells"
    if timed:
        begin = ["min(begin) AS begin"] if keys else []
        chosen = [*of, *(f"CAST(sum({name}) AS BIGINT) AS {name}" for name in sums), *begin]
        each = f"(SELECT {', '.join(chosen)} FROM cells GROUP BY {', '.join(of)}) AS clusters_of_a_pair"
    rest = ", ".join(f"CAST(sum({name}) AS BIGINT) AS {name}" for name in sums[2:])
    alike = ["pair", "n", "total", *([f"begin % {4 * UNIT} - {UNIT}"] if keys else [])]
    seen = f"{alike[-1] if keys else 0} AS seen"
    sql = f"SELECT pair, n, total, {seen}, count(*) AS clusters, {rest} FROM {each} GROUP BY {', '.join(alike)}"
    found = sorted_columns(engine.query(sql, cells=cells))
    scale = UNIT if by.whole else 1
    return found | {name: found[name] * scale for name in ("total", "square")}


def _sequence(by_pair: Any, y: IntVector, number: IntVector, square: IntVector) -> Sequences:
    between = (y != 0) & (abs(y) != UNIT)
    parts = [by_pair(number, y == UNIT), by_pair(number, y == -UNIT), by_pair(number, y == 0)]
    parts += [by_pair(number, between), by_pair(y * number, between) / UNIT, by_pair(square, between) / UNIT]
    return Sequences(*(part.astype(np.float64) for part in parts))


def sorted_columns(table: Any) -> dict[str, IntVector]:
    """Return the columns of an Arrow table of integers, with rows in the same order for every engine."""
    columns = {name: table.column(name).to_numpy().astype(np.int64) for name in table.column_names}
    order = np.lexsort([columns[name] for name in sorted(columns, key=lambda name: (name == "pair", name))])
    return {name: values[order] for name, values in columns.items()}
