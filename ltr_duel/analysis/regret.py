"""Figures of cumulative regret against steps, and against the number of rankers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from ltr_duel.analysis.lines import (
    ABSCISSAE,
    Chosen,
    Scales,
    describe_means,
    draw_lines,
    draw_over_time,
    remark,
    tidy,
    visible_spread,
    write_remarks,
)
from ltr_duel.analysis.style import BOUND_COLOUR, legend_beside, prepared_axes, require_table
from ltr_duel.core import columns, errors
from ltr_duel.simulation import Results, averaged, final_rows

BOUND = "lower bound (asymptotic, pairs)"


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
    among: Sequence[str] = (),
    colors: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    order: Sequence[str] = (),
) -> Axes:
    """Plot mean cumulative regret against steps, with the spread of the runs and the asymptotic lower bound.

    For a policy that uses its horizon or has runs with several horizons, only the end of each run is plotted. A policy
    that uses its horizon is a different algorithm for each horizon, so its regret before the end does not predict the
    regret for a shorter horizon.

    Parameters
    ----------
    results : Results or DataFrame
        Results, or a table with the columns policy, repetition, t and the regret. An optional column
        ``lower_bound`` contains the constant c of the bound c ln t, which is plotted if c is the same in all rows.
    ax : Axes, optional
        Axes to draw on; by default the axes of a new figure.
    x : {"steps", "outcomes"}
        The abscissa. A step is one impression. It gives one outcome if two rankers are compared, m (m - 1) / 2
        outcomes for a set of m rankers, and no outcome if a ranker is shown alone. The bound holds for steps, and is
        plotted only against steps.
    column : str
        Column of the regret; by default average regret, or Copeland regret if there is no Condorcet winner.
    title : str
    spread : {"quantiles", "standard error", "sd", "range", "none"}
        A band from the 10th to the 90th percentile of the runs, of two standard errors or one standard deviation around
        the mean, or from the best to the worst run. If there would be more than ten bands, they are omitted, because
        they would hide the lines.
    start : float
        First step shown, but at most a tenth of the last step; until then, policies hardly differ.
    log : {"xy", "x", "y", ""}
        The logarithmic axes.
    bound : bool
        Whether to plot the lower bound over the last decade of steps, if it is known and average regret is plotted.
        The bound is asymptotic, so any policy may be below it after few steps.
    legend : bool
        Whether to name the lines beside the axes, to describe the spread, and to extend the axes to the whole bound.
    among : sequence of str
        All policies of the study, in the order in which they get colours; pass the same list to several figures for the
        same colours. By default the plotted policies.
    colors, labels : mapping of str to str, optional
        Colours (of lines, bands and names) and labels of some policies, keyed by their names in the results.
    order : sequence of str
        Policies to draw and to list first, in this order.

    Returns
    -------
    Axes

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
    errors.require_one_of("abscissa", x, ABSCISSAE)
    (over, label), frame = ABSCISSAE[x], tidy(results)
    if not column:
        known = columns.REGRET in frame and frame[columns.REGRET].notna().any()
        column, title = (columns.REGRET, title) if known else (columns.COPELAND, title or "no Condorcet winner")
    number = frame[columns.POLICY].nunique()
    ax = prepared_axes(ax, 7.2, max(4.8, 0.8 + 0.2 * number), title)  # a long legend makes the figure taller
    errors.require_one_of("column", over, [str(name) for name in frame.columns])
    chosen = Chosen(colors or {}, labels or {}, order, among)
    table = draw_over_time(ax, frame, column, spread=spread, scales=Scales(log, start, over), chosen=chosen)
    ax.set(xlabel=label, ylabel=f"cumulative {columns.regret_label(column)}")
    if (
        bound
        and over == columns.T
        and column == columns.REGRET
        and columns.LOWER_BOUND in frame
        and frame[columns.LOWER_BOUND].nunique() == 1
    ):
        _draw_bound(ax, float(frame[columns.LOWER_BOUND].max()), float(frame[columns.T].max()), in_view=legend)
    several = legend and bool((table["runs"] > 1).any())
    words = describe_means(table["runs"], visible_spread(table, spread)) if several else ""
    write_remarks(ax, [*words.split(", "), remark(frame)])
    if legend:
        named = [line for line in ax.get_lines() if not str(line.get_label()).startswith("_")]
        if not order:  # as at the right ends of the lines, the highest first
            named.sort(key=lambda line: -float(np.asarray(line.get_ydata())[-1]))
        legend_beside(ax, named)
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
    among: Sequence[str] = (),
    colors: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    order: Sequence[str] = (),
) -> Axes:
    """Plot the mean regret at the horizon against the number of rankers, or another property of the problems.

    Parameters
    ----------
    results : DataFrame
        Table with the columns policy, t, ``x``, the regret and, for several problems, problem (for example, the result
        of `StudyResults.to_frame` or `StudyResults.final`). Only the longest runs of each policy on each problem are
        used.
    ax : Axes, optional
        Axes to draw on; by default the axes of a new figure.
    x, xlabel : str
        Column of the abscissa, and its label.
    column : str
        Column of the regret.
    title : str
    spread : {"quantiles", "standard error", "sd", "range", "none"}
        Spread over the runs, and over the problems with the same ``x``; see `plot_regret`.
    log : {"xy", "x", "y", ""}
        The logarithmic axes.
    legend : bool
        Whether to name the lines beside the axes and to describe the spread.
    among, colors, labels, order
        See `plot_regret`.

    Returns
    -------
    Axes

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
    draw_lines(ax, table, x, spread=spread, log=log, chosen=Chosen(colors or {}, labels or {}, order, among))
    if "y" not in log:
        ax.set_ylim(bottom=0)
    values = sorted(table[x].unique())
    if "x" in log or len(values) <= 12:
        shown = _apart(values, "x" in log)
        ax.set_xticks(shown, [f"{value:g}" for value in shown])
        ax.xaxis.set_minor_locator(NullLocator())
    ax.set(xlabel=xlabel, ylabel=f"cumulative {columns.regret_label(column)} at the horizon")
    if legend:
        words = [describe_means(table["runs"], spread), remark(results)]
        ax.set_xlabel(f"{xlabel} ({'; '.join(filter(None, words))})")
        legend_beside(ax)
    return ax


def _draw_bound(ax: Axes, constant: float, end: float, *, in_view: bool) -> None:
    """Plot the asymptotic bound c ln t over the last decade; with ``in_view``, extend the ordinate to include it."""
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    steps = np.geomspace(max(2.0, left, end / 10), max(3.0, end), 50)
    bound = constant * np.log(steps)
    if not any(line.get_label() == BOUND and np.array_equal(line.get_ydata(), bound) for line in ax.get_lines()):
        ax.plot(steps, bound, color=BOUND_COLOUR, lw=1.2, ls=(0, (1, 1)), label=BOUND)
    ax.set_xlim(left, right)
    last = constant * float(np.log(steps[-1]))
    ax.set_ylim(*(min(bottom, last / 1.5), max(top, last * 1.5)) if in_view else (bottom, top))


def _apart(values: list[float], log: bool) -> list[float]:
    """Return values whose labels do not touch each other on the axis."""
    places = np.log(values) if log else np.asarray(values, np.float64)
    least, kept = (places[-1] - places[0]) / 12, [0]
    for k in range(1, len(places)):
        if places[k] - places[kept[-1]] >= least:
            kept.append(k)
    return [values[k] for k in kept]
