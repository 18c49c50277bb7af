"""One pass over a log: batches are read, credited and added up, and from time to time the state is noted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import FloatVector
from ltr_duel.logs.clusters import Means
from ltr_duel.logs.credit import Creditor, Outcomes
from ltr_duel.logs.distinct import Distinct
from ltr_duel.logs.hashing import HashVector, hash_texts
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.sums import PairSums, Sequences
from ltr_duel.logs.table import Impressions

_FIRST_LOOK, _STEP = 16, 1.25  # the picture over time has a point each time the log is a quarter longer


class Look(NamedTuple):
    """The state of the comparison after some impressions; arrays have one entry for each pair met so far."""

    time: float
    impressions: int
    outcomes: FloatVector  # of each pair
    mean: FloatVector
    cautious: Means  # for intervals
    sequences: Sequences


def credited(log: ClickLog, creditor: Creditor) -> Iterator[tuple[Impressions, Outcomes, dict[int, str]]]:
    """Yield each batch with its outcomes, and the rows that could not be credited, which are counted as bad lines."""
    columns = {*creditor.columns, "time", "query", "user"}
    if log.has("owners") and not log.has("page") and not log.has("rankings"):
        columns.discard("shown")  # nothing depends on what the documents are
    for batch in log.batches(columns):
        outcomes, wrong = creditor(batch)
        for row in sorted(wrong):
            log.bad.add(int(batch.lines[row]), wrong[row])
        yield batch, outcomes, wrong


class OnePass:
    """What is kept while a log is read."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self.sums: PairSums
        self.impressions = self._rows = 0
        self.first = self.last = 0.0
        self.users, self.queries = Distinct(), Distinct()
        self.looks: list[Look] = []
        self._next, self._bad = _FIRST_LOOK, 0

    def add(self, batch: Impressions, outcomes: Outcomes, bad: int, pairs: int) -> None:
        """Add a batch."""
        table, n = batch.table, batch.table.num_rows
        if n == 0:
            return
        users, queries = self._keys(table)
        times = table.column("time").to_numpy(zero_copy_only=False)
        if self._rows == 0:
            self.first = float(times[0])
            has_users = "user" in table.schema.names and table.column("user").null_count < n
            cluster = self._cluster or ("user" if has_users else "query")
            self.sums = PairSums(cluster, once=cluster in ("user", "both"))
        self.sums.make_room(pairs)
        done = 0
        while self._next <= self._rows + n:
            upto = int(np.searchsorted(outcomes.row, self._next - self._rows))
            self.sums.add(outcomes, users, queries, done, upto)
            done = upto
            self.last, self.impressions = float(times[self._next - self._rows - 1]), self._next
            self.looks.append(self.look())
            self._next = int(self._next * _STEP)
        self.sums.add(outcomes, users, queries, done, len(outcomes.y))
        self._rows += n
        self._bad += bad
        self.last, self.impressions = float(times[-1]), self._rows - self._bad

    def look(self) -> Look:
        """Return the state now."""
        with np.errstate(invalid="ignore"):
            mean = self.sums.totals().sum / self.sums.counts()
        found = self.sums.counts(), mean, self.sums.cautious(), self.sums.sequences()
        return Look(self.last, self.impressions, *found)

    def _keys(self, table: Any) -> tuple[HashVector, HashVector]:
        """Return the hashes of users and of queries; a row without a user is a user of its own."""
        queries = hash_texts(table.column("query"))
        self.queries.add(table.column("query"), queries)
        own = hash_texts(table.column("impression")) ^ np.uint64(1)
        if "user" not in table.schema.names:
            return own, queries
        column = table.column("user")
        users = hash_texts(column)
        self.users.add(column, users)
        if column.null_count:
            users = np.where(column.is_null().to_numpy(zero_copy_only=False), own, users)
        return users, queries


def warnings_of(pass_: OnePass, means: Means) -> list[str]:
    """Say what a reader should know before believing the errors."""
    found = []
    name, most = pass_.users.largest
    if most > 0.05 * pass_.impressions:
        found.append(
            f"user '{name}' has {most:,} of {pass_.impressions:,} impressions ({most / pass_.impressions:.0%})"
        )
    fewest = means.freedom.min()
    if pass_.sums.cluster != "impression" and fewest < 20:
        found.append(
            f"the errors rest on few clusters ({pass_.sums.cluster}): as many as {fewest + 1:.1f} of equal size"
            " would say; intervals from fewer than about 20 are rough"
        )
    return found
