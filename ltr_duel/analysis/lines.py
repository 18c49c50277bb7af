"""Draw the lines of figures. A line is the mean of a policy over its runs, with a band around it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import is_color_like, to_hex

from ltr_duel.analysis.style import MARKERS, LineStyle, line_style, require_table, wrapped
from ltr_duel.analysis.tables import REFERENCE_ERROR
from ltr_duel.bandits import marked
from ltr_duel.core import InputError, columns, errors
from ltr_duel.preferences import PreferenceMatrix, condorcet_confidence, lower_bound
from ltr_duel.simulation import (
    COINS_LABEL,
    COINS_NOTE,
    INDEPENDENT_COINS,
    MEASURED,
    SPREADS,
    Results,
    averaged,
    comparable_rows,
    with_correct,
)

STEPS = "steps (impressions)"
SURE = 0.95  # if the conclusion of an estimate is less probable, it is undecided
_ASSUMING = ("", "average", "strong", "weak")  # these regrets, and the share of right answers, need the winner
_MOST_BANDS = 10  # more bands would hide each other and the lines


class LineChoices(TypedDict, total=False):
    """Optional arguments of a figure, which `plot_regret` describes."""

    width: str  # the width of a figure for print, a key of `style.WIDTHS`
    among: Sequence[str]  # all names of a study, so that its figures share colours; by default the drawn names
    colors: Mapping[str, str]
    labels: Mapping[str, str]
    order: Sequence[str]  # these names are drawn and listed first


def chosen_styles(drawn: Iterable[str], choices: LineChoices) -> dict[str, LineStyle]:
    """Return a style for each drawn name, in the chosen order. Names without a chosen place come last.

    Raises `InputError` if a choice is for a name that does not exist, or if a colour is unknown.
    """
    if unknown := choices.keys() - LineChoices.__annotations__:
        raise errors.unknown_name("choice", min(unknown), LineChoices.__annotations__)
    among, order = choices.get("among", ()), choices.get("order", ())
    colors, labels = choices.get("colors", {}), choices.get("labels", {})
    for word, given in (("colors", colors), ("labels", labels)):
        if not isinstance(given, Mapping):
            raise InputError(f"{word} must be a dictionary, such as {{'rucb': 'red'}}, not {errors.shown(given)}")
    names = list(dict.fromkeys(map(str, drawn)))
    for name in (*colors, *labels, *order):
        if name not in names and name not in among:
            raise errors.unknown_name("line in the figure called", name, names)
    for name, colour in colors.items():
        if not is_color_like(colour):
            raise InputError(f"the colour of '{name}' must be Matplotlib's, such as '#0072B2', not '{colour}'")
    usual = {name: line_style(k, marked(name)) for k, name in enumerate(dict.fromkeys([*among, *names]))}
    return {
        name: usual[name]._replace(
            color=to_hex(colors.get(name, usual[name].color)), label=labels.get(name, usual[name].label)
        )
        for name in dict.fromkeys([*(name for name in order if name in names), *names])
    }


def tidy(results: Results | pd.DataFrame) -> pd.DataFrame:
    """Return results as a table with the columns that figures need. A table is returned unchanged."""
    if not isinstance(results, Results):
        require_table(results, columns.POLICY, columns.T)
        return results
    frame = with_correct(results.to_frame(), results.matrix.condorcet_winner)
    more: dict[str, Any] = {columns.ANSWERS: INDEPENDENT_COINS} if COINS_NOTE in results.notes else {}
    more |= {columns.SLATES: frame[columns.POLICY].map(results.slates)} if results.slates else {}
    if results.matrix.standard_error.any():
        moved = dict(zip(results.policies, results.reference_errors(), strict=True))
        more[columns.REFERENCE_ERROR] = frame[columns.POLICY].map(moved)
    return frame.assign(**{columns.LOWER_BOUND: drawn_bound(results.matrix)}, **more)


def drawn_bound(matrix: PreferenceMatrix) -> float:
    """Return the constant c of the lower bound c ln t on regret. It is NaN without a certain winner."""
    bound = lower_bound(matrix)
    decided = not matrix.standard_error.any() or condorcet_confidence(matrix).max() >= SURE
    return bound if decided and bound is not None else np.nan


def label_x(ax: Axes, label: str, frame: pd.DataFrame, column: str = "") -> None:
    """Label the horizontal axis. Remarks below the label say how regret was measured."""
    remarks = []
    if columns.ANSWERS in frame and (frame[columns.ANSWERS] == INDEPENDENT_COINS).any():
        remarks.append(COINS_LABEL)
    if columns.SLATES in frame and (methods := frame[columns.SLATES].dropna().unique()).size:
        remarks.append(f"sets by {', '.join(methods)}")
    measured = not column or columns.regret_name(column) in MEASURED
    error = 0.0 if measured or columns.REFERENCE_ERROR not in frame else frame[columns.REFERENCE_ERROR].max()
    if error != 0:
        known = column == columns.REGRET and error > 0
        size = f"up to ±~{error:,.{int(error < 10)}f} (standard~error)" if known else "not~known"
        remarks.append(f"{REFERENCE_ERROR}: {size}".replace("~", "\N{NO-BREAK SPACE}"))
    assumed = {columns.LOWER_BOUND, columns.CORRECT} <= {*frame} and frame[columns.CORRECT].notna().any()
    if assumed and frame[columns.LOWER_BOUND].isna().any() and columns.regret_name(column) in _ASSUMING:
        remarks.append("winner\N{NO-BREAK SPACE}undecided")
    below = wrapped(ax, "; ".join(remarks), float(ax.xaxis.label.get_fontsize())).split("\n")
    ax.set_xlabel("\n".join(dict.fromkeys([*label.split("\n"), *ax.get_xlabel().split("\n")[1:], *below])).rstrip())


def describe_means(counts: Iterable[int], spread: str) -> str:
    """Return a phrase on how many runs the means cover, and on what the bands show."""
    runs = sorted(set(counts))
    if not runs or runs[-1] == 1:
        return "a single run" * len(runs)
    count = " to ".join(map(str, dict.fromkeys((runs[0], runs[-1]))))
    return f"mean of {count} runs" + (f", band: {SPREADS[spread]}" if SPREADS[spread] else "")


def visible_spread(table: pd.DataFrame, spread: str) -> str:
    """Return the spread to draw. It is "none" with many policies, because bands would hide the lines."""
    return "none" if table[columns.POLICY].nunique() > _MOST_BANDS else spread


def draw_over_time(
    ax: Axes, frame: pd.DataFrame, column: str, *, choices: LineChoices, spread: str, log: str = "xy", start: float = 0,
    x: str = columns.T,
) -> pd.DataFrame:  # fmt: skip
    """Plot the mean of each policy against steps or outcomes, and return the table of the plotted means."""
    errors.require_one_of("logarithmic axes", log, ("xy", "x", "y", ""))
    rows = comparable_rows(frame)
    rows = rows[rows[columns.T] >= min(start, float(rows[columns.T].max()) / 10)]
    table = averaged(rows, [columns.POLICY, columns.T], column, spread)
    if x != columns.T:
        table = table.merge(rows.groupby([columns.POLICY, columns.T], as_index=False)[x].mean())
        if table[x].isna().any():
            raise InputError(f"these results do not contain the number of {x}")
    for axis, name in (("x", x), ("y", "mean")):
        if axis in log:
            table = table[table[name] > 0]
    if hidden := [name for name in rows[columns.POLICY].unique() if name not in set(table[columns.POLICY])]:
        ax.set_xlabel(f"{ax.get_xlabel()}\nalways 0: {', '.join(map(str, hidden))}")  # `label_x` keeps this line
    separate = set(rows.loc[rows["separate"], columns.POLICY])
    return draw_lines(ax, table, x, choices=choices, spread=spread, log=log, separate=separate)


def draw_lines(
    ax: Axes,
    table: pd.DataFrame,
    x: str,
    *,
    choices: LineChoices,
    spread: str,
    log: str,
    separate: Collection[str] | None = None,
) -> pd.DataFrame:
    """Plot a line and a band for each policy, from the result of `averaged`; return this table.

    separate: policies that get a marker at each point; by default all.
    """
    small = choices.get("width") == "column"
    banded = visible_spread(table, spread) == spread
    for number, (policy, style) in enumerate(chosen_styles(table[columns.POLICY], choices).items()):
        points = table[table[columns.POLICY] == policy]
        more: dict[str, Any] = {"lw": 1.2 if small else 1.8 if banded else 1.4, "markersize": 3 if small else 4}
        if separate is None or policy in separate:
            more |= {"marker": MARKERS[number % len(MARKERS)], "markevery": 1}
        ax.plot(points[x], points["mean"], **style._asdict() | more)
        if banded and len(points) == 1:
            ax.vlines(points[x], points["low"], points["high"], color=style.color, lw=1, zorder=1.9)
        elif banded and (points["high"] > points["low"]).any():
            ax.fill_between(points[x], points["low"], points["high"], color=style.color, alpha=0.18, lw=0)
    ax.set(xscale="log" if "x" in log else "linear", yscale="log" if "y" in log else "linear")
    for axis in (axis for axis, name in ((ax.xaxis, "x"), (ax.yaxis, "y")) if name not in log):
        axis.set_major_formatter("{x:,.10g}")
    if "x" in log:  # labels between powers of ten would touch each other
        ax.xaxis.set_minor_formatter("")
    if "y" in log and len(table):
        low = table["mean" if spread in ("sd", "standard error") else "low"]  # these bands may end near zero
        ax.set_ylim(low.where(low > 0, table["mean"]).min() / 1.5, table["high"].max() * 1.8)
    return table
