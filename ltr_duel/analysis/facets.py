"""One figure for a whole study: a panel for each problem, a column for each kind of regret, and one legend."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ltr_duel.analysis.lines import STEPS, describe_means
from ltr_duel.analysis.regret import BOUND, plot_regret
from ltr_duel.analysis.style import require_table
from ltr_duel.bandits import marked
from ltr_duel.core import InputError
from ltr_duel.core import columns as core_columns

_ACROSS = 3  # number of panels side by side if there is one kind of regret
_WIDTH, _HEIGHT = 3.6, 2.9
_TITLE = 34  # maximum characters per line of a panel's title


def plot_facets(
    results: pd.DataFrame,
    columns: Sequence[str] = ("regret_average",),
    *,
    spread: str = "quantiles",
    start: float = 100,
    log: str = "xy",
    colors: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    order: Sequence[str] = (),
) -> Figure:
    """Plot cumulative regret against steps for each problem of a study, with one legend for all panels.

    Parameters
    ----------
    results : DataFrame
        Table with the columns problem, policy, horizon, repetition, t and the regrets (for example, the result of
        `StudyResults.to_frame`); an optional column ``lower_bound`` is plotted as the bound.
    columns : sequence of str
        Columns of regrets. If there are several, each problem has a row of panels; a panel without data has a note.
    spread, start, log, colors, labels, order
        See `plot_regret`.

    Returns
    -------
    Figure
        If a problem has no Condorcet winner, its average regret is undefined. The panel then shows Copeland regret,
        with a note in the title, if the table contains Copeland regret and ``columns`` does not.

    Raises
    ------
    InputError
        If the spread or a column does not exist.

    Examples
    --------
    >>> rows = [(problem, "rucb", 10, 0, t, float(t)) for problem in ("one", "two") for t in (1, 10)]
    >>> names = ["problem", "policy", "horizon", "repetition", "t", "regret_average"]
    >>> figure = plot_facets(pd.DataFrame(rows, columns=names))
    >>> [ax.get_title(loc="left") for ax in figure.axes]
    ['one', 'two']
    """
    require_table(
        results, core_columns.PROBLEM, core_columns.POLICY, core_columns.HORIZON, core_columns.REPETITION, *columns
    )
    if not columns:
        raise InputError("name the regrets to plot")
    problems, among = (
        list(dict.fromkeys(results[core_columns.PROBLEM])),
        list(dict.fromkeys(results[core_columns.POLICY])),
    )
    panels = [(problem, column) for problem in problems for column in columns]
    across = len(columns) if len(columns) > 1 else min(_ACROSS, len(panels))
    down = -(-len(panels) // across)
    figure = Figure(figsize=(_WIDTH * across, _HEIGHT * down + 0.8), dpi=150, layout="constrained")
    grid = figure.subplots(down, across, squeeze=False)
    handles: dict[str, Any] = {}
    for place, ((problem, column), ax) in enumerate(zip(panels, grid.flat, strict=False)):
        rows = results[results[core_columns.PROBLEM] == problem]
        drawn = column if core_columns.COPELAND in columns else core_columns.defined_regret(rows, column)
        label = core_columns.regret_label(drawn)
        title = str(problem) if len(columns) == 1 and drawn == column else f"{problem}, {label}"
        title = textwrap.fill(title if drawn == column else f"{title} (no Condorcet winner)", _TITLE)
        if rows[drawn].notna().any():
            plot_regret(
                rows, ax, column=drawn, title=title, spread=spread, start=start, log=log, legend=False, among=among,
                colors=colors, labels=labels, order=order,
            )  # fmt: skip
        else:
            ax.set_title(title, loc="left", fontsize=10)
            ax.set_ylabel(f"cumulative {label}")
            ax.annotate(f"no {label}", (0.5, 0.5), xycoords="axes fraction", ha="center")
        handles |= {name: line for line, name in zip(*ax.get_legend_handles_labels(), strict=True) if _seen(line, ax)}
        ax.set_xlabel(STEPS if place + across >= len(panels) else "")
    for row in grid:  # of adjacent panels with the same ordinate, only the leftmost has a label
        names = [ax.get_ylabel() for ax in row]
        for ax, name, before in zip(row[1:], names[1:], names, strict=False):
            ax.set_ylabel("" if name == before else name)
    for ax in list(grid.flat)[len(panels) :]:
        ax.remove()
    runs = results.groupby([core_columns.PROBLEM, core_columns.POLICY, core_columns.HORIZON], sort=False)[
        core_columns.REPETITION
    ].nunique()
    first = [(labels or {}).get(name, marked(name)) for name in order]
    names = sorted(handles, key=lambda label: (label == BOUND, label not in first))  # the bound is listed last
    names.sort(key=lambda label: first.index(label) if label in first else len(first))
    wide = int(np.clip(_WIDTH * across * 12 / (max(map(len, names), default=1) + 7), 1, max(1, len(names))))
    legend = figure.legend(
        [handles[one] for one in names], names, title=describe_means(runs, spread), title_fontsize=8,
        loc="outside lower center", ncols=wide, fontsize=8, frameon=False, handlelength=3,
    )  # fmt: skip
    legend.get_title().set_color("#5d6670")
    return figure


def _seen(line: Line2D, ax: Axes) -> bool:
    """Return whether a line is visible within its axes; the bound may be below all regrets."""
    low, high = ax.get_ylim()
    y = np.asarray(line.get_ydata(), np.float64)
    return line.get_label() != BOUND or bool(((y >= low) & (y <= high)).any())
