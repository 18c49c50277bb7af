"""Draw the result of `measure_sensitivity`: how many impressions a comparison method needs."""

from __future__ import annotations

from typing import Unpack

import pandas as pd
from matplotlib.axes import Axes

from ltr_duel.analysis.lines import LineChoices, draw_lines
from ltr_duel.analysis.style import BOUND_COLOUR, add_legend, prepared_axes, require_table
from ltr_duel.core import columns
from ltr_duel.simulation import averaged


def plot_sensitivity(
    frame: pd.DataFrame,
    ax: Axes | None = None,
    *,
    title: str = "",
    accuracy: float = 0.95,
    **choices: Unpack[LineChoices],
) -> Axes:
    """Plot how often each method names the better of two rankers, against the impressions.

    The lines are means over pairs of rankers, but `ltr_duel.simulation.sensitivity_table` has medians over pairs. The
    bands are two standard errors wide at each side. With more than four methods, there are no bands.

    Parameters
    ----------
    frame : DataFrame
        The result of `measure_sensitivity`.
    ax, title, **choices : optional
        See `plot_regret`. The names in ``colors``, ``labels`` and ``order`` are names of methods.
    accuracy : float
        The height of a horizontal line, by default 0.95.

    Examples
    --------
    >>> frame = pd.DataFrame({"method": "sosm", "better": "a", "worse": "b", "impressions": [1, 10]})
    >>> plot_sensitivity(frame.assign(accuracy=[0.5, 0.8])).get_xscale()
    'log'
    """
    require_table(frame, columns.METHOD, "better", "worse", "impressions", "accuracy")
    ax = prepared_axes(ax, 7.8, 4.6, title, width := choices.get("width", ""))
    table = frame.drop(columns=columns.POLICY, errors="ignore").rename(columns={columns.METHOD: columns.POLICY})
    spread = "standard error" if table[columns.POLICY].nunique() <= 4 else "none"
    table = averaged(table, [columns.POLICY, "impressions"], "accuracy", spread)
    table = table.assign(low=table["low"].clip(lower=0), high=table["high"].clip(upper=1))
    draw_lines(ax, table, "impressions", choices=choices, spread=spread, log="x", separate=())
    ax.axhline(accuracy, color=BOUND_COLOUR, lw=1, ls=(0, (1, 1)))
    at_left = ax.get_yaxis_transform()
    ax.text(0.005, accuracy, f"{accuracy:.0%}", transform=at_left, va="bottom", fontsize=8, color=BOUND_COLOUR)
    ax.set_ylim(top=min(1.03, ax.get_ylim()[1]))
    ax.set_xlabel("impressions (the table has their median over pairs)")
    ax.set_ylabel("share of repetitions that\nname the better ranker")
    ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    add_legend(ax, title="mean over pairs" + ", band: two standard errors" * (spread != "none"), paper=width)
    return ax
