"""How soon a policy names the winner, in comparison with another."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ltr_duel.core import FloatMatrix, FloatVector
from ltr_duel.papers.checks.measure import Group, Missing, Reading, mean, measured_by, reading, resampled
from ltr_duel.papers.checks.rows import Selection, grouped, select


@measured_by("time_ratio", "steps until {levels} of the runs name the winner: {of}, divided by {to} (geometric mean)")
def time_ratio(panel: pd.DataFrame, *, of: Selection, to: Selection, levels: list[float]) -> Reading:
    """Compare the steps to levels of accuracy; between checkpoints accuracy runs straight over log t.

    A policy that was run to several horizons is judged by what it says at the end of each. Where only one policy
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
    if "correct" not in rows or rows["correct"].isna().any():
        raise Missing("there is no winner to name")
    if rows["horizon"].nunique() > 1:
        rows = rows[rows["t"] == rows.groupby("horizon")["t"].transform("max")]
    wide = rows.pivot_table(index=["problem", "repetition"], columns="t", values="correct").dropna(axis=1)
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
