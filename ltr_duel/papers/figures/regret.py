"""``regret``: cumulative regret against steps, a panel for each problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from ltr_duel.papers.figures import DRAWINGS
from ltr_duel.papers.figures.lines import draw_bound, draw_times
from ltr_duel.papers.figures.panels import face, finish, grid, outer_labels, plain_numbers, same_ordinate, split
from ltr_duel.papers.figures.points import SPREADS


def regret(
    frame: pd.DataFrame,
    about: Mapping[str, Any],
    *,
    column: str = "regret_average",
    panel: str = "problem",
    titles: Sequence[str] = (),
    columns: int | None = None,
    spread: str = "sd",
    start: float = 100,
    linear: bool = False,
    bound: bool = True,
    share: bool = True,
) -> Figure:
    """Draw cumulative regret against steps, log-log.

    Parameters
    ----------
    frame : DataFrame
        Columns policy, horizon, repetition, t and the regret; ``lower_bound``, if there is one, is the constant c of
        the bound c ln t.
    about : mapping
    column : str
        Which regret.
    panel : str
        The column whose values make the panels; ``titles`` are theirs.
    titles : sequence of str
    columns : int, optional
        Panels side by side.
    spread : {"sd", "range", "none"}
    start : float
        The first step shown.
    linear : bool
        Linear axes.
    bound : bool
        Draw the lower bound.
    share : bool
        The same ordinate for all panels of a row.
    """
    parts = split(frame, about, panel, titles)
    figure, axes = grid(len(parts), columns=columns)
    for pair, part in zip(axes.flat, parts, strict=False):
        draw_times(pair, part.rows, column, spread=spread, start=0 if linear else start, linear=linear)
        if bound and column == "regret_average":
            draw_bound(pair, part.rows)
        face(pair, part)
    if linear:
        for pair in figure.axes:
            plain_numbers(pair.xaxis)
            plain_numbers(pair.yaxis)
    if share:
        for row in axes:
            same_ordinate([pair for pair in row if pair in figure.axes])
    outer_labels(axes, len(parts), "steps (impressions)", regret_label(column))
    return finish(figure, figure.axes, about, runs_line(frame, spread))


def regret_label(column: str) -> str:
    """Return the name of a regret for an axis."""
    kind = column.removeprefix("regret_").replace("_", " ").replace("ndcg", "NDCG")
    return "cumulative regret" if kind == "average" else f"cumulative {kind} regret"


def runs_line(frame: pd.DataFrame, spread: str) -> str:
    """Say how many runs a mean is of, and what its bars are."""
    runs = sorted(frame.groupby(["problem", "policy", "horizon"], sort=False)["repetition"].nunique().unique())
    count = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
    if runs[-1] == 1:
        return "a single run"
    mark = "dotted" if spread == "range" else "bars"
    return f"mean of {count} runs" + (f", {mark}: {SPREADS[spread]}" if SPREADS[spread] else "")


DRAWINGS.add("regret", regret)
