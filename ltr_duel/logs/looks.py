"""The course of a comparison: its state at the end of each time step, and a test of drift.

If novelty wears off, heavy users come first, or rankers are retrained, the mean of the log differs from the mean after
the decision. The test therefore compares the first half of a pair's impressions with the second half. The variance of
the second half's sum is estimated by the variance of the whole sum minus the variance of the first half's sum. If a
user's outcomes in the two halves are positively correlated, this estimate and the variance of the difference are too
large, so the test is conservative.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ltr_duel.core import FloatVector, IntVector, statistics
from ltr_duel.logs.clusters import Means, cautious_of_moments, naive_means, two_way
from ltr_duel.logs.engine import Engine
from ltr_duel.logs.outcomes import UNIT
from ltr_duel.logs.sums import Grouping, Sequences, own_line

_STEPS = (1, 10, 60, 600, 3600, 6 * 3600, 86400, 7 * 86400, 28 * 86400, 364 * 86400)  # seconds
_MOST = 64  # maximum number of looks
CHANGED = "users or rankers changed"
_LEVEL = 0.05
_FEWEST = 20.0  # minimum effective number of clusters
_ADDED = ("n", "total", "square", "won", "lost", "ones", "minus")  # sums of each cluster


class Look(NamedTuple):
    """The state of the comparison at a time; arrays have one entry for each pair of the log."""

    time: float
    impressions: int
    outcomes: FloatVector  # number of outcomes of each pair
    mean: FloatVector
    cautious: Means  # means and errors for intervals
    sequences: Sequences


def step_of(first: float, last: float) -> float:
    """Return the shortest step, in seconds, that gives at most 64 looks."""
    return next((step for step in _STEPS if (last - first) / step < _MOST), max(last - first, 1.0) / (_MOST - 1))


def days_to_a_whole_week(days: float) -> float:
    """Return the days until the week is complete; 0 in the first two weeks, and within a day of the end of a week."""
    over = days % 7
    return 7 - over if days >= 14 and 1 < over < 6 else 0.0


def looks_of(engine: Any, rows: Any, outcomes: Any, by: Grouping, step: float) -> tuple[list[Look], list[Any]]:
    """Return the state of a comparison at the end of each time step (UTC), and the classes for `pair_sums`.

    A class contains the clusters with equal sums. DuckDB counts classes in the same pass; for other engines, the list
    of classes is empty.
    """
    block = (rows.time / step).floor().cast("int64")
    seen = engine.run(
        rows.group_by(block=block).agg(n=rows.count(), last=rows.time.max()).order_by("block")
    ).to_pydict()
    number = {one: k for k, one in enumerate(seen["block"])}
    shape = (len(number), by.pairs)

    def running(found: Any, name: str) -> FloatVector:
        out = np.zeros(shape)
        if name not in found.column_names:  # absent if all outcomes are wins, losses and ties
            return out
        at = [number[one] for one in found["block"].to_pylist()], found["pair"].to_numpy()
        np.add.at(out, at, found[name].to_numpy().astype(np.float64))
        return out.cumsum(axis=0)

    t = outcomes.mutate(block=(outcomes.time / step).floor().cast("int64"))
    kinds, classes, sequences, n, total = [], list[Any](), None, np.empty(0), np.empty(0)
    for keys in by.kinds:
        if isinstance(engine, Engine):
            of = _clustered(t, keys, by)
            clusters = by.users if list(of) == ["user"] else None
            found, counted = walked(engine, t, of, np.array(seen["block"]), whole=by.whole, number=clusters)
            classes.append(counted)
        else:
            found = engine.run(_moments(t, _clustered(t, keys, by)))
        moments = [running(found, name) for name in ("n", "total", "squares", "nn", "nt", "tt")]
        kinds.append(cautious_of_moments(*moments))
        n, total = moments[:2]  # equal for all kinds of clusters
        if sequences is None and keys == ("user",):
            sequences = [running(found, name) for name in Sequences._fields]
    if sequences is None:
        found = engine.run(t.group_by("pair", "block").agg(**_sequence(t.y, t.square), **_plain(t)))
        sequences = [running(found, name) for name in Sequences._fields]
        if not kinds:
            n, total, squares = (running(found, name) for name in ("n", "total", "squares"))
            kinds = [naive_means(n + 2, total, squares + 2)]
    mean = np.divide(total, n, out=np.full(n.shape, np.nan), where=n > 0)
    means = two_way(*kinds) if by.cluster == "both" else kinds[0]
    impressions = np.cumsum(seen["n"]).tolist()
    of_pairs = Sequences(*sequences)
    looks = [
        Look(last, impressions[k], n[k], mean[k], means.of(k), of_pairs.of(k)) for k, last in enumerate(seen["last"])
    ]
    return looks, classes


def _plain(t: Any) -> dict[str, Any]:
    return {
        "n": t.line.count(),
        "total": t.y.sum().cast("float64") / UNIT,
        "squares": t.square.sum().cast("float64") / UNIT,
    }


def _sequence(y: Any, square: Any, where: Any = True) -> dict[str, Any]:
    """Return the sums for the confidence sequence, over the observations for which ``where`` is true."""
    between = where & (y.abs() != UNIT) & (y != 0)
    sums = {"wins": where & (y == UNIT), "losses": where & (y == -UNIT), "ties": where & (y == 0), "others": between}
    counts = {name: y.count(where=mark) for name, mark in sums.items()}
    both = {"lead": y, "square": square}
    return counts | {name: value.sum(where=between).coalesce(0) / UNIT for name, value in both.items()}


def _clustered(t: Any, keys: tuple[str, ...], by: Grouping) -> dict[str, Any]:
    """Return the columns that identify a cluster; an impression without a user is a separate cluster."""
    return ({"pair": t.pair} if by.pairs > 1 else {}) | {key: t[key] for key in keys} | own_line(t, keys, by.named)


def _moments(t: Any, of: dict[str, Any]) -> Any:
    """Return for each block (time step) the amounts by which sums of outcomes, and products of clusters' sums, grow."""
    import ibis

    t = t.select("block", "line", "y", "square", **{"pair": t.pair} | of)
    until = ibis.window(group_by=list(of), order_by="line", preceding=None, following=0)
    t = t.mutate(n=t.count().over(until).cast("float64"), total=t.y.sum().over(until).cast("float64") / UNIT)
    value = t.y.cast("float64") / UNIT
    first = _sequence(t.y, value * value * UNIT, t.n == 1)
    products = {name: one.sum() for name, one in products_of(t.n, t.total, value).items()}
    return t.group_by("pair", "block").agg(**_plain(t), **products, **first)


def drift_notes(looks: Sequence[Look], names: Sequence[tuple[str, str]]) -> list[str]:
    """Return a sentence for each pair whose mean differs between the first and the second half of its impressions."""
    if not looks:
        return []
    last = looks[-1]
    p, said = np.full(len(names), np.nan), [""] * len(names)
    for k, (first, second) in enumerate(names):
        earlier = [one for one in looks[:-1] if len(one.mean) > k and one.outcomes[k] > 0]
        half = min(earlier, key=lambda one: abs(one.outcomes[k] - last.outcomes[k] / 2), default=last)
        n, later = half.outcomes[k], last.outcomes[k] - half.outcomes[k]
        if later <= 0 or half.cautious.freedom[k] < _FEWEST:
            continue
        sums = half.mean[k] * n, last.mean[k] * last.outcomes[k] - half.mean[k] * n
        variances = (half.cautious.error[k] * n) ** 2, (last.cautious.error[k] * last.outcomes[k]) ** 2
        rest = max(variances[1] - variances[0], 0.0)
        means = sums[0] / n, sums[1] / later
        error = np.sqrt(variances[0] / n**2 + rest / later**2)
        p[k] = statistics.student_p(means[0] - means[1], error, half.cautious.freedom[k])
        sign = 1 if last.mean[k] >= 0 else -1  # the leading ranker comes first, as in the table
        ahead, behind = (first, second)[::sign]
        said[k] = (
            f"{ahead} against {behind}: the mean outcome of the first {n / last.outcomes[k]:.0%} of the impressions,"
            f" {sign * means[0]:+z.4f}, differs from the mean of the rest, {sign * means[1]:+z.4f}"
        )
    corrected = statistics.holm(p)
    return [f"{said[k]} (p = {corrected[k]:.2g}): {CHANGED}" for k in np.flatnonzero(corrected < _LEVEL)]


def products_of(n: Any, total: Any, value: Any) -> dict[str, Any]:
    """Return how much one outcome adds to n*n, n*total and total*total; `n` and `total` include the outcome."""
    return {"nn": 2 * n - 1, "nt": total + (n - 1) * value, "tt": value * (2 * total - value)}


def walked(
    engine: Engine, t: Any, of: dict[str, Any], blocks: IntVector, *, whole: bool, number: int | None = None
) -> tuple[Any, Any]:
    """Return the sums per block and pair for `looks_of`, and the classes for `pair_sums`, in one pass.

    An SQL window function over the same rows takes 1.5 times as long. DuckDB sorts two integers per outcome: a hash of
    the columns that identify a cluster (``of``), and a code of line, pair, block and sign. If the number of clusters
    differs from the number of hashes, two clusters have the same hash, and the pass is repeated with ranks.
    """
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
        self._open = np.zeros((len(_ADDED), 1), np.int64)  # sums of the last cluster
        self._pair, self._seen = np.zeros((2, 1), np.int64)  # pair and first outcome of the last cluster

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
        """Count the last cluster, which no further batch continues."""
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
        """Return the number of clusters with each combination of sums."""
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
