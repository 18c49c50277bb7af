"""The figure of the sensitivity of comparison methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ltr_duel.analysis.lines import Chosen
from ltr_duel.analysis.style import BOUND_COLOUR, MARKERS, legend_beside, prepared_axes, require_table
from ltr_duel.core import columns


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
    colors, labels : mapping of str to str, optional
        Colours and labels of some methods, keyed by their names in the table.
    order : sequence of str
        Methods to draw and to list first, in this order.

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
    methods, styles = chosen.names(frame[columns.METHOD]), chosen.styles(frame[columns.METHOD])
    for line, method in enumerate(methods):
        part = frame[frame[columns.METHOD] == method]
        pairs = part.pivot(index="impressions", columns=["better", "worse"], values="accuracy")
        mean = pairs.mean(axis=1)
        error = (pairs.std(axis=1, ddof=1) / np.sqrt(pairs.shape[1])).fillna(0)
        style = styles[method]._replace(marker=MARKERS[line % len(MARKERS)], markevery=4)._asdict()
        ax.errorbar(
            mean.index, mean, yerr=error, **style, ms=4, lw=1.6,
            elinewidth=1, errorevery=(line, len(methods)), label=chosen.labels.get(method, method),
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
