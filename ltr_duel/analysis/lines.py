"""Lines of figures: each policy's mean over runs, with a spread; callers may choose colours, labels and order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import is_color_like, to_hex

from ltr_duel.analysis.style import MARKERS, LineStyle, line_styles, require_table
from ltr_duel.bandits import marked
from ltr_duel.core import InputError, columns, errors
from ltr_duel.preferences import lower_bound
from ltr_duel.simulation import (
    COINS_LABEL,
    COINS_NOTE,
    INDEPENDENT_COINS,
    SPREADS,
    Results,
    averaged,
    comparable_rows,
    with_correct,
)


class Chosen(NamedTuple):
    """The caller's colours, labels and order; names without a choice keep the usual style, label and position."""

    colors: Mapping[str, str] = {}
    labels: Mapping[str, str] = {}
    order: Sequence[str] = ()
    among: Collection[str] = ()  # all names of the figures that share colours; by default the drawn names

    def names(self, drawn: Iterable[str]) -> list[str]:
        """Return the drawn names, in the chosen order; names outside this order are last.

        Raises `InputError` for a name that is neither drawn nor in ``among``, or for an unknown colour.
        """
        for word, given in (("colors", self.colors), ("labels", self.labels)):
            if not isinstance(given, Mapping):
                raise InputError(
                    f"{word} must be a dictionary of names, such as {{'rucb': 'red'}}, not {errors.shown(given)}"
                )
        names = list(dict.fromkeys(map(str, drawn)))
        for name in (*self.colors, *self.labels, *self.order):
            if name not in names and name not in self.among:
                raise errors.unknown_name("line in the figure called", name, names)
        for name, colour in self.colors.items():
            if not is_color_like(colour):
                raise InputError(
                    f"the colour of '{name}' must be one of Matplotlib's, such as '#0072B2', not '{colour}'"
                )
        first = [name for name in self.order if name in names]
        return [*first, *(name for name in names if name not in first)]

    def styles(self, drawn: Iterable[str]) -> dict[str, LineStyle]:
        """Return the styles of the drawn names, with the chosen colours."""
        return {
            name: style._replace(color=to_hex(self.colors[name])) if name in self.colors else style
            for name, style in line_styles([*self.among, *drawn]).items()
        }


USUAL = Chosen()

STEPS = "steps (impressions)"
ABSCISSAE = {
    "steps": (columns.T, STEPS),
    "outcomes": (columns.OUTCOMES, "outcomes received (pairs of rankers compared)"),
}
_REMARK = "_remark"
_MOST_BANDS = 10  # maximum number of bands; more bands would hide each other and the lines


def tidy(results: Results | pd.DataFrame) -> pd.DataFrame:
    """Return results as a tidy table with the columns that figures require; a table is returned unchanged."""
    if not isinstance(results, Results):
        require_table(results, columns.POLICY, columns.T)
        return results
    frame = with_correct(results.to_frame(), results.matrix.condorcet_winner)
    bound = lower_bound(results.matrix)
    more = {columns.ANSWERS: INDEPENDENT_COINS} if COINS_NOTE in results.notes else {}
    return frame.assign(**{columns.LOWER_BOUND: np.nan if bound is None else bound}, **more)


def remark(results: Results | pd.DataFrame) -> str:
    """Return a remark if sets were compared by independent coins, otherwise ""."""
    if isinstance(results, Results):
        return COINS_LABEL if COINS_NOTE in results.notes else ""
    return COINS_LABEL if columns.ANSWERS in results and (results[columns.ANSWERS] == INDEPENDENT_COINS).any() else ""


def write_remarks(ax: Axes, lines: Sequence[str]) -> None:
    """Write remarks into the upper left corner of a figure, one per line; empty remarks are omitted."""
    before = [text for text in ax.texts if text.get_label() == _REMARK]  # remarks of earlier plots on these axes
    said = [line for text in before for line in text.get_text().split("\n")]
    for text in before:
        text.remove()
    words = "\n".join(dict.fromkeys([*said, *filter(None, lines)]))
    if words:
        ax.annotate(words, (0.01, 0.98), xycoords="axes fraction", va="top", fontsize=8, color="#555555", label=_REMARK)


def describe_means(counts: Iterable[int], spread: str) -> str:
    """Return a phrase on the number of runs in each mean, and on the spread that is drawn around the means."""
    runs = sorted(set(counts))
    if not runs or runs[-1] == 1:
        return "a single run" if runs else ""
    count = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
    return f"mean of {count} runs" + (f", band: {SPREADS[spread]}" if SPREADS[spread] else "")


class Scales(NamedTuple):
    """The scales and ranges of the axes."""

    log: str = "xy"  # logarithmic axes: "xy", "x", "y" or ""
    start: float = 0  # first step shown; at most a tenth of the last step
    x: str = columns.T  # column of the abscissa: `T` or `OUTCOMES`


def draw_over_time(
    ax: Axes, frame: pd.DataFrame, column: str, *, spread: str, scales: Scales, chosen: Chosen = USUAL
) -> pd.DataFrame:
    """Plot the mean of each policy against steps, and return the plotted table (`averaged`).

    Policies that use their horizon, or have several horizons, are drawn as markers at the ends of runs. If the abscissa
    is the number of outcomes, each checkpoint is drawn at the mean number of outcomes received up to this checkpoint.
    """
    log, start, x = scales
    rows = comparable_rows(frame)
    rows = rows[rows[columns.T] >= min(start, float(rows[columns.T].max()) / 10)]
    table = averaged(rows, [columns.POLICY, columns.T], column, spread)
    if log not in ("xy", "x", "y", ""):
        raise InputError(f"log must be 'xy', 'x', 'y' or '' (the logarithmic axes), not {errors.shown(log)}")
    if x != columns.T:
        table = table.merge(rows.groupby([columns.POLICY, columns.T], as_index=False)[x].mean())
        if table[x].isna().any():
            raise InputError(f"these results lack the number of {x}, because an earlier version did not record it")
    if "y" in log:
        table = table[table["mean"] > 0]
    if "x" in log:
        table = table[table[x] > 0]
    separate = set(rows.loc[rows["separate"], columns.POLICY].unique())
    return draw_lines(ax, table, x, spread=spread, log=log, separate=separate, chosen=chosen)


def draw_lines(
    ax: Axes,
    table: pd.DataFrame,
    x: str,
    *,
    spread: str,
    log: str,
    separate: Iterable[str] | None = None,
    chosen: Chosen = USUAL,
) -> pd.DataFrame:
    """Plot a line for each policy of a table (a result of `averaged`), and return the table.

    The lines of policies in ``separate`` (by default all) have a marker at each point.
    """
    drawn = [str(name) for name in table[columns.POLICY].unique()]
    policies, styles = chosen.names(drawn), chosen.styles(drawn)
    crowded = visible_spread(table, spread) != spread
    colours: set[str] = set()
    for place, policy in enumerate(policies):
        mine, colour = table[table[columns.POLICY] == policy], styles[policy].color
        style: dict[str, Any] = styles[policy]._asdict() | {"markersize": 4}
        each = separate is None or policy in separate
        if each:
            style |= {"marker": MARKERS[place % len(MARKERS)], "markevery": 1, "markersize": 4.5}
            style["markerfacecolor"] = "white" if colour in colours else colour
        colours.add(colour)
        label = chosen.labels.get(policy, marked(policy))
        ax.plot(mine[x], mine["mean"], label=label, lw=1.4 if crowded else 1.8, **style)
        if not crowded:
            _draw_band(ax, mine, x, colour)
    ax.set(xscale="log" if "x" in log else "linear", yscale="log" if "y" in log else "linear")
    if "y" in log and len(table):
        low = table["low"] if spread != "sd" else table["mean"]
        ax.set_ylim(low[low > 0].min() / 1.5, table["high"].max() * 1.8)
    return table


def visible_spread(table: pd.DataFrame, spread: str) -> str:
    """Return the spread; but "none" if there are more than `_MOST_BANDS` policies in the table."""
    return "none" if table[columns.POLICY].nunique() > _MOST_BANDS else spread


def _draw_band(ax: Axes, mine: pd.DataFrame, x: str, colour: str) -> None:
    if len(mine) == 1:
        ax.plot([mine[x].iloc[0]] * 2, [mine["low"].iloc[0], mine["high"].iloc[0]], color=colour, lw=1, zorder=1.9)
    elif (mine["high"] > mine["low"]).any():
        positive = mine[mine["low"] > 0]
        ax.fill_between(positive[x], positive["low"], positive["high"], color=colour, alpha=0.18, lw=0)
