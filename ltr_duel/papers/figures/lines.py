"""The lines of a panel: a policy's mean with its spread, and the lower bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ltr_duel.analysis import BOUND_COLOUR, look_of
from ltr_duel.core import unknown_name
from ltr_duel.papers.figures.panels import BOUND
from ltr_duel.papers.figures.points import SPREADS, points, shown

_MARKS = "osD^vPX"
_BARS = 7  # error bars on a curve; more would hide it


def draw_times(axes: Axes, rows: pd.DataFrame, column: str, *, spread: str, start: float, linear: bool = False) -> None:
    """Draw each policy's mean against steps; a policy that was run anew for each horizon as one marker for each."""
    if spread not in SPREADS:
        raise unknown_name("spread", spread, SPREADS)
    rows = shown(rows.assign(panel=0), ("panel",))
    start = min(start, float(rows["t"].max()) / 10)
    table = points(rows[rows["t"] >= start], ["policy", "t"], column)
    separate = set(rows.loc[rows["separate"], "policy"].unique())
    if not linear:
        table = table[table["mean"] > 0]
    policies = list(dict.fromkeys(table["policy"]))
    for place, policy in enumerate(policies):
        mine = table[table["policy"] == policy]
        look = look_of(policy)._asdict()
        if policy in separate:
            look |= {"marker": _MARKS[place % len(_MARKS)], "markevery": 1, "markersize": 4.5}
        else:
            look |= {"markersize": 4}
        draw_spread(axes, mine, "t", look, spread, place, len(policies), policy in separate, linear)
    axes.set_xscale("linear" if linear else "log")
    axes.set_yscale("linear" if linear else "log")
    if not linear and len(table):
        edges = table["high"] if spread == "range" else table["mean"]
        lowest = table["low"] if spread == "range" else table["mean"]
        axes.set_ylim(lowest[lowest > 0].min() / 1.5, edges.max() * 1.8)


def draw_spread(
    axes: Axes,
    mine: pd.DataFrame,
    x: str,
    look: dict[str, Any],
    spread: str,
    place: int = 0,
    lines: int = 1,
    each: bool = False,
    linear: bool = False,
) -> None:
    """Draw one line of `points`, with bars of one standard deviation, or dotted from the least to the largest run.

    Parameters
    ----------
    axes : Axes
    mine : DataFrame
    x : str
        The column of the abscissa.
    look : dict
        Of the line.
    spread : str
        One of `SPREADS`.
    place, lines : int
        The bars of line ``place`` of ``lines`` are drawn at other points than those of the others.
    each : bool
        A bar at every point.
    linear : bool
        The abscissa is linear.
    """
    axes.plot(mine[x], mine["mean"], label=str(mine["policy"].iloc[0]), lw=1.8, **look)
    if spread == "sd":
        some = mine if each else mine.iloc[_even(mine[x].to_numpy(np.float64), place / max(lines, 1), linear)]
        axes.errorbar(
            some[x],
            some["mean"],
            yerr=some["sd"],
            fmt="none",
            ecolor=look["color"],
            elinewidth=1,
            capsize=2,
            zorder=1.9,
        )
    if spread == "range" and (mine["high"] > mine["low"]).any():
        for edge in ("low", "high"):
            axes.plot(mine[x], mine[edge].where(mine[edge] > 0), color=look["color"], lw=0.9, ls=(0, (1, 1.5)))


def _even(x: NDArray[np.float64], shift: float, linear: bool) -> NDArray[np.int64]:
    """Return the places of some points, about as far from each other on the axis."""
    along = x if linear else np.log(np.maximum(x, 1))
    wanted = along[0] + (np.arange(_BARS) + 0.3 + 0.7 * shift) / _BARS * (along[-1] - along[0])
    return np.unique(np.abs(along[None, :] - wanted[:, None]).argmin(axis=1))


def draw_bound(axes: Axes, rows: pd.DataFrame) -> None:
    """Draw c ln t, if the table carries the constant c and it is the same for the whole panel."""
    if "lower_bound" not in rows:
        return
    constants = rows["lower_bound"].dropna().unique()
    if len(constants) != 1:
        return
    low, high = axes.get_xlim()
    steps = np.geomspace(max(2.0, low), max(3.0, float(rows["t"].max())), 50)
    limits = axes.get_ylim()
    axes.plot(steps, constants[0] * np.log(steps), color=BOUND_COLOUR, lw=1.2, ls=(0, (1, 1)), label=BOUND)
    axes.set_xlim(low, high)
    axes.set_ylim(limits)
