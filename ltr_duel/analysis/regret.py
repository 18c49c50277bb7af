"""Figures of cumulative regret against steps, and against the number of rankers."""

from __future__ import annotations

from typing import Unpack

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from ltr_duel.analysis.lines import (
    STEPS,
    LineChoices,
    describe_means,
    draw_lines,
    draw_over_time,
    tidy,
    visible_spread,
    write_remark,
)
from ltr_duel.analysis.style import BOUND_COLOUR, legend_beside, prepared_axes, require_table
from ltr_duel.core import columns, errors
from ltr_duel.simulation import Results, averaged, final_rows

BOUND = "lower bound (asymptotic, pairs)"
_ABSCISSAE = {
    "steps": (columns.T, STEPS),
    "outcomes": (columns.OUTCOMES, "outcomes received (pairs of rankers compared)"),
}


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
    """Plot mean cumulative regret against steps, with the spread of the runs and the asymptotic lower bound.

    For a policy that uses its horizon or has runs with several horizons, only the end of each run is plotted, because
    the regret before the end does not predict the regret for a shorter horizon.

    Parameters
    ----------
    results : Results or DataFrame
        Results, or a table with the columns policy, repetition, t, the regret and, optionally, ``lower_bound``: the
        constant c of the bound c ln t, the same in all rows.
    ax : Axes, optional
        Axes to draw on; by default the axes of a new figure.
    x : {"steps", "outcomes"}
        The abscissa. A step is one impression; it gives one outcome for two rankers, m (m - 1) / 2 for a set of m
        rankers, and none for a ranker that is shown alone.
    column : str
        Column of the regret; by default average regret, or Copeland regret if there is no Condorcet winner.
    title : str
    spread : {"quantiles", "standard error", "sd", "range", "none"}
        A band from the 10th to the 90th percentile of the runs, of two standard errors or one standard deviation around
        the mean, or from the best to the worst run. More than ten bands would hide the lines, and are omitted.
    start : float
        First step shown, but at most a tenth of the last step; until then, policies hardly differ.
    log : {"xy", "x", "y", ""}
        The logarithmic axes.
    bound : bool
        Whether to plot the lower bound over the last decade of steps, if average regret is plotted against steps. The
        bound is asymptotic, so any policy may be below it after few steps.
    legend : bool
        Whether to name the lines beside the axes, to describe the spread, and to extend the axes to the whole bound.
    **choices
        ``among``: all policies of the study in the order of their colours, for the same colours in several figures;
        ``colors`` and ``labels``: dictionaries of Matplotlib's colours and of labels for some policies, keyed by their
        names in the results; ``order``: policies to draw and to list first, in this order.

    Raises
    ------
    InputError
        If the abscissa, spread or column is unknown, or if the results do not contain the numbers of outcomes.

    Examples
    --------
    >>> from ltr_duel import simulate
    >>> from ltr_duel.preferences import arxiv
    >>> ax = plot_regret(simulate(arxiv(), "rucb", horizon=200, repetitions=2))
    >>> ax.get_ylabel()
    'cumulative average regret'
    """
    errors.require_one_of("abscissa", x, _ABSCISSAE)
    (abscissa, xlabel), frame = _ABSCISSAE[x], tidy(results)
    if not column:
        known = columns.REGRET in frame and frame[columns.REGRET].notna().any()
        column, title = (columns.REGRET, title) if known else (columns.COPELAND, title or "no Condorcet winner")
    policies = frame[columns.POLICY].nunique()
    ax = prepared_axes(ax, 7.2, max(4.8, 0.8 + 0.2 * policies), title)  # a long legend makes the figure taller
    errors.require_one_of("column", abscissa, [str(name) for name in frame.columns])
    table = draw_over_time(ax, frame, column, choices=choices, spread=spread, log=log, start=start, x=abscissa)
    ax.set(xlabel=xlabel, ylabel=f"cumulative {columns.regret_label(column)}")
    bounded = bound and (abscissa, column) == (columns.T, columns.REGRET) and columns.LOWER_BOUND in frame
    if bounded and frame[columns.LOWER_BOUND].nunique() == 1:
        _draw_bound(ax, float(frame[columns.LOWER_BOUND].max()), float(frame[columns.T].max()), extend=legend)
    write_remark(ax, frame)
    if legend:
        lines = {label: line for line in ax.get_lines() if (label := str(line.get_label()))[0] != "_"}
        if "order" not in choices:  # as at the right ends of the lines, the highest first
            lines = dict(sorted(lines.items(), key=lambda item: -float(np.asarray(item[1].get_ydata())[-1])))
        legend_beside(ax, list(lines.values()), describe_means(table["runs"], visible_spread(table, spread)))
    return ax


def plot_against_arms(
    results: pd.DataFrame,
    ax: Axes | None = None,
    *,
    x: str = columns.RANKERS,
    xlabel: str = "number of rankers K",
    column: str = columns.REGRET,
    title: str = "",
    spread: str = "quantiles",
    log: str = "xy",
    legend: bool = True,
    **choices: Unpack[LineChoices],
) -> Axes:
    """Plot cumulative regret at the horizon against the number of rankers, or another property of the problems.

    Parameters
    ----------
    results : DataFrame
        Table with the columns policy, t, ``x`` and the regret (for example, the result of `StudyResults.final`).
    ax : Axes, optional
        Axes to draw on; by default the axes of a new figure.
    x, xlabel : str
        Column of the abscissa, and its label.
    column : str
        Column of the regret.
    spread : {"quantiles", "standard error", "sd", "range", "none"}
        Spread over the runs, and over the problems with the same ``x``; see `plot_regret`.
    title, log, legend, **choices
        See `plot_regret`.

    Raises
    ------
    InputError
        For an unknown spread or column.

    Examples
    --------
    >>> rows = [("rucb", 100, k, 2.0 * k) for k in (4, 8, 16)]
    >>> ax = plot_against_arms(pd.DataFrame(rows, columns=["policy", "t", "rankers", "regret_average"]))
    >>> [tick.get_text() for tick in ax.get_xticklabels()]
    ['4', '8', '16']
    """
    require_table(results, columns.POLICY, columns.T, x)
    ends = final_rows(results, [name for name in (columns.PROBLEM, columns.POLICY) if name in results])
    table = averaged(ends, [columns.POLICY, x], column, spread)
    ax = prepared_axes(ax, 7.2, 4.8, title)
    draw_lines(ax, table, x, choices=choices, spread=spread, log=log)
    if "y" not in log:
        ax.set_ylim(bottom=0)
    values = sorted(table[x].unique())
    if "x" in log or len(values) <= 12:
        ticks = _separate(values, log="x" in log)
        ax.set_xticks(ticks, [f"{value:g}" for value in ticks])
        ax.xaxis.set_minor_locator(NullLocator())
    ax.set(xlabel=xlabel, ylabel=f"cumulative {columns.regret_label(column)} at the horizon")
    write_remark(ax, results)
    if legend:
        legend_beside(ax, title=describe_means(table["runs"], visible_spread(table, spread)))
    return ax


def _draw_bound(ax: Axes, constant: float, end: float, *, extend: bool) -> None:
    """Plot the asymptotic bound c ln t over the last decade, if it is within the axes or these may be extended."""
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    steps = np.geomspace(max(2.0, left, end / 10), max(3.0, end), 50)
    regret = constant * np.log(steps)
    if extend:
        bottom, top = min(bottom, regret[-1] / 1.5), max(top, regret[-1] * 1.5)
    if extend or ((regret >= bottom) & (regret <= top)).any():
        ax.plot(steps, regret, color=BOUND_COLOUR, lw=1.2, ls=(0, (1, 1)), label=BOUND)
    ax.set(xlim=(left, right), ylim=(bottom, top))


def _separate(values: list[float], *, log: bool) -> list[float]:
    """Return values whose labels do not touch each other on the axis: at least a twelfth of its length apart."""
    position = np.log if log else float
    kept = values[:1]
    for value in values[1:]:
        if position(value) - position(kept[-1]) >= (position(values[-1]) - position(values[0])) / 12:
            kept.append(value)
    return kept
