"""Statistics of simulated runs: means with their spread, the steps until a policy finds the winner, and tests.

The tests are paired, which means that they compare two policies within each repetition. The policies of a repetition
share random numbers, so that tests of independent samples would be wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ltr_duel.bandits import named_policy
from ltr_duel.core import FloatVector, columns, errors
from ltr_duel.core import statistics as core_statistics

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
SPREADS = {
    "quantiles": "10th to 90th percentile",
    "standard error": "two standard errors of the mean",
    "sd": "standard deviation",
    "range": "best and worst run",
    "none": "",
}


def final_rows(frame: pd.DataFrame, groups: Sequence[str] = ()) -> pd.DataFrame:
    """Return the rows of the last step in a table.

    Parameters
    ----------
    frame : DataFrame
        A table with a column ``t``, the number of steps.
    groups : sequence of str
        The names of columns that divide the table into groups. The rows of the last step of each group are returned.

    Returns
    -------
    DataFrame
        The rows, in the order of ``frame``.

    Examples
    --------
    >>> frame = pd.DataFrame({"policy": ["a", "a", "b"], "t": [1, 10, 5], "regret_average": [0.1, 1.0, 2.0]})
    >>> final_rows(frame)["policy"].to_list(), final_rows(frame, ["policy"])["policy"].to_list()
    (['a'], ['a', 'b'])
    """
    longest = frame.groupby(list(groups), sort=False)[columns.T].transform("max") if groups else frame[columns.T].max()
    return frame[frame[columns.T] == longest]


def comparable_rows(frame: pd.DataFrame, groups: Sequence[str] = ()) -> pd.DataFrame:
    """Return the rows of a table that can be drawn, as a curve over the steps or as a single point.

    A policy gets no curve if it must know the horizon, because it would make other choices in a shorter run. A policy
    also gets no curve if its runs in one of the ``groups`` have several horizons. For a policy without a curve, only
    the last row of each run is kept, and the new column ``separate`` is true.
    """
    lines = frame.groupby([*groups, columns.POLICY], sort=False)
    knowing = {
        label for label in frame[columns.POLICY].unique() if (policy := named_policy(label)) and policy.needs_horizon
    }
    separate = frame[columns.POLICY].isin(knowing)
    if columns.HORIZON in frame:
        separate |= lines[columns.HORIZON].transform("nunique") > 1
    ends = frame[columns.HORIZON] if columns.HORIZON in frame else lines[columns.T].transform("max")
    return frame[~separate | (frame[columns.T] == ends)].assign(separate=separate)


def with_correct(frame: pd.DataFrame, winner: str | None) -> pd.DataFrame:
    """Add the column ``correct``: 1 if the Condorcet winner is recommended, 0 if not, and NaN if there is no winner."""
    return frame.assign(**{columns.CORRECT: (frame[columns.RECOMMENDED] == winner).astype(float) if winner else np.nan})


def identified(frame: pd.DataFrame, winner: str | None) -> pd.DataFrame:
    """Return the last row of each run, with a new column ``identified_at``.

    The column holds the first checkpoint after which the run recommends only the winner. It is infinite if the run ends
    with another recommendation, and NaN if there is no winner.
    """
    run = frame.groupby([columns.POLICY, columns.REPETITION], sort=False).ngroup()
    missed = frame[columns.RECOMMENDED] != winner
    missed = missed[::-1].groupby(run[::-1]).cummax()[::-1]  # at this checkpoint or at a later one
    times = frame[columns.T].astype(float).mask(missed, np.inf).groupby(run).min()
    if not winner:
        times[:] = np.nan
    return frame.groupby(run).tail(1).reset_index(drop=True).assign(**{columns.IDENTIFIED_AT: times.to_numpy()})


def averaged(frame: pd.DataFrame, keys: Sequence[str], column: str, spread: str = "range") -> pd.DataFrame:
    """Return the mean of a column over runs, with a spread.

    Parameters
    ----------
    frame : DataFrame
    keys : sequence of str
        The columns that divide the table into groups. The mean of each group is returned, sorted by the last column.
    column : str
        The column to average. NaN values are ignored.
    spread : {"quantiles", "standard error", "sd", "range", "none"}
        The measure of spread from which ``low`` and ``high`` are computed, see `SPREADS`.

    Returns
    -------
    DataFrame
        Columns: the keys, runs (their number), mean, sd (0 for a single run), low and high.

    Raises
    ------
    InputError
        If the spread or the column does not exist.

    Examples
    --------
    >>> frame = pd.DataFrame({"policy": "rucb", "t": [10, 10, 20], "regret_average": [1.0, 3.0, 4.0]})
    >>> averaged(frame, ["policy", "t"], "regret_average")[["t", "runs", "mean", "low", "high"]].to_numpy().tolist()
    [[10.0, 2.0, 2.0, 1.0, 3.0], [20.0, 1.0, 4.0, 4.0, 4.0]]
    """
    errors.require_one_of("spread", spread, SPREADS)
    errors.require_one_of("column", column, frame.columns)
    rows = frame[frame[column].notna()]
    line = rows.groupby(list(keys[:-1]), sort=False, dropna=False).ngroup() if len(keys) > 1 else 0
    rows = rows.assign(_line=line)
    groups = rows.groupby(["_line", keys[-1]])[column]
    table = groups.agg(runs="count", mean="mean", sd="std", low="min", high="max").fillna({"sd": 0.0})
    if spread == "quantiles":
        table["low"], table["high"] = groups.quantile(QUANTILES[0]), groups.quantile(QUANTILES[-1])
    elif spread != "range":
        reach = {"standard error": 2 * groups.sem().fillna(0.0), "sd": table["sd"], "none": 0.0}[spread]
        table["low"], table["high"] = table["mean"] - reach, table["mean"] + reach
    names = rows[["_line", *keys[:-1]]].drop_duplicates("_line")
    return names.merge(table.reset_index(), on="_line").drop(columns="_line")


def summarise(frame: pd.DataFrame, column: str = columns.REGRET) -> pd.DataFrame:
    """Return the table of `Results.summary`.

    frame: a table with the columns policy, repetition and t, and the column to summarise.
    """
    errors.require_one_of("column", column, frame.columns)
    values = final_rows(frame).pivot(index=columns.REPETITION, columns=columns.POLICY, values=column)
    values = values[list(dict.fromkeys(frame[columns.POLICY]))]
    best = values.mean().idxmin() if values.notna().any(axis=None) else None
    rows = []
    for policy in values.columns:
        own = values[policy].dropna()
        quantiles = dict(zip(("q10", "q25", "median", "q75", "q90"), own.quantile(list(QUANTILES)), strict=True))
        row = {columns.POLICY: policy, "runs": len(own), "mean": own.mean(), "sd": own.std(), "se": own.sem()}
        differences = np.empty(0) if best in (None, policy) else (values[policy] - values[best]).dropna().to_numpy()
        rows.append(row | quantiles | _paired(differences))
    table, policies = pd.DataFrame(rows), values.shape[1]
    for name in ("p_wilcoxon", "p_t"):
        table[name] = core_statistics.holm(table[name].to_numpy(np.float64), policies * (policies - 1) // 2)
    return table


def _paired(difference: FloatVector) -> dict[str, float]:
    if len(difference) < 2:
        return dict.fromkeys(("difference", "p_wilcoxon", "p_t", "effect", "probability"), float("nan"))
    mean, spread, same = float(difference.mean()), difference.std(ddof=1), not difference.any()
    return {
        "difference": mean,
        "p_wilcoxon": 1.0 if same else core_statistics.signed_rank_p(difference),
        "p_t": 1.0 if same else core_statistics.mean_test(difference),
        "effect": 0.0 if same else mean / spread if spread > 0 else float("nan"),
        "probability": float((difference > 0).mean() + 0.5 * (difference == 0).mean()),
    }
