"""Simulate preferences that change during a run: one preference matrix after another decides the outcomes.

To simulate a slow change, use many matrices that differ little.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ltr_duel.bandits import MatrixOracle
from ltr_duel.core import InputError, IntVector, arguments, as_writable, errors
from ltr_duel.core import columns as core_columns
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.simulation.oracle import OracleSource
from ltr_duel.simulation.regret import DEFAULT_REGRETS, REGRETS, arm_ranks, cumulative_regret, loss_per_arm
from ltr_duel.simulation.results import Results

_MOST = 100  # matrices


class FromSchedule(OracleSource):
    """A source of outcomes whose preference matrix changes at given steps.

    Parameters
    ----------
    matrices : sequence of PreferenceMatrix
        2 to 100 matrices of the same arms, in the order of their use.
    changes : sequence of int, shape (M - 1,)
        For each of the M matrices except the final one, the last step in which it is used. For example,
        ``changes=[400]`` means that the first matrix decides steps 1 to 400.

    Raises
    ------
    InputError
        If the matrices have different arms, or the changes are not M - 1 ascending positive numbers.

    Notes
    -----
    `simulate` measures regret by a single matrix, which you pass as ``preferences``, for example the result of
    `average`. `dynamic_regret` measures the regret of each step by the matrix that decides this step. Policies that
    compare sets cannot be used.

    Examples
    --------
    >>> before = PreferenceMatrix([[0.5, 0.9], [0.1, 0.5]])
    >>> after = PreferenceMatrix([[0.5, 0.1], [0.9, 0.5]])
    >>> schedule = FromSchedule([before, after], changes=[400])
    >>> schedule.average(1000).p.round(2).tolist()
    [[0.5, 0.42], [0.58, 0.5]]
    """

    refuses_sets = True

    def __init__(self, matrices: Sequence[PreferenceMatrix], changes: Sequence[int]) -> None:
        arguments.require_type("the matrices", matrices, list, tuple)
        arguments.require_type("changes", changes, list, tuple, np.ndarray)
        self.matrices = tuple(matrices)
        errors.require_between("the number of matrices of a schedule", len(self.matrices), 2, _MOST)
        for matrix in self.matrices:
            arguments.require_type("a matrix of the schedule", matrix, PreferenceMatrix)
            if matrix.names != self.matrices[0].names:
                raise InputError("a matrix has other rankers than the first, or in another order")
        self.names = self.matrices[0].names
        self.changes = tuple(errors.require_whole("a change", step, 1, 10**15) for step in changes)
        if len(self.changes) != len(self.matrices) - 1 or list(self.changes) != sorted(set(self.changes)):
            raise InputError(
                f"{len(self.matrices)} matrices need {len(self.matrices) - 1} ascending steps at which they change,"
                f" not {list(self.changes)}"
            )
        digests = [matrix.digest for matrix in self.matrices]
        self.provenance = {"oracle": "schedule", "matrices": digests, "changes": list(self.changes)}

    def open(self) -> MatrixOracle:
        """Return the oracle of one run. It starts with the first matrix."""
        return MatrixOracle(as_writable(self.matrices[0].p.copy()))

    def enter(self, stage: int, opened: MatrixOracle) -> IntVector:
        """Make the oracle of a run use matrix number ``stage``. Return the rank of each arm in this matrix."""
        opened.p[:] = self.matrices[stage].p
        return arm_ranks(self.matrices[stage])

    def average(self, horizon: int) -> PreferenceMatrix:
        """Return the mean of the matrices over steps 1 to ``horizon``. Its winner is the best arm on average."""
        errors.require_whole("the horizon", horizon, 1)
        ends = np.minimum([*self.changes, horizon], horizon)
        weights = np.diff(ends, prepend=0) / horizon
        return PreferenceMatrix(np.einsum("m,mij->ij", weights, [m.p for m in self.matrices]), names=self.names)


def dynamic_regret(results: Results, schedule: FromSchedule, regret: str = "average") -> pd.DataFrame:
    """Return two regrets: against the winner of each step, and against the arm that is best on average.

    Parameters
    ----------
    results : Results
        The result of ``simulate(schedule, ..., preferences=...)``.
    schedule : FromSchedule
    regret : str
        The kind of regret: average, strong, weak, copeland or borda.

    Returns
    -------
    DataFrame
        One row for each policy, repetition and checkpoint t. ``regret_dynamic`` is the sum of the regrets of the steps,
        each measured by the matrix of the step. ``regret_static`` compares each step with the arm that is best on
        average (see `FromSchedule.average`). It falls when the policy plays a better arm. A regret is NaN if it needs a
        winner but a matrix has none. For "copeland" and "borda", ``regret_static`` is NaN.

    Raises
    ------
    InputError
        If the regret is not one of the five, or if the runs were not made with this schedule.

    Examples
    --------
    >>> from ltr_duel.simulation import simulate
    >>> before = PreferenceMatrix([[0.5, 0.9], [0.1, 0.5]])
    >>> schedule = FromSchedule([before, PreferenceMatrix(before.p.T)], changes=[400])
    >>> results = simulate(
    ...     schedule, "random", horizon=1000, repetitions=1, jobs=1, preferences=schedule.average(1000)
    ... )
    >>> frame = dynamic_regret(results, schedule)
    >>> float(frame["regret_dynamic"].iloc[-1].round(-1)), float(frame["regret_static"].iloc[-1].round(-1))
    (200.0, 40.0)
    """
    arguments.require_type("results", results, Results)
    errors.require_one_of("regret", regret, DEFAULT_REGRETS)
    if results.matrix.names != schedule.names or any(run.key.oracle != schedule.provenance for run in results.runs):
        raise InputError("the results are not of runs of this schedule")
    definition, frames = REGRETS[regret], []
    losses = np.array([loss_per_arm(matrix, definition.loss) for matrix in schedule.matrices])
    for run in results.runs:
        fixed, winner = np.full_like(losses, np.nan), schedule.average(int(run.checkpoints[-1])).condorcet_winner
        if winner is not None and definition.loss == "average":
            fixed = np.array([matrix.p[matrix.index(winner)] - 0.5 for matrix in schedule.matrices])
        counts = np.asarray(getattr(run, definition.counts), np.float64)
        steps = np.diff(counts, axis=0, prepend=np.zeros((1, counts.shape[1])))
        stages = np.searchsorted(schedule.changes, run.checkpoints)  # of the steps since the previous checkpoint
        columns = {core_columns.POLICY: run.label, core_columns.REPETITION: run.key.repetition}
        columns |= {core_columns.T: run.checkpoints}
        for name, loss in (("regret_dynamic", losses), ("regret_static", fixed)):
            each = [cumulative_regret(row, loss[stage]) for row, stage in zip(steps, stages, strict=True)]
            columns[name] = np.cumsum(each)
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True)
