"""Measures of what runs paid at the end: ratios, places, spread, and what was paid late."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ltr_duel.papers.checks.measure import Missing, Reading, deviation, mean, measured_by, reading, resampled
from ltr_duel.papers.checks.rows import Selection, at_the_end, grouped, select, side_by_side

REGRET = "regret_average"


@measured_by("ratio", "mean {column} at the end: {of}, divided by {to}")
def ratio(panel: pd.DataFrame, *, of: Selection, to: Selection, column: str = REGRET) -> Reading:
    """Divide two means; runs are paired where they can be."""
    groups = side_by_side([select(panel, of), select(panel, to)], column)
    means = np.concatenate(resampled(groups, mean), axis=1)
    return reading(means[:, 0] / means[:, 1], min(one.units for one in groups))


@measured_by("spread", "standard deviation of {column} at the end: {of}, divided by {to}")
def spread(panel: pd.DataFrame, *, of: Selection, to: Selection, column: str = REGRET) -> Reading:
    """Divide two standard deviations over runs."""
    groups = side_by_side([select(panel, of), select(panel, to)], column)
    if min(one.units for one in groups) < 3:
        raise Missing("two repetitions give no error of a standard deviation")
    deviations = np.concatenate(resampled(groups, deviation), axis=1)
    if not deviations[0, 1]:
        raise Missing("all runs paid the same")
    with np.errstate(divide="ignore", invalid="ignore"):
        return reading(deviations[:, 0] / deviations[:, 1], min(one.units for one in groups))


@measured_by("place", "place of {policy} by mean {column} at the end, counted from the {counted_from}")
def place(
    panel: pd.DataFrame,
    *,
    policy: Selection,
    among: list[str] | None = None,
    counted_from: str = "least",
    column: str = REGRET,
) -> Reading:
    """Count how many others paid less (or more, counted from the greatest), and one."""
    mine = select(panel, policy)
    if among is None:
        others = [rows for label, rows in panel.groupby("policy", sort=False) if label not in set(mine["policy"])]
    else:
        others = [select(panel, name) for name in among]
    if not others:
        raise Missing("there is nobody to compare with")
    groups = side_by_side([mine, *others], column)
    means = np.concatenate(resampled(groups, mean), axis=1)
    ahead = means[:, 1:] < means[:, :1] if counted_from == "least" else means[:, 1:] > means[:, :1]
    return reading(1.0 + ahead.sum(axis=1), min(one.units for one in groups))


@measured_by("late", "share of the final {column} of {policy} that was paid in the last half of the steps")
def late(panel: pd.DataFrame, *, policy: Selection, column: str = REGRET) -> Reading:
    """Near 0 for a policy that has converged, 1/2 for one that pays as at the beginning."""
    rows = select(panel, policy)
    end = int(rows["t"].max())
    rows = rows[rows["horizon"] == rows["horizon"].max()]
    half = at_the_end(rows[rows["t"] <= end / 2], column)
    group = grouped(rows, [half, at_the_end(rows, column)])
    (means,) = resampled([group], mean)
    return reading(1 - means[:, 0] / means[:, 1], group.units)
