"""The results of whole experiments, read from their store: one tidy table over all problems, policies and horizons."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from ltr_duel.analysis import plot_regret
from ltr_duel.core import FloatVector, InputError, IntVector, errors, files, notebook
from ltr_duel.core import columns as core_columns
from ltr_duel.experiment.conflicts import chosen_plans, refuse_conflicts
from ltr_duel.experiment.counts import COUNTED
from ltr_duel.experiment.plan_file import read_plans
from ltr_duel.experiment.store import Store
from ltr_duel.experiment.stored_runs import Planned, StoredRuns
from ltr_duel.experiment.study_table import Study, StudyTable
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.simulation import COINS_NOTE, INDEPENDENT_COINS, MEASURED, Results, identified, summarise, with_correct

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_DIGEST = "problem_digest"


class StudyResults:
    r"""The finished runs of a store. Runs are read on demand, one study (a problem and a horizon) after another.

    Iterating yields each study (`Study`) that has finished runs, and its results (`ltr_duel.simulation.Results`).

    Parameters
    ----------
    folder : str or Path
        The store.
    plans : sequence of str, optional
        Digests of the plans to read, or their first digits; by default all plans of the store.

    Raises
    ------
    InputError
        If the folder contains no results, if a plan or a run is damaged, or if two plans disagree about the results of
        a run or about the problem that a name stands for.

    Examples
    --------
    >>> import tempfile
    >>> from ltr_duel.experiment import make_plan, read_spec, run_experiment
    >>> content = "policies = 'rucb'\nhorizon = 10\nrepetitions = 2\nutilities = [{ set = '1good5poor' }]"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = run_experiment(make_plan(read_spec("one.toml", content)), folder)
    ...     frame = StudyResults(folder).final()
    >>> frame[["problem", "policy", "repetition", "t"]].to_numpy().tolist()
    [['1good5poor', 'rucb', 0, 10], ['1good5poor', 'rucb', 1, 10]]
    """

    def __init__(self, folder: str | Path, plans: Sequence[str] = ()) -> None:
        self._store = Store(folder)
        self._store.require()
        self._plans = chosen_plans(folder, read_plans(self._store), plans)
        self._stored, parts = StoredRuns(self._store, self._plans), []
        index = self._stored.index
        for why in index.broken.values():
            self._stored.refuse(why)
        self._problems: dict[str, dict[str, Any]] = {}  # by name; from the first plan that contains the problem
        studies: dict[tuple[str, int], Study] = {}
        for number, plan in enumerate(self._plans):
            about = plan.about["problems"]
            runs = plan.runs.to_pandas().assign(plan=number)
            for place, horizon in sorted(set(zip(runs["problem"], runs["horizon"], strict=True))):
                one = about[place]
                self._problems.setdefault(one["name"], one)
                studies.setdefault((one["name"], horizon), Study(one["name"], horizon, one["facts"]))
            for column, fact in ((_DIGEST, "digest"), ("name", "name")):
                runs[column] = runs["problem"].map({place: one[fact] for place, one in enumerate(about)})
            parts.append(runs[runs["digest"].isin(index.done.keys())])
        self._runs = pd.concat(parts, ignore_index=True).drop_duplicates("digest")
        refuse_conflicts(folder, self._plans, self._runs)
        self.studies = list(studies.values())

    def __repr__(self) -> str:
        return f"<{self._said()}>"

    def _repr_html_(self) -> str:
        """Show the size and the number of finished runs of each problem."""
        header = ("problem", "horizon", "rankers", "finished runs")
        rows = [
            (one.problem, one.horizon, one.facts.get("rankers"), len(self._wanted(one.problem, one.horizon)))
            for one in self.studies
        ]
        return notebook.notebook_html([self._said()], header, rows)

    def _said(self) -> str:
        return (
            f"StudyResults: {len(self._runs):,} finished runs of {len(self.policies):,} policies on"
            f" {len(self._problems):,} problems, in {self._store.folder}"
        )

    def __iter__(self) -> Iterator[tuple[Study, Results]]:
        """Yield each study that has finished runs, with its results."""
        for study in self.studies:
            results = self.results(study.problem, study.horizon)
            if results.runs:
                yield study, results

    def matrix(self, problem: str) -> PreferenceMatrix:
        """Return the matrix by which regret is measured."""
        return self._stored.matrix(self._about(problem)["digest"])

    def results(self, problem: str, horizon: int | None = None) -> Results:
        """Return the results on one problem at one horizon, by default at its longest horizon."""
        self._about(problem)
        horizons = [study.horizon for study in self.studies if study.problem == problem]
        chosen = horizon or max(horizons)
        if chosen not in horizons:
            raise InputError(f"no runs on '{problem}' with horizon {chosen:,} ({', '.join(map(str, horizons))})")
        matrix, wanted = self.matrix(problem), self._wanted(problem, chosen)
        found = {}
        for places, rows in self._read(wanted, matrix, (*COUNTED, "decisions")):
            for k, place in enumerate(places.tolist()):
                digest = str(wanted["digest"].iat[place])
                try:
                    found[place] = self._stored.result(digest, rows.slice(k, 1))
                except InputError as error:
                    self._stored.refuse_run(digest, str(error))
        return Results([found[place] for place in range(len(wanted))], matrix, self._values(problem, matrix))

    @property
    def problems(self) -> list[str]:
        """Names of the problems, in the order of the files."""
        return list(self._problems)

    @property
    def policies(self) -> list[str]:
        """Labels of the policies that have finished runs, in the order of the plans."""
        return list(dict.fromkeys(self._runs["label"]))

    @property
    def repetitions(self) -> list[int]:
        """How many runs of a policy on a problem and horizon are finished: the distinct numbers, ascending."""
        return sorted(set(self._runs.groupby([_DIGEST, "label", core_columns.HORIZON]).size()))

    @property
    def specs(self) -> list[str]:
        """The contents of the experiments' files."""
        return [str(plan.about["spec"]) for plan in self._plans]

    @property
    def regrets(self) -> list[str]:
        """The regrets named in the experiments' files."""
        return list(dict.fromkeys(name for plan in self._plans for name in plan.about["regrets"]))

    @property
    def notes(self) -> list[str]:
        """Notes to print below every table and figure of these runs; usually empty."""
        coins = any(one.facts.get(core_columns.ANSWERS) == INDEPENDENT_COINS for one in self.studies)
        late = [str(plan.about.get("late", "")) for plan in self._plans]
        return [*([COINS_NOTE] if coins else []), *dict.fromkeys(filter(None, late))]

    def to_frame(self, regrets: Sequence[str] = ()) -> pd.DataFrame:
        """Return the tidy table: one row for each run and checkpoint.

        Columns
        -------
        problem, and its description : see `ltr_duel.core.columns.COLUMNS`
            rankers, source, corpus, clicks, method, ...: the columns that apply to at least one problem.
        policy : str
        horizon, repetition, t : int
        regret_average, ... : float
            Cumulative regret: the given regrets, by default the regrets named in the experiments' files.
        recommended : str
            The ranker that the policy would choose at t.
        correct : float
            1 if the ranker ``recommended`` is the Condorcet winner, else 0; NaN if there is no Condorcet winner.
        """
        return self._joined(lambda study: with_correct(*self._table(study, regrets)), facts=True)

    def final(self, regrets: Sequence[str] = ()) -> pd.DataFrame:
        """Return the rows of `to_frame` at the last checkpoint of each run, with a column ``identified_at``.

        ``identified_at`` is the first checkpoint from which the policy recommends the winner until the end; it is
        infinite if the winner is not recommended at the end, and NaN if there is no winner.
        """

        def last_rows(study: Study) -> pd.DataFrame:
            frame, winner = self._table(study, regrets)
            return identified(with_correct(frame, winner), winner)

        return self._joined(last_rows, facts=True)

    def summary(self, column: str = core_columns.REGRET) -> pd.DataFrame:
        """Return `ltr_duel.simulation.Results.summary` of each study; the first columns are problem and horizon.

        The last column, reference_error, is the standard error that the matrix adds to the mean of average regret
        (`Results.reference_errors`). For other regrets, it is NaN if they depend on an estimated matrix, else 0.
        """
        regrets = (core_columns.regret_name(column),)

        def one(study: Study) -> pd.DataFrame:
            table, labels = self._study_table(study, regrets, last=True)
            summary = summarise(table.frame(labels), column)
            if column == core_columns.REGRET:
                return summary.assign(reference_error=summary[core_columns.POLICY].map(table.reference_errors(labels)))
            exact = regrets[0] in MEASURED or not self.matrix(study.problem).standard_error.any()
            return summary.assign(reference_error=0.0 if exact else np.nan)

        return self._joined(one)

    def to_csv(self, path: str | Path) -> Path:
        """Write `to_frame` to a CSV file; numbers have all their digits."""
        with files.replacing(Path(path)) as temporary:
            self.to_frame().to_csv(temporary, index=False, lineterminator="\n")
        return Path(path)

    def plot(self, problem: str | None = None, horizon: int | None = None, **options: Any) -> Axes:
        """Draw cumulative regret on one problem, by default the first; see `ltr_duel.analysis.plot_regret`."""
        chosen = problem or self.problems[0]
        return plot_regret(self.results(chosen, horizon), title=chosen, **options)

    def manifest(self, digest: str) -> dict[str, Any]:
        """Return the origin and the cost of a run, given the digest of its key (``RunResult.key.digest``)."""
        return self._stored.manifest(digest)

    def _table(self, study: Study, regrets: Sequence[str]) -> tuple[pd.DataFrame, str | None]:
        """Return the table of a study, as `Results.to_frame`, and the Condorcet winner of its matrix."""
        table, labels = self._study_table(study, regrets)
        return table.frame(labels), self.matrix(study.problem).condorcet_winner

    def _study_table(
        self, study: Study, regrets: Sequence[str], *, last: bool = False
    ) -> tuple[StudyTable, Sequence[str]]:
        """Return the table of a study with all its runs, and the labels of their policies."""
        matrix, wanted = self.matrix(study.problem), self._wanted(study.problem, study.horizon)
        values, names = self._values(study.problem, matrix), tuple(regrets) or self.regrets
        table = StudyTable(study.horizon, matrix, values, names, self._stored.refuse_run, last=last)
        for places, rows in self._read(wanted, matrix, COUNTED):
            table.add(places, rows)
        return table, wanted["label"].tolist()

    def _wanted(self, problem: str, horizon: int) -> pd.DataFrame:
        """Return the runs of a study, in the order of the plan."""
        return self._runs[(self._runs[_DIGEST] == self._about(problem)["digest"]) & (self._runs["horizon"] == horizon)]

    def _values(self, problem: str, matrix: PreferenceMatrix) -> dict[str, FloatVector]:
        """Return the arms' values that the matrix does not contain, such as utilities."""
        values = {name: np.array(one) for name, one in self._about(problem)["values"].items()}
        if any(len(one) != len(matrix) for one in values.values()):
            raise InputError(f"{self._store.folder}: the plan does not have one value per arm of '{problem}'")
        return values

    def _read(
        self, wanted: pd.DataFrame, matrix: PreferenceMatrix, columns: Sequence[str]
    ) -> Iterator[tuple[IntVector, pa.RecordBatch]]:
        """Yield rows in stored order, with their positions in ``wanted``. Raises an error for a row of another run."""
        self._require_keys(wanted, matrix)
        place_of = {digest: place for place, digest in enumerate(wanted["digest"])}
        repetitions = wanted["repetition"].to_numpy()
        for names, rows in self._stored.batches(list(place_of), columns):
            places = np.array([place_of[digest] for digest in names])
            for k in np.flatnonzero(repetitions[places] != rows["repetition"].to_numpy()):
                self._stored.refuse_run(names[k], "it belongs to another run")
            yield places, rows

    def _require_keys(self, wanted: pd.DataFrame, matrix: PreferenceMatrix) -> None:
        """Raise an error if the digest of a run does not match its key, or its regret requires a different matrix."""
        measured, columns = matrix.digest, (wanted[name].tolist() for name in Planned._fields)
        for digest, *run in zip(wanted["digest"], *columns, strict=True):
            planned = Planned(*run)
            if (own := self._stored.digest_of(planned, planned.repetition)) != digest:
                self._stored.refuse_run(digest, f"it belongs to another run, {own}")
            if self._stored.matrix_of(planned) != measured:
                path = self._store.problem_path(wanted[_DIGEST].tolist()[0])
                self._stored.refuse(f"{path}: damaged: not the matrix of run {digest}")

    def _about(self, problem: str) -> dict[str, Any]:
        if problem not in self._problems:
            raise errors.unknown_name("problem", problem, self.problems)
        return self._problems[problem]

    def _joined(self, table: Callable[[Study], pd.DataFrame], *, facts: bool = False) -> pd.DataFrame:
        """Join all studies' tables. First columns: problem, horizon; with facts: problem, facts, policy, horizon."""
        parts = []
        for study in self.studies:
            if self._wanted(study.problem, study.horizon).empty:
                continue
            frame = table(study)
            frame.insert(1 if facts else 0, core_columns.HORIZON, study.horizon)
            columns = [(core_columns.PROBLEM, study.problem), *(sorted(study.facts.items()) if facts else ())]
            for place, (name, value) in enumerate(columns):
                frame.insert(place, name, value)
            parts.append(frame)
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
