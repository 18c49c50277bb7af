"""Distortion as a figure: how many rankers beat the Condorcet winner when whole sets are compared at once."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ltr_duel.analysis.method_style import method_look
from ltr_duel.analysis.style import new_figure
from ltr_duel.simulation import distortion_table

_BAND = "#f2f2f2"


def plot_distortion(frame: pd.DataFrame, title: str = "") -> Figure:
    """Draw the mean share of rankers that beat the winner, with two standard errors on both sides, cut at zero.

    One row for each click model and size of the set; one mark for each method. A hollow mark is the share that beats it
    clearly, by more than two standard errors of a fair coin: the rest may be noise.

    Parameters
    ----------
    frame : DataFrame
        From `ltr_duel.simulation.distortion.measure_distortion`.
    title : str

    Returns
    -------
    matplotlib Figure
    """
    table = distortion_table(frame)
    rows = list(table[["clicks", "rankers"]].drop_duplicates().itertuples(index=False, name=None))
    methods = list(dict.fromkeys(table["method"]))
    step = 0.8 / len(methods)
    height = float(np.clip(0.16 * len(methods) * len(rows), 1.6, 16))
    figure, axes = new_figure(8.4, 1.2 + height)
    for line, method in enumerate(methods):
        part = table[table["method"] == method].set_index(["clicks", "rankers"]).reindex(rows)
        y = np.arange(len(rows)) - 0.4 + step * (line + 0.5)
        look = method_look(method)
        bar = 2 * part["standard_error"].fillna(0)
        axes.errorbar(
            part["percent"], y, xerr=[np.minimum(bar, part["percent"]), bar], fmt=look.marker, color=look.color,
            ms=4.5, lw=1, capsize=0, label=method,
        )  # fmt: skip
        axes.plot(part["percent_clear"], y, look.marker, color=look.color, mfc="white", ms=3.5, mew=0.9, zorder=1.9)
    for place in range(0, len(rows), 2):
        axes.axhspan(place - 0.5, place + 0.5, color=_BAND, lw=0, zorder=0)
    axes.set_yticks(range(len(rows)), [f"{clicks}\n{size} rankers" for clicks, size in rows], fontsize=8)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(left=min(0.0, axes.get_xlim()[0]))
    axes.set_xlabel(
        "rankers that beat the Condorcet winner, % of the others (hollow: clearly; bars: two standard errors)"
    )
    axes.grid(axis="x", color="#dddddd", lw=0.7)
    axes.set_axisbelow(True)
    axes.set_title(title, loc="left", fontsize=10)
    axes.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return figure
