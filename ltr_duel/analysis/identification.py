"""Draw how often, and how soon, policies recommend the Condorcet winner."""

from __future__ import annotations

from itertools import cycle
from typing import Unpack

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ltr_duel.analysis.lines import STEPS, LineChoices, chosen_styles, describe_means, draw_over_time, label_x, tidy
from ltr_duel.analysis.style import MARKERS, add_legend, prepared_axes, require_table
from ltr_duel.core import columns
from ltr_duel.simulation import Results, identified

_FEW_RUNS = 20  # with fewer runs, a line would look like a saw, so dots are drawn


def plot_accuracy(
    results: Results | pd.DataFrame,
    ax: Axes | None = None,
    *,
    title: str = "",
    start: float = 100,
    legend: bool = True,
    **choices: Unpack[LineChoices],
) -> Axes:
    """Plot the share of the runs that recommend the Condorcet winner against the steps.

    If there are fewer than 20 runs, dots are drawn instead of a line.

    Parameters
    ----------
    results : Results or DataFrame
        Results, or a table with the columns policy, repetition, t and correct, such as the result of
        `StudyResults.to_frame`.
    ax, title, start, legend, **choices : optional
        See `plot_regret`.

    Examples
    --------
    >>> frame = pd.DataFrame({"policy": "rucb", "t": [1, 1, 10, 10], "correct": [0.0, 1.0, 1.0, 1.0]})
    >>> plot_accuracy(frame, start=1).get_lines()[0].get_ydata().tolist()
    [0.5, 1.0]
    """
    frame = tidy(results)
    require_table(frame, columns.CORRECT)
    ax = prepared_axes(ax, 7.2, 4.2, title, width := choices.get("width", ""))
    if frame[columns.CORRECT].notna().any():
        runs, t = frame.groupby([columns.POLICY, columns.T])[columns.CORRECT].count(), frame[columns.T]
        if few := int(runs.min()) < _FEW_RUNS:
            frame = frame[t.isin(t.groupby(np.floor(3 * np.log10(t))).max())]
        draw_over_time(ax, frame, columns.CORRECT, choices=choices, spread="none", log="x", start=start)
        for line, marker in zip(ax.get_lines() if few else [], cycle(MARKERS), strict=False):
            line.set(linestyle="none", marker=marker, markersize=5, alpha=0.8)
        if legend:
            share = f", one run is {1 / max(1, runs.min()):.0%}" * few
            add_legend(ax, title=describe_means(runs, "none") + share, paper=width)
    else:
        ax.annotate(columns.NOBODY, (0.5, 0.5), xycoords="axes fraction", ha="center", color="#5d6670")
    ax.set(xscale="log", ylim=(-0.03, 1.03), ylabel="share of runs that\nname the winner")
    label_x(ax, STEPS, frame)
    ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    return ax


def plot_identification(
    results: Results | pd.DataFrame, ax: Axes | None = None, *, title: str = "", **choices: Unpack[LineChoices]
) -> Axes:
    """Plot the identification times of each policy, with a dot for each run and a line at the median.

    The identification time of a run is the checkpoint after which it recommends only the Condorcet winner. A run that
    ends with another recommendation has no dot. The number of such runs is written at the right edge.

    Parameters
    ----------
    results : Results or DataFrame
        Results, or a table with one row for each run and the columns policy, t and identified_at, such as the result of
        `StudyResults.final`.
    ax, title, **choices : optional
        See `plot_regret`.

    Examples
    --------
    >>> final = pd.DataFrame({"policy": "rucb", "t": 1000, "identified_at": [10.0, 100.0, float("inf")]})
    >>> [text.get_text() for text in plot_identification(final).texts]
    ['1 of 3 never']
    """
    final = tidy(results)
    if isinstance(results, Results):
        final = identified(final, results.matrix.condorcet_winner)
    require_table(final, columns.POLICY, columns.T, columns.IDENTIFIED_AT)
    styles = chosen_styles(final[columns.POLICY], choices)
    ax = prepared_axes(ax, 7.2, 1.2 + 0.42 * len(styles), title, width := choices.get("width", ""))
    edge, earliest = 2 * float(final[columns.T].max()), float(final[columns.IDENTIFIED_AT].min())
    for row, (policy, style) in enumerate(styles.items()):
        times = final.loc[final[columns.POLICY] == policy, columns.IDENTIFIED_AT].dropna().to_numpy(np.float64)
        finite = np.sort(times[np.isfinite(times)])
        lift = (np.arange(len(finite)) % 5 - 2) * 0.06
        ax.plot(finite, row + lift, "o", color=style.color, alpha=0.5, ms=3 if width == "column" else 4, lw=0)
        if len(times):
            ax.plot([min(float(np.median(times)), edge)] * 2, [row - 0.3, row + 0.3], color=style.color, lw=2.5)
        if len(finite) < len(times):
            never = f"{len(times) - len(finite)} of {len(times)} never"
            ax.annotate(
                never, (1, row), (4, 0), xycoords=("axes fraction", "data"), textcoords="offset points",
                va="center", fontsize=6.5 if width == "column" else 8, color=style.color,
            )  # fmt: skip
    left = min(earliest, edge / 4) / 1.5 if earliest > 0 else 0.9
    ax.set(xscale="log", xlim=(left, edge), ylim=(len(styles) - 0.5, -0.5))
    label_x(ax, "identification time in steps\n(dot: a run, line: median)", final)
    ax.set_yticks(range(len(styles)), [style.label for style in styles.values()])
    return ax
