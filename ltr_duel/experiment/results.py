"""The results of whole experiments, read from their store: one tidy table over all problems, policies and horizons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ltr_duel.analysis import plot_regret
from ltr_duel.core import InputError, replacing, unknown_name
from ltr_duel.experiment.plan_file import StoredPlan, read_plans
from ltr_duel.experiment.run_file import read_run
from ltr_duel.experiment.store import Store
from ltr_duel.preferences import PreferenceMatrix, load_preferences
from ltr_duel.simulation import Results, identified, summarise, with_correct

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Study:
    """One problem at one horizon: what can be compared with each other."""

    problem: str
    horizon: int
    facts: dict[str, Any]


class StudyResults:
    """The finished runs of a store. Runs are read when they are asked for, one study after the other.

    Parameters
    ----------
    folder : path
        The store.
    plans : sequence of str, optional
        Digests of the plans to read; by default all that were started there.

    Raises
    ------
    InputError
        If the folder holds no results.
    """

    def __init__(self, folder: str | Path, plans: Sequence[str] = ()) -> None:
        self._store = Store(folder)
        self._store.require()
        self._plans = [plan for plan in read_plans(self._store.plans) if not plans or plan.path.stem in plans]
        done = self._store.scan().done
        rows = [plan.runs.to_pandas().assign(plan=number) for number, plan in enumerate(self._plans)]
        self._rows = pd.concat(rows, ignore_index=True)
        self._rows = self._rows[self._rows["digest"].isin(done)]
        self.studies: dict[Study, tuple[StoredPlan, int]] = {}
        self._known: dict[tuple[str, int], Study] = {}
        for plan in self._plans:
            present = set(zip(plan.runs["problem"].to_pylist(), plan.runs["horizon"].to_pylist(), strict=True))
            for number, problem in enumerate(plan.about["problems"]):
                for horizon in sorted(horizon for place, horizon in present if place == number):
                    if (problem["name"], horizon) not in self._known:
                        study = Study(problem["name"], horizon, problem["facts"])
                        self._known[problem["name"], horizon] = study
                        self.studies[study] = (plan, number)

    def __iter__(self) -> Iterator[tuple[Study, Results]]:
        """Yield each study with its results, if any of its runs is done."""
        for study in self.studies:
            results = self.results(study.problem, study.horizon)
            if results.runs:
                yield study, results

    def matrix(self, problem: str) -> PreferenceMatrix:
        """Return the matrix that regret is measured by."""
        about = self._about(problem)[1]
        return load_preferences(self._store.problems / f"{about['digest']}.parquet")

    def results(self, problem: str, horizon: int | None = None) -> Results:
        """Return the results on one problem, at one horizon (the longest, if none is given)."""
        horizons = [study.horizon for study in self.studies if study.problem == problem]
        chosen = horizon or max(horizons, default=0)
        if chosen not in horizons and horizons:
            raise InputError(f"no runs on '{problem}' with horizon {chosen:,} ({', '.join(map(str, horizons))})")
        about, parts = self._about(problem)[1], []
        for place, plan in enumerate(self._plans):
            numbers = [k for k, one in enumerate(plan.about["problems"]) if one["digest"] == about["digest"]]
            rows = self._rows
            parts.append(rows[(rows["plan"] == place) & (rows["horizon"] == chosen) & rows["problem"].isin(numbers)])
        wanted = pd.concat(parts).drop_duplicates("digest")
        runs = [
            read_run(self._store.run_path(digest), label)
            for digest, label in zip(wanted["digest"], wanted["label"], strict=True)
        ]
        values = {name: np.array(one) for name, one in about.get("values", {}).items()}
        return Results(runs, self.matrix(problem), values)

    @property
    def problems(self) -> list[str]:
        """Names of the problems, in the order of the files."""
        return list(dict.fromkeys(study.problem for study in self.studies))

    @property
    def regrets(self) -> list[str]:
        """The regrets that the experiments asked for."""
        return list(dict.fromkeys(name for plan in self._plans for name in plan.about["regrets"]))

    def to_frame(self, regrets: Sequence[str] = ()) -> pd.DataFrame:
        """Return the tidy table: one row for each run and checkpoint.

        Columns
        -------
        problem : str
        rankers : int
            Arms of the problem, K.
        source, corpus, clicks, method, outcome, top, answers, model, family, size, gamma, gap, draw, subset
            What the problem is made of; only those that some problem has.
        policy : str
        horizon, repetition, t : int
        regret_average, ... : float
            Cumulative; those that were asked for, by default those that the experiments name.
        recommended : str
            The ranker that the policy would choose at t.
        correct : float
            1 if that is the Condorcet winner, else 0; NaN where there is none.
        """
        return self._table(tuple(regrets), at_the_end=False)

    def final(self, regrets: Sequence[str] = ()) -> pd.DataFrame:
        """Return the last checkpoint of each run: `to_frame`, and ``identified_at``.

        That is the first checkpoint from which on the winner is named at all later ones: infinite where it is not
        named at the end, NaN where there is no winner.
        """
        return self._table(tuple(regrets), at_the_end=True)

    def summary(self, column: str = "regret_average") -> pd.DataFrame:
        """Return `ltr_duel.simulation.summarise` for each problem and horizon, which are its first columns."""
        parts = []
        for study, results in self:
            table = summarise(results.to_frame((column.removeprefix("regret_"),)), column)
            table.insert(0, "horizon", study.horizon)
            table.insert(0, "problem", study.problem)
            parts.append(table)
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    def to_csv(self, path: str | Path) -> Path:
        """Write the tidy table as text; numbers with all their digits."""
        with replacing(Path(path)) as temporary:
            self.to_frame().to_csv(temporary, index=False, lineterminator="\n")
        return Path(path)

    def plot(self, problem: str | None = None, horizon: int | None = None, **options: Any) -> Axes:
        """Draw cumulative regret on one problem (the first, if none is named); see `ltr_duel.analysis.plot_regret`."""
        chosen = problem or self.problems[0]
        return plot_regret(self.results(chosen, horizon), title=chosen, **options)

    def _about(self, problem: str) -> tuple[StoredPlan, dict[str, Any]]:
        for study, (plan, number) in self.studies.items():
            if study.problem == problem:
                return plan, plan.about["problems"][number]
        raise unknown_name("problem", problem, self.problems)

    def _table(self, regrets: tuple[str, ...], *, at_the_end: bool) -> pd.DataFrame:
        parts = []
        for study, results in self:
            winner = results.matrix.condorcet_winner
            frame = with_correct(results.to_frame(regrets or self.regrets), winner)
            if at_the_end:
                frame = identified(frame, winner)
            frame.insert(1, "horizon", study.horizon)
            for place, (name, value) in enumerate([("problem", study.problem), *sorted(study.facts.items())]):
                frame.insert(place, name, value)
            parts.append(frame)
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
