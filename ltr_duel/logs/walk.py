"""DuckDB sorts the outcomes by cluster; a single pass computes the sums for the looks and the comparison.

An SQL window function over the same rows is slower. DuckDB sorts two integers per outcome: a hash of the cluster key,
and a code that packs line, pair and block (and the sign of the outcome, if all are wins, losses and ties). Sorting
texts would be slow and take several times the memory. The distinct cluster keys are counted too. If this count differs
from the number of hashes, two clusters collided, and the pass is repeated with ranks of the keys.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ltr_duel.core import FloatVector, IntVector
from ltr_duel.logs.engine import Engine
from ltr_duel.logs.outcomes import UNIT

_ADDED = ("n", "total", "square", "won", "lost", "ones", "minus")  # sums of each cluster


def products_of(n: Any, total: Any, value: Any) -> dict[str, Any]:
    """Return the increments of n*n, n*total and total*total by one outcome; `n` and `total` include that outcome."""
    return {"nn": 2 * n - 1, "nt": total + (n - 1) * value, "tt": value * (2 * total - value)}


def walked(
    engine: Engine, t: Any, of: dict[str, Any], blocks: IntVector, *, whole: bool, number: int | None = None
) -> tuple[Any, Any]:
    """Return the sums per block and pair for `looks_of`, and the classes for `pair_sums`."""
    pairs = _power(engine.value(t.pair.max()) + 1) if "pair" in of else 1
    first, span = int(blocks[0]), _power(int(blocks[-1] - blocks[0]) + 1)
    code = (t.line * pairs + t.pair) * span + (t.block - first)
    rest = {"code": code, "y": t.y, "square": t.square}
    t = t.select(**of, **({"code": code * 4 + t.y.sign().cast("int64") + 1} if whole else rest))
    number = engine.value(t.select(*of).distinct().count()) if number is None else number
    for texts in (False, True):
        walk = _Walk(pairs, first, span)
        for batch in engine.clustered(t, tuple(of), texts=texts):
            walk.add(*(column.to_numpy() for column in batch.columns))
        walk.end()
        if walk.number == number:
            break
    return walk.grown(), walk.classes()


class _Walk:
    """Sums up batches of outcomes; a cluster may continue in the next batch."""

    def __init__(self, pairs: int, first: int, span: int) -> None:
        self._pairs, self._first, self._span = pairs, first, span
        self.number = 0  # number of clusters
        self._grown: dict[str, FloatVector] = defaultdict(lambda: np.zeros(span * pairs))
        self._classes: list[Any] = []
        self._cluster = np.zeros(0, np.int64)  # hash of the batch's last cluster, which may continue in the next batch
        self._open = np.zeros((len(_ADDED), 1), np.int64)  # its sums
        self._pair, self._seen = np.zeros((2, 1), np.int64)  # its pair, and its first outcome

    def add(self, cluster: IntVector, code: IntVector, y: IntVector | None = None, square: Any = None) -> None:
        """Add a batch of outcomes that is sorted by cluster."""
        if y is None:
            code, y = _split(code, 4)
            y = (y - 1) * UNIT
            square = abs(y)
        code, block = _split(code, self._span)
        _, pair = _split(code, self._pairs)
        fresh = np.ones(len(y), np.bool_)
        fresh[1:] = cluster[1:] != cluster[:-1]
        fresh[0] = not np.array_equal(cluster[:1], self._cluster)
        added = np.empty((len(_ADDED), len(y) + 1), np.int64)
        added[:, :1] = self._open
        for row, values in zip(added, (1, y, square, y > 0, y < 0, y == UNIT, y == -UNIT), strict=True):
            row[1:] = values
            np.cumsum(row, out=row)
        begin = np.flatnonzero(fresh)
        before = np.concatenate([np.zeros((len(_ADDED), 1), np.int64), added[:, begin]], axis=1)
        of = np.cumsum(fresh)
        n, total = (sums[1:] - earlier[of] for sums, earlier in zip(added[:2], before, strict=False))
        at, value = block * self._pairs + pair, y / UNIT
        self._add(at, {"n": None, "total": value, "squares": square / UNIT})
        self._add(at, products_of(n.astype(np.float64), total / UNIT, value))
        self._sequence(at[n == 1], y[n == 1], square[n == 1])
        pairs, seen = np.concatenate([self._pair, pair[begin]]), np.concatenate([self._seen, y[begin]])
        self._close(pairs[:-1], seen[:-1], np.diff(before, axis=1))
        self._cluster, self._open = cluster[-1:], added[:, -1:] - before[:, -1:]
        self._pair, self._seen = pairs[-1:], seen[-1:]

    def end(self) -> None:
        """Count the last cluster."""
        self._close(self._pair, self._seen, self._open)

    def _add(self, at: IntVector, values: dict[str, Any]) -> None:
        for name, weights in values.items():
            self._grown[name] += np.bincount(at, weights, self._span * self._pairs)

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
        columns = {"pair": pair, "seen": seen, "clusters": np.ones(len(pair), np.int64)}
        each = pa.table(columns | dict(zip(_ADDED, sums, strict=True)))
        each = each.filter(pc.greater(each["n"], 0))
        self.number += len(each)
        self._classes.append(_counted(each))

    def grown(self) -> Any:
        """Return the sums of each block and pair."""
        blocks = np.arange(self._first, self._first + self._span)
        at = {"block": np.repeat(blocks, self._pairs), "pair": np.tile(np.arange(self._pairs), self._span)}
        found = pa.table(at | self._grown)
        return found.filter(pc.greater(found["n"], 0))

    def classes(self) -> Any:
        """Return the numbers of clusters with equal sums."""
        found = _counted(pa.concat_tables(self._classes))
        for name, one in (("outcomes", "n"), ("sum", "total")):
            found = found.append_column(name, pc.multiply(found[one], found["clusters"]))
        return found


def _counted(each: Any) -> Any:
    """Count the clusters that agree in pair, size, sum and first outcome."""
    keys, rest = ["pair", "n", "total", "seen"], ["clusters", *_ADDED[2:]]
    return each.group_by(keys).aggregate([(name, "sum") for name in rest]).rename_columns([*keys, *rest])


def _power(size: int) -> int:
    """Return the smallest power of two that is at least `size`."""
    return 1 << (size - 1).bit_length()


def _split(code: IntVector, size: int) -> tuple[IntVector, IntVector]:
    """Return quotient and remainder of a division by a power of two."""
    return code >> (size.bit_length() - 1), code & (size - 1)
