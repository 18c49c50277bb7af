"""``accuracy``: the share of runs that name the Condorcet winner against steps, a panel for each problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ltr_duel.papers.figures import DRAWINGS
from ltr_duel.papers.figures.lines import draw_times
from ltr_duel.papers.figures.panels import face, finish, grid, outer_labels, split
from ltr_duel.papers.figures.regret import runs_line

SHARE = "share of runs that\nname the winner"


def accuracy(
    frame: pd.DataFrame,
    about: Mapping[str, Any],
    *,
    panel: str = "problem",
    titles: Sequence[str] = (),
    columns: int | None = None,
    start: float = 100,
) -> Figure:
    """Draw the share of runs that name the winner; the axis of steps is logarithmic.

    Parameters
    ----------
    frame : DataFrame
        Columns policy, horizon, repetition, t, correct.
    about : mapping
    panel : str
        The column whose values make the panels; ``titles`` are theirs.
    titles : sequence of str
    columns : int, optional
        Panels side by side.
    start : float
        The first step shown.
    """
    parts = split(frame, about, panel, titles)
    figure, axes = grid(len(parts), columns=columns)
    for pair, part in zip(axes.flat, parts, strict=False):
        draw_share(pair, part.rows, start)
        face(pair, part)
    outer_labels(axes, len(parts), "steps (impressions)", SHARE)
    return finish(figure, figure.axes, about, runs_line(frame, "none"))


def draw_share(axes: Axes, rows: pd.DataFrame, start: float) -> None:
    """Draw the shares of one panel; say so where there is no winner to be named."""
    if rows["correct"].notna().any():
        draw_times(axes, rows, "correct", spread="none", start=start, linear=True)
    else:
        axes.annotate("no Condorcet winner", (0.5, 0.5), xycoords="axes fraction", ha="center", color="#5d6670")
    axes.set(xscale="log", ylim=(-0.03, 1.03))
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")


DRAWINGS.add("accuracy", accuracy)
