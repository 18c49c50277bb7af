"""Figures of rankers and of comparison methods: quality by relevance grades, and sensitivity."""

from __future__ import annotations

from typing import Unpack

import pandas as pd
from matplotlib.axes import Axes

from ltr_duel.analysis.lines import LineChoices, draw_lines
from ltr_duel.analysis.style import BOUND_COLOUR, COLOURS, add_legend, prepared_axes, require_table
from ltr_duel.core import columns, errors
from ltr_duel.simulation import averaged

_MOST_BANDS = 4


def plot_measures(evaluation: pd.DataFrame, ax: Axes | None = None, *, measure: str = "", title: str = "") -> Axes:
    """Plot each ranker's mean as a dot with its interval, the best on top; hollow dots mark rankers that differ.

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
    rows = evaluation[evaluation["measure"] == measure]
    reference, others = "the best", "best, or not\nshown to be worse"
    if "baseline" in rows:  # of several, the first
        reference = str(rows["baseline"].iloc[0])
        rows, others = rows[rows["baseline"] == reference], f"{reference}, or not\nshown to differ"
    rows = rows.reset_index(drop=True)
    ax = prepared_axes(ax, 7, max(2.2, 1.2 + 0.2 * len(rows)), title)
    ax.grid(visible=False, axis="y")
    ax.hlines(rows.index, rows["low"], rows["high"], color=COLOURS[0], lw=1.4, alpha=0.6)
    for differs, face in ((False, COLOURS[0]), (True, "white")):
        some = rows[(rows["p"] < 0.05) == differs]
        label = f"p < 0.05 against\n{reference} (Holm)" if differs else others
        ax.plot(some["mean"], some.index, "o", ms=5, color=COLOURS[0], mfc=face, label=label)
    ax.set_yticks(rows.index, rows["ranker"].astype(str))
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlabel(f"{measure}, mean over {int(rows['queries'].iloc[0]):,} queries with 95% intervals")
    add_legend(ax)
    return ax


def plot_sensitivity(
    frame: pd.DataFrame,
    ax: Axes | None = None,
    *,
    title: str = "",
    accuracy: float = 0.95,
    **choices: Unpack[LineChoices],
) -> Axes:
    """Plot how often each method names the better of two rankers: means over pairs.

    Up to four methods have bands of two standard errors over pairs; more bands would hide each other.

    Parameters
    ----------
    frame : DataFrame
        Result of `measure_sensitivity`.
    ax, title, **choices
        See `plot_regret`; ``colors``, ``labels`` and ``order`` are those of methods.
    accuracy : float
        Target accuracy, drawn as a line.

    Examples
    --------
    >>> frame = pd.DataFrame({"method": "sosm", "better": "a", "worse": "b", "impressions": [1, 10]})
    >>> plot_sensitivity(frame.assign(accuracy=[0.5, 0.8])).get_xscale()
    'log'
    """
    require_table(frame, columns.METHOD, "better", "worse", "impressions", "accuracy")
    ax = prepared_axes(ax, 7.8, 4.6, title, width := choices.get("width", ""))
    table = frame.drop(columns=columns.POLICY, errors="ignore").rename(columns={columns.METHOD: columns.POLICY})
    spread = "standard error" if table[columns.POLICY].nunique() <= _MOST_BANDS else "none"
    table = averaged(table, [columns.POLICY, "impressions"], "accuracy", spread)
    draw_lines(ax, table, "impressions", choices=choices, spread=spread, log="x", separate=())
    ax.axhline(accuracy, color=BOUND_COLOUR, lw=1, ls=(0, (1, 1)))
    at_left = ax.get_yaxis_transform()
    ax.text(0.005, accuracy, f"{accuracy:.0%}", transform=at_left, va="bottom", fontsize=8, color=BOUND_COLOUR)
    ax.set_ylim(top=min(1.03, ax.get_ylim()[1]))
    ax.set_xlabel("impressions" + " (band: two standard errors over pairs)" * (spread != "none"))
    ax.set_ylabel("share of repetitions that\nname the better ranker")
    ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    add_legend(ax, paper=width)
    return ax
