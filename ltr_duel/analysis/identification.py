"""Figures that show how often and how soon policies identify the Condorcet winner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ltr_duel.analysis.lines import STEPS, Chosen, Scales, draw_over_time, remark, tidy, write_remarks
from ltr_duel.analysis.style import legend_beside, prepared_axes, require_table
from ltr_duel.bandits import marked
from ltr_duel.core import columns
from ltr_duel.simulation import Results, identified


def plot_accuracy(
    results: Results | pd.DataFrame,
    ax: Axes | None = None,
    *,
    title: str = "",
    start: float = 0,
    legend: bool = True,
    among: Sequence[str] = (),
    colors: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    order: Sequence[str] = (),
) -> Axes:
    """Plot the share of runs that name the Condorcet winner against steps.

    Parameters
    ----------
    results : Results or DataFrame
        Results, or a table with the columns policy, repetition, t and correct (for example, the result of
        `StudyResults.to_frame`).
    ax : Axes, optional
        Axes to draw on; by default the axes of a new figure.
    title : str
    start : float
        First step shown.
    legend : bool
        Whether to add a legend beside the axes.
    among, colors, labels, order
        See `plot_regret`.

    Returns
    -------
    Axes

    Examples
    --------
    >>> frame = pd.DataFrame({"policy": "rucb", "t": [1, 1, 10, 10], "correct": [0.0, 1.0, 1.0, 1.0]})
    >>> (line,) = plot_accuracy(frame).get_lines()
    >>> line.get_ydata().tolist()
    [0.5, 1.0]
    """
    frame = tidy(results)
    require_table(frame, columns.CORRECT)
    ax = prepared_axes(ax, 7.2, 4.2, title)
    if frame[columns.CORRECT].notna().any():
        chosen = Chosen(colors or {}, labels or {}, order, among)
        draw_over_time(ax, frame, columns.CORRECT, spread="none", scales=Scales("x", start), chosen=chosen)
        write_remarks(ax, [remark(frame)])
        if legend:
            legend_beside(ax)
    else:
        ax.annotate("no Condorcet winner", (0.5, 0.5), xycoords="axes fraction", ha="center", color="#5d6670")
    ax.set(xscale="log", ylim=(-0.03, 1.03), xlabel=STEPS, ylabel="share of runs that\nname the winner")
    ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    return ax


def plot_identification(
    results: Results | pd.DataFrame,
    ax: Axes | None = None,
    *,
    title: str = "",
    among: Sequence[str] = (),
    colors: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    order: Sequence[str] = (),
) -> Axes:
    """Plot the identification times of each policy, with a dot for each run and a line at the median.

    The identification time of a run is the first checkpoint from which the run recommends the Condorcet winner until
    the end. Runs that do not recommend the winner at the end are counted at the right edge; if they are the majority,
    the median is also drawn there.

    Parameters
    ----------
    results : Results or DataFrame
        Results, or a table with the columns policy, t and identified_at, and one row per run (for example, the result
        of `StudyResults.final`).
    ax : Axes, optional
        Axes to draw on; by default the axes of a new figure.
    title : str
    among, colors, labels, order
        See `plot_regret`.

    Returns
    -------
    Axes

    Examples
    --------
    >>> final = pd.DataFrame({"policy": "rucb", "t": 1000, "identified_at": [10.0, 100.0, float("inf")]})
    >>> [text.get_text() for text in plot_identification(final).texts]
    ['1 of 3 never']
    """
    if not isinstance(results, Results):
        require_table(results, columns.POLICY, columns.T, columns.IDENTIFIED_AT)
        final = results
    else:
        final = identified(results.to_frame(("average",)), results.matrix.condorcet_winner)
    drawn = list(dict.fromkeys(final[columns.POLICY]))
    chosen = Chosen(colors or {}, labels or {}, order, among)
    policies = chosen.names(drawn)
    ax = prepared_axes(ax, 7.2, 1.2 + 0.42 * len(policies), title)
    edge = float(final[columns.T].max()) * 2
    styles = chosen.styles(drawn)
    for place, policy in enumerate(policies):
        times = final.loc[final[columns.POLICY] == policy, columns.IDENTIFIED_AT].dropna().to_numpy(np.float64)
        found, colour = times[np.isfinite(times)], styles[policy].color
        lift = (np.arange(len(found)) % 5 - 2) * 0.06
        ax.plot(np.sort(found), place + lift, "o", color=colour, alpha=0.5, ms=4, lw=0)
        if len(times):
            middle = min(float(np.median(times)), edge)
            ax.plot([middle, middle], [place - 0.3, place + 0.3], color=colour, lw=2.5)
        if len(found) < len(times):
            text = f"{len(times) - len(found)} of {len(times)} never"
            beside: Any = {"xytext": (4, 0), "textcoords": "offset points", "va": "center", "fontsize": 8}
            ax.annotate(text, (edge, place), color=colour, annotation_clip=False, **beside)
    label = "; ".join(filter(None, ["identification time in steps (dot: a run, line: median)", remark(results)]))
    earliest = float(final[columns.IDENTIFIED_AT].min())
    left = min(earliest, edge / 4) / 1.5 if earliest > 0 else 0.9
    ax.set(xscale="log", xlabel=label, xlim=(left, edge), ylim=(len(policies) - 0.5, -0.5))
    ax.set_yticks(range(len(policies)), [chosen.labels.get(policy, marked(policy)) for policy in policies])
    return ax
