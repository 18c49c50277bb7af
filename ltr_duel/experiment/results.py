"""Read the results of experiments from their folder, as one table for all problems, policies and horizons."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ltr_duel.core import InputError, errors
from ltr_duel.core import columns as core_columns
from ltr_duel.experiment.counts import decode_runs
from ltr_duel.experiment.runs import COUNTED, Index
from ltr_duel.experiment.store import Group, Store, Study
from ltr_duel.preferences import PreferenceMatrix, load_preferences
from ltr_duel.simulation import COINS_NOTE, INDEPENDENT_COINS, Results, RunResult, identified, with_correct

_SHORT = 8  # digits of a digest in a message


class Condition(NamedTuple):
    """A problem and a horizon. You can compare runs only if they have the same problem and the same horizon."""

    problem: str
    horizon: int
    facts: dict[str, Any]  # what describes the problem; these are columns of the table


class _Finished(NamedTuple):
    study: Study
    group: Group
    problem: dict[str, Any]
    repetitions: list[int]  # ascending


class StudyResults:
    r"""The results of experiments, which are read from their folder when you ask for them.

    A loop over this object yields each `Condition` together with its `ltr_duel.simulation.Results`.

    Parameters
    ----------
    folder : str or Path
        The folder that contains the results (the store).
    studies : sequence of str, optional
        The experiments to read; by default, all. Each experiment has a file in ``folder / "studies"``. Give the first
        digits of the names of these files.

    Attributes
    ----------
    conditions : list of Condition
    problems, policies, regrets : list of str
        The names of the problems, of the policies that have finished runs, and of the regrets in the TOML files.
    sets : dict
        For each problem and policy with finished runs, how the policy compared sets of rankers: the policy that ran
        (``runs_as``), and the method and the outcome rule of simulated users. Empty for policies that compared pairs.
    data : dict
        The path and the name of the corpus of each problem, even if the TOML file calls the problem by another name.
    specs, notes : list of str
        The texts of the TOML files, and the notes to print below every table and figure.
    repetitions : list of int
        How many runs of a policy on a problem are finished. If the numbers differ, the list has several entries.

    Raises
    ------
    InputError
        If the folder contains no results, a study is damaged, or two experiments contradict each other.

    Examples
    --------
    >>> import tempfile
    >>> from ltr_duel.experiment import make_schedule, read_spec, run_experiment
    >>> content = "policies = 'rucb'\nhorizon = 10\nrepetitions = 2\nutilities = [{ set = '1good5poor' }]"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = run_experiment(make_schedule(read_spec("one.toml", content)), folder)
    ...     frame = StudyResults(folder).final()
    >>> frame[["problem", "policy", "repetition", "t"]].to_numpy().tolist()
    [['1good5poor', 'rucb', 0, 10], ['1good5poor', 'rucb', 1, 10]]
    """

    def __init__(self, folder: str | Path, studies: Sequence[str] = ()) -> None:
        self._store = Store(folder)
        self._store.require()
        chosen, self._index = _chosen(self._store, studies), Index(self._store)
        self._problems: dict[str, dict[str, Any]] = {}  # by name, as the first study describes them
        groups: dict[str, _Finished] = {}
        conditions: dict[tuple[str, int], Condition] = {}
        for study in chosen:
            for group in study.groups:
                problem = study.record["problems"][group.problem]
                name = self._problems.setdefault(problem["name"], problem)["name"]
                conditions.setdefault((name, group.horizon), Condition(name, group.horizon, problem["facts"]))
                done = self._index.done.get(group.digest, ())
                repetitions = sorted(number for number in done if number < study.record["repetitions"])
                if len(repetitions) > len(groups[group.digest].repetitions if group.digest in groups else ()):
                    groups[group.digest] = _Finished(study, group, problem, repetitions)
        self._groups = list(groups.values())
        self._refuse_conflicts()
        self.conditions, self.problems = list(conditions.values()), list(self._problems)
        self.policies = list(dict.fromkeys(finished.group.label for finished in self._groups))
        self.sets = {
            (finished.problem["name"], label): finished.problem.get("sets", {}).get(label, {})
            for finished in self._groups
            for label in [finished.group.label]
        }
        self.data = {name: str(problem.get("data", "")) for name, problem in self._problems.items()}
        self.repetitions = sorted({len(finished.repetitions) for finished in self._groups})
        self.specs = [str(study.record["spec"]) for study in chosen]
        self.regrets = list(dict.fromkeys(name for study in chosen for name in study.record["regrets"]))
        coins = any(condition.facts.get(core_columns.ANSWERS) == INDEPENDENT_COINS for condition in self.conditions)
        damaged = [f"{path} is damaged; its runs are missing." for path in self._index.damaged]
        late = dict.fromkeys(str(study.record["late"]) for study in chosen)
        self.notes = [*filter(None, [COINS_NOTE * coins, *late]), *damaged]

    def __iter__(self) -> Iterator[tuple[Condition, Results]]:
        for condition in self.conditions:
            if self._finished(condition.problem, condition.horizon):
                yield condition, self.results(condition.problem, condition.horizon)

    def matrix(self, problem: str) -> PreferenceMatrix:
        """Return the preference matrix of a problem. Raise `InputError` if its file is missing or damaged."""
        record = self._record(problem)
        path = self._store.problems / f"{record['digest']}.parquet"
        with suppress(InputError):
            if (matrix := load_preferences(path)).digest == record["matrix_sha256"]:
                return matrix
        raise InputError(f"{path}: missing or damaged; 'ltr-duel run' with the experiment's file writes it again")

    def results(self, problem: str, horizon: int | None = None) -> Results:
        """Return the results on a problem. By default, the longest horizon is used."""
        self._record(problem)
        horizons = [horizon for name, horizon, _ in self.conditions if name == problem]
        chosen = horizon or max(horizons)
        if chosen not in horizons:
            raise InputError(f"no runs on '{problem}' with horizon {chosen:,} ({', '.join(map(str, horizons))})")
        return self._results(problem, chosen)

    def _results(self, problem: str, horizon: int, *, last: bool = False) -> Results:
        groups = {finished.group.digest: finished for finished in self._finished(problem, horizon)}
        runs: dict[str, list[RunResult]] = {digest: [] for digest in groups}
        wanted = {
            digest: {repetition: self._index.done[digest][repetition] for repetition in finished.repetitions}
            for digest, finished in groups.items()
        }
        for digest, rows in self._index.read(wanted, ("repetition", *COUNTED)):
            study, group, *_ = groups[digest]
            runs[digest] += decode_runs(rows, study.key(group), group.label, last=last)
        ordered = [run for group in runs.values() for run in sorted(group, key=lambda run: run.key.repetition)]
        values = {name: np.array(numbers) for name, numbers in self._record(problem)["values"].items()}
        return Results(ordered, self.matrix(problem), values)

    def to_frame(self, regrets: Sequence[str] = ()) -> pd.DataFrame:
        """Return all results as a table with a row for each run and checkpoint.

        The first columns are the problem with its description, the policy, the horizon, the repetition and the step
        ``t``. Columns such as ``regret_average`` contain the regret up to step ``t``. By default, these are the regrets
        that the TOML files name. ``recommended`` is the ranker that the policy regards as the best. ``correct`` is 1 if
        this ranker is the Condorcet winner, 0 if it is not, and NaN if there is no Condorcet winner.
        """
        return self._joined(lambda results: self._table(results, regrets), facts=True)

    def final(self, regrets: Sequence[str] = ()) -> pd.DataFrame:
        """Return the last row of each run in `to_frame`, with a further column ``identified_at``.

        The column contains the checkpoint from which on the run always recommends the Condorcet winner. It is infinite
        if the run recommends another ranker at its end, and NaN if there is no Condorcet winner.
        """

        def last_rows(results: Results) -> pd.DataFrame:
            return identified(self._table(results, regrets), results.matrix.condorcet_winner)

        return self._joined(last_rows, facts=True)

    def _table(self, results: Results, regrets: Sequence[str]) -> pd.DataFrame:
        return with_correct(results.to_frame(regrets or self.regrets), results.matrix.condorcet_winner)

    def summary(self, column: str = "") -> pd.DataFrame:
        """Summarise all results in one table, as `ltr_duel.simulation.Results.summary` does for one problem.

        By default, average regret is summarised. If a problem has no Condorcet winner, its Copeland regret is
        summarised instead, and a last column ``regret`` names the regret of each row.
        """
        if column:
            return self._joined(lambda results: results.summary(column), last=True)

        def labelled(results: Results) -> pd.DataFrame:
            defined = core_columns.REGRET if results.matrix.condorcet_winner else core_columns.COPELAND
            return results.summary(defined).assign(regret=core_columns.regret_label(defined))

        frame = self._joined(labelled, last=True)
        usual = core_columns.regret_label(core_columns.REGRET)
        return frame.drop(columns="regret") if (frame["regret"] == usual).all() else frame

    def _joined(
        self, table: Callable[[Results], pd.DataFrame], *, facts: bool = False, last: bool = False
    ) -> pd.DataFrame:
        parts = []
        for problem, horizon, values in self.conditions:
            if not self._finished(problem, horizon):
                continue
            frame = table(self._results(problem, horizon, last=last))
            frame.insert(1 if facts else 0, core_columns.HORIZON, horizon)
            columns = [(core_columns.PROBLEM, problem), *(sorted(values.items()) if facts else ())]
            for position, (name, value) in enumerate(columns):
                frame.insert(position, name, value)
            for policy in frame[core_columns.POLICY].unique() if facts else ():
                for name in (core_columns.METHOD, core_columns.OUTCOME):
                    if value := self.sets[problem, policy].get(name):
                        frame.loc[frame[core_columns.POLICY] == policy, name] = value
            parts.append(frame)
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    def _record(self, problem: str) -> dict[str, Any]:
        if problem not in self._problems:
            raise errors.unknown_name("problem", problem, self.problems)
        return self._problems[problem]

    def _finished(self, problem: str, horizon: int) -> list[_Finished]:
        wanted = (problem, horizon)
        return [done for done in self._groups if (done.problem["name"], done.group.horizon) == wanted]

    def _refuse_conflicts(self) -> None:
        problems: dict[str, _Finished] = {}
        rows: dict[tuple[str, str, int], _Finished] = {}
        for new in self._groups:
            name, label = new.problem["name"], new.group.label
            first, why = problems.setdefault(name, new), f"different problems '{name}'"
            if first.problem["digest"] == new.problem["digest"]:
                first = rows.setdefault((name, label, new.group.horizon), new)
                if first is new:
                    continue
                key, other = (finished.study.key(finished.group) for finished in (first, new))
                differ = " and ".join(field for field in key if key[field] != other[field])
                why = f"results of '{label}' with different {differ}"
            both = _listed([first.study, new.study])
            raise InputError(f"{self._store.folder}: the studies {both} have {why}; choose one with --study")


def _chosen(store: Store, wanted: Sequence[str]) -> list[Study]:
    studies = store.read_studies()
    if chosen := [study for study in studies if not wanted or study.digest.startswith(tuple(wanted))]:
        return chosen
    raise InputError(f"{store.folder}: no study {' or '.join(wanted)}; it contains {_listed(studies) or 'none'}")


def _listed(studies: Sequence[Study]) -> str:
    return " and ".join(f"{study.digest[:_SHORT]} ({study.record['spec_path']})" for study in studies)
