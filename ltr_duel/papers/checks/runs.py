"""Measures of runs: regret at the end, its growth along an axis such as the number of rankers, time to the winner."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from ltr_duel.core import FloatMatrix, FloatVector
from ltr_duel.core import columns as col
from ltr_duel.papers.checks.measure import Group, Missing, Reading, deviation, mean, measured_by, reading, resampled
from ltr_duel.papers.checks.rows import Selection, final_values, grouped, select, side_by_side
from ltr_duel.simulation import final_rows


@measured_by("ratio", "mean {column} at the end: {of}, divided by {to}")
def ratio(panel: pd.DataFrame, *, of: Selection, to: Selection, column: str = col.REGRET) -> Reading:
    """Divide two means; runs are paired where they can be."""
    groups = side_by_side([select(panel, of), select(panel, to)], column)
    means = np.concatenate(resampled(groups, mean), axis=1)
    return reading(means[:, 0] / means[:, 1], min(one.units for one in groups))


@measured_by("spread", "standard deviation of {column} at the end: {of}, divided by {to}")
def spread(panel: pd.DataFrame, *, of: Selection, to: Selection, column: str = col.REGRET) -> Reading:
    """Divide two standard deviations over runs."""
    groups = side_by_side([select(panel, of), select(panel, to)], column)
    if min(one.units for one in groups) < 3:
        raise Missing("two repetitions give no error of a standard deviation")
    deviations = np.concatenate(resampled(groups, deviation), axis=1)
    if not deviations[0, 1]:
        raise Missing("all runs have the same regret")
    with np.errstate(divide="ignore", invalid="ignore"):
        return reading(deviations[:, 0] / deviations[:, 1], min(one.units for one in groups))


@measured_by("place", "place of {policy} by mean {column} at the end, counted from the {counted_from}")
def place(
    panel: pd.DataFrame,
    *,
    policy: Selection,
    among: list[str] | None = None,
    counted_from: str = "least",
    column: str = col.REGRET,
) -> Reading:
    """Count how many others have less regret (or more, counted from the greatest), plus one."""
    mine = select(panel, policy)
    if among is None:
        others = [rows for label, rows in panel.groupby(col.POLICY, sort=False) if label not in set(mine[col.POLICY])]
    else:
        others = [select(panel, name) for name in among]
    if not others:
        raise Missing("there is no other policy to compare with")
    groups = side_by_side([mine, *others], column)
    means = np.concatenate(resampled(groups, mean), axis=1)
    ahead = means[:, 1:] < means[:, :1] if counted_from == "least" else means[:, 1:] > means[:, :1]
    return reading(1.0 + ahead.sum(axis=1), min(one.units for one in groups))


@measured_by("late", "share of the final {column} of {policy} that was incurred in the last half of the steps")
def late(panel: pd.DataFrame, *, policy: Selection, column: str = col.REGRET) -> Reading:
    """Near 0 for a policy that has converged, 1/2 for one whose regret grows linearly."""
    rows = select(panel, policy)
    end = int(rows[col.T].max())
    rows = rows[rows[col.HORIZON] == rows[col.HORIZON].max()]
    group = grouped(rows, [final_values(rows[rows[col.T] <= end / 2], column), final_values(rows, column)])
    (means,) = resampled([group], mean)
    return reading(1 - means[:, 0] / means[:, 1], group.units)


class Curve(NamedTuple):
    """Mean values along an axis: (1 + samples, points); and the fewest runs of a point."""

    axis: FloatVector
    means: FloatMatrix
    units: int


@measured_by("growth", "slope of log mean {column} against log {along}: {policy}[, divided by {to}]")
def growth(
    panel: pd.DataFrame, *, policy: Selection, along: str, to: Selection | None = None, column: str = col.REGRET
) -> Reading:
    """Fit the exponent by least squares: 1 is linear, 0 is flat. With ``to``, of the ratio of two policies."""
    curve = _curve(panel, policy, along, column)
    rise = np.log(curve.means)
    if to is not None:
        rise = rise - np.log(_curve(panel, to, along, column).means)
    x = np.log(curve.axis)
    x = x - x.mean()
    return reading(rise @ x / (x @ x), curve.units)


@measured_by("transition", "{along} where mean {column} of {policy} rises most steeply, relative to itself")
def transition(panel: pd.DataFrame, *, policy: Selection, along: str, column: str = col.REGRET) -> Reading:
    """Give the middle of the steepest step of the axis; the interval holds that step whole."""
    curve = _curve(panel, policy, along, column)
    steepest = np.argmax(np.diff(np.log(curve.means), axis=1) / np.diff(curve.axis), axis=1)
    low = reading(curve.axis[steepest], curve.units).low
    high = reading(curve.axis[steepest + 1], curve.units).high
    first = steepest[0]
    return Reading(float(curve.axis[first : first + 2].mean()), low, high)


@measured_by("after_peak", "mean {column} of {policy} at the greatest {along}, divided by the peak of the curve")
def after_peak(panel: pd.DataFrame, *, policy: Selection, along: str, column: str = col.REGRET) -> Reading:
    """1 if the curve ends at its peak."""
    curve = _curve(panel, policy, along, column)
    return reading(curve.means[:, -1] / curve.means.max(axis=1), curve.units)


def _curve(panel: pd.DataFrame, policy: Selection, along: str, column: str) -> Curve:
    if along not in panel:
        raise Missing(f"there is no column '{along}'")
    points = [(float(str(where)), part) for where, part in panel.groupby(along, sort=True)]
    if len(points) < 3:
        raise Missing(f"a curve along '{along}' needs three points, there are {len(points)}")
    groups = [side_by_side([select(part, policy)], column)[0] for _, part in points]
    means = np.concatenate(resampled(groups, mean), axis=1)
    return Curve(np.array([where for where, _ in points]), means, min(one.units for one in groups))


@measured_by("time_ratio", "steps until {levels} of the runs name the winner: {of}, divided by {to} (geometric mean)")
def time_ratio(panel: pd.DataFrame, *, of: Selection, to: Selection, levels: list[float]) -> Reading:
    """Compare the steps to levels of accuracy; between checkpoints accuracy runs straight over log t.

    A policy that was run to several horizons is judged by its recommendation at the end of each. Where only one policy
    reaches a level, the length of the other's longest run counts for it; a level that neither reaches does not count.
    """
    mine, its = (_accuracy(select(panel, side)) for side in (of, to))
    curves = [resampled([group], mean)[0] for _, group in (mine, its)]
    ratios = []
    for level in levels:
        took = _first_at(mine[0], curves[0], level)
        other = _first_at(its[0], curves[1], level)
        if np.isfinite(took[0]) or np.isfinite(other[0]):
            ratios.append(np.minimum(took, mine[0][-1]) / np.minimum(other, its[0][-1]))
    if not ratios:
        raise Missing("neither policy reaches any of the levels of accuracy")
    return reading(np.exp(np.mean(np.log(ratios), axis=0)), min(mine[1].units, its[1].units))


def _accuracy(rows: pd.DataFrame) -> tuple[FloatVector, Group]:
    """Return the steps, and of each run and step 0 or 1: whether the winner was named."""
    if col.CORRECT not in rows or rows[col.CORRECT].isna().any():
        raise Missing("there is no winner to name")
    if rows[col.HORIZON].nunique() > 1:
        rows = final_rows(rows, [col.HORIZON])
    wide = rows.pivot_table(index=[col.PROBLEM, col.REPETITION], columns=col.T, values=col.CORRECT).dropna(axis=1)
    if wide.shape[1] < 2:
        raise Missing("a curve of accuracy needs two checkpoints")
    return wide.columns.to_numpy(np.float64), grouped(rows, [wide[t] for t in wide.columns])


def _first_at(steps: FloatVector, curves: FloatMatrix, level: float) -> FloatVector:
    """Return, for each curve, the step from which on it stays at a level or above; infinite if it never does."""
    below = curves < level
    last = below.shape[1] - 1 - np.argmax(below[:, ::-1], axis=1)  # the last checkpoint below
    before = np.minimum(last, below.shape[1] - 2)
    rows = np.arange(len(curves))
    low, high = curves[rows, before], curves[rows, before + 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip((level - low) / (high - low), 0, 1)
    found = np.exp(np.log(steps[before]) + share * np.log(steps[before + 1] / steps[before]))
    found[last == below.shape[1] - 1] = np.inf
    found[~below.any(axis=1)] = steps[0]
    return found
