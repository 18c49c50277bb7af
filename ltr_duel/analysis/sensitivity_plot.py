"""Sensitivity as a figure: accuracy against impressions, one curve for each method."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ltr_duel.analysis.method_style import method_look
from ltr_duel.analysis.style import BOUND_COLOUR, new_figure


def plot_sensitivity(frame: pd.DataFrame, title: str = "", accuracy: float = 0.95) -> Figure:
    """Draw how often each method names the better of two rankers, averaged over the pairs of rankers.

    Bars are one standard error over pairs, drawn at different places for different methods.

    Parameters
    ----------
    frame : DataFrame
        From `ltr_duel.simulation.sensitivity.measure_sensitivity`.
    title : str
    accuracy : float
        The level to be reached, drawn as a line.

    Returns
    -------
    matplotlib Figure
    """
    figure, axes = new_figure(7.8, 4.6)
    methods = frame["method"].nunique()
    for line, (method, part) in enumerate(frame.groupby("method", sort=False)):
        pairs = part.pivot(index="impressions", columns=["better", "worse"], values="accuracy")
        mean = pairs.mean(axis=1)
        error = (pairs.std(axis=1, ddof=1) / np.sqrt(pairs.shape[1])).fillna(0)
        look = method_look(str(method))
        axes.errorbar(
            mean.index, mean, yerr=error, color=look.color, ls=look.linestyle, marker=look.marker, ms=4, lw=1.6,
            elinewidth=1, markevery=4, errorevery=(line, methods), label=str(method),
        )  # fmt: skip
    axes.axhline(accuracy, color=BOUND_COLOUR, lw=1, ls=(0, (1, 1)))
    axes.annotate(
        f"{accuracy:.0%}", (0.005, accuracy), xycoords=("axes fraction", "data"), va="bottom", fontsize=8,
        color=BOUND_COLOUR,
    )  # fmt: skip
    axes.set(
        xscale="log",
        xlabel="impressions (bars: one standard error over pairs)",
        ylabel="repetitions that name the better ranker",
    )
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.grid(which="major", color="#e6e6e6", lw=0.7)
    axes.set_axisbelow(True)
    axes.set_title(title, loc="left", fontsize=10)
    axes.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return figure
