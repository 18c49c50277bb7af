"""``size``: regret at the horizon against the number of rankers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from ltr_duel.analysis import look_of
from ltr_duel.core import unknown_name
from ltr_duel.papers.figures import DRAWINGS
from ltr_duel.papers.figures.lines import draw_spread
from ltr_duel.papers.figures.panels import face, finish, grid, outer_labels, plain_numbers, split
from ltr_duel.papers.figures.points import SPREADS, final, points
from ltr_duel.papers.figures.regret import regret_label

_MARKS = "osD^vPX"


def size(
    frame: pd.DataFrame,
    about: Mapping[str, Any],
    *,
    x: str = "rankers",
    label: str = "number of rankers K",
    column: str = "regret_average",
    panel: str = "study",
    titles: Sequence[str] = (),
    columns: int | None = None,
    spread: str = "sd",
    log: str = "xy",
) -> Figure:
    """Draw the regret at the longest horizon against a property of the problem.

    Parameters
    ----------
    frame : DataFrame
        Columns problem, policy, horizon, repetition, t, the regret, and ``x``.
    about : mapping
    x, label : str
        The column of the abscissa, and its name.
    column : str
        Which regret.
    panel : str
        The column whose values make the panels; ``titles`` are theirs.
    titles : sequence of str
    columns : int, optional
        Panels side by side.
    spread : {"sd", "range", "none"}
        Over the runs, and over the problems with the same ``x``.
    log : str
        The logarithmic axes: "xy", "x", "y" or "".
    """
    if spread not in SPREADS:
        raise unknown_name("spread", spread, SPREADS)
    ends = final(frame)
    parts = split(ends, about, panel, titles)
    figure, axes = grid(len(parts), columns=columns, height=3.4)
    for pair, part in zip(axes.flat, parts, strict=False):
        table = points(part.rows, ["policy", x], column)
        for place, (policy, mine) in enumerate(table.groupby("policy", sort=False)):
            look = {**look_of(str(policy))._asdict(), "marker": _MARKS[place % len(_MARKS)], "markevery": 1}
            fill = "white" if any(line.get_color() == look["color"] for line in pair.get_lines()) else look["color"]
            draw_spread(pair, mine, x, look | {"markersize": 4.5, "markerfacecolor": fill}, spread, each=True)
        pair.set(xscale="log" if "x" in log else "linear", yscale="log" if "y" in log else "linear")
        if "x" in log or table[x].nunique() <= 12:
            _name_ticks(pair, sorted(table[x].unique()))
        if "y" in log:
            pair.set_ylim(table["mean"][table["mean"] > 0].min() / 2, table["mean"].max() * 2)
        else:
            pair.set_ylim(bottom=0)
            plain_numbers(pair.yaxis)
        face(pair, part)
    outer_labels(axes, len(parts), label, regret_label(column))
    return finish(figure, figure.axes, about, _line(ends, x, spread))


def _name_ticks(axes: Any, values: list[float]) -> None:
    """Put ticks where something was measured, and name as many as do not touch."""
    shown = values if len(values) <= 8 else values[:: -(-len(values) // 8)]
    axes.set_xticks(shown, [f"{value:g}" for value in shown])
    axes.set_xticks([], minor=True)


def _line(ends: pd.DataFrame, x: str, spread: str) -> str:
    steps = sorted(ends["horizon"].unique())
    runs = sorted(ends.groupby(["policy", x], sort=False)["t"].size().unique())
    count = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
    bars = f", {'dotted' if spread == 'range' else 'bars'}: {SPREADS[spread]}" if SPREADS[spread] else ""
    return f"after {' or '.join(f'{one:,}' for one in steps)} steps, mean of {count} runs{bars}"


DRAWINGS.add("size", size)
