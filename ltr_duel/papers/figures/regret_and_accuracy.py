"""``regret_and_accuracy``: regret above, accuracy below, a column for each problem (Zoghi et al. 2014, Figure 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from ltr_duel.papers.figures import DRAWINGS
from ltr_duel.papers.figures.accuracy import SHARE, draw_share
from ltr_duel.papers.figures.lines import draw_bound, draw_times
from ltr_duel.papers.figures.panels import face, finish, grid, same_ordinate, split
from ltr_duel.papers.figures.regret import regret_label, runs_line


def regret_and_accuracy(
    frame: pd.DataFrame,
    about: Mapping[str, Any],
    *,
    column: str = "regret_average",
    panel: str = "problem",
    titles: Sequence[str] = (),
    spread: str = "range",
    start: float = 1000,
    bound: bool = True,
) -> Figure:
    """Draw two rows of panels over the same steps.

    Parameters
    ----------
    frame, about, column, panel, titles, spread, start, bound
        As for ``regret``.
    """
    parts = split(frame, about, panel, titles)
    figure, axes = grid(len(parts), rows=2, columns=len(parts))
    for place, part in enumerate(parts):
        above, below = axes[0, place], axes[1, place]
        draw_times(above, part.rows, column, spread=spread, start=start)
        if bound and column == "regret_average":
            draw_bound(above, part.rows)
        face(above, part)
        draw_share(below, part.rows, start)
        below.set_xlim(above.get_xlim())
        below.set_xlabel("steps (impressions)", fontsize=9)
    same_ordinate(list(axes[0]))
    axes[0, 0].set_ylabel(regret_label(column), fontsize=9)
    axes[1, 0].set_ylabel(SHARE, fontsize=9)
    return finish(figure, figure.axes, about, runs_line(frame, spread))


DRAWINGS.add("regret_and_accuracy", regret_and_accuracy)
