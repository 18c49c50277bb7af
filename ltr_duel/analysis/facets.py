"""One figure for a whole study: a panel for each problem and kind of regret, and one legend."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, Unpack

import pandas as pd
from matplotlib.figure import Figure

from ltr_duel.analysis.lines import STEPS, LineChoices, chosen_styles, describe_means, visible_spread
from ltr_duel.analysis.regret import BOUND, plot_regret
from ltr_duel.analysis.style import prepared_axes, require_table
from ltr_duel.core import InputError
from ltr_duel.core import columns as col

_ACROSS = 3  # panels side by side if there is one kind of regret
_WIDTH, _HEIGHT = 3.6, 2.9
_TITLE = 34  # maximum number of characters in a line of a panel's title


def plot_facets(
    results: pd.DataFrame,
    columns: Sequence[str] = ("regret_average",),
    *,
    spread: str = "quantiles",
    start: float = 100,
    log: str = "xy",
    **choices: Unpack[LineChoices],
) -> Figure:
    """Plot cumulative regret against steps for each problem of a study, with one legend for all panels.

    Parameters
    ----------
    results : DataFrame
        Table with the columns problem, policy, horizon, repetition, t and the regrets (for example, the result of
        `StudyResults.to_frame`); an optional column ``lower_bound`` is plotted as the bound.
    columns : sequence of str
        Columns of regrets. If there are several, each problem has a row of panels; a panel without data has a note.
    spread, start, log, **choices
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
    require_table(results, col.PROBLEM, col.POLICY, col.HORIZON, col.REPETITION, *columns)
    if not columns:
        raise InputError("name the regrets to plot")
    panels = [(problem, column) for problem in results[col.PROBLEM].unique() for column in columns]
    across = len(columns) if len(columns) > 1 else min(_ACROSS, len(panels))
    down = -(-len(panels) // across)
    figure = Figure(figsize=(_WIDTH * across, _HEIGHT * down + 0.8), dpi=150, layout="constrained")
    grid = figure.subplots(down, across, squeeze=False)
    choices = {"among": list(results[col.POLICY].unique()), **choices}
    handles: dict[str, Any] = {}
    for (problem, column), ax in zip(panels, grid.flat, strict=False):
        rows = results[results[col.PROBLEM] == problem]
        drawn = column if col.COPELAND in columns else col.defined_regret(rows, column)
        label = col.regret_label(drawn)
        title = str(problem) if len(columns) == 1 and drawn == column else f"{problem}, {label}"
        title = textwrap.fill(title + " (no Condorcet winner)" * (drawn != column), _TITLE)
        if rows[drawn].notna().any():
            plot_regret(
                rows, ax, column=drawn, title=title, spread=spread, start=start, log=log, legend=False, **choices
            )
        else:
            prepared_axes(ax, 0, 0, title).set(xlabel=STEPS, ylabel=f"cumulative {label}")
            ax.annotate(f"no {label}", (0.5, 0.5), xycoords="axes fraction", ha="center")
        handles |= {name: line for line, name in zip(*ax.get_legend_handles_labels(), strict=True)}
    for number, ax in reversed(list(enumerate(grid.flat))):
        if number >= len(panels):
            ax.remove()
            continue
        if number + across < len(panels):  # there is a panel below
            ax.set_xlabel("")
        if number % across and ax.get_ylabel() == grid.flat[number - 1].get_ylabel():
            ax.set_ylabel("")
    labels = [style.label for style in chosen_styles(results[col.POLICY], choices).values()]
    names = [name for name in (*labels, BOUND) if name in handles]
    runs = results.groupby([col.PROBLEM, col.POLICY, col.HORIZON], sort=False)[col.REPETITION].nunique()
    legend = figure.legend(
        [handles[name] for name in names], names, title=describe_means(runs, visible_spread(results, spread)),
        title_fontsize=8, loc="outside lower center", fontsize=8, frameon=False, handlelength=3,
        ncols=max(1, int(_WIDTH * across * 12 / (max(map(len, names), default=1) + 7))),
    )  # fmt: skip
    legend.get_title().set_color("#5d6670")
    return figure
