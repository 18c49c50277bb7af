"""The results of a study: the runs of policies, the matrix that defines regret, and the tidy table of the runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ltr_duel.core import FloatVector, InputError, arguments, errors, files, frozen, notebook, several
from ltr_duel.core import columns as core_columns
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.simulation.oracle import COINS_NOTE
from ltr_duel.simulation.regret import DEFAULT_REGRETS, MEASURED, REGRETS, cumulative_regret, loss_per_arm
from ltr_duel.simulation.run_result import RunResult, lateness_note
from ltr_duel.simulation.statistics import final_rows, identified, summarise, with_correct

_TOGETHER = 256  # number of runs whose regret is computed at once, which is faster than one by one


class Results:
    """The runs of one study, and the matrix that defines regret.

    Parameters
    ----------
    runs : sequence of RunResult
    matrix : PreferenceMatrix
        Arms in the order of the runs' columns.
    values : mapping of str to ndarray, shape (K,), optional
        The ``utility`` and the ``ndcg`` of each arm, if known; the regrets of the same names require them.

    Raises
    ------
    InputError
        If the runs and the matrix differ in the number of arms, or if an arm has no value.

    Examples
    --------
    >>> from ltr_duel.preferences import synthetic_preferences
    >>> from ltr_duel.simulation import simulate
    >>> results = simulate(synthetic_preferences("arithmetic"), "rucb", horizon=100, repetitions=2, jobs=1)
    >>> results.policies, len(results.to_frame()) == sum(len(run.checkpoints) for run in results.runs)
    (['rucb'], True)
    """

    def __init__(
        self, runs: Sequence[RunResult], matrix: PreferenceMatrix, values: Mapping[str, FloatVector] | None = None
    ) -> None:
        arguments.require_type("the matrix that measures regret", matrix, PreferenceMatrix)
        self.runs, self.matrix = tuple(runs), matrix
        for run in self.runs:
            arguments.require_type("each run", run, RunResult)
            if run.pulls.shape[1:] != (len(matrix),):
                raise InputError(f"the run '{run.label}' has {run.pulls.shape[-1]} arms; the matrix has {len(matrix)}")
        self.values: dict[str, FloatVector] = {}
        for name, numbers in (values or {}).items():
            errors.require_one_of("regret that is measured by values", name, MEASURED)
            self.values[name] = frozen(arguments.as_numbers(name, numbers))
            if len(self.values[name]) != len(matrix):
                raise InputError(f"{name} must be {len(matrix)} numbers, one for each arm")

    def __repr__(self) -> str:
        return f"<{self._described()}>"

    def _repr_html_(self) -> str:
        if not self.runs:
            return notebook.notebook_html([self._described()])
        header = ("policy", "average regret", "Copeland regret", "names the winner", "steps to the winner")
        means = "Means over the runs at the horizon; median of the steps to the winner."
        return notebook.notebook_html([self._described(), means, *self.notes], header, self.final().to_numpy().tolist())

    def _described(self) -> str:
        longest = max((int(run.checkpoints[-1]) for run in self.runs), default=0)
        return (
            f"Results: {several(len(self.runs), 'run')} of {several(len(self.policies), 'policy')},"
            f" {several(len(self.matrix), 'ranker')}, up to {longest:,} steps"
        )

    def to_frame(self, regrets: Sequence[str] = ()) -> pd.DataFrame:
        """Return the tidy table, one row for each policy, repetition and checkpoint.

        Parameters
        ----------
        regrets : sequence of str
            Names of regrets to compute (`ltr_duel.simulation.regret.REGRETS`); by default all that require only the
            matrix, and those whose ``values`` are given.

        Columns
        -------
        policy : str
        repetition : int
        t : int
            Number of steps so far.
        regret_average, regret_strong, regret_weak : float
            Cumulative regret; NaN if there is no Condorcet winner.
        regret_copeland, regret_borda : float
            Cumulative regret.
        recommended : str
            The ranker that the policy would choose if it had to stop after step t.
        outcomes : float
            Number of outcomes received so far, one for each pair of different rankers that was compared.
        """
        names = tuple(arguments.as_names("regrets", regrets)) or (*DEFAULT_REGRETS, *self.values)
        recommended = self._joined("recommended")
        return pd.DataFrame(
            {
                **self._rows(1),
                **{core_columns.regret_column(name): self._regret(name) for name in names},
                core_columns.RECOMMENDED: np.array(self.matrix.names, dtype=object)[recommended],
                core_columns.OUTCOMES: self._joined("outcomes").astype(np.float64),
            }
        )

    def pulls_frame(self) -> pd.DataFrame:
        """Return the pulls as a table with the columns policy, repetition, t, arm, pulls, exposure."""
        arms, counts = list(self.matrix.names), {name: self._joined(name) for name in ("pulls", "exposure")}
        columns = self._rows(len(arms)) | {"arm": pd.Categorical(arms * len(counts["pulls"]), categories=arms)}
        columns[core_columns.POLICY] = pd.Categorical(columns[core_columns.POLICY], categories=self.policies)
        return pd.DataFrame(columns | {name: count.ravel() for name, count in counts.items()})

    def _joined(self, name: str) -> Any:
        if not self.runs:
            raise InputError("there is no run")
        return np.concatenate([getattr(run, name) for run in self.runs])

    def _rows(self, copies: int) -> dict[str, Any]:
        """Return the columns policy, repetition and t, with ``copies`` rows for each checkpoint of each run."""
        rows = [len(run.checkpoints) * copies for run in self.runs]
        return {
            core_columns.POLICY: np.repeat(np.array([run.label for run in self.runs], dtype=object), rows),
            core_columns.REPETITION: np.repeat([run.key.repetition for run in self.runs], rows),
            core_columns.T: np.repeat(self._joined("checkpoints"), copies),
        }

    def _regret(self, name: str) -> FloatVector:
        """Return `RunResult.regret` of all runs, concatenated."""
        errors.require_one_of("regret", name, REGRETS)
        kind, loss = REGRETS[name].counts, loss_per_arm(self.matrix, REGRETS[name].loss, self.values.get(name))
        starts = range(0, len(self.runs), _TOGETHER)
        counts = ([getattr(run, kind) for run in self.runs[start : start + _TOGETHER]] for start in starts)
        return np.concatenate([cumulative_regret(np.concatenate(part), loss) for part in counts])

    @property
    def policies(self) -> list[str]:
        """Labels of the policies, in the order of their first runs."""
        return list(dict.fromkeys(run.label for run in self.runs))

    @property
    def notes(self) -> list[str]:
        """Notes to print below every table and figure of these runs; usually none."""
        late = [lateness_note(run.key.batch, run.key.delay) for run in self.runs]
        coins = [COINS_NOTE] if any(run.independent_coins for run in self.runs) else []
        return [*coins, *dict.fromkeys(filter(None, late))]

    def final(self) -> pd.DataFrame:
        """Return, for each policy, the mean regret at the horizon and the share of runs that name the winner.

        Columns: policy, regret_average, regret_copeland (means over repetitions), accuracy (NaN if there is no
        Condorcet winner), steps_to_winner (median identification time, which is the first checkpoint of a run from
        which the winner is always recommended; infinite if the winner is not recommended at the horizon).
        """
        winner = self.matrix.condorcet_winner
        ends = identified(with_correct(self.to_frame(("average", "copeland")), winner), winner)
        ends = ends.rename(columns={core_columns.CORRECT: "accuracy"})
        steps = ends.groupby(core_columns.POLICY, sort=False)[core_columns.IDENTIFIED_AT].median()
        means = [core_columns.REGRET, core_columns.regret_column("copeland"), "accuracy"]
        table = final_rows(ends, [core_columns.POLICY]).groupby(core_columns.POLICY, sort=False)[means].mean()
        return table.assign(steps_to_winner=steps).reset_index()

    def summary(self, column: str = "") -> pd.DataFrame:
        """Return mean, spread and quantiles at the horizon for each policy, and paired tests against the best policy.

        The default column is average regret, or Copeland regret if there is no Condorcet winner.

        Columns: policy; runs; mean; sd (of the runs, n - 1 degrees of freedom); se (of the mean); q10, q25, median, q75
        and q90. Five columns compare the policy with the policy of the lowest mean: difference (mean of the paired
        differences), p_wilcoxon and p_t (paired, two-sided; p_t is the larger of the p-values of Student's test and of
        an exact test of random signs), effect (Cohen's d of the paired differences) and probability (share of
        repetitions in which the policy has more regret than the best policy; a tie counts as half). These five are NaN
        for the best policy, and for fewer than two repetitions. Both p-values are corrected by Holm's method for all
        P (P - 1) / 2 pairs of P policies, because the best policy is determined by the same runs. The last column,
        reference_error, is the standard error that the matrix adds to the mean of average regret (`reference_errors`);
        for other regrets, it is NaN if they depend on an estimated matrix, else 0.
        """
        usual = "average" if self.matrix.condorcet_winner is not None else "copeland"
        column = column or core_columns.regret_column(usual)
        regret = core_columns.regret_name(column)
        table = summarise(self.to_frame((regret,) if regret in REGRETS else ()), column)
        if column == core_columns.REGRET:
            return table.assign(**{core_columns.REFERENCE_ERROR: self.reference_errors()})
        exact = regret in MEASURED or not self.matrix.standard_error.any()
        return table.assign(**{core_columns.REFERENCE_ERROR: 0.0 if exact else np.nan})

    def reference_errors(self) -> FloatVector:
        """Return, for each policy, the standard error that the error of the matrix causes in its mean average regret.

        For given impressions, average regret is the sum over the arms of gap times impressions. It is linear in the
        gaps, so the variances of independently estimated gaps add up. If pairs share lists (of sets) or queries
        (variance reduction ``stratified``), their errors are correlated, and the matrix does not contain the
        correlation. In this case the standard errors are added up, which is an upper bound. The winner is assumed to be
        correct. The result is zero for an exact matrix, and NaN if there is no Condorcet winner.
        """
        if (winner := self.matrix.condorcet_winner) is None:
            return np.full(len(self.policies), np.nan)
        last = {policy: [run.exposure[-1] for run in self.runs if run.label == policy] for policy in self.policies}
        displayed = np.array([np.mean(exposure, axis=0) for exposure in last.values()])
        error, provenance = self.matrix.standard_error[self.matrix.index(winner)], self.matrix.provenance
        if "size" in provenance or "stratified" in provenance.get("variance_reduction", ()):
            return displayed @ error
        return np.sqrt(np.square(displayed) @ error**2)

    def save(self, folder: str | Path) -> Path:
        """Write results.parquet, pulls.parquet and runs.json; the same runs always give the same bytes."""
        runs = [{"digest": run.key.digest, "decisions": run.decisions, **vars(run.key)} for run in self.runs]
        folder = arguments.as_path("results", folder)
        with files.replacing_files(folder) as temporary:
            for name, frame in (("results", self.to_frame()), ("pulls", self.pulls_frame())):
                pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), temporary / f"{name}.parquet")
            (temporary / "runs.json").write_text(json.dumps(runs, indent=1, sort_keys=True))
        return folder / "results.parquet"
