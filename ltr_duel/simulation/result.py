"""What simulations leave behind: one run, and the tidy table of many."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ltr_duel.core import (
    CORRECT,
    POLICY,
    RECOMMENDED,
    REGRET,
    REPETITION,
    FloatMatrix,
    FloatVector,
    InputError,
    IntMatrix,
    IntVector,
    T,
    as_names,
    as_path,
    frozen,
    notebook_html,
    regret_column,
    replacing,
    replacing_files,
    require_one_of,
    shown,
)
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.simulation.regret import DEFAULT_REGRETS, MEASURED, REGRETS, cumulative_regret, loss_per_arm
from ltr_duel.simulation.statistics import final_rows, identification_time, with_correct

_TOGETHER = 256  # runs whose regret is computed at once


@dataclass(frozen=True)
class RunKey:
    """Everything that determines a run. Its digest names it.

    Parameters
    ----------
    oracle : dict
        What determines the law of the answers, as JSON.
    policy : str
    params : dict
    horizon, repetition, seed : int
    checkpoints_per_decade : int
    measured_by : str
        Digest of the preference matrix that says which arm of a slate is the better one, where that is not the
        oracle's own.
    source : str
        SHA-256 of the file that defines the policy, where that is not this package.

    Examples
    --------
    >>> key = RunKey({"oracle": "matrix"}, "rucb", {"alpha": 0.51}, horizon=100, repetition=0, seed=1)
    >>> key.configuration, len(key.digest)
    ('rucb:{"alpha": 0.51}', 64)
    """

    oracle: dict[str, Any] = field(repr=False)
    policy: str
    params: dict[str, Any]
    horizon: int
    repetition: int
    seed: int
    checkpoints_per_decade: int = 20
    measured_by: str = ""
    source: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 of the key as canonical JSON."""
        return hashlib.sha256(json.dumps(self.__dict__, sort_keys=True).encode()).hexdigest()

    @property
    def configuration(self) -> str:
        """The policy with all its parameters, in one canonical form however the user wrote it."""
        return f"{self.policy}:{json.dumps(self.params, sort_keys=True)}"


@dataclass(frozen=True, eq=False)
class RunResult:
    """One run. C checkpoints, K arms.

    Parameters
    ----------
    key : RunKey
    label : str
        How the user named the policy.
    checkpoints : ndarray of int64, shape (C,)
    pulls : ndarray of int64, shape (C, K)
        How often each arm was compared up to the checkpoint; an arm against itself counts twice.
    exposure : ndarray of float64, shape (C, K)
        Impressions each arm had; a row adds up to t.
    recommended : ndarray of int64, shape (C,)
        The arm that the policy would choose if it had to stop.
    decisions : int
        Steps in which the policy was asked; the others were jumped over.
    best, worst : ndarray of int64, shape (C, K), optional
        Steps in which the arm was the best, and the worst, of those compared. Strong and weak regret need them.

    Examples
    --------
    >>> from ltr_duel.preferences import synthetic_preferences
    >>> from ltr_duel.simulation import simulate
    >>> results = simulate(synthetic_preferences("arithmetic"), "rucb", horizon=100, repetitions=2, jobs=1)
    >>> run = results.runs[0]
    >>> int(run.checkpoints[-1]), int(run.pulls[-1].sum()), run.exposure[-1].sum()
    (100, 200, np.float64(100.0))
    """

    key: RunKey
    label: str
    checkpoints: IntVector
    pulls: IntMatrix
    exposure: FloatMatrix
    recommended: IntVector
    decisions: int
    best: IntMatrix | None = None
    worst: IntMatrix | None = None

    def __post_init__(self) -> None:
        for name in ("checkpoints", "pulls", "exposure", "recommended", "best", "worst"):
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, frozen(given))

    def regret(self, matrix: PreferenceMatrix, name: str, values: FloatVector | None = None) -> FloatVector:
        """Return the cumulative regret at each checkpoint, shape (C,); NaN where it is not defined.

        Parameters
        ----------
        matrix : PreferenceMatrix
        name : str
            One of `ltr_duel.simulation.regret.REGRETS`.
        values : ndarray of float64, shape (K,), optional
            Utilities or NDCG of the arms, for the regrets of these names.
        """
        require_one_of("regret", name, REGRETS)
        counts = getattr(self, REGRETS[name].counts)
        if counts is None:
            return np.full(len(self.checkpoints), np.nan)
        return cumulative_regret(counts, loss_per_arm(matrix, REGRETS[name].loss, values))


class Results:
    """The runs of one study, and the matrix that regret is measured by.

    Parameters
    ----------
    runs : sequence of RunResult
    matrix : PreferenceMatrix
        Arms in the order of the runs' columns.
    values : mapping of str to ndarray, shape (K,), optional
        ``utility`` and ``ndcg`` of each arm; where given, the regrets of these names are known too.

    Raises
    ------
    InputError
        If runs and matrix have another number of arms, or there is not a value for each arm.

    Examples
    --------
    >>> from ltr_duel.preferences import synthetic_preferences
    >>> from ltr_duel.simulation import simulate
    >>> results = simulate(synthetic_preferences("arithmetic"), "rucb", horizon=100, repetitions=2, jobs=1)
    >>> results.policies, len(results.to_frame()) == sum(len(run.checkpoints) for run in results.runs)
    (['rucb'], True)
    """

    def __init__(
        self,
        runs: Sequence[RunResult],
        matrix: PreferenceMatrix,
        values: Mapping[str, FloatVector] | None = None,
    ) -> None:
        if not isinstance(matrix, PreferenceMatrix):
            raise InputError(f"regret is measured by a PreferenceMatrix, not by {shown(matrix)}")
        self.runs = tuple(runs) if isinstance(runs, Iterable) else (runs,)
        for run in self.runs:
            if not isinstance(run, RunResult):
                raise InputError(f"results are made of a list of RunResult, not of {shown(run)}")
            if run.pulls.shape[1:] != (len(matrix),):
                raise InputError(f"the run '{run.label}' has {run.pulls.shape[-1]} arms; the matrix has {len(matrix)}")
        self.matrix = matrix
        measured = {} if values is None else values
        if not isinstance(measured, Mapping):
            raise InputError(f"values are given by name, {{'utility': [...]}}, not as {shown(values)}")
        self.values = {name: _own_values(name, given, len(matrix)) for name, given in measured.items()}

    def __repr__(self) -> str:
        return f"<{self._said()}>"

    def _repr_html_(self) -> str:
        if not self.runs:
            return notebook_html([self._said()])
        header = ("policy", "average regret", "Copeland regret", "names the winner", "steps to the winner")
        said = [self._said(), "Means over the runs at the horizon; of the steps to the winner the median."]
        return notebook_html(said, header, self.final().to_numpy().tolist())

    def _said(self) -> str:
        longest = max((int(run.checkpoints[-1]) for run in self.runs), default=0)
        return (
            f"Results: {len(self.runs):,} runs of {len(self.policies):,} policies, {len(self.matrix):,} rankers,"
            f" up to {longest:,} steps"
        )

    def to_frame(self, regrets: Sequence[str] = ()) -> pd.DataFrame:
        """Return the tidy table, one row for each policy, repetition and checkpoint.

        Parameters
        ----------
        regrets : sequence of str
            Which to compute (`ltr_duel.simulation.regret.REGRETS`); by default all that need only the matrix.

        Columns
        -------
        policy : str
        repetition : int
        t : int
            Steps so far.
        regret_average, regret_strong, regret_weak : float
            Cumulative; NaN where there is no Condorcet winner.
        regret_copeland, regret_borda : float
            Cumulative.
        recommended : str
            The ranker that the policy would choose at t.
        """
        wanted = tuple(as_names("regrets", regrets)) or (*DEFAULT_REGRETS, *self.values)
        if not self.runs:
            raise InputError("there is no run")
        names, rows = np.array(self.matrix.names, dtype=object), [len(run.checkpoints) for run in self.runs]
        columns: dict[str, Any] = {
            POLICY: np.repeat(np.array([run.label for run in self.runs], dtype=object), rows),
            REPETITION: np.repeat([run.key.repetition for run in self.runs], rows),
            T: np.concatenate([run.checkpoints for run in self.runs]),
        }
        for name in wanted:
            columns[regret_column(name)] = self._regret(name)
        recommended = names[np.concatenate([run.recommended for run in self.runs])]
        return pd.DataFrame(columns | {RECOMMENDED: recommended})

    def _regret(self, name: str) -> FloatVector:
        """Return `RunResult.regret` of all runs, one after the other; many runs at a time, for speed."""
        require_one_of("regret", name, REGRETS)
        counted, loss = REGRETS[name].counts, loss_per_arm(self.matrix, REGRETS[name].loss, self.values.get(name))
        parts = []
        for first in range(0, len(self.runs), _TOGETHER):
            runs = self.runs[first : first + _TOGETHER]
            if any(getattr(run, counted) is None for run in runs):
                parts += [run.regret(self.matrix, name, self.values.get(name)) for run in runs]
            else:
                parts.append(cumulative_regret(np.concatenate([getattr(run, counted) for run in runs]), loss))
        return np.concatenate(parts)

    def pulls_frame(self) -> pd.DataFrame:
        """Return the pulls: columns policy, repetition, t, arm, pulls, exposure."""
        parts, size = [], len(self.matrix)
        if not self.runs:
            raise InputError("there is no run")
        for run in self.runs:
            rows = len(run.checkpoints)
            parts.append(
                pd.DataFrame(
                    {
                        POLICY: pd.Categorical([run.label] * (rows * size), categories=self.policies),
                        REPETITION: run.key.repetition,
                        T: np.repeat(run.checkpoints, size),
                        "arm": pd.Categorical(list(self.matrix.names) * rows, categories=list(self.matrix.names)),
                        "pulls": run.pulls.ravel(),
                        "exposure": run.exposure.ravel(),
                    }
                )
            )
        return pd.concat(parts, ignore_index=True)

    @property
    def policies(self) -> list[str]:
        """Labels of the policies, in the order given."""
        return list(dict.fromkeys(run.label for run in self.runs))

    def final(self) -> pd.DataFrame:
        """Return, for each policy, the mean regret at the horizon and the share of runs that name the winner.

        Columns: policy, regret_average, regret_copeland (means over repetitions), accuracy (NaN without a Condorcet
        winner), steps_to_winner (median identification time: the first checkpoint from which on the winner is
        recommended; infinite where it is not recommended at the end).
        """
        winner = self.matrix.condorcet_winner
        frame = with_correct(self.to_frame(("average", "copeland")), winner)
        rows = []
        for policy, mine in frame.groupby(POLICY, sort=False):
            last = final_rows(mine)
            times = [identification_time(run, winner) for _, run in mine.groupby(REPETITION)]
            rows.append(
                {
                    POLICY: policy,
                    REGRET: last[REGRET].mean(),
                    regret_column("copeland"): last[regret_column("copeland")].mean(),
                    "accuracy": last[CORRECT].mean(),
                    "steps_to_winner": float(np.median(times)) if winner else np.nan,
                }
            )
        return pd.DataFrame(rows)

    def summary(self, column: str = REGRET) -> pd.DataFrame:
        """Return mean, spread and quantiles at the horizon for each policy, tested against the best one, run by run.

        See `summarise` for the columns.
        """
        from ltr_duel.simulation.summary import summarise  # scipy.stats is slow to import

        return summarise(self.to_frame(), column)

    def to_csv(self, path: str | Path) -> Path:
        """Write the tidy table as text; numbers with all their digits."""
        path = as_path("a table", path)
        with replacing(path) as temporary:
            self.to_frame().to_csv(temporary, index=False, lineterminator="\n")
        return path

    def save(self, folder: str | Path) -> Path:
        """Write results.parquet, pulls.parquet and runs.json: the same bytes whenever and wherever they are made."""
        runs = [{"digest": run.key.digest, "decisions": run.decisions, **run.key.__dict__} for run in self.runs]
        folder = as_path("results", folder)
        with replacing_files(folder) as temporary:
            for name, frame in (("results", self.to_frame()), ("pulls", self.pulls_frame())):
                pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), temporary / f"{name}.parquet")
            (temporary / "runs.json").write_text(json.dumps(runs, indent=1, sort_keys=True))
        return folder / "results.parquet"


def _own_values(name: str, given: object, size: int) -> FloatVector:
    """Return one number for each arm, in a read-only array."""
    require_one_of("regret that is measured by values", name, MEASURED)
    try:
        values: FloatVector = frozen(given, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be {size} numbers, one for each arm, not {shown(given)}") from None
    if values.shape != (size,):
        raise InputError(f"{name} must be {size} numbers, one for each arm, not of shape {values.shape}")
    return values
