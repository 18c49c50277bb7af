"""The sums of a log's outcomes for each pair of rankers, computed exactly with integers.

The engine sums the outcomes of each pair and cluster (a user, a query, or both), and returns the number of clusters
with each combination of sums. This table is small, because most outcomes are wins, losses or ties. It is sufficient,
because all statistics of independent clusters follow from it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
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
from ltr_duel.logs.engine import Engine
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
    users: int | None = None  # number of users, if known

    @property
    def kinds(self) -> Sequence[tuple[str, ...]]:
        """The columns of each kind of cluster; empty if each impression is a cluster."""
        return CLUSTER_KEYS.get(self.cluster, ())


def pair_sums(engine: Engine, outcomes: Any, by: Grouping, classes: Sequence[Any] = ()) -> PairSums:
    """Return the sums of outcomes; ``classes``: the result of `looks_of`, if available."""
    pairs, cluster, kinds = by.pairs, by.cluster, by.kinds
    counted = classes or [engine.run(_classes(outcomes, keys, by.whole, by.named)) for keys in kinds or ((),)]
    found, *others = map(sorted_columns, counted)

    def by_pair(values: Any, where: Any = True) -> IntVector:
        out = np.zeros(pairs, np.int64)
        np.add.at(out, found["pair"], np.where(where, values, 0))
        return out

    wins, losses, n, total, square = (by_pair(found[name]) for name in ("won", "lost", "outcomes", "sum", "square"))
    if cluster in ("user", "both"):
        sequences = _sequence(by_pair, found["seen"], found["clusters"], found["seen"] ** 2 // UNIT * found["clusters"])
    else:
        ones, minus = by_pair(found["ones"]), by_pair(found["minus"])
        rest = n - ones - minus - (n - wins - losses)
        parts = (ones, minus, n - wins - losses, rest, (total - (ones - minus) * UNIT) / UNIT)
        sequences = Sequences(*(np.asarray(one, np.float64) for one in (*parts, square / UNIT - ones - minus)))
    kept = (found, *others) if kinds else ()
    each = tuple(Clusters(one["pair"], one["n"], one["total"], one["clusters"]) for one in kept)
    return PairSums(cluster, wins, losses, n - wins - losses, total / UNIT, square / UNIT, sequences, each)


def _sequence(by_pair: Any, y: IntVector, number: IntVector, square: IntVector) -> Sequences:
    between = (y != 0) & (abs(y) != UNIT)
    parts = [by_pair(number, y == UNIT), by_pair(number, y == -UNIT), by_pair(number, y == 0)]
    parts += [by_pair(number, between), by_pair(y * number, between) / UNIT, by_pair(square, between) / UNIT]
    return Sequences(*(part.astype(np.float64) for part in parts))


def own_line(t: Any, keys: Collection[str], named: bool = False) -> dict[str, Any]:
    """Return the column that makes each impression without a user a separate cluster; empty if not needed."""
    return {"own": t.user.isnull().ifelse(t.line, -1)} if "user" in keys and not named else {}


def _classes(outcomes: Any, keys: tuple[str, ...], whole: bool, named: bool) -> Any:
    """Return the expression that counts clusters with equal sums; without keys, each impression is a row."""
    t = outcomes
    sums = {"n": t.count(), "won": t.y.count(where=t.y > 0), "lost": t.y.count(where=t.y < 0)}
    if not whole:
        sums |= {"ones": t.y.count(where=t.y == UNIT), "minus": t.y.count(where=t.y == -UNIT)}
        sums |= {"total": t.y.sum().cast("int64"), "square": t.square.sum().cast("int64")}
    order = t.line * (4 * UNIT) + (t.y + UNIT)  # sorts by line, and encodes the outcome
    each = t.group_by("pair", *keys, **own_line(t, keys, named)).agg(**sums, **({"begin": order.min()} if keys else {}))
    if whole:
        each = each.mutate(ones=each.won, minus=each.lost, total=(each.won - each.lost) * UNIT)
        each = each.mutate(square=(each.won + each.lost) * UNIT)
    if not keys:
        return each.mutate(seen=0, clusters=1, outcomes=each.n, sum=each.total)
    each = each.mutate(seen=each.begin % (4 * UNIT) - UNIT)
    return each.group_by("pair", "n", "total", "seen").agg(
        clusters=each.count(),
        outcomes=each.n.sum().cast("int64"),
        sum=each.total.sum().cast("int64"),
        **{name: each[name].sum().cast("int64") for name in ("won", "lost", "ones", "minus", "square")},
    )


def sorted_columns(table: Any) -> dict[str, IntVector]:
    """Return the columns of an Arrow table of integers, with rows in the same order for every engine."""
    columns = {name: table.column(name).to_numpy().astype(np.int64) for name in table.column_names}
    order = np.lexsort([columns[name] for name in sorted(columns, key=lambda name: (name == "pair", name))])
    return {name: values[order] for name, values in columns.items()}
