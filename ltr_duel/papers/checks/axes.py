"""Measures of a curve along an axis, such as the number of rankers or gamma: how fast it grows, where it turns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from ltr_duel.core import FloatMatrix, FloatVector
from ltr_duel.papers.checks.measure import Missing, Reading, mean, measured_by, reading, resampled
from ltr_duel.papers.checks.rows import Selection, select, side_by_side
from ltr_duel.papers.checks.runs import REGRET


class Curve(NamedTuple):
    """Mean values along an axis: (1 + samples, points); and the fewest runs of a point."""

    axis: FloatVector
    means: FloatMatrix
    units: int


@measured_by("growth", "slope of log mean {column} against log {along}: {policy}[, divided by {to}]")
def growth(
    panel: pd.DataFrame, *, policy: Selection, along: str, to: Selection | None = None, column: str = REGRET
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
def transition(panel: pd.DataFrame, *, policy: Selection, along: str, column: str = REGRET) -> Reading:
    """Give the middle of the steepest step of the axis; the interval holds that step whole."""
    curve = _curve(panel, policy, along, column)
    steepest = np.argmax(np.diff(np.log(curve.means), axis=1) / np.diff(curve.axis), axis=1)
    low = reading(curve.axis[steepest], curve.units).low
    high = reading(curve.axis[steepest + 1], curve.units).high
    first = steepest[0]
    return Reading(float(curve.axis[first : first + 2].mean()), low, high)


@measured_by("after_peak", "mean {column} of {policy} at the greatest {along}, divided by the peak of the curve")
def after_peak(panel: pd.DataFrame, *, policy: Selection, along: str, column: str = REGRET) -> Reading:
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
