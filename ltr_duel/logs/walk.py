"""Outcomes cluster by cluster: the engine sorts them, and one walk over them adds up what looks and comparison rest on.

A window of the engine over the same rows takes three times as long. They are sorted by a hash of the cluster, as texts
are sorted slowly; where two clusters share a hash, the walk sees that their texts differ, and begins anew by texts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ltr_duel.core import FloatVector, IntVector
from ltr_duel.logs.engine import Engine
from ltr_duel.logs.outcomes import UNIT

_ROWS = 1 << 17
_ADDED = ("n", "total", "square", "won", "lost", "ones", "minus")  # of each cluster


def products_of(n: Any, total: Any, value: Any) -> dict[str, Any]:
    """Return how much products of a cluster's sums grow by an outcome, after which they are ``n`` and ``total``."""
    return {"nn": 2 * n - 1, "nt": total + (n - 1) * value, "tt": value * (2 * total - value)}


def walked(engine: Engine, t: Any, keys: tuple[str, ...], blocks: IntVector, pairs: int) -> tuple[Any, Any]:
    """Return the growth of sums in each block, as `looks_of` takes it, and the classes of clusters of `pair_sums`.

    Parameters
    ----------
    engine : Engine
    t : ibis Table
        Outcomes with their ``block``.
    keys : tuple of str
        That tell clusters apart; who has no user is a cluster of one impression.
    blocks : ndarray of int64
        All blocks, ascending.
    pairs : int
    """
    columns = ("pair", *keys)
    t = t.select("line", "block", "y", "square", *columns)
    for texts in (False, True):
        walk = _Walk(blocks, pairs)
        for fresh, batch in _marked(engine.clustered(t, columns, texts=texts), columns):
            if fresh is None:
                break
            walk.add(fresh, batch)
        else:
            break
    return walk.grown(), walk.classes()


def _marked(batches: Iterator[Any], columns: tuple[str, ...]) -> Iterator[tuple[NDArray[np.bool_] | None, Any]]:
    """Yield which rows of each batch begin a cluster; None if clusters are mixed, as their hashes are the same."""
    last: Any = None
    for batch in batches:
        rows = batch if last is None else pa.concat_batches([last, batch])
        fresh, alone = np.zeros((2, rows.num_rows - 1), np.bool_)
        for name in columns:
            one = rows.column(name)
            fresh |= pc.not_equal(one[1:], one[:-1]).fill_null(True).to_numpy(zero_copy_only=False)
            if one.null_count:
                null = one.is_null().to_numpy(zero_copy_only=False)
                alone |= null[1:] & null[:-1]
        if "hash" in rows.schema.names:
            hashes = rows.column("hash").to_numpy()
            if (fresh & ~alone & (hashes[1:] == hashes[:-1])).any():
                yield None, batch
        yield (np.concatenate([[True], fresh]) if last is None else fresh), batch
        last = batch.slice(batch.num_rows - 1)


class _Walk:
    """Adds up batch after batch; a cluster may go on in the next."""

    def __init__(self, blocks: IntVector, pairs: int) -> None:
        self._blocks, self._pairs = blocks, pairs
        self._grown: dict[str, FloatVector] = defaultdict(lambda: np.zeros(len(blocks) * pairs))
        self._classes: list[Any] = []
        self._open = np.zeros((len(_ADDED), 1), np.int64)  # sums of the cluster that may go on
        self._pair, self._seen = np.zeros((2, 1), np.int64)  # of that one, and its first outcome

    def add(self, fresh: NDArray[np.bool_], batch: Any) -> None:
        """Add outcomes, of which some begin a cluster."""
        pair, block, y, square = (batch.column(name).to_numpy() for name in ("pair", "block", "y", "square"))
        added = np.empty((len(_ADDED), len(y) + 1), np.int64)
        added[:, :1] = self._open
        for row, values in zip(added, (1, y, square, y > 0, y < 0, y == UNIT, y == -UNIT), strict=True):
            row[1:] = values
            np.cumsum(row, out=row)
        begin = np.flatnonzero(fresh)
        before = np.concatenate([np.zeros((len(_ADDED), 1), np.int64), added[:, begin]], axis=1)
        cluster = np.cumsum(fresh)
        n, total = (sums[1:] - earlier[cluster] for sums, earlier in zip(added[:2], before, strict=False))
        at = np.searchsorted(self._blocks, block) * self._pairs + pair
        value, first = y / UNIT, n == 1
        self._add(at, {"n": None, "total": value, "squares": square / UNIT})
        self._add(at, products_of(n.astype(np.float64), total / UNIT, value))
        self._sequence(at[first], y[first], square[first])
        pairs, seen = np.concatenate([self._pair, pair[begin]]), np.concatenate([self._seen, y[begin]])
        self._close(pairs[:-1], seen[:-1], np.diff(before, axis=1))
        self._pair, self._seen, self._open = pairs[-1:], seen[-1:], added[:, -1:] - before[:, -1:]

    def _add(self, at: IntVector, values: dict[str, Any]) -> None:
        for name, weights in values.items():
            self._grown[name] += np.bincount(at, weights, len(self._blocks) * self._pairs)

    def _sequence(self, at: IntVector, y: IntVector, square: IntVector) -> None:
        """Add the first outcomes of clusters."""
        marks = {"wins": y == UNIT, "losses": y == -UNIT, "ties": y == 0}
        for name, mark in marks.items():
            self._add(at[mark], {name: None})
        others = ~np.any(list(marks.values()), axis=0)
        if others.any():
            self._add(at[others], {"others": None, "lead": y[others] / UNIT, "square": square[others] / UNIT})

    def _close(self, pair: IntVector, seen: IntVector, sums: IntVector) -> None:
        """Count clusters by their sums."""
        each = pa.table(
            {"pair": pair, "seen": seen, "clusters": np.ones(len(pair), np.int64)}
            | dict(zip(_ADDED, sums, strict=True))
        )
        self._classes.append(_counted(each.filter(pc.greater(each["n"], 0))))

    def grown(self) -> Any:
        """Return the sums of each block and pair."""
        size = len(self._blocks)
        at = {"block": np.repeat(self._blocks, self._pairs), "pair": np.tile(np.arange(self._pairs), size)}
        return pa.table(at | self._grown)

    def classes(self) -> Any:
        """Return how many clusters have which sums."""
        self._close(self._pair, self._seen, self._open)
        found = _counted(pa.concat_tables(self._classes))
        return found.append_column("outcomes", pc.multiply(found["n"], found["clusters"])).append_column(
            "sum", pc.multiply(found["total"], found["clusters"])
        )


def _counted(each: Any) -> Any:
    """Return classes of clusters, those of the same pair, number, sum and first outcome together."""
    keys, rest = ["pair", "n", "total", "seen"], ["clusters", *_ADDED[2:]]
    return each.group_by(keys).aggregate([(name, "sum") for name in rest]).rename_columns([*keys, *rest])
