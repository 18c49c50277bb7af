"""Measures of tables and exact curves: the value of a cell, its distance from the printed one, a curve's shape.

Such numbers carry their own ``standard_error`` if they have one; else they are exact.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ltr_duel.core import FloatVector
from ltr_duel.papers.checks.measure import Missing, Reading, measured_by
from ltr_duel.papers.checks.rows import Selection, select
from ltr_duel.simulation import normal_reach


@measured_by("value", "[{take} ]{column}")
def value(panel: pd.DataFrame, *, column: str = "value", take: str | None = None) -> Reading:
    """Read a cell, or the least, the greatest or the mean of several.

    Parameters
    ----------
    panel : DataFrame
    column : str
    take : {"mean", "least", "greatest"}, optional
        Without it there must be one row.
    """
    values, errors = _numbers(panel, column)
    if take is None and len(values) > 1:
        raise Missing(f"one cell was expected, there are {len(values)}")
    if take in (None, "mean"):
        return _with_error(float(values.mean()), float(np.sqrt((errors**2).sum()) / len(values)))
    choose = np.min if take == "least" else np.max
    ends = (values, values - normal_reach(errors), values + normal_reach(errors))
    return Reading(*(float(choose(one)) for one in ends))


@measured_by("against_printed", "{column} divided by the printed value")
def against_printed(panel: pd.DataFrame, *, column: str = "value", printed: str = "printed") -> Reading:
    """1 if the measured value is the printed one; the mean over the rows of a panel."""
    known = panel.dropna(subset=[printed]) if printed in panel else panel.iloc[:0]
    if known.empty:
        raise Missing("there is no printed value")
    values, errors = _numbers(known, column)
    target = known[printed].to_numpy(np.float64)
    error = float(np.sqrt(((errors / target) ** 2).sum()) / len(values))
    return _with_error(float(np.mean(values / target)), error)


@measured_by("cell_ratio", "{column}: {of}, divided by {to}")
def cell_ratio(panel: pd.DataFrame, *, of: Selection, to: Selection, column: str = "value") -> Reading:
    """Divide two cells; the error is that of the logarithm, to first order."""
    (mine, my_error), (its, its_error) = (_numbers(select(panel, side), column) for side in (of, to))
    if len(mine) != 1 or len(its) != 1:
        raise Missing("a ratio is of two cells")
    if mine[0] <= 0 or its[0] <= 0:
        raise Missing("a ratio of zeros says nothing")
    ratio, error = float(mine[0] / its[0]), float(np.hypot(my_error[0] / mine[0], its_error[0] / its[0]))
    wide = float(normal_reach(error))
    return Reading(ratio, ratio * float(np.exp(-wide)), ratio * float(np.exp(wide)))


@measured_by("valley", "share of the ups and downs of {column} along {along} that first falls, then rises")
def valley(panel: pd.DataFrame, *, along: str, column: str = "value") -> Reading:
    """1 for a curve that falls to one lowest point between its ends and rises from there; 0 if it has no such point."""
    curve = _along(panel, along, column)
    lowest = int(np.argmin(curve))
    steps = np.diff(curve)
    wrong = np.clip(steps[:lowest], 0, None).sum() + np.clip(-steps[lowest:], 0, None).sum()
    inside = curve[lowest] < min(curve[0], curve[-1])
    share = float(1 - wrong / np.abs(steps).sum()) if inside else 0.0
    return Reading(share, share, share)


@measured_by("reached", "{along} from which on {column} is below {level}")
def reached(panel: pd.DataFrame, *, along: str, level: float, column: str = "value") -> Reading:
    """Give the first point of the axis from which on the curve stays below a level; infinite if it never does."""
    curve = _along(panel, along, column)
    axis = np.sort(panel[along].to_numpy(np.float64))
    above = np.flatnonzero(curve >= level)
    first = 0 if not len(above) else int(above[-1]) + 1
    where = float(axis[first]) if first < len(axis) else np.inf
    return Reading(where, where, where)


def _with_error(number: float, error: float) -> Reading:
    return Reading(number, number - float(normal_reach(error)), number + float(normal_reach(error)))


def _along(panel: pd.DataFrame, along: str, column: str) -> FloatVector:
    if along not in panel:
        raise Missing(f"there is no column '{along}'")
    ordered = panel.sort_values(along)
    if ordered[along].duplicated().any() or len(ordered) < 3:
        raise Missing(f"there is no curve along '{along}'")
    return _numbers(ordered, column)[0]


def _numbers(panel: pd.DataFrame, column: str) -> tuple[FloatVector, FloatVector]:
    """Return the values and their standard errors, 0 where they are exact."""
    if column not in panel:
        raise Missing(f"there is no column '{column}'")
    values = panel[column].to_numpy(np.float64)
    if np.isnan(values).any():
        raise Missing(f"'{column}' is not known")
    if "standard_error" not in panel:
        return values, np.zeros(len(values))
    return values, panel["standard_error"].fillna(0.0).to_numpy(np.float64)
