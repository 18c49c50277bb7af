"""A measured value against the number of rankers, a line for each item (Zoghi et al. 2014, Figure 5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from ltr_duel.analysis import COLOURS, DASHES
from ltr_duel.core import columns as col
from ltr_duel.papers.figures.panels import Panel, finish, grid, head, source_of


def curves(frame: pd.DataFrame, about: Mapping[str, Any], *, line: str = "item") -> Figure:
    """Draw values, with two standard errors to each side where the table has them.

    frame: a measure's table: rankers, value, ``line``, and perhaps standard_error.
    line: the column of the lines' names.
    """
    figure, axes = grid(1, height=3.8)
    ax = axes[0, 0]
    known = frame[frame["value"].notna()]
    for place, (item, mine) in enumerate(known.groupby(line, sort=False)):
        mine = mine.sort_values(col.RANKERS)
        error = 2 * mine["standard_error"].fillna(0.0) if "standard_error" in mine else None
        ax.errorbar(
            mine[col.RANKERS], mine["value"], yerr=error, label=str(item), color=COLOURS[place % len(COLOURS)],
            ls=DASHES[place % len(DASHES)], marker="o", ms=3, lw=1.6, elinewidth=1,
        )  # fmt: skip
    ax.set(xlabel="number of rankers K", ylabel="value")
    head(ax, Panel("", "", source_of(frame, about), frame))
    estimated = "standard_error" in frame and bool((frame["standard_error"] > 0).any())
    return finish(figure, figure.axes, about, "bars: two standard errors" if estimated else "")
