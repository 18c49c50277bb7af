"""Collect the runs of a simulation, and compute tables of regret from them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ltr_duel.bandits import named_policy
from ltr_duel.core import FloatVector, InputError, arguments, errors, files, frozen, notebook, several
from ltr_duel.core import columns as core_columns
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.simulation.oracle import COINS_NOTE
from ltr_duel.simulation.regret import DEFAULT_REGRETS, MEASURED, REGRETS, cumulative_regret, loss_per_arm
from ltr_duel.simulation.run_result import RunResult, lateness_note
from ltr_duel.simulation.statistics import final_rows, identified, summarise, with_correct

_TOGETHER = 256  # number of runs whose regret is computed at once, which is faster


class Results:
    """The runs of one simulation, and the preference matrix that measures their regret.

    Parameters
    ----------
    runs : sequence of RunResult
    matrix : PreferenceMatrix
        The matrix from which regret is computed. Its arms must have the same order as in the runs.
    values : mapping of str to ndarray, shape (K,), optional
        The true utilities (key ``"utility"``) or NDCG (key ``"ndcg"``) of the K arms. They are needed only to compute
        the regrets that are called utility and ndcg.

    Raises
    ------
    InputError
        If the runs and the matrix have different numbers of arms, or if ``values`` has no value for an arm.

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
        """Return a table with a row for each checkpoint of each run.

        Parameters
        ----------
        regrets : sequence of str
            The regrets to compute, from `ltr_duel.simulation.regret.REGRETS`. By default, all regrets that the matrix
            and the ``values`` of the arms determine.

        Columns
        -------
        policy : str
        repetition : int
        t : int
            The number of steps so far.
        regret_average, regret_strong, regret_weak : float
            Regret, summed over the steps so far; NaN if there is no Condorcet winner.
        regret_copeland, regret_borda : float
            Regret, summed over the steps so far.
        recommended : str
            The ranker that the policy would name as the best if the run ended here.
        outcomes : float
            The number of outcomes that the policy has received. A step with m different rankers gives m (m - 1) / 2.
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
        """Return a table of how often each arm was compared and shown at each checkpoint (see `RunResult`)."""
        arms, counts = list(self.matrix.names), {name: self._joined(name) for name in ("pulls", "exposure")}
        columns = self._rows(len(arms)) | {"arm": pd.Categorical(arms * len(counts["pulls"]), categories=arms)}
        columns[core_columns.POLICY] = pd.Categorical(columns[core_columns.POLICY], categories=self.policies)
        return pd.DataFrame(columns | {name: count.ravel() for name, count in counts.items()})

    def _joined(self, name: str) -> Any:
        if not self.runs:
            raise InputError("there is no run")
        return np.concatenate([getattr(run, name) for run in self.runs])

    def _rows(self, copies: int) -> dict[str, Any]:
        rows = [len(run.checkpoints) * copies for run in self.runs]
        return {
            core_columns.POLICY: np.repeat(np.array([run.label for run in self.runs], dtype=object), rows),
            core_columns.REPETITION: np.repeat([run.key.repetition for run in self.runs], rows),
            core_columns.T: np.repeat(self._joined("checkpoints"), copies),
        }

    def _regret(self, name: str) -> FloatVector:
        errors.require_one_of("regret", name, REGRETS)
        kind, loss = REGRETS[name].counts, loss_per_arm(self.matrix, REGRETS[name].loss, self.values.get(name))
        starts = range(0, len(self.runs), _TOGETHER)
        counts = ([getattr(run, kind) for run in self.runs[start : start + _TOGETHER]] for start in starts)
        return np.concatenate([cumulative_regret(np.concatenate(part), loss) for part in counts])

    @property
    def policies(self) -> list[str]:
        """The labels of the policies, in the order of the runs."""
        return list(dict.fromkeys(run.label for run in self.runs))

    @property
    def notes(self) -> list[str]:
        """Sentences to print below every table and figure of these runs. Usually there are none."""
        late = [lateness_note(run.key.batch, run.key.delay) for run in self.runs]
        coins = [COINS_NOTE] if any(run.independent_coins for run in self.runs) else []
        for_sets = {run.label: named_policy(run.label) for run in self.runs if run.compares_sets}
        replaced = [
            f"{label} ran as {p.for_sets}, for sets of rankers." for label, p in for_sets.items() if p and p.for_sets
        ]
        return [*coins, *replaced, *dict.fromkeys(filter(None, late))]

    @property
    def slates(self) -> dict[str, str]:
        """The method with which simulated users compared the sets of a policy, for each policy that compares sets."""
        of_users = [run for run in self.runs if "slates" in run.key.oracle and run.compares_sets]
        return {run.label: str(run.key.oracle["slates"]) for run in of_users}

    def final(self) -> pd.DataFrame:
        """Return, for each policy, the mean regret at the end, and how often and how soon it finds the winner.

        ``regret_average`` and ``regret_copeland`` are means over the runs. ``accuracy`` is the share of runs that
        recommend the Condorcet winner at the end. ``steps_to_winner`` is the median number of steps after which a run
        recommends only the winner. A run that ends with another recommendation counts as infinite.
        """
        winner = self.matrix.condorcet_winner
        ends = identified(with_correct(self.to_frame(("average", "copeland")), winner), winner)
        ends = ends.rename(columns={core_columns.CORRECT: "accuracy"})
        steps = ends.groupby(core_columns.POLICY, sort=False)[core_columns.IDENTIFIED_AT].median()
        means = [core_columns.REGRET, core_columns.regret_column("copeland"), "accuracy"]
        table = final_rows(ends, [core_columns.POLICY]).groupby(core_columns.POLICY, sort=False)[means].mean()
        return table.assign(steps_to_winner=steps).reset_index()

    def summary(self, column: str = "") -> pd.DataFrame:
        """Describe each policy's regret at the end of the runs, and compare it with the policy whose mean is lowest.

        By default, ``column`` is the average regret, or the Copeland regret if there is no Condorcet winner. Each
        policy is described by the number of its runs, the mean, sd, se (the standard error of the mean), and the
        quantiles q10, q25, median, q75 and q90. The other columns compare the policy with the best policy, repetition
        by repetition.

        ``difference`` is the mean difference from the best policy. ``p_wilcoxon`` and ``p_t`` are p-values of paired
        tests, corrected by Holm's method for all pairs of policies. ``effect`` is Cohen's d of the paired differences.
        ``probability`` is the share of repetitions with a higher value than the best policy, where a tie counts as
        half. ``accuracy`` is the share of runs that recommend the Condorcet winner at the end, or NaN without a winner.

        If regret is measured by an estimated matrix, ``reference_error`` is the error that this causes in the average
        regret, see `reference_errors`. For other regrets, the error is unknown, and the column is NaN. If the matrix is
        not an estimate, the error is 0.
        """
        usual = "average" if self.matrix.condorcet_winner is not None else "copeland"
        column = column or core_columns.regret_column(usual)
        regret = core_columns.regret_name(column)
        frame = with_correct(self.to_frame((regret,) if regret in REGRETS else ()), self.matrix.condorcet_winner)
        right = final_rows(frame).groupby(core_columns.POLICY)[core_columns.CORRECT].mean()
        table = summarise(frame, column)
        table["accuracy"] = table[core_columns.POLICY].map(right)
        if column == core_columns.REGRET:
            return table.assign(**{core_columns.REFERENCE_ERROR: self.reference_errors()})
        exact = regret in MEASURED or not self.matrix.standard_error.any()
        return table.assign(**{core_columns.REFERENCE_ERROR: 0.0 if exact else np.nan})

    def reference_errors(self) -> FloatVector:
        """Return how much the errors of an estimated matrix change each policy's average regret, as a standard error.

        The standard error is 0 for an exact matrix, and NaN if an estimate has no Condorcet winner. Otherwise, the
        estimated winner is assumed to be the true winner. If sets of rankers were compared, whose errors are alike, the
        result is an upper bound.
        """
        if not self.matrix.standard_error.any():
            return np.zeros(len(self.policies))
        if (winner := self.matrix.condorcet_winner) is None:
            return np.full(len(self.policies), np.nan)
        last = {policy: [run.exposure[-1] for run in self.runs if run.label == policy] for policy in self.policies}
        displayed = np.array([np.mean(exposure, axis=0) for exposure in last.values()])
        error = self.matrix.standard_error[self.matrix.index(winner)]
        if "size" in self.matrix.provenance:
            return displayed @ error
        return np.sqrt(np.square(displayed) @ error**2)

    def save(self, folder: str | Path) -> Path:
        """Write results.parquet, pulls.parquet and runs.json to a folder; return the path of results.parquet."""
        runs = [{"digest": run.key.digest, "decisions": run.decisions, **vars(run.key)} for run in self.runs]
        folder = arguments.as_path("results", folder)
        with files.replacing_files(folder) as temporary:
            for name, frame in (("results", self.to_frame()), ("pulls", self.pulls_frame())):
                pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), temporary / f"{name}.parquet")
            (temporary / "runs.json").write_text(json.dumps(runs, indent=1, sort_keys=True))
        return folder / "results.parquet"
