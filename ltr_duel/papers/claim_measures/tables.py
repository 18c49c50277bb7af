"""Measures of tables and exact curves: the value of a cell, its ratio to the printed value, the shape of a curve.

The numbers of a table are exact unless it has a column ``standard_error``. Further columns describe the uncertainty of
numbers computed from an estimated preference matrix. ``least`` and ``most`` are limits of the true value. ``p_value``
is the share of simulated transitive matrices whose value is at least as extreme as the measured value. ``transitive``
is the value of a transitive matrix without noise. If ``p_value`` is above 5 %, the true matrix may be transitive, so
the interval is extended to ``transitive``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from ltr_duel.core import FloatVector, statistics
from ltr_duel.papers.claim_measures.measure import Missing, Reading, Sample, measured_by
from ltr_duel.papers.claim_measures.rows import Selection, select

_BY_CHANCE = 0.05
_CHOICES: dict[str | None, Callable[..., Any]] = {None: np.mean, "mean": np.mean, "least": np.min, "greatest": np.max}


def _cell(sample: Sample, *, take: str | None = None, **_: Any) -> Reading:
    if take in (None, "mean"):
        found = _with_error(sample.cells.mean(), np.sqrt((sample.errors**2).sum()) / len(sample.errors))
    else:
        reach = statistics.normal_reach(sample.errors)
        ends = (sample.cells, sample.cells - reach, sample.cells + reach)
        found = Reading(*(_CHOICES[take](one) for one in ends))
    for end in sample.axes:
        found = Reading(found.value, np.minimum(found.low, end.min()), np.maximum(found.high, end.max()))
    return found


@measured_by("[{take} ]{column}", find=_cell)
def value(panel: pd.DataFrame, *, column: str = "value", take: str | None = None) -> Sample:
    """Read a cell, or compute the least, the greatest or the mean of several cells (``take``)."""
    if take is None and len(panel) > 1:
        raise Missing(f"one cell was expected, but there are {len(panel)}")
    sample = _numbers(panel, column)
    if "p_value" in panel and (panel["p_value"] > _BY_CHANCE).any():
        return sample._replace(axes=(panel["transitive"].to_numpy(np.float64),))
    if {"least", "most"} <= set(panel) and panel[["least", "most"]].notna().all(axis=None):
        return sample._replace(axes=tuple(panel[name].to_numpy(np.float64) for name in ("least", "most")))
    return sample


@measured_by("{column} divided by the printed value", find=_cell)
def against_printed(panel: pd.DataFrame, *, column: str = "value", printed: str = "printed") -> Sample:
    """Divide the measured values by the printed values, and average over the rows of a panel."""
    known = panel.dropna(subset=[printed]) if printed in panel else panel.iloc[:0]
    if known.empty:
        raise Missing("there is no printed value")
    sample, target = _numbers(known, column), known[printed].to_numpy(np.float64)
    return sample._replace(cells=sample.cells / target, errors=sample.errors / target)


def _quotient(sample: Sample, **_: Any) -> Reading:
    """Divide two cells; for the interval, the error of the quotient's logarithm is approximated to first order."""
    found = sample.cells[0] / sample.cells[1]
    mine, its = ((sample.errors[k] / sample.cells[k]) ** 2 for k in (0, 1))
    wide = np.exp(statistics.normal_reach(np.sqrt(mine + its)))
    return Reading(found, found / wide, found * wide)


@measured_by("{column}: {of}, divided by {to}", find=_quotient)
def cell_ratio(panel: pd.DataFrame, *, of: Selection, to: Selection, column: str = "value") -> Sample:
    """Divide two cells."""
    sides = [_numbers(select(panel, side), column) for side in (of, to)]
    if any(len(side.cells) != 1 for side in sides):
        raise Missing("a ratio requires exactly two cells")
    if any(side.cells[0] <= 0 for side in sides):
        raise Missing("a ratio requires positive values")
    return Sample(cells=np.array([side.cells[0] for side in sides]), errors=np.array([s.errors[0] for s in sides]))


def _valley_share(sample: Sample, **_: Any) -> Reading:
    found, *ends = (_falls_then_rises(curve) for curve in (sample.cells, *sample.axes[1:]))
    return Reading(found, min([found, *ends]), found)


def _falls_then_rises(curve: FloatVector) -> float:
    if curve.min() == curve.max():
        return 0.0
    lowest = int(np.argmin(curve))
    steps = np.diff(curve)
    wrong = np.clip(steps[:lowest], 0, None).sum() + np.clip(-steps[lowest:], 0, None).sum()
    return float(1 - wrong / np.abs(steps).sum()) if curve[lowest] < min(curve[0], curve[-1]) else 0.0


@measured_by(
    "share of all change in {column} along {along} that is a fall before the lowest point, or a rise after it",
    find=_valley_share,
)
def valley(panel: pd.DataFrame, *, along: str, column: str = "value") -> Sample:
    """Measure whether a curve falls and then rises: 1 if it does nothing else, 0 if its lowest point is at an end."""
    return _along(panel, along, column)


def _reached(sample: Sample, *, level: float, **_: Any) -> Reading:
    found, *ends = (_first_below(curve, sample.axes[0], level) for curve in (sample.cells, *sample.axes[1:]))
    return Reading(found, found, np.maximum(found, ends[0]) if ends else found)


def _first_below(curve: FloatVector, axis: FloatVector, level: float) -> Any:
    above = np.flatnonzero(curve >= level)
    return np.append(axis, np.inf)[above[-1] + 1 if len(above) else 0]


@measured_by("{along} from which on {column} is below {level}", find=_reached)
def reached(panel: pd.DataFrame, *, along: str, level: float, column: str = "value") -> Sample:
    """Find the first point of the axis at which the curve falls below a level for good; infinite if there is none."""
    return _along(panel, along, column)


def _with_error(number: Any, error: Any) -> Reading:
    return Reading(number, number - statistics.normal_reach(error), number + statistics.normal_reach(error))


def _along(panel: pd.DataFrame, along: str, column: str) -> Sample:
    if along not in panel:
        raise Missing(f"there is no column '{along}'")
    ordered = panel.sort_values(along)
    if ordered[along].duplicated().any() or len(ordered) < 3:
        raise Missing(f"there is no curve along '{along}'")
    axes = [ordered[name].to_numpy(np.float64) for name in (along, "most") if name in ordered]
    return _numbers(ordered, column)._replace(axes=tuple(axes))


def _numbers(panel: pd.DataFrame, column: str) -> Sample:
    """Return the values and their standard errors, which are 0 for exact values."""
    if column not in panel:
        raise Missing(f"there is no column '{column}'")
    values = panel[column].to_numpy(np.float64)
    if np.isnan(values).any():
        raise Missing(f"'{column}' contains unknown values")
    if "standard_error" not in panel:
        return Sample(cells=values, errors=np.zeros(len(values)))
    return Sample(cells=values, errors=panel["standard_error"].fillna(0.0).to_numpy(np.float64))
