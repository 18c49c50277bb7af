"""The figure of the quality of rankers by relevance grades: dots with intervals."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from ltr_duel.analysis.style import COLOURS, legend_beside, prepared_axes, require_table
from ltr_duel.core import errors


def plot_measures(evaluation: pd.DataFrame, ax: Axes | None = None, *, measure: str = "", title: str = "") -> Axes:
    """Plot each ranker's mean as a dot with its interval, the best on top; hollow dots mark rankers shown to be worse.

    Parameters
    ----------
    evaluation : DataFrame
        Result of `evaluate_rankers`.
    ax : Axes, optional
        Axes to draw on; by default the axes of a new figure, whose height depends on the number of rankers.
    measure : str
        Measure to plot; by default the first one.
    title : str

    Raises
    ------
    InputError
        If the table is not a result of `evaluate_rankers`, or does not contain the measure.

    Examples
    --------
    >>> from ltr_duel.data import make_corpus
    >>> from ltr_duel.rankers import evaluate_rankers, feature_rankers
    >>> rankings = feature_rankers(make_corpus(queries=10, documents=8, features=3))
    >>> len(plot_measures(evaluate_rankers(rankings, ["MRR"])).get_yticks())
    3
    """
    require_table(evaluation, "ranker", "measure", "mean", "low", "high", "p")
    measure = measure or str(evaluation["measure"].iloc[0])
    errors.require_one_of("measure in the table called", measure, list(evaluation["measure"].unique()))
    rows = evaluation[evaluation["measure"] == measure].reset_index(drop=True)
    ax = prepared_axes(ax, 7, max(2.2, 1.2 + 0.2 * len(rows)), title)
    ax.grid(visible=False, axis="y")
    places = range(len(rows))
    ax.hlines(places, rows["low"], rows["high"], color=COLOURS[0], lw=1.4, alpha=0.6)
    for worse, face in ((False, COLOURS[0]), (True, "white")):
        some = rows[(rows["p"] < 0.05) == worse]
        label = "p < 0.05 against\nthe best (Holm)" if worse else "best, or not\nshown to be worse"
        ax.plot(some["mean"], some.index, "o", ms=5, color=COLOURS[0], mfc=face, label=label)
    ax.set_yticks(list(places), [str(name) for name in rows["ranker"]])
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlabel(f"{measure}, mean over {int(rows['queries'].iloc[0]):,} queries with 95 % interval")
    legend_beside(ax)
    return ax
