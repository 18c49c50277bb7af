"""Convert the results of runs into rows of the stored files, and rows into results."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ltr_duel.core import IntVector, handed_over
from ltr_duel.experiment.runs import COUNTED
from ltr_duel.simulation import RunKey, RunResult


class Counts(NamedTuple):
    """The result of a run as it is stored."""

    decisions: int
    checkpoints: int
    steps: IntVector  # length (3 + 3 * arms) * checkpoints, see `SCHEMA`
    exposure: NDArray[np.float64] | None  # None if each arm's exposure is half of its pulls


def encode_run(run: RunResult) -> Counts:
    """Convert the result of a run for the store."""
    columns = [run.checkpoints, run.recommended, run.outcomes, run.pulls, run.best, run.worst]
    totals = np.column_stack([np.asarray(column, np.int64) for column in columns])
    steps = np.ascontiguousarray(np.diff(totals, axis=0, prepend=0).T).ravel()
    halves = np.array_equal(run.exposure * 2, run.pulls)
    exposure = None if halves else np.ascontiguousarray(run.exposure, np.float64).ravel()
    return Counts(run.decisions, len(run.checkpoints), steps, exposure)


def same_counts(counts: Counts, row: pa.RecordBatch) -> bool:
    """Return whether the single row in ``row`` contains these counts."""
    exposure = None if counts.exposure is None else counts.exposure.tolist()
    stored = [row[name][0].as_py() for name in COUNTED]
    return [counts.decisions, counts.checkpoints, counts.steps.tolist(), exposure] == stored


def decode_runs(rows: pa.RecordBatch, key: dict[str, Any], label: str, *, last: bool = False) -> list[RunResult]:
    """Convert stored rows of one group into results; with ``last``, only the last checkpoint of each run.

    ``key`` has the fields of `RunKey` without the repetition.
    """
    count, decisions, repetitions = rows["checkpoints"][0].as_py(), rows["decisions"], rows["repetition"]
    steps = _values(rows["steps"]).reshape(len(rows), -1, count)
    totals = steps.sum(axis=2, keepdims=True) if last else steps.cumsum(axis=2)
    arms = (totals.shape[1] - 3) // 3
    pulls, best, worst = (
        handed_over(totals[:, start : start + arms].transpose(0, 2, 1)) for start in range(3, totals.shape[1], arms)
    )  # each of shape (runs, checkpoints, arms)
    exposure = pulls * np.float64(0.5)
    stored = _values(rows["exposure"]).reshape(-1, count, arms)
    exposure[rows["exposure"].is_valid().to_numpy(zero_copy_only=False)] = stored[:, -1:] if last else stored
    t, recommended, outcomes = (handed_over(totals[:, row]) for row in range(3))
    return [
        RunResult(
            RunKey(**key, repetition=repetition), label, t[k], pulls[k], handed_over(exposure[k]), recommended[k],
            decision, best[k], worst[k], outcomes[k],
        )
        for k, (repetition, decision) in enumerate(zip(repetitions.to_pylist(), decisions.to_pylist(), strict=True))
    ]  # fmt: skip


def _values(lists: pa.ListArray) -> NDArray[Any]:
    return np.asarray(lists.flatten().to_numpy())
