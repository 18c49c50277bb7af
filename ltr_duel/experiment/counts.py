"""Encode the counts of runs as columns of `runs_file.SCHEMA`, and decode them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ltr_duel.core import InputError, IntMatrix, IntVector, handed_over
from ltr_duel.simulation import RunKey, RunResult

COUNTED = ("run", "repetition", "checkpoints", "steps", "exposure")  # columns required by `Runs` and tables
_COUNTS = "pulls", "best", "worst"  # in this order, after t, recommended and outcomes


class Counts(NamedTuple):
    """The stored counts of a run; their bytes depend only on the run's key and result."""

    decisions: int
    checkpoints: int
    steps: IntVector  # length (3 + 3 * arms) * checkpoints, see `SCHEMA`
    exposure: NDArray[np.float64] | None  # None if it is half of the pulls, as in runs that compare pairs


def encode_run(run: RunResult) -> Counts:
    """Return the stored counts of a run."""
    columns = [run.checkpoints, run.recommended, run.outcomes, run.pulls, run.best, run.worst]
    totals = np.column_stack([np.asarray(one, np.int64) for one in columns])
    steps = np.ascontiguousarray(np.diff(totals, axis=0, prepend=0).T).ravel()
    halves = np.array_equal(run.exposure * 2, run.pulls)
    exposure = None if halves else np.ascontiguousarray(run.exposure, np.float64).ravel()
    return Counts(run.decisions, len(run.checkpoints), steps, exposure)


def same_counts(one: Counts, other: Counts) -> bool:
    """Whether two runs have the same counts."""
    pairs: list[tuple[Any, Any]] = list(zip(one, other, strict=True))
    return all(np.array_equal(mine, yours) for mine, yours in pairs)


def counts_of(rows: pa.RecordBatch, row: int) -> Counts:
    """Return the counts in a row of a batch."""
    steps, exposure = rows["steps"][row].values.to_numpy(), rows["exposure"][row].values
    decisions, count = (rows[name][row].as_py() for name in ("decisions", "checkpoints"))
    return Counts(decisions, count, steps, None if exposure is None else exposure.to_numpy())


def by_shape(rows: pa.RecordBatch) -> Iterator[tuple[tuple[int, ...], NDArray[np.int64]]]:
    """Yield each shape (numbers of checkpoints, steps and exposures), and which rows have this shape."""
    every = np.column_stack([rows["checkpoints"], _lengths(rows["steps"]), _lengths(rows["exposure"])])
    if (every == every[0]).all():
        yield tuple(every[0].tolist()), np.arange(len(every))
        return
    shapes, which = np.unique(every, axis=0, return_inverse=True)
    for number, shape in enumerate(shapes.tolist()):
        yield tuple(shape), np.flatnonzero(which.ravel() == number)


def _lengths(lists: pa.ListArray) -> NDArray[np.int64]:
    """Return the length of each list, -1 for null."""
    if lists.null_count == len(lists):
        return np.full(len(lists), -1)
    lengths = np.diff(lists.offsets)
    return np.where(lists.is_null(), -1, lengths) if lists.null_count else lengths


def arms_of(shape: tuple[int, ...]) -> int:
    """Return the number of arms in rows of a shape. Raises `InputError` if no run has this shape."""
    count, steps, exposure = shape
    arms, rest = divmod(steps - 3 * count, 3 * count) if count > 0 else (0, 1)
    if rest or arms < 1 or exposure not in (-1, arms * count):
        raise InputError("it is not a run of this program")
    return arms


class Runs:
    """Runs of one shape, decoded together: n runs, C checkpoints, K arms.

    last: whether only the last checkpoint is decoded.

    Raises `InputError`, whose message is a part of a sentence, if the rows are not runs with this horizon.
    """

    def __init__(self, rows: pa.RecordBatch | pa.Table, shape: tuple[int, ...], horizon: int, *, last: bool = False):
        self._arms, self._last, count = arms_of(shape), last, shape[0]
        self._steps = _flat(rows["steps"]).reshape(len(rows), -1, count)
        self._exposure = None if shape[2] < 0 else _flat(rows["exposure"]).reshape(len(rows), count, self._arms)
        steps, recommended = self._steps[:, 0], self._steps[:, 1].cumsum(axis=1)
        if (steps < 1).any() or (steps.sum(axis=1) != horizon).any():
            raise InputError("its checkpoints do not match its horizon")
        if recommended.min() < 0 or recommended.max() >= self._arms:
            raise InputError("it recommends an arm that does not exist")
        self.recommended = recommended[:, -1:] if last else recommended  # (n, C)
        self.checkpoints, self.outcomes = self._totals(0, 1)[:, :, 0], self._totals(2, 3)[:, :, 0]  # (n, C)

    def counts(self, name: str) -> NDArray[Any]:
        """Return ``pulls``, ``best``, ``worst`` or ``exposure``; shape (n, C, K)."""
        if name != "exposure":
            first = 3 + self._arms * _COUNTS.index(name)
            return self._totals(first, first + self._arms)
        if self._exposure is None:
            return handed_over(self.counts("pulls") * np.float64(0.5))
        return handed_over(np.array(self._exposure[:, -1:] if self._last else self._exposure))

    def _totals(self, start: int, stop: int) -> IntMatrix:
        """Sum the stored differences in rows ``start`` to ``stop`` up to each checkpoint, or only up to the last."""
        steps = self._steps[:, start:stop]
        totals = steps.sum(2, keepdims=True) if self._last else steps.cumsum(2)
        return handed_over(totals.transpose(0, 2, 1))


def decode_run(row: pa.RecordBatch, key: RunKey, label: str) -> RunResult:
    """Return the run in the only row of a batch. Raises the errors of `Runs`."""
    ((shape, _),) = by_shape(row)
    runs = Runs(row, shape, key.horizon)
    pulls, exposure, best, worst = (runs.counts(name)[0] for name in ("pulls", "exposure", "best", "worst"))
    (decisions,), recommended = row["decisions"].to_pylist(), handed_over(runs.recommended)[0]
    rest = decisions, best, worst, runs.outcomes[0]
    return RunResult(key, label, runs.checkpoints[0], pulls, exposure, recommended, *rest)


def _flat(lists: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """Return the values of a column of lists."""
    whole = lists.combine_chunks() if isinstance(lists, pa.ChunkedArray) else lists
    return np.asarray(whole.flatten().to_numpy())
