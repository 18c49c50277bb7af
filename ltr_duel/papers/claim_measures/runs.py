"""Measures of runs: final regret, its growth along an axis such as the number of rankers, steps to name the winner."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ltr_duel.core import FloatMatrix, FloatVector
from ltr_duel.core import columns as col
from ltr_duel.papers.claim_measures.measure import (
    Group,
    Missing,
    Reading,
    Sample,
    deviations,
    means,
    measured_by,
    reading,
)
from ltr_duel.papers.claim_measures.rows import Selection, final_values, grouped, select, side_by_side
from ltr_duel.simulation import final_rows


def _quotient(sample: Sample, **_: Any) -> Reading:
    found = means(sample)
    return reading(found[:, 0] / found[:, 1], sample.units)


@measured_by("mean {column} at the end: {of}, divided by {to}", find=_quotient)
def ratio(panel: pd.DataFrame, *, of: Selection, to: Selection, column: str = col.REGRET) -> Sample:
    """Divide two means; runs are paired if possible."""
    return Sample(side_by_side([select(panel, of), select(panel, to)], column))


def _quotient_of_spreads(sample: Sample, **_: Any) -> Reading:
    found = deviations(sample)
    with np.errstate(divide="ignore", invalid="ignore"):
        return reading(found[:, 0] / found[:, 1], sample.units)


@measured_by("standard deviation of {column} at the end: {of}, divided by {to}", find=_quotient_of_spreads)
def spread(panel: pd.DataFrame, *, of: Selection, to: Selection, column: str = col.REGRET) -> Sample:
    """Divide two standard deviations over runs."""
    sample = ratio(panel, of=of, to=to, column=column)
    if sample.units < 3:
        raise Missing("two repetitions give no error of a standard deviation")
    if not sample.groups[-1].values[:, -1].std():
        raise Missing("all runs have the same regret")
    return sample


def _rank(sample: Sample, *, counted_from: str = "least", **_: Any) -> Reading:
    found = means(sample)
    ahead = found[:, 1:] < found[:, :1] if counted_from == "least" else found[:, 1:] > found[:, :1]
    return reading(1.0 + ahead.sum(axis=1), sample.units)


@measured_by("place of {policy} by mean {column} at the end, counted from the {counted_from}", find=_rank)
def place(
    panel: pd.DataFrame,
    *,
    policy: Selection,
    among: list[str] | None = None,
    counted_from: str = "least",
    column: str = col.REGRET,
) -> Sample:
    """Rank a policy: 1 plus the number of policies with less regret, or with more if counted from the greatest."""
    mine = select(panel, policy)
    if among is None:
        others = [rows for label, rows in panel.groupby(col.POLICY, sort=False) if label not in set(mine[col.POLICY])]
    else:
        others = [select(panel, name) for name in among]
    if not others:
        raise Missing("there is no other policy to compare with")
    return Sample(side_by_side([mine, *others], column))


def _last_share(sample: Sample, **_: Any) -> Reading:
    found = means(sample)
    return reading(found[:, 1] / found.sum(axis=1), sample.units)


@measured_by(
    "share of the final {column} of {policy} that was incurred in the last half of the steps", find=_last_share
)
def late(panel: pd.DataFrame, *, policy: Selection, column: str = col.REGRET) -> Sample:
    """Compute the share of late regret: near 0 for a policy that has converged, 1/2 if regret grows linearly."""
    rows = select(panel, policy)
    end = int(rows[col.T].max())
    rows = rows[rows[col.HORIZON] == rows[col.HORIZON].max()]
    early, final = final_values(rows[rows[col.T] <= end / 2], column), final_values(rows, column)
    return Sample((grouped(rows, [early, final - early]),))


def _slope(sample: Sample, **_: Any) -> Reading:
    rise, x = np.log(means(sample)), np.log(sample.axes[0])
    if rise.shape[1] > len(x):
        rise = rise[:, : len(x)] - rise[:, len(x) :]
    x = x - x.mean()
    return reading(np.tensordot(rise, x / (x @ x), (1, 0)), sample.units)


@measured_by("slope of log mean {column} against log {along}: {policy}[, divided by {to}]", find=_slope)
def growth(
    panel: pd.DataFrame, *, policy: Selection, along: str, to: Selection | None = None, column: str = col.REGRET
) -> Sample:
    """Fit the exponent of regret, or of its ratio to the regret of ``to``, by least squares: 1 is linear, 0 is flat."""
    curve = _curve(panel, policy, along, column)
    return curve if to is None else curve._replace(groups=curve.groups + _curve(panel, to, along, column).groups)


def _steepest(sample: Sample, **_: Any) -> Reading:
    (axis,) = sample.axes
    found = means(sample)
    steepest = np.argmax(np.diff(np.log(found), axis=1) / np.diff(axis), axis=1)
    low, high = reading(axis[steepest], sample.units).low, reading(axis[steepest + 1], sample.units).high
    return Reading((axis[steepest[0]] + axis[steepest[0] + 1]) / 2, low, high)


@measured_by("{along} where mean {column} of {policy} rises most steeply, relative to itself", find=_steepest)
def transition(panel: pd.DataFrame, *, policy: Selection, along: str, column: str = col.REGRET) -> Sample:
    """Find the middle of the steepest step of the curve; the interval contains the whole step."""
    return _curve(panel, policy, along, column)


def _curve(panel: pd.DataFrame, policy: Selection, along: str, column: str) -> Sample:
    if along not in panel:
        raise Missing(f"there is no column '{along}'")
    points = [(float(str(where)), part) for where, part in panel.groupby(along, sort=True)]
    if len(points) < 3:
        raise Missing(f"a curve along '{along}' needs three points, but there are {len(points)}")
    groups = tuple(side_by_side([select(part, policy)], column)[0] for _, part in points)
    return Sample(groups, (np.array([where for where, _ in points]),))


def _quotient_of_times(sample: Sample, *, levels: list[float], **_: Any) -> Reading:
    split, curves = len(sample.axes[0]), means(sample)
    logs, counted = np.zeros(len(curves)), 0
    for level in levels:
        sides = zip(sample.axes, (curves[:, :split], curves[:, split:]), strict=True)
        times = [_first_at(axis, side, level) for axis, side in sides]
        if any(np.isfinite(time[0]) for time in times):
            mine, its = (np.minimum(time, axis[-1]) for time, axis in zip(times, sample.axes, strict=True))
            logs, counted = logs + np.log(mine / its), counted + 1
    if not counted:
        raise Missing("neither policy reaches any of the levels of accuracy")
    return reading(np.exp(logs / counted), sample.units)


@measured_by(
    "steps until {levels} of the runs name the winner: {of}, divided by {to} (geometric mean)", find=_quotient_of_times
)
def time_ratio(panel: pd.DataFrame, *, of: Selection, to: Selection, levels: list[float]) -> Sample:
    """Compare the steps after which two policies reach levels of accuracy; accuracy is interpolated linearly in log t.

    A policy that was run to several horizons is judged by its recommendation at the end of each horizon. If a policy
    does not reach a level, the length of its longest run is used. A level that neither policy reaches is not counted.
    """
    steps, groups = zip(*(_accuracy(select(panel, side)) for side in (of, to)), strict=True)
    return Sample(groups, steps)


def _accuracy(rows: pd.DataFrame) -> tuple[FloatVector, Group]:
    """Return the steps, and for each run and step 1 if the winner was named, else 0."""
    if col.CORRECT not in rows or rows[col.CORRECT].isna().any():
        raise Missing("there is no winner to name")
    if rows[col.HORIZON].nunique() > 1:
        rows = final_rows(rows, [col.HORIZON])
    wide = rows.pivot_table(index=[col.PROBLEM, col.REPETITION], columns=col.T, values=col.CORRECT).dropna(axis=1)
    if wide.shape[1] < 2:
        raise Missing("a curve of accuracy needs two checkpoints")
    return wide.columns.to_numpy(np.float64), grouped(rows, [wide[t] for t in wide.columns])


def _first_at(steps: FloatVector, curves: FloatMatrix, level: float) -> FloatVector:
    """Return, for each curve, the step from which it stays at or above a level; infinite if it ends below."""
    below = curves < level
    last = below.shape[1] - 1 - np.argmax(below[:, ::-1], axis=1)  # the last checkpoint below the level
    before = np.minimum(last, below.shape[1] - 2)
    rows = np.arange(len(curves))
    low, high = curves[rows, before], curves[rows, before + 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip((level - low) / (high - low), 0, 1)
    found = np.exp(np.log(steps[before]) + share * np.log(steps[before + 1] / steps[before]))
    found[last == below.shape[1] - 1] = np.inf
    found[~below.any(axis=1)] = steps[0]
    return found
