"""``curves``: a measured value against the number of rankers, a line for each item (Zoghi et al. 2014, Figure 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from ltr_duel.analysis import COLOURS, DASHES
from ltr_duel.core import RANKERS
from ltr_duel.papers.figures.panels import finish, grid, head, outer_labels, split


def curves(
    frame: pd.DataFrame,
    about: Mapping[str, Any],
    *,
    x: str = RANKERS,
    y: str = "value",
    line: str = "item",
    panel: str = "",
    titles: Sequence[str] = (),
    columns: int | None = None,
    xlabel: str = "number of rankers K",
    ylabel: str = "",
    log: str = "",
) -> Figure:
    """Draw values, with two standard errors to each side where the table knows them.

    Parameters
    ----------
    frame : DataFrame
        A measure's table: ``x``, ``y``, ``line``, and perhaps standard_error.
    about : mapping
    x, y, line : str
        The columns of the abscissa, of the ordinate, and of the lines' names.
    panel : str
        The column whose values make the panels; ``titles`` are theirs.
    titles : sequence of str
    columns : int, optional
        Panels side by side.
    xlabel, ylabel : str
    log : str
        The logarithmic axes: "xy", "x", "y" or "".
    """
    parts = split(frame, about, panel, titles)
    figure, axes = grid(len(parts), columns=columns, height=3.8)
    items = list(dict.fromkeys(frame[line].astype(str))) if line in frame else []
    for ax, part in zip(axes.flat, parts, strict=False):
        for place, item in enumerate(items or [""]):
            mine = part.rows[part.rows[line].astype(str) == item] if items else part.rows
            mine = mine[mine[y].notna()].sort_values(x)
            error = 2 * mine["standard_error"].fillna(0.0) if "standard_error" in mine else None
            ax.errorbar(
                mine[x], mine[y], yerr=error, label=item, color=COLOURS[place % len(COLOURS)],
                ls=DASHES[place // len(COLOURS) % len(DASHES)], marker="o", ms=3, lw=1.6, elinewidth=1,
            )  # fmt: skip
        ax.set(xscale="log" if "x" in log else "linear", yscale="log" if "y" in log else "linear")
        ax.set(xlabel=xlabel, ylabel=ylabel or y.replace("_", " "))
        head(ax, part, 90)
    outer_labels(axes, len(parts))
    known = "standard_error" in frame and bool((frame["standard_error"] > 0).any())
    return finish(figure, figure.axes, about, "bars: two standard errors" if known else "")
