"""Add up the outcomes of each pair of rankers. All means, errors and tests are computed from these sums.

A cluster is all outcomes of one user, or of one query. The SQL engine adds up the outcomes of each pair and cluster. It
then counts how many clusters have the same number and the same sum of outcomes. Even a large log thus gives a small
table. Sums are exact, because outcomes are stored as integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import FloatVector, IntVector, statistics
from ltr_duel.logs.clusters import Means, cautious_means, clustered_means, naive_means
from ltr_duel.logs.outcomes import UNIT

CLUSTERS = ("user", "query", "impression")
_SUMS = f"""
  count(*) AS n, CAST(sum(y) AS BIGINT) AS total, CAST(sum(square) AS BIGINT) AS square,
  count(CASE WHEN y > 0 THEN 1 END) AS won, count(CASE WHEN y < 0 THEN 1 END) AS lost,
  count(CASE WHEN y = {UNIT} THEN 1 END) AS ones, count(CASE WHEN y = -{UNIT} THEN 1 END) AS minus,
  count(CASE WHEN y = 0 THEN 1 END) AS ties"""
# One number for time and line. It has a fixed size, so that engines can move its groups to disk. Times are exact: a
# double from 1e9 to 2e9 is a multiple of 2^-22 seconds. The constant makes earlier times positive.
_ORDER = f"(CAST(floor(coalesce(time, 0) * {2**22}) AS DECIMAL(38, 0)) + {10**17}) * {10**11} + line"


class Sequences(NamedTuple):
    """The numbers and sums from which `confidence_sequence` computes intervals. Each field has one entry per pair."""

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
        """Mean of the observations, or 0 if there are none."""
        return (self.wins - self.losses + self.lead) / np.maximum(self.n, 1.0)

    def of(self, pairs: Any) -> Sequences:
        """Return the sums of some of the pairs."""
        return Sequences(*(part[pairs] for part in self))

    def mirrored(self) -> Sequences:
        """Return the sums with the two rankers of each pair exchanged."""
        return self._replace(wins=self.losses, losses=self.wins, lead=-self.lead)


class Clusters(NamedTuple):
    """The clusters of each pair. Clusters with the same number and the same sum of outcomes are one entry."""

    pair: IntVector
    n: IntVector  # number of outcomes of a cluster; for a ratio, the sum of its denominator
    total: IntVector  # sum of a cluster's outcomes, in units of 1 / UNIT
    number: IntVector  # number of clusters of the entry

    def of(self, pair: int) -> tuple[FloatVector, FloatVector, FloatVector]:
        """Return three arrays for a pair: ``n``, ``total`` in outcomes, and ``number``."""
        part = slice(*np.searchsorted(self.pair, [pair, pair + 1]))
        return self.n[part].astype(np.float64), self.total[part] / UNIT, self.number[part].astype(np.float64)


@dataclass(frozen=True, eq=False)
class PairSums:
    """The sums of the outcomes of all pairs. Vectors have one entry per pair."""

    cluster: str
    wins: IntVector
    losses: IntVector
    ties: IntVector
    sum: FloatVector  # sum of the outcomes
    square: FloatVector  # sum of the squared outcomes
    sequences: Sequences  # sums of users' first outcomes if clusters are users, else of all outcomes
    clusters: Clusters | None  # None if every impression is a cluster and the outcome is no ratio

    def counts(self) -> FloatVector:
        """Return the number of outcomes of each pair."""
        return (self.wins + self.losses + self.ties).astype(np.float64)

    def naive(self) -> Means:
        """Return the means, with errors that are valid if outcomes are independent."""
        return naive_means(self.counts(), self.sum, self.square)

    def means(self) -> Means:
        """Return the means, with errors that allow for correlated outcomes in a cluster."""
        if self.clusters is None:
            return self.naive()
        pairs = map(self.clusters.of, range(len(self.wins)))
        return Means.joined(clustered_means(n[None], total[None], times) for n, total, times in pairs)

    def cautious(self) -> Means:
        """Return the means, with errors for intervals and tests."""
        if self.clusters is None:
            return naive_means(self.counts() + 2, self.sum, self.square + 2)
        pairs = zip(map(self.clusters.of, range(len(self.wins))), self.square[:, None], strict=True)
        return Means.joined(cautious_means(n[None], y[None], square, times) for (n, y, times), square in pairs)

    def sign_p(self) -> FloatVector:
        """Return, for each pair, the p-value of a sign test of its clusters."""
        if self.clusters is None:
            return statistics.sign_p(self.wins, self.losses, self.sum, self.square)
        pairs = range(len(self.wins))
        return np.array([statistics.sign_flip_p(*self.clusters.of(pair)[1:]) for pair in pairs], np.float64)

    def sizes(self) -> FloatVector:
        """Return, for each pair, the mean size of the cluster to which a random outcome belongs."""
        if self.clusters is None:
            return np.ones(len(self.wins))
        return np.maximum(1.0, self.divisor(2) / np.maximum(self.divisor(), 1.0))

    def divisor(self, power: int = 1) -> FloatVector:
        """Return, for each pair, the sum of ``size ** power`` over its clusters."""
        if self.clusters is None:
            return self.counts()
        pair, n, _, number = self.clusters
        return np.bincount(pair, n.astype(np.float64) ** power * number, len(self.wins)).astype(np.float64)


class Grouping(NamedTuple):
    """How outcomes are grouped into pairs and clusters."""

    pairs: int  # number of pairs
    cluster: str  # one of `CLUSTERS`
    named: bool = False  # whether every impression has a user

    def keys(self) -> list[str]:
        """Return the columns that identify a cluster. An impression without a user is a cluster of its own."""
        own = [] if self.named else ['CASE WHEN "user" IS NULL THEN line END']
        return {"user": ['"user"', *own], "query": ["query"]}.get(self.cluster, ["line"])


class Course(NamedTuple):
    """The sums of outcomes of each pair in each period of a log."""

    pair: IntVector
    period: IntVector
    sums: dict[str, Any]  # columns of `_SUMS`, exact integers

    def until(self, name: str, periods: IntVector, pairs: int) -> Any:
        """Return one of the sums at the end of each period, added up from the start of the log."""
        out = np.zeros((len(periods), pairs), np.int64)
        np.add.at(out, (np.searchsorted(periods, self.period), self.pair), self.sums[name])
        return out.cumsum(axis=0) / (UNIT if name in ("total", "square") else 1)

    def sequences(self, periods: IntVector, pairs: int) -> Sequences:
        """Return the input of `confidence_sequence` at the end of each period, with shape (periods, pairs)."""
        names = ("n", "ones", "minus", "ties", "total", "square")
        n, ones, minus, ties, total, square = (self.until(name, periods, pairs) for name in names)
        return Sequences(ones, minus, ties, n - ones - minus - ties, total - (ones - minus), square - ones - minus)


def pair_sums(engine: Any, outcomes: Any, by: Grouping, step: float = 0.0) -> tuple[PairSums, Course, Course]:
    """Return the sums of the whole log, the sums of each period, and the sums of users' first outcomes in each period.

    If clusters are not users, the third result is equal to the second.

    step: length of a period in seconds. By default, the whole log is one period.
    """
    ratio, clusters = "weight" in outcomes.columns, None
    period = f"CAST(floor(time / {step!r}) AS BIGINT)" if step else "CAST(0 AS BIGINT)"
    columns = [*by.keys()[:1], *["line"] * (by.cluster == "user"), *["weight"] * ratio]
    sql = f"SELECT pair, time, {period} AS period, y, square, {', '.join(columns)} FROM o"
    clustered = by.cluster != "impression" or ratio
    outcomes = engine.keep(sql, o=outcomes) if clustered else engine.view(sql, o=outcomes)
    course = first = _course(engine, outcomes)
    if clustered:
        # for a ratio, the size of a cluster is the sum of its weights
        size = "CAST(sum(weight) AS BIGINT)" if ratio else "count(*)"
        earliest = ""
        if by.cluster == "user":
            first_y = f"CAST(min(({_ORDER}) * {2**32} + (y + {2**31})) % {2**32} AS BIGINT) - {2**31} AS y"
            earliest = f", min(period) AS period, {first_y}"
        each = f"SELECT pair, {size} AS n, CAST(sum(y) AS BIGINT) AS total{earliest} FROM o"
        groups = engine.keep(f"{each} GROUP BY pair, {', '.join(by.keys())}", o=outcomes)
        clusters = _clusters(engine, groups, UNIT if ratio else 1)
        if by.cluster == "user":
            square = f"CAST(floor(CAST(y AS DOUBLE) * y / {UNIT} + 0.5) AS BIGINT) AS square"
            first = _course(engine, engine.view(f"SELECT pair, period, y, {square} FROM g", g=groups))
    periods = np.unique(course.period) if len(course.period) else np.zeros(1, np.int64)
    n, won, lost, total, square = (
        course.until(name, periods, by.pairs)[-1] for name in ("n", "won", "lost", "total", "square")
    )
    wins, losses, ties = (part.astype(np.int64) for part in (won, lost, n - won - lost))
    sequences = first.sequences(periods, by.pairs).of(-1)
    return PairSums(by.cluster, wins, losses, ties, total, square, sequences, clusters), course, first


def _course(engine: Any, outcomes: Any) -> Course:
    sql = f"SELECT pair, period, {_SUMS} FROM outcomes GROUP BY pair, period"
    columns = {name: np.asarray(column) for name, column in engine.query(sql, outcomes=outcomes).to_pydict().items()}
    return Course(columns.pop("pair").astype(np.int64), columns.pop("period").astype(np.int64), columns)


def _clusters(engine: Any, groups: Any, unit: int) -> Clusters:
    sql = """SELECT pair, n, total, count(*) AS number FROM g WHERE n > 0 OR total <> 0
      GROUP BY pair, n, total ORDER BY pair, n, total"""
    pair, n, total, number = (column.to_numpy() for column in engine.query(sql, g=groups).columns)
    # the sizes of a ratio are stored as multiples of 1 / unit
    return Clusters(pair.astype(np.int64), n / unit if unit > 1 else n, total, number)
