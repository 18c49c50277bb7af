"""Figures of results: cumulative regret against time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pandas.core.groupby import SeriesGroupBy

from ltr_duel.analysis.style import BOUND_COLOUR, look_of, new_figure
from ltr_duel.core import unknown_name
from ltr_duel.preferences import PreferenceMatrix, lower_bound

BANDS = {"quantiles": "10th to 90th percentile", "standard error": "two standard errors of the mean"}
_MOST_ENDS = 6  # more lines than this get a legend instead of a name at their end
_MOST_BANDS = 10  # more bands than this hide each other, and the lines


def plot_regret(
    frame: pd.DataFrame, matrix: PreferenceMatrix, title: str = "", *, band: str = "quantiles", column: str = ""
) -> Figure:
    """Draw mean cumulative regret against steps, log-log, a point at each checkpoint, with a band over the runs.

    Parameters
    ----------
    frame : DataFrame
        As from `Results.to_frame`.
    matrix : PreferenceMatrix
        Gives the asymptotic lower bound. Without a Condorcet winner there is none, and Copeland regret is drawn.
    title : str
    band : {"quantiles", "standard error"}
        From the 10th to the 90th percentile of the runs, or two standard errors of the mean to each side.
    column : str, optional
        Which regret; by default the average one, or the Copeland regret where there is no Condorcet winner.

    Returns
    -------
    matplotlib Figure
    """
    figure, axes = new_figure(7.2, 4.8)
    bound = lower_bound(matrix) if column in ("", "regret_average") else None
    column = column or ("regret_copeland" if bound is None else "regret_average")
    ends, crowded = [], frame["policy"].nunique() > _MOST_BANDS
    for policy, runs in frame.groupby("policy", sort=False):
        by_time = runs.groupby("t")[column]
        mean = by_time.mean()
        mean = mean[mean > 0]
        if mean.empty:
            continue
        look = look_of(str(policy))
        axes.plot(mean.index, mean, lw=1.4 if crowded else 2, label=str(policy), **look._asdict())
        low, high = band_of(by_time, band)
        seen = low > 0
        if not crowded:
            axes.fill_between(low.index[seen], low[seen], high[seen], color=look.color, alpha=0.18, lw=0)
        ends.append((float(mean.iloc[-1]), str(policy), look.color))
    if bound is not None:
        steps = np.unique(frame["t"])
        steps = steps[steps >= 2]
        if len(steps):
            axes.plot(
                steps, bound * np.log(steps), color=BOUND_COLOUR, lw=1.2, ls=(0, (1, 1)),
                label="lower bound (asymptotic, pairs)",
            )  # fmt: skip
            ends.append((float(bound * np.log(steps[-1])), "lower bound\n(asymptotic, pairs)", BOUND_COLOUR))
    axes.set(xscale="log", yscale="log", xlabel="steps (impressions)", ylabel=f"cumulative {kind_of(column)}")
    missing = "" if matrix.condorcet_winner is not None else "no Condorcet winner"
    finish(axes, title or missing)
    repetitions = frame["repetition"].nunique()
    if repetitions > 1:
        axes.annotate(
            f"mean of {repetitions} runs" + ("" if crowded else f"\nband: {BANDS[band]}"),
            (0.01, 0.98), xycoords="axes fraction", va="top", fontsize=8, color="#555555",
        )  # fmt: skip
    if len(ends) <= _MOST_ENDS and len({colour for *_, colour in ends}) == len(ends):  # a name shows only the colour
        _name_the_ends(axes, ends)
    else:
        legend(axes)
    return figure


def band_of(groups: SeriesGroupBy[Any, Any], band: str) -> tuple[pd.Series, pd.Series]:
    """Return the lower and the upper edge of the band around the mean of each group.

    Raises
    ------
    InputError
        For a band that does not exist.
    """
    if band not in BANDS:
        raise unknown_name("band", band, BANDS)
    if band == "quantiles":
        return groups.quantile(0.1), groups.quantile(0.9)
    mean, error = groups.mean(), groups.sem().fillna(0.0)
    return mean - 2 * error, mean + 2 * error


def kind_of(column: str) -> str:
    """Name the regret in a column for people: "regret" for the average one, else for example "Copeland regret"."""
    known = {"regret_average": "regret", "regret_copeland": "Copeland regret", "regret_borda": "Borda regret"}
    return known.get(column, column.removeprefix("regret_").replace("_", " ") + " regret")


def finish(axes: Axes, title: str) -> None:
    """Give axes their title and a light grid."""
    axes.set_title(title, loc="left", fontsize=10)
    axes.grid(which="major", color="#e6e6e6", lw=0.7)
    axes.set_axisbelow(True)


def legend(axes: Axes) -> None:
    """Name the policies right of the axes, in the order of the lines' ends. Many names make the figure higher."""
    lines = sorted(axes.get_lines(), key=lambda line: -float(np.asarray(line.get_ydata())[-1]))
    figure = axes.figure
    assert isinstance(figure, Figure)  # not a part of one
    figure.set_figheight(max(figure.get_figheight(), 0.6 + 0.2 * len(lines)))
    axes.legend(handles=lines, fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))


def _name_the_ends(axes: Axes, ends: list[tuple[float, str, str]]) -> None:
    """Write each line's name at its right end, moved apart where they would touch."""
    low, high = (np.log(bound) for bound in axes.get_ylim())
    least, places = 0.085 * (high - low), [np.log(value) for value, *_ in sorted(ends)]
    for k in range(1, len(places)):
        places[k] = max(places[k], places[k - 1] + least)
    top = high
    for k in reversed(range(len(places))):  # none above the axes: push them down again from there
        top = places[k] = min(places[k], top)
        top -= least
    for place, (_, text, colour) in zip(places, sorted(ends), strict=True):
        axes.annotate(
            text, (1.01, float(np.exp(place))), xycoords=("axes fraction", "data"),
            color=colour, va="center", fontsize=9, annotation_clip=False,
        )  # fmt: skip
