"""Figures of comparison methods: distortion and sensitivity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ltr_duel.analysis.lines import Chosen
from ltr_duel.analysis.style import BOUND_COLOUR, legend_beside, method_look, prepared_axes, require_table
from ltr_duel.core import columns
from ltr_duel.simulation import distortion_table


def plot_distortion(
    frame: pd.DataFrame,
    ax: Axes | None = None,
    *,
    title: str = "",
    colors: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    order: Sequence[str] = (),
) -> Axes:
    """Plot the mean share of rankers that beat the Condorcet winner in multileavings.

    Bars of two standard errors are clipped at zero. There is one row for each click model and size of the set, and one
    mark for each method. A hollow mark shows the share of rankers that beat the winner clearly, that is, by more than
    two standard errors of a fair coin, because smaller differences may be noise.

    Parameters
    ----------
    frame : DataFrame
        Result of `measure_distortion`.
    ax : Axes, optional
        Axes to draw on; by default the axes of a new figure, whose height depends on the number of rows.
    title : str
    colors, labels : mapping of str to str, optional
        Colours (of marks and bars) and labels of some methods, keyed by their names in the table.
    order : sequence of str
        Methods to draw and to list first, in this order.

    Returns
    -------
    Axes

    Examples
    --------
    >>> row = {"method": "sosm", "clicks": "perfect", "rankers": 3, "repetition": 0}
    >>> frame = pd.DataFrame([row | {"winner": "a", "percent": 50.0, "percent_clear": 0.0}])
    >>> plot_distortion(frame).get_lines()[0].get_xdata().tolist()
    [50.0]
    """
    require_table(frame, columns.METHOD, columns.CLICKS, columns.RANKERS, "percent", "percent_clear")
    table = distortion_table(frame)
    rows = list(table[[columns.CLICKS, columns.RANKERS]].drop_duplicates().itertuples(index=False, name=None))
    chosen = Chosen(colors or {}, labels or {}, order)
    methods = chosen.names(table[columns.METHOD])
    step = 0.8 / len(methods)
    ax = prepared_axes(ax, 8.4, 1.2 + float(np.clip(0.16 * len(methods) * len(rows), 1.6, 16)), title, grid="x")
    for line, method in enumerate(methods):
        part = table[table[columns.METHOD] == method].set_index([columns.CLICKS, columns.RANKERS]).reindex(rows)
        y = np.arange(len(rows)) - 0.4 + step * (line + 0.5)
        look = chosen.look(method, method_look(method))
        bar = 2 * part["standard_error"].fillna(0)
        ax.errorbar(
            part["percent"], y, xerr=[np.minimum(bar, part["percent"]), bar], fmt=look.marker, color=look.color,
            ms=4.5, lw=1, capsize=0, label=chosen.labels.get(method, method),
        )  # fmt: skip
        ax.plot(part["percent_clear"], y, look.marker, color=look.color, mfc="white", ms=3.5, mew=0.9, zorder=1.9)
    for place in range(0, len(rows), 2):
        ax.axhspan(place - 0.5, place + 0.5, color="#f2f2f2", lw=0, zorder=0)
    ax.set_yticks(range(len(rows)), [f"{clicks}\n{size} rankers" for clicks, size in rows], fontsize=8)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlim(left=min(0.0, ax.get_xlim()[0]))
    ax.set_xlabel(
        "rankers that beat the Condorcet winner, % of the other rankers (hollow: clearly; bars: two standard errors)"
    )
    legend_beside(ax)
    return ax


def plot_sensitivity(
    frame: pd.DataFrame,
    ax: Axes | None = None,
    *,
    title: str = "",
    accuracy: float = 0.95,
    colors: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    order: Sequence[str] = (),
) -> Axes:
    """Plot how often each method names the better of two rankers, averaged over the pairs of rankers.

    Bars show one standard error over pairs; to avoid overlap, methods have bars at different checkpoints.

    Parameters
    ----------
    frame : DataFrame
        Result of `measure_sensitivity`.
    ax : Axes, optional
        Axes to draw on; by default the axes of a new figure.
    title : str
    accuracy : float
        Target accuracy, drawn as a line.
    colors, labels, order
        See `plot_distortion`.

    Returns
    -------
    Axes

    Examples
    --------
    >>> frame = pd.DataFrame({"method": "sosm", "better": "a", "worse": "b", "impressions": [1, 10]})
    >>> plot_sensitivity(frame.assign(accuracy=[0.5, 0.8])).get_xscale()
    'log'
    """
    require_table(frame, columns.METHOD, "better", "worse", "impressions", "accuracy")
    ax = prepared_axes(ax, 7.8, 4.6, title)
    chosen = Chosen(colors or {}, labels or {}, order)
    methods = chosen.names(frame[columns.METHOD])
    for line, method in enumerate(methods):
        part = frame[frame[columns.METHOD] == method]
        pairs = part.pivot(index="impressions", columns=["better", "worse"], values="accuracy")
        mean = pairs.mean(axis=1)
        error = (pairs.std(axis=1, ddof=1) / np.sqrt(pairs.shape[1])).fillna(0)
        look = chosen.look(method, method_look(method))
        ax.errorbar(
            mean.index, mean, yerr=error, color=look.color, ls=look.linestyle, marker=look.marker, ms=4, lw=1.6,
            elinewidth=1, markevery=4, errorevery=(line, len(methods)), label=chosen.labels.get(method, method),
        )  # fmt: skip
    ax.axhline(accuracy, color=BOUND_COLOUR, lw=1, ls=(0, (1, 1)))
    ax.annotate(
        f"{accuracy:.0%}", (0.005, accuracy), xycoords=("axes fraction", "data"), va="bottom", fontsize=8,
        color=BOUND_COLOUR,
    )  # fmt: skip
    ax.set(
        xscale="log",
        xlabel="impressions (bars: one standard error over pairs)",
        ylabel="share of repetitions that name the better ranker",
    )
    ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    legend_beside(ax)
    return ax
