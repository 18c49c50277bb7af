"""The tidy table of one study: its runs are decoded many at a time, and none becomes an object of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ltr_duel.core import FloatVector, InputError, errors
from ltr_duel.core import columns as core_columns
from ltr_duel.experiment.run_record import Runs, shape_of
from ltr_duel.experiment.stored_run import Stored
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.simulation import REGRETS, cumulative_regret, loss_per_arm, reference_errors

_AT_ONCE = 1 << 18  # checkpoints times arms of the runs that are decoded together
_PLACE = "place"

Refuse = Callable[[str, str], NoReturn]


class StudyTable:
    """Takes the runs of one problem and horizon in the order in which they lie.

    matrix: by which regret is measured.
    values: shape (K,); ``utility`` and ``ndcg`` of each arm, where they are known.
    refuse: raises an error: takes the digest of a run, and what is wrong with it.
    last: whether only the last checkpoint of each run is wanted.
    """

    def __init__(
        self,
        matrix: PreferenceMatrix,
        values: Mapping[str, FloatVector],
        regrets: Sequence[str],
        refuse: Refuse,
        *,
        last: bool,
    ) -> None:
        self._matrix, self._refuse, self._last = matrix, refuse, last
        self._losses = {}
        for name in regrets:
            errors.require_one_of("regret", name, REGRETS)
            self._losses[name] = loss_per_arm(matrix, REGRETS[name].loss, values.get(name))
        self._waiting: dict[tuple[int, int, int, int], list[tuple[int, Stored]]] = {}  # by shape
        self._parts: list[dict[str, NDArray[Any]]] = []
        self._displayed: dict[int, FloatVector] = {}  # by place: impressions of each arm at the end

    def add(self, place: int, run: Stored) -> None:
        """Take the run that has a place in the order of the table. Raises what ``refuse`` does."""
        try:
            shape = shape_of(run.data)
        except InputError as error:
            self._refuse(run.digest, str(error))
        if shape[1] != len(self._matrix):
            self._refuse(run.digest, f"it has {shape[1]:,} arms, and its matrix {len(self._matrix):,}")
        waiting = self._waiting.setdefault(shape, [])
        waiting.append((place, run))
        if len(waiting) * shape[0] * shape[1] >= _AT_ONCE:
            self._decode(self._waiting.pop(shape))

    def frame(self, labels: Sequence[str]) -> pd.DataFrame:
        """Return the table, as `Results.to_frame` does. ``labels`` are the names of the policies, by place."""
        while self._waiting:
            self._decode(self._waiting.popitem()[1])
        columns = {name: np.concatenate([part.pop(name) for part in self._parts]) for name in list(self._parts[0])}
        place = columns.pop(_PLACE)
        order = np.argsort(place, kind="stable")
        table = {core_columns.POLICY: np.array(labels, dtype=object)[place[order]]}
        table |= {name: column[order] for name, column in columns.items()}
        table[core_columns.RECOMMENDED] = np.array(self._matrix.names, dtype=object)[table[core_columns.RECOMMENDED]]
        return pd.DataFrame(table)

    def reference_errors(self, labels: Sequence[str]) -> dict[str, float]:
        """Return how far the error of the matrix moves each policy's mean average regret, at last rows alone."""
        every = pd.DataFrame(list(self._displayed.values()), [labels[place] for place in self._displayed])
        means = every.groupby(level=0).mean()
        return dict(zip(means.index, reference_errors(self._matrix, means.to_numpy()), strict=True))

    def _decode(self, waiting: Sequence[tuple[int, Stored]]) -> None:
        runs = self._decoded([run for _, run in waiting])
        rows, counts = runs.checkpoints.shape[1], {}
        part = {
            _PLACE: np.repeat([place for place, _ in waiting], rows),
            core_columns.REPETITION: np.repeat([run.about.repetition for _, run in waiting], rows),
            core_columns.T: runs.checkpoints.ravel(),
        }
        for name, loss in self._losses.items():
            which = REGRETS[name].counts
            if which not in counts:
                counts[which] = runs.counts(which)
            part[core_columns.regret_column(name)] = cumulative_regret(counts[which], loss).ravel()
        if self._last:
            self._displayed |= zip([place for place, _ in waiting], runs.counts("exposure")[:, -1], strict=True)
        outcomes = np.full(runs.checkpoints.shape, np.nan) if runs.outcomes is None else runs.outcomes
        part |= {
            core_columns.RECOMMENDED: runs.recommended.ravel(),
            core_columns.OUTCOMES: outcomes.ravel().astype(np.float64),
        }
        self._parts.append(part)

    def _decoded(self, every: Sequence[Stored]) -> Runs:
        """Decode runs of one shape; if they cannot be, say which of them is not what it should be."""
        try:
            return Runs([run.data for run in every], every[0].horizon, last=self._last)
        except InputError as error:
            for run in every[: len(every) if len(every) > 1 else 0]:
                self._decoded([run])
            self._refuse(every[0].digest, str(error))
