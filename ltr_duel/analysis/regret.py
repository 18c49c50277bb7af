"""Draw regret against the steps, or against the number of rankers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from ltr_duel.analysis.lines import (
    STEPS,
    LineChoices,
    chosen_styles,
    describe_means,
    draw_lines,
    draw_over_time,
    label_x,
    tidy,
    visible_spread,
)
from ltr_duel.analysis.style import BOUND_COLOUR, WIDTHS, add_legend, legend_below, prepared_axes, require_table
from ltr_duel.core import InputError, errors
from ltr_duel.core import columns as col
from ltr_duel.simulation import Results, averaged, final_rows

BOUND = "lower bound (asymptotic, pairs)"
_ABSCISSAE = {"steps": (col.T, STEPS), "outcomes": (col.OUTCOMES, "outcomes received (pairs of rankers compared)")}
_ACROSS = 3  # the maximum number of panels side by side, if there is one kind of regret
_HEIGHT, _LEAST = 2.3, 1.2  # of a panel with its title and labels, and of its axes, in inches


def plot_regret(
    results: Results | pd.DataFrame,
    ax: Axes | None = None,
    *,
    x: str = "steps",
    column: str = "",
    title: str = "",
    spread: str = "quantiles",
    start: float = 100,
    log: str = "xy",
    bound: bool = True,
    legend: bool = True,
    **choices: Unpack[LineChoices],
) -> Axes:
    """Plot the regret of each policy against the steps, as a mean over its runs with a band.

    For policies that know the horizon, and for policies with several horizons, only the ends of the runs are drawn. If
    the matrix that measures regret was estimated, a remark below the axis says how large the error of regret may be.

    Parameters
    ----------
    results : Results or DataFrame
        The results to plot, or a table with the columns policy, repetition, t and the regret. The columns
        ``reference_error`` and ``lower_bound`` are optional.
    ax : Axes, optional
        The axes to draw on, with the legend inside; by default, a new figure is made.
    x : {"steps", "outcomes"}
        The unit of the horizontal axis. A step is one impression. It has an outcome for each pair of different rankers.
    column : str
        The column of the regret; by default average regret, or Copeland regret if there is no Condorcet winner.
    title : str
    spread : {"quantiles", "standard error", "sd", "range", "none"}
        What the bands show: the 10th to the 90th percentile of the runs, two standard errors of the mean, one standard
        deviation, the best to the worst run, or nothing. More than ten bands are not drawn.
    start : float
        The first step that is shown. If it is above a tenth of the last step, this tenth is used instead.
    log : {"xy", "x", "y", ""}
        The axes that are logarithmic.
    bound : bool
        Whether to draw a line for the lower bound of average regret, near the last step. The bound holds only in the
        long run. It is left out if a policy is below it there, or if the winner is uncertain.
    legend : bool
        Whether to add a legend.
    **choices
        Optional. ``width`` is "column" (3.3 inches) or "text" (7 inches), for a figure in print. ``among`` lists all
        policies of a study, so that all its figures have the same colours. ``colors`` and ``labels`` are dictionaries
        with the colours and the labels of some policies. ``order`` lists policies that are drawn first.

    Raises
    ------
    InputError
        If ``x``, the spread, the column or the width is unknown, or if a table has no column for ``x``.

    Examples
    --------
    >>> from ltr_duel import simulate
    >>> from ltr_duel.preferences import arxiv
    >>> plot_regret(simulate(arxiv(), "rucb", horizon=200, repetitions=2)).get_ylabel()
    'cumulative average regret'
    """
    errors.require_one_of("abscissa", x, _ABSCISSAE)
    (abscissa, xlabel), frame, width = _ABSCISSAE[x], tidy(results), choices.get("width", "")
    if not column:
        decided = col.REGRET in frame and frame[col.REGRET].notna().any()
        column, title = (col.REGRET, title) if decided else (col.COPELAND, f"{title}\n{col.NOBODY}".lstrip())
    ax = prepared_axes(ax, 7.2, max(4.8, 0.8 + 0.2 * frame[col.POLICY].nunique()), title, width)  # for a long legend
    errors.require_one_of("column", abscissa, [str(name) for name in frame.columns])
    table = draw_over_time(ax, frame, column, choices=choices, spread=spread, log=log, start=start, x=abscissa)
    label_x(ax, xlabel, frame, column)
    ax.set_ylabel(f"cumulative{chr(10) if width else ' '}{col.regret_label(column)}")
    bounded = bound and (abscissa, column) == (col.T, col.REGRET) and col.LOWER_BOUND in frame
    if bounded and frame[col.LOWER_BOUND].nunique() == 1:
        _draw_bound(ax, float(frame[col.LOWER_BOUND].max()), float(frame[col.T].max()))
    if legend:
        lines = {label: line for line in ax.get_lines() if (label := str(line.get_label()))[0] != "_"}
        if "order" not in choices:  # in the order of the right ends of the lines, the highest first
            lines = dict(sorted(lines.items(), key=lambda item: -float(np.asarray(item[1].get_ydata())[-1])))
        add_legend(ax, list(lines.values()), describe_means(table["runs"], visible_spread(table, spread)), width)
    return ax


def plot_facets(
    results: pd.DataFrame,
    columns: Sequence[str] = (col.REGRET,),
    *,
    spread: str = "quantiles",
    start: float = 100,
    log: str = "xy",
    **choices: Unpack[LineChoices],
) -> Figure:
    """Plot regret against the steps, with a panel for each problem of a study and one legend.

    If a problem has no Condorcet winner, its average regret is undefined. Its panel shows Copeland regret instead, and
    the title says so. If ``columns`` includes Copeland regret already, the panel stays empty.

    Parameters
    ----------
    results : DataFrame
        A table with the columns problem, policy, horizon, repetition, t and the regrets, such as the result of
        `StudyResults.to_frame`.
    columns : sequence of str
        The columns of the regrets to plot. With several columns, each problem has a row of panels.
    spread, start, log, **choices : optional
        See `plot_regret`. The default ``width`` is "text", with up to three panels side by side.

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        If the spread or a column does not exist.

    Examples
    --------
    >>> rows = [(problem, "rucb", 10, 0, t, float(t)) for problem in ("one", "two") for t in (1, 10)]
    >>> names = ["problem", "policy", "horizon", "repetition", "t", "regret_average"]
    >>> [ax.get_title(loc="left") for ax in plot_facets(pd.DataFrame(rows, columns=names)).axes]
    ['one', 'two']
    """
    require_table(results, col.PROBLEM, col.POLICY, col.HORIZON, col.REPETITION, *columns)
    if not columns:
        raise InputError("name the regrets to plot")
    width = choices.get("width") or "text"
    errors.require_one_of("width", width, WIDTHS)
    choices = {"among": list(results[col.POLICY].unique()), **choices, "width": width}
    panels = [(problem, column) for problem in results[col.PROBLEM].unique() for column in columns]
    most = 2 if len(panels) == 4 else _ACROSS  # so that no place stays empty
    across = 1 if width == "column" else len(columns) if len(columns) > 1 else min(most, len(panels))
    down, (inches, _, font) = -(-len(panels) // across), WIDTHS[width]
    figure, lines = Figure(figsize=(inches, _HEIGHT * down), dpi=150, layout="constrained"), dict[str, Any]()
    grid = figure.subplots(down, across, squeeze=False)
    for number, ((problem, column), ax) in enumerate(zip(panels, grid.flat, strict=False)):
        rows = results[results[col.PROBLEM] == problem]
        drawn = column if col.COPELAND in columns else col.defined_regret(rows, column)
        label = col.regret_label(drawn)
        title = str(problem) + f"\n({col.NOBODY})" * (drawn != column)
        if rows[drawn].notna().any():
            look: dict[str, Any] = {"spread": spread, "start": start, "log": log, "legend": False, **choices}
            plot_regret(rows, ax, column=drawn, title=title, **look)
        else:
            prepared_axes(ax, 0, 0, title, width).set(xlabel=STEPS, ylabel=f"cumulative\n{label}")
            ax.annotate(f"no {label}", (0.5, 0.5), xycoords="axes fraction", ha="center", fontsize=font)
        lines |= {str(line.get_label()): line for line in ax.get_legend_handles_labels()[0]}
        if number + across < len(panels):  # there is a panel below
            ax.set_xlabel(ax.get_xlabel().removeprefix(STEPS).strip())
    for number, ax in reversed(list(enumerate(grid.flat))):
        if number >= len(panels):
            ax.remove()
        elif number % across and ax.get_ylabel() == grid.flat[number - 1].get_ylabel():
            ax.set_ylabel("")
    labels = [style.label for style in chosen_styles(results[col.POLICY], choices).values()]
    names = [name for name in (*labels, BOUND) if name in lines]
    runs = results.groupby([col.PROBLEM, col.POLICY, col.HORIZON], sort=False)[col.REPETITION].nunique()
    means = describe_means(runs, visible_spread(results, spread))
    legend_below(figure, [lines[name] for name in names], names, means, font)
    figure.draw_without_rendering()  # long titles and remarks take their room from the axes
    low = min(ax.get_window_extent().height for ax in figure.axes) / figure.dpi
    figure.set_figheight(figure.get_figheight() + down * max(0.0, _LEAST - low))
    return figure


def plot_against_arms(
    results: pd.DataFrame,
    ax: Axes | None = None,
    *,
    x: str = col.RANKERS,
    xlabel: str = "number of rankers K",
    column: str = col.REGRET,
    title: str = "",
    spread: str = "quantiles",
    log: str = "xy",
    legend: bool = True,
    **choices: Unpack[LineChoices],
) -> Axes:
    """Plot the regret at the horizon against the number of rankers, or against another property of the problems.

    Parameters
    ----------
    results : DataFrame
        A table with the columns policy, t, ``x`` and the regret, such as the result of `StudyResults.final`.
    x, xlabel, column : str
        The column of the horizontal axis, the label of this axis, and the column of the regret.
    spread : {"quantiles", "standard error", "sd", "range", "none"}
        What the bands show, see `plot_regret`. A band covers the runs of all problems with the same ``x``.
    ax, title, log, legend, **choices : optional
        See `plot_regret`.

    Raises
    ------
    InputError
        If the spread or a column does not exist.

    Examples
    --------
    >>> rows = [("rucb", 100, k, 2.0 * k) for k in (4, 8, 16)]
    >>> frame = pd.DataFrame(rows, columns=["policy", "t", "rankers", "regret_average"])
    >>> [tick.get_text() for tick in plot_against_arms(frame).get_xticklabels()]
    ['4', '8', '16']
    """
    require_table(results, col.POLICY, col.T, x)
    ends = final_rows(results, [name for name in (col.PROBLEM, col.POLICY) if name in results])
    table, width = averaged(ends, [col.POLICY, x], column, spread), choices.get("width", "")
    ax = prepared_axes(ax, 7.2, 4.8, title, width)
    draw_lines(ax, table, x, choices=choices, spread=spread, log=log)
    if "y" not in log:
        ax.set_ylim(bottom=0)
    values, position = sorted(table[x].unique()), np.log if "x" in log else float
    if "x" in log or len(values) <= 12:
        ticks, apart = values[:1], (position(values[-1]) - position(values[0])) / 12  # labels must not touch each other
        for value in values[1:]:
            if position(value) - position(ticks[-1]) >= apart:
                ticks.append(value)
        ax.set_xticks(ticks, [f"{value:g}" for value in ticks])
        ax.xaxis.set_minor_locator(NullLocator())
    label_x(ax, xlabel, results, column)
    ax.set_ylabel(f"{col.regret_label(column)}{chr(10) if width else ' '}at the horizon")
    if legend:
        add_legend(ax, title=describe_means(table["runs"], visible_spread(table, spread)), paper=width)
    return ax


def _draw_bound(ax: Axes, constant: float, end: float) -> None:
    (left, right), shown = ax.get_xlim(), ax.get_ylim()
    steps = np.geomspace(max(2.0, left, end / 10), max(3.0, end), 50)
    regret = constant * np.log(steps)
    means = [np.interp(steps, *np.asarray(line.get_data(), np.float64)) for line in ax.get_lines()]
    if ax.dataLim.y0 <= regret[-1] and (regret <= np.min(means, axis=0)).all():
        ax.plot(steps, regret, color=BOUND_COLOUR, lw=1.2, ls=(0, (2, 2)), label=BOUND)
    ax.set(xlim=(left, right), ylim=shown)
