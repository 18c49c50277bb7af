"""What simulations leave behind: one run, and the tidy table of many."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ltr_duel.core.arrays import FloatMatrix, IntMatrix, IntVector
from ltr_duel.core.files import replacing
from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.simulation.regret import cumulative_regret, loss_per_arm

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
    """

    oracle: dict[str, Any] = field(repr=False)
    policy: str
    params: dict[str, Any]
    horizon: int
    repetition: int
    seed: int

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
    """

    key: RunKey
    label: str
    checkpoints: IntVector
    pulls: IntMatrix
    exposure: FloatMatrix
    recommended: IntVector
    decisions: int


class Results:
    """The runs of one study, and the matrix that regret is measured by.

    Parameters
    ----------
    runs : sequence of RunResult
    matrix : PreferenceMatrix
        Arms in the order of the runs' columns.
    """

    def __init__(self, runs: Sequence[RunResult], matrix: PreferenceMatrix) -> None:
        self.runs = tuple(runs)
        self.matrix = matrix

    def to_frame(self) -> pd.DataFrame:
        """Return the tidy table, one row for each policy, repetition and checkpoint.

        Columns
        -------
        policy : str
        repetition : int
        t : int
            Steps so far.
        regret_average : float
            Cumulative; NaN where there is no Condorcet winner.
        regret_copeland : float
            Cumulative.
        recommended : str
            The ranker that the policy would choose at t.
        """
        parts = []
        losses = {f"regret_{name}": loss_per_arm(self.matrix, name) for name in ("average", "copeland")}
        names = np.array(self.matrix.names, dtype=object)
        for run in self.runs:
            regrets = {name: cumulative_regret(run.exposure, loss) for name, loss in losses.items()}
            columns = {"policy": run.label, "repetition": run.key.repetition, "t": run.checkpoints}
            parts.append(pd.DataFrame(columns | regrets | {"recommended": names[run.recommended]}))
        return pd.concat(parts, ignore_index=True)

    def pulls_frame(self) -> pd.DataFrame:
        """Return the pulls: columns policy, repetition, t, arm, pulls, exposure."""
        parts = []
        size = len(self.matrix)
        for run in self.runs:
            rows = len(run.checkpoints)
            parts.append(
                pd.DataFrame(
                    {
                        "policy": pd.Categorical([run.label] * (rows * size), categories=self.policies),
                        "repetition": run.key.repetition,
                        "t": np.repeat(run.checkpoints, size),
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
        winner), steps_to_winner (median over repetitions of the first checkpoint from which on the winner is named;
        infinite where it is not named at the end).
        """
        frame, winner = self.to_frame(), self.matrix.condorcet_winner
        rows = []
        for policy in self.policies:
            mine = frame[frame["policy"] == policy]
            last = mine[mine["t"] == mine["t"].max()]
            steps = [_settled(run, winner) for _, run in mine.groupby("repetition")]
            rows.append(
                {
                    "policy": policy,
                    "regret_average": last["regret_average"].mean(),
                    "regret_copeland": last["regret_copeland"].mean(),
                    "accuracy": (last["recommended"] == winner).mean() if winner else np.nan,
                    "steps_to_winner": float(np.median(steps)) if winner else np.nan,
                }
            )
        return pd.DataFrame(rows)

    def plot(self) -> Figure:
        """Draw cumulative regret against time (see `ltr_duel.analysis.plots.plot_regret`)."""
        from ltr_duel.analysis.plots import plot_regret

        return plot_regret(self.to_frame(), self.matrix)

    def save(self, folder: str | Path) -> Path:
        """Write results.parquet, pulls.parquet and runs.json: the same bytes whenever and wherever they are made."""
        folder = Path(folder)
        for name, frame in (("results", self.to_frame()), ("pulls", self.pulls_frame())):
            with replacing(folder / f"{name}.parquet") as temporary:
                pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), temporary)
        runs = [{"digest": run.key.digest, "decisions": run.decisions, **run.key.__dict__} for run in self.runs]
        with replacing(folder / "runs.json") as temporary:
            temporary.write_text(json.dumps(runs, indent=1, sort_keys=True))
        return folder / "results.parquet"


def _settled(run: pd.DataFrame, winner: str | None) -> float:
    """Return the first checkpoint from which on the winner is recommended at all later ones."""
    wrong = np.flatnonzero((run["recommended"] != winner).to_numpy())
    times = run["t"].to_numpy()
    if len(wrong) == 0:
        return float(times[0])
    return float(times[wrong[-1] + 1]) if wrong[-1] + 1 < len(times) else float("inf")
