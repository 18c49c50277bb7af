"""Drawings of measured values against the number of rankers, and of the regret of every policy on every problem."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from ltr_duel.analysis import COLOURS, DASHES
from ltr_duel.bandits import marked
from ltr_duel.core import columns as col
from ltr_duel.papers.figures.panels import Panel, finish, grid, head, safe, source_of
from ltr_duel.papers.standings import SETS, standings


def curves(frame: pd.DataFrame, about: Mapping[str, Any], *, line: str = "item") -> Figure:
    """Draw values against the number of rankers, with a line for each item, as in Zoghi et al. (2014, Figure 5)."""
    figure, axes = grid(1, height=3.8)
    ax = axes[0, 0]
    known = frame[frame["value"].notna()]
    for place, (item, mine) in enumerate(known.groupby(line, sort=False)):
        mine = mine.sort_values(col.RANKERS)
        error = 2 * mine["standard_error"].fillna(0.0) if "standard_error" in mine else None
        ax.errorbar(
            mine[col.RANKERS], mine["value"], yerr=error, label=str(item), color=COLOURS[place % len(COLOURS)],
            ls=DASHES[place % len(DASHES)], marker="o", ms=3, lw=1.6, elinewidth=1,
        )  # fmt: skip
    ax.set(xlabel="number of rankers K", ylabel="value")
    head(ax, Panel("", "", source_of(frame, about), frame))
    estimated = "standard_error" in frame and bool((frame["standard_error"] > 0).any())
    return finish(figure, figure.axes, about, "bars: two standard errors" if estimated else "")


def frontier(frame: pd.DataFrame, about: Mapping[str, Any], *, column: str = col.REGRET) -> Figure:
    """Draw each policy's regret as a multiple of the lowest regret, with a row per problem and a column per policy.

    Policies that compare pairs have the first columns, policies that compare sets the others; in each part, the best
    policy is first.
    """
    table = standings(frame, column)
    told = table[table["low"] == 1].groupby([col.PROBLEM, "compares"])[col.POLICY].agg(list)
    alone = {(key[0], some[0]) for key, some in zip(told.index, told, strict=True) if len(some) == 1}
    wide = table.pivot(index=col.PROBLEM, columns=col.POLICY, values="to_best")
    wide = wide.loc[list(dict.fromkeys(table[col.PROBLEM]))]
    order = np.exp(np.log(wide.where(wide > 0)).mean()).sort_values(kind="stable").index
    sets = set(table.loc[table["compares"] == SETS, col.POLICY])
    wide = wide[[label for label in order if label not in sets] + [label for label in order if label in sets]]
    facts = table.groupby(col.PROBLEM, sort=False)[[col.RANKERS, col.SOURCE]].first()
    names = [f"{name}\nK = {facts.loc[name, col.RANKERS]} · {facts.loc[name, col.SOURCE]}" for name in wide.index]
    height = 0.5 * len(wide) + 2.6
    figure = Figure(figsize=(max(6.4, 3.0 + 0.52 * wide.shape[1]), height), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    values = wide.to_numpy(np.float64)
    least, top = min(1.0, float(np.nanmin(values, initial=1.0))), max(10.0, float(np.nanmax(values, initial=1.0)))
    axes.pcolormesh(
        np.ma.masked_invalid(values), cmap="cividis_r", norm=LogNorm(least, top), edgecolors="white", lw=1
    )  # fmt: skip
    for row, column_number in np.argwhere(np.isfinite(values)):
        value = values[row, column_number]
        dark = np.log(max(value, 1.0)) > 0.45 * np.log(top)
        best = value == 1 and (wide.index[row], wide.columns[column_number]) in alone
        axes.text(
            column_number + 0.5, row + 0.5, f"{value:.2f}" if value < 9.95 else f"{value:,.0f}", ha="center",
            va="center", fontsize=8, color="white" if dark else "#1c1f23", weight="bold" if best else "normal",
        )  # fmt: skip
    axes.set_yticks(np.arange(len(wide)) + 0.5, [safe(name) for name in names], fontsize=8)
    axes.set_xticks(np.arange(wide.shape[1]) + 0.5, [safe(marked(str(name))) for name in wide], fontsize=8, rotation=40)
    for label in axes.get_xticklabels():
        label.set(ha="right", rotation_mode="anchor")
    axes.invert_yaxis()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    if 0 < len(sets) < wide.shape[1]:
        axes.axvline(wide.shape[1] - len(sets), color="#1c1f23", lw=1.5)  # pairs to the left, sets to the right
    what = f"{col.regret_label(column)} at the horizon divided by the lowest mean"
    said = "bold: all other policies of the row are above it with 95 % confidence; blank: not run"
    return finish(figure, [], about, f"{what} of policies that compare pairs (left), or sets (right); {said}")
