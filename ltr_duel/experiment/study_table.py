"""The table of one study: a row for each run and checkpoint. Runs are decoded in bulk, without an object for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from ltr_duel.core import FloatVector, InputError, IntVector, errors
from ltr_duel.core import columns as core_columns
from ltr_duel.experiment.counts import Runs, arms_of, by_shape
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.simulation import REGRETS, cumulative_regret, loss_per_arm, reference_errors

_AT_ONCE = 1 << 18  # checkpoints x arms of all runs that are decoded together
_PLACE = "place"

Refuse = Callable[[str, str], NoReturn]


@dataclass(frozen=True, eq=False)
class Study:
    """One problem at one horizon: runs that can be compared with each other."""

    problem: str
    horizon: int
    facts: dict[str, Any]  # description of the problem; columns of the table


class _Rows(NamedTuple):
    """Runs that are still to be decoded."""

    places: IntVector
    rows: pa.RecordBatch


class StudyTable:
    """Collects the runs of one problem and horizon, in any order.

    horizon: the horizon of the runs.
    matrix: the matrix by which regret is measured.
    values: ``utility`` and ``ndcg`` of each arm, shape (K,), if they exist.
    refuse: a function that raises an error; its arguments are the digest of a run and the reason.
    last: whether the table contains only the last checkpoint of each run.
    """

    def __init__(
        self,
        horizon: int,
        matrix: PreferenceMatrix,
        values: Mapping[str, FloatVector],
        regrets: Sequence[str],
        refuse: Refuse,
        *,
        last: bool,
    ) -> None:
        self._horizon, self._matrix, self._refuse, self._last = horizon, matrix, refuse, last
        self._losses = {}
        for name in regrets:
            errors.require_one_of("regret", name, REGRETS)
            self._losses[name] = loss_per_arm(matrix, REGRETS[name].loss, values.get(name))
        self._waiting: dict[tuple[int, ...], list[_Rows]] = {}  # by shape
        self._parts: list[dict[str, NDArray[Any]]] = []
        self._displayed: dict[int, FloatVector] = {}  # position -> final exposure of each arm

    def add(self, places: IntVector, rows: pa.RecordBatch) -> None:
        """Add runs, each with its position in the table. Raises the errors of ``refuse``."""
        for shape, which in by_shape(rows):
            some = _Rows(places[which], rows if len(which) == len(rows) else rows.take(pa.array(which)))
            try:
                arms = arms_of(shape)
                if arms != len(self._matrix):
                    raise InputError(f"it has {arms:,} arms, but its matrix has {len(self._matrix):,}")
            except InputError as error:
                self._refuse(some.rows["run"][0].as_py(), str(error))
            waiting = self._waiting.setdefault(shape, [])
            waiting.append(some)
            if sum(len(one.places) for one in waiting) * shape[0] * arms >= _AT_ONCE:
                self._decode(shape, self._waiting.pop(shape))

    def frame(self, labels: Sequence[str]) -> pd.DataFrame:
        """Return the table in the form of `Results.to_frame`. ``labels`` contains each run's policy, by position."""
        while self._waiting:
            self._decode(*self._waiting.popitem())
        columns = {name: np.concatenate([part.pop(name) for part in self._parts]) for name in list(self._parts[0])}
        place = columns.pop(_PLACE)
        order = np.argsort(place, kind="stable")
        table = {core_columns.POLICY: np.array(labels, dtype=object)[place[order]]}
        table |= {name: column[order] for name, column in columns.items()}
        table[core_columns.RECOMMENDED] = np.array(self._matrix.names, dtype=object)[table[core_columns.RECOMMENDED]]
        return pd.DataFrame(table)

    def reference_errors(self, labels: Sequence[str]) -> dict[str, float]:
        """Return the standard error that the matrix adds to each policy's mean average regret; requires ``last``."""
        every = pd.DataFrame(list(self._displayed.values()), [labels[place] for place in self._displayed])
        means = every.groupby(level=0).mean()
        return dict(zip(means.index, reference_errors(self._matrix, means.to_numpy()), strict=True))

    def _decode(self, shape: tuple[int, ...], waiting: Sequence[_Rows]) -> None:
        rows, places = (
            pa.Table.from_batches([one.rows for one in waiting]),
            np.concatenate([one.places for one in waiting]),
        )
        runs = self._decoded(rows, shape)
        count, counts = runs.checkpoints.shape[1], {}
        part = {
            _PLACE: np.repeat(places, count),
            core_columns.REPETITION: np.repeat(rows["repetition"].to_numpy(), count),
            core_columns.T: runs.checkpoints.ravel(),
        }
        for name, loss in self._losses.items():
            which = REGRETS[name].counts
            if which not in counts:
                counts[which] = runs.counts(which)
            part[core_columns.regret_column(name)] = cumulative_regret(counts[which], loss).ravel()
        if self._last:
            self._displayed |= zip(places.tolist(), runs.counts("exposure")[:, -1], strict=True)
        part |= {
            core_columns.RECOMMENDED: runs.recommended.ravel(),
            core_columns.OUTCOMES: runs.outcomes.ravel().astype(np.float64),
        }
        self._parts.append(part)

    def _decoded(self, rows: pa.Table, shape: tuple[int, ...]) -> Runs:
        """Decode runs of one shape; if decoding fails, raise an error for the first wrong run."""
        try:
            return Runs(rows, shape, self._horizon, last=self._last)
        except InputError as error:
            for k in range(len(rows) if len(rows) > 1 else 0):
                self._decoded(rows.slice(k, 1), shape)
            self._refuse(rows["run"][0].as_py(), str(error))
