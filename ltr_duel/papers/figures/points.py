"""From runs to the points of a figure: mean and spread for each policy, problem and checkpoint."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

SPREADS = {"sd": "standard deviation", "range": "best and worst run", "none": ""}


def shown(frame: pd.DataFrame, by: Sequence[str] = ("problem",)) -> pd.DataFrame:
    """Leave out what no figure shows: of a policy with several horizons only the end of each run.

    Such a policy is another algorithm for each horizon, and what it paid on the way to one is not what another paid.
    """
    several = frame.groupby([*by, "policy"], sort=False)["horizon"].transform("nunique") > 1
    return frame[~several | (frame["t"] == frame["horizon"])].assign(separate=several)


def final(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the end of the longest runs of each policy on each problem."""
    longest = frame.groupby(["problem", "policy"], sort=False)["horizon"].transform("max")
    return frame[(frame["horizon"] == longest) & (frame["t"] == longest)]


def points(frame: pd.DataFrame, keys: Sequence[str], column: str) -> pd.DataFrame:
    """Return runs, mean, sd (n - 1; zero for a single run), low and high (least and largest) for each group.

    Parameters
    ----------
    frame : DataFrame
    keys : sequence of str
        The columns that make a group; groups stand in the order of first appearance of all but the last key, which
        is sorted.
    column : str
        What is averaged. Rows where it is not known are left out.
    """
    known = frame[frame[column].notna()]
    line = known.groupby(list(keys[:-1]), sort=False, dropna=False).ngroup() if len(keys) > 1 else 0
    known = known.assign(_line=line)
    table = known.groupby(["_line", keys[-1]])[column].agg(runs="count", mean="mean", sd="std", low="min", high="max")
    table["sd"] = table["sd"].fillna(0.0)
    names = known[["_line", *keys[:-1]]].drop_duplicates("_line")
    return names.merge(table.reset_index(), on="_line").drop(columns="_line")
