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
    Means,
    cautious_means,
    clustered_means,
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


def running(engine: Any, outcomes: Any, keys: tuple[str, ...], by: Grouping, step: float = 0.0) -> Any:
    """Return for each outcome the sums of its cluster until then, as a relation; ``step``: length of a period.

    The columns are ``pair``, ``block`` (number of the period), ``y``, ``square``, ``n`` and ``total`` (number and sum
    of the cluster's outcomes so far), ``seen`` (its first outcome) and ``last`` (1 for its last outcome). Without keys,
    each impression is a cluster. The unit of sums is 1 / UNIT, or 1 if all outcomes are wins, losses and ties. An
    impression without a user is a cluster of its own.
    """
    block = f"CAST(floor(time / {step!r}) AS BIGINT)" if step else "0"
    y = "CASE WHEN y > 0 THEN 1 WHEN y < 0 THEN -1 ELSE 0 END" if by.whole else "y"
    chosen = ["pair", f"{block} AS block", f"{y} AS y", *([] if by.whole else ["square"])]
    if not keys:
        one = "1 AS n, y AS total, y AS seen, 1 AS last"
        return engine.view(f"SELECT *, {one} FROM (SELECT {', '.join(chosen)} FROM outcomes) AS o", outcomes=outcomes)
    of = ["pair", *map(named, keys)]
    if "user" in keys and not by.named:
        chosen.append('CASE WHEN "user" IS NULL THEN line ELSE -1 END AS own')
        of.append("own")
    order = f"PARTITION BY {', '.join(of)} ORDER BY time, line"
    until = f"OVER ({order} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
    sums = [f"row_number() OVER ({order}) AS n", f"CAST(sum(y) {until} AS BIGINT) AS total"]
    sums += [
        f"first_value(y) {until} AS seen",
        f"CASE WHEN lead(line) OVER ({order}) IS NULL THEN 1 ELSE 0 END AS last",
    ]
    each = f"(SELECT {', '.join([*chosen, 'line', 'time', *map(named, keys)])} FROM outcomes) AS o"
    own = ["pair", "block", "y", *([] if by.whole else ["square"])]
    return engine.keep(f"SELECT {', '.join([*own, *sums])} FROM {each}", outcomes=outcomes)


def growth(engine: Any, rows: Any, by: Grouping) -> Any:
    """Return what each period adds to the sums of a pair, and to its clusters' products of n and total.

    rows: the result of `running`. The columns ``first_...`` count the first outcomes of clusters, for the confidence
    sequence.
    """
    one, big = (1, "BIGINT") if by.whole else (UNIT, "HUGEINT")
    sums = {"n": "count(*)", "total": "CAST(sum(y) AS BIGINT)"}
    sums["square"] = "CAST(sum(abs(y)) AS BIGINT)" if by.whole else "CAST(sum(square) AS BIGINT)"
    marks = {"won": "y > 0", "lost": "y < 0", "ones": f"y = {one}", "minus": f"y = -{one}"}
    for name in ("ones", "minus"):
        marks[f"first_{name}"] = f"n = 1 AND {marks[name]}"
    marks |= {"first_ties": "n = 1 AND y = 0", "first_n": "n = 1"}
    sums |= {name: f"count(CASE WHEN {mark} THEN 1 END)" for name, mark in marks.items()}
    square = "abs(y)" if by.whole else "square"
    sums |= {
        f"first_{name}": f"CAST(coalesce(sum(CASE WHEN n = 1 THEN {value} END), 0) AS BIGINT)"
        for name, value in (("total", "y"), ("square", square))
    }
    products = {"nn": "2 * n - 1", "nt": "total + (n - 1) * y", "tt": f"CAST(y AS {big}) * (2 * total - y)"}
    sums |= {name: f"CAST(sum({value}) AS DOUBLE)" for name, value in products.items()}
    chosen = ", ".join(f"{value} AS {name}" for name, value in sums.items())
    return engine.query(f"SELECT pair, block, {chosen} FROM rows_until GROUP BY pair, block", rows_until=rows)


def sequences_of(sums: Callable[..., Any], by: Grouping) -> Sequences:
    """Return the sums of sequences; ``sums``: returns a column of `growth`, added up, in units of 1 or of outcomes."""
    first = "first_" if by.cluster in ("user", "both") else ""
    ones, minus = sums(f"{first}ones"), sums(f"{first}minus")
    ties = sums("first_ties") if first else sums("n") - sums("won") - sums("lost")
    others = sums(f"{first}n") - ones - minus - ties
    lead = sums(f"{first}total", outcomes=True) - (ones - minus)
    square = sums(f"{first}square", outcomes=True) - ones - minus
    return Sequences(*(np.asarray(values, np.float64) for values in (ones, minus, ties, others, lead, square)))


def pair_sums(engine: Any, outcomes: Any, by: Grouping, parts: Sequence[Any] = ()) -> PairSums:
    """Return the sums of outcomes; ``parts``: the results of `running` for each of ``by.keys``, if available."""
    outcomes = engine.keep("SELECT * FROM o", o=outcomes) if len(by.keys) > 1 and not parts else outcomes
    parts = parts or [running(engine, outcomes, keys, by) for keys in by.keys]
    columns = growth(engine, parts[0], by).to_pydict()

    def by_pair(name: str, *, outcomes: bool = False) -> Any:
        out = np.zeros(by.pairs, np.int64)
        np.add.at(out, columns["pair"], np.array(columns[name], np.int64))
        return out / (1 if by.whole else UNIT) if outcomes else out

    wins, losses, n = by_pair("won"), by_pair("lost"), by_pair("n")
    total, square = by_pair("total", outcomes=True), by_pair("square", outcomes=True)
    kinds = tuple(_clusters(engine, part, by) for part, keys in zip(parts, by.keys, strict=True) if keys)
    return PairSums(by.cluster, wins, losses, n - wins - losses, total, square, sequences_of(by_pair, by), kinds)


def _clusters(engine: Any, rows: Any, by: Grouping) -> Clusters:
    """Return the number of clusters with equal sums."""
    sql = "SELECT pair, n, total, count(*) AS clusters FROM rows_until WHERE last = 1 GROUP BY pair, n, total"
    found = sorted_columns(engine.query(sql, rows_until=rows))
    return Clusters(found["pair"], found["n"], found["total"] * (UNIT if by.whole else 1), found["clusters"])


def sorted_columns(table: Any) -> dict[str, IntVector]:
    """Return the columns of an Arrow table of integers, with rows in the same order for every engine."""
    columns = {name: table.column(name).to_numpy().astype(np.int64) for name in table.column_names}
    order = np.lexsort([columns[name] for name in sorted(columns, key=lambda name: (name == "pair", name))])
    return {name: values[order] for name, values in columns.items()}
