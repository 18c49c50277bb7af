"""What is kept of a log while it is read: sums, a fixed number of them for each pair of rankers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import FloatMatrix, FloatVector, IntVector, kernel, statistics
from ltr_duel.logs.clusters import Means, cautious_means, clustered_means, naive_means, two_way
from ltr_duel.logs.credit import Outcomes
from ltr_duel.logs.hashing import HashVector, mix

CLUSTERS = ("user", "query", "both", "impression")
_GROUPS, _FEWEST = 4096, 256  # clusters of each kind, for few and for very many pairs
_CELLS = 1 << 22  # groups times pairs, at most
_SEEN_BITS = 28


class Sums(NamedTuple):
    """The arrays; the first index of the groups is a kind of cluster, p is the number of a pair."""

    count: Any  # (kinds, pairs, groups) float64: outcomes
    total: Any  # (kinds, pairs, groups) float64: their sum
    wins: IntVector  # (pairs,)
    losses: IntVector
    ties: IntVector
    sum: FloatVector  # (pairs,) of the outcomes
    square: FloatVector  # (pairs,) sum of the squared outcomes
    seen: FloatMatrix  # (pairs, 6) of the sequence of observations: the fields of `Sequences`


class Sequences(NamedTuple):
    """The sums of a pair's sequence of observations, for tests at any time; each field has one entry a pair."""

    wins: FloatVector  # outcomes of 1
    losses: FloatVector  # of -1
    ties: FloatVector  # of 0
    others: FloatVector  # in between
    lead: FloatVector  # sum of those in between
    square: FloatVector  # sum of their squares

    @property
    def n(self) -> FloatVector:
        """How many observations there are."""
        return self.wins + self.losses + self.ties + self.others

    @property
    def mean(self) -> FloatVector:
        """Their mean; 0 where there are none."""
        n = self.n
        return (self.wins - self.losses + self.lead) / np.where(n > 0, n, 1.0)

    def mirrored(self) -> Sequences:
        """Return the same with the two rankers exchanged."""
        return self._replace(wins=self.losses, losses=self.wins, lead=-self.lead)


class PairSums:
    """Takes outcomes, batch after batch.

    Parameters
    ----------
    cluster : {"user", "query", "both", "impression"}
    once : bool
        Whether a user's first outcome of each pair is the only one that enters the sequence.
    """

    def __init__(self, cluster: str, *, once: bool) -> None:
        self.cluster = cluster
        self._kinds = {"user": 1, "query": 1, "both": 3, "impression": 0}[cluster]
        self._groups = _GROUPS
        self._once = once
        self._seen = np.zeros(1 << (_SEEN_BITS - 3) if once else 1, np.uint8)
        self.pairs = 0
        self._sums = self._empty(4)

    def _empty(self, room: int) -> Sums:
        grouped: list[Any] = [np.zeros((self._kinds, room, self._groups)) for _ in range(2)]
        whole: list[Any] = [np.zeros(room, np.int64) for _ in range(3)]
        real: list[Any] = [np.zeros(room), np.zeros(room), np.zeros((room, len(Sequences._fields)))]
        return Sums(*grouped, *whole, *real)

    def make_room(self, pairs: int) -> None:
        """Be ready for outcomes of so many pairs; where there are very many, fold the groups."""
        self.pairs = max(self.pairs, pairs)
        before = self._sums
        room = len(before.wins)
        if pairs <= room:
            return
        while room < pairs:
            room *= 2
        while self._groups > _FEWEST and room * self._groups * self._kinds > _CELLS:
            self._groups //= 2
            count, total = (part[..., : self._groups] + part[..., self._groups :] for part in before[:2])
            before = before._replace(count=count, total=total)
        self._sums = self._empty(room)
        for new, old in zip(self._sums, before, strict=True):
            if new.ndim == 3:
                new[:, : old.shape[1]] = old
            else:
                new[: len(old)] = old

    def add(self, outcomes: Outcomes, users: HashVector, queries: HashVector, start: int, stop: int) -> None:
        """Add ``outcomes[start:stop]``; users and queries are those of the rows."""
        mask = np.uint64(self._groups - 1)
        if self.cluster == "both":
            cells = np.empty_like(users)
            mix_two(users, queries, cells)
            keys = np.stack([users, queries, cells])
        else:
            keys = {"user": users, "query": queries}.get(self.cluster, users)[None, :][: self._kinds]
        groups = (keys & mask).astype(np.int64)
        part = Outcomes(outcomes.row[start:stop], outcomes.pair[start:stop], outcomes.y[start:stop])
        add_outcomes(part, groups, users, self._seen, int(self._once), self._sums)

    def means(self) -> Means:
        """Return the means so far, with errors by the cluster."""
        sums = self.totals()
        if self.cluster == "impression":
            return self.naive()
        found = [clustered_means(sums.count[k], sums.total[k]) for k in range(self._kinds)]
        return two_way(*found) if self.cluster == "both" else found[0]

    def cautious(self) -> Means:
        """Return means and errors for intervals and tests, see `cautious_means`."""
        sums = self.totals()
        if self.cluster == "impression":
            return naive_means(self.counts() + 2, sums.sum, sums.square + 2)
        found = [cautious_means(sums.count[k], sums.total[k], sums.square) for k in range(self._kinds)]
        return two_way(*found) if self.cluster == "both" else found[0]

    def sign_p(self) -> FloatVector:
        """Return p-values by flipping the signs of clusters (of users, and of queries, where it is both)."""
        sums = self.totals()
        if self.cluster == "impression":
            return statistics.sign_p(sums.wins, sums.losses, sums.sum, sums.square)
        kinds = 2 if self.cluster == "both" else 1
        return np.max([[statistics.sign_flip_p(one) for one in sums.total[k]] for k in range(kinds)], axis=0)

    def naive(self) -> Means:
        """Return the means with errors as if all outcomes were independent."""
        sums = self.totals()
        return naive_means(self.counts(), sums.sum, sums.square)

    def counts(self) -> FloatVector:
        """Return how many outcomes each pair has."""
        sums = self.totals()
        return (sums.wins + sums.losses + sums.ties).astype(np.float64)

    def totals(self) -> Sums:
        """Return the arrays, of the pairs that there are."""
        parts: list[Any] = [part[:, : self.pairs] if part.ndim == 3 else part[: self.pairs] for part in self._sums]
        return Sums(*parts)

    def sequences(self) -> Sequences:
        """Return the sequences so far, copied."""
        return Sequences(*self.totals().seen.T.copy())


@kernel
def mix_two(first: HashVector, second: HashVector, out: HashVector) -> None:
    """Mix two hashes of each row into one."""
    for r in range(out.shape[0]):
        out[r] = mix(mix(first[r]) ^ second[r])


@kernel
def add_outcomes(
    outcomes: Outcomes, groups: NDArray[np.int64], users: HashVector, seen: NDArray[np.uint8], once: int, sums: Sums
) -> None:
    """Add outcomes to all sums; ``groups`` is (kinds, rows)."""
    for e in range(outcomes.y.shape[0]):
        row, p, y = outcomes.row[e], outcomes.pair[e], outcomes.y[e]
        for kind in range(groups.shape[0]):
            sums.count[kind, p, groups[kind, row]] += 1.0
            sums.total[kind, p, groups[kind, row]] += y
        if y > 0.0:
            sums.wins[p] += 1
        elif y < 0.0:
            sums.losses[p] += 1
        else:
            sums.ties[p] += 1
        sums.sum[p] += y
        sums.square[p] += y * y
        if once == 1:
            own = mix(mix(mix(np.uint64(p + 1) << np.uint64(32))))  # so that pairs do not share marks
            place = mix(users[row] ^ own) >> np.uint64(64 - _SEEN_BITS)
            byte, bit = np.int64(place >> np.uint64(3)), np.uint8(1) << np.uint8(place & np.uint64(7))
            if seen[byte] & bit:
                continue
            seen[byte] |= bit
        if y == 1.0:
            sums.seen[p, 0] += 1.0
        elif y == -1.0:
            sums.seen[p, 1] += 1.0
        elif y == 0.0:
            sums.seen[p, 2] += 1.0
        else:
            sums.seen[p, 3] += 1.0
            sums.seen[p, 4] += y
            sums.seen[p, 5] += y * y
