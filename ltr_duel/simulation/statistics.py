"""The ends of runs, identification times, and means with a spread."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ltr_duel.bandits import named_policy
from ltr_duel.core import columns, errors

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
SPREADS = {
    "quantiles": "10th to 90th percentile",
    "standard error": "two standard errors of the mean",
    "sd": "standard deviation",
    "range": "best and worst run",
    "none": "",
}


def final_rows(frame: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """Return the rows at the last step of the longest runs.

    Parameters
    ----------
    frame : DataFrame
        A tidy table; column t is needed. Each run has a row at its horizon.
    by : sequence of str
        Columns; the longest runs are found within each combination of their values.

    Returns
    -------
    DataFrame
        Rows of ``frame``, in its order.

    Examples
    --------
    >>> frame = pd.DataFrame({"policy": ["a", "a", "b"], "t": [1, 10, 5], "regret_average": [0.1, 1.0, 2.0]})
    >>> final_rows(frame)["policy"].to_list(), final_rows(frame, ["policy"])["policy"].to_list()
    (['a'], ['a', 'b'])
    """
    longest = frame.groupby(list(by), sort=False)[columns.T].transform("max") if by else frame[columns.T].max()
    return frame[frame[columns.T] == longest]


def comparable_rows(frame: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """Leave out rows that cannot be compared: all but the end of each run of a policy that knows its horizon.

    Such a policy is a different algorithm for each horizon, and its regret before the end predicts nothing about a
    shorter horizon. The same holds for a policy with several horizons: its line would mix runs of different length.

    Parameters
    ----------
    frame : DataFrame
        Without the column horizon all runs of a policy end at the policy's last step.
    by : sequence of str
        Columns, such as problem; the horizons of a policy are counted within each combination of their values.

    Returns
    -------
    DataFrame
        With the column ``separate``: whether only the ends of the policy's runs are kept.

    Examples
    --------
    >>> frame = pd.DataFrame({"policy": ["rucb", "rucb", "savage", "savage"], "horizon": 10, "t": [1, 10, 1, 10]})
    >>> comparable_rows(frame)[["policy", "t"]].to_numpy().tolist()
    [['rucb', 1], ['rucb', 10], ['savage', 10]]
    """
    lines = frame.groupby([*by, columns.POLICY], sort=False)
    knowing = {
        label for label in frame[columns.POLICY].unique() if (policy := named_policy(label)) and policy.needs_horizon
    }
    separate = frame[columns.POLICY].isin(knowing)
    if columns.HORIZON in frame:
        separate |= lines[columns.HORIZON].transform("nunique") > 1
    ends = frame[columns.HORIZON] if columns.HORIZON in frame else lines[columns.T].transform("max")
    return frame[~separate | (frame[columns.T] == ends)].assign(separate=separate)


def with_correct(frame: pd.DataFrame, winner: str | None) -> pd.DataFrame:
    """Add the column ``correct``: 1 where the Condorcet winner is recommended, else 0; NaN if there is none."""
    return frame.assign(**{columns.CORRECT: (frame[columns.RECOMMENDED] == winner).astype(float) if winner else np.nan})


def identification_time(run: pd.DataFrame, winner: str | None) -> float:
    """Return the first checkpoint from which on the winner is recommended; infinite if it is not at the end."""
    wrong = np.flatnonzero((run[columns.RECOMMENDED] != winner).to_numpy())
    times = run[columns.T].to_numpy()
    if len(wrong) == 0:
        return float(times[0])
    return float(times[wrong[-1] + 1]) if wrong[-1] + 1 < len(times) else float("inf")


def identified(frame: pd.DataFrame, winner: str | None) -> pd.DataFrame:
    """Return the last row of each run of one problem with its identification time, the column ``identified_at``."""
    run = frame.groupby([columns.POLICY, columns.REPETITION], sort=False).ngroup()
    wrong = (
        (frame[columns.RECOMMENDED] != winner)[::-1].groupby(run[::-1]).cummax()[::-1]
    )  # here or at a later checkpoint
    times = (
        frame[columns.T].astype(float).mask(wrong, np.inf).groupby(run).min()
    )  # of all runs, in the order of their numbers
    if not winner:
        times[:] = np.nan
    return frame.groupby(run).tail(1).reset_index(drop=True).assign(**{columns.IDENTIFIED_AT: times.to_numpy()})


def averaged(frame: pd.DataFrame, keys: Sequence[str], column: str, spread: str = "range") -> pd.DataFrame:
    """Average over runs.

    Parameters
    ----------
    frame : DataFrame
    keys : sequence of str
        The columns that make a group. Groups are in the order of first appearance of all keys but the last, by which
        they are sorted.
    column : str
        What is averaged. Rows where it is NaN are left out.
    spread : {"quantiles", "standard error", "sd", "range", "none"}
        What ``low`` and ``high`` are, see `SPREADS`.

    Returns
    -------
    DataFrame
        The keys; runs, mean, sd (n - 1; zero for a single run), low and high.

    Raises
    ------
    InputError
        For a spread or a column that does not exist.

    Examples
    --------
    >>> frame = pd.DataFrame({"policy": "rucb", "t": [10, 10, 20], "regret_average": [1.0, 3.0, 4.0]})
    >>> averaged(frame, ["policy", "t"], "regret_average")[["t", "runs", "mean", "low", "high"]].to_numpy().tolist()
    [[10.0, 2.0, 2.0, 1.0, 3.0], [20.0, 1.0, 4.0, 4.0, 4.0]]
    """
    errors.require_one_of("spread", spread, SPREADS)
    if column not in frame:
        raise errors.unknown_name("column", column, [str(name) for name in frame.columns])
    known = frame[frame[column].notna()]
    line = known.groupby(list(keys[:-1]), sort=False, dropna=False).ngroup() if len(keys) > 1 else 0
    known = known.assign(_line=line)
    groups = known.groupby(["_line", keys[-1]])[column]
    table = groups.agg(runs="count", mean="mean", sd="std", low="min", high="max")
    table["sd"] = table["sd"].fillna(0.0)
    if spread == "quantiles":
        table["low"], table["high"] = groups.quantile(QUANTILES[0]), groups.quantile(QUANTILES[-1])
    elif spread != "range":
        reach = {"standard error": 2 * groups.sem().fillna(0.0), "sd": table["sd"], "none": 0.0}[spread]
        table["low"], table["high"] = table["mean"] - reach, table["mean"] + reach
    names = known[["_line", *keys[:-1]]].drop_duplicates("_line")
    return names.merge(table.reset_index(), on="_line").drop(columns="_line")
