"""Arrange panels side by side, as in the papers; the source of the numbers is written below each panel's title."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from ltr_duel.analysis import BOUND
from ltr_duel.core import columns as col
from ltr_duel.papers.declaration import paper_title

_SOFT, _WARN = "#5d6670", "#a04000"
_WIDTHS = {1: 7.0, 2: 4.6, 3: 3.6}


class Panel(NamedTuple):
    """One panel: its title, a remark, the source of its numbers, and its rows."""

    title: str
    about: str
    source: str
    rows: pd.DataFrame


def split(frame: pd.DataFrame, about: Mapping[str, Any], by: str, titles: Sequence[str] = ()) -> list[Panel]:
    """Return a panel for each value of a column, in order of appearance; one panel if the column does not exist."""
    if by not in frame:
        return [Panel(titles[0] if titles else "", "", source_of(frame, about), frame)]
    if by == col.STUDY and frame[by].nunique() == 1 and not titles:
        titles = [""]
    panels = []
    for place, (value, rows) in enumerate(frame.groupby(by, sort=False)):
        title = titles[place] if place < len(titles) else _title(by, value)
        sizes = sorted(rows[col.RANKERS].unique()) if col.RANKERS in rows else []
        said = by == col.RANKERS or title.endswith(f"K={sizes[0] if sizes else ''}")
        size = f"K = {sizes[0]}" if len(sizes) == 1 and not said else ""
        panels.append(Panel(title, size, source_of(rows, about), rows))
    return panels


def drawable(panel: Panel, column: str) -> tuple[Panel, str]:
    """Return the panel and its column of regret; without a Condorcet winner, use Copeland regret and add a remark."""
    drawn = col.defined_regret(panel.rows, column)
    if drawn == column:
        return panel, column
    named = f"{col.regret_label(drawn)} (no Condorcet winner)"
    return panel._replace(about="; ".join(filter(None, (panel.about, named)))), drawn


def source_of(rows: pd.DataFrame, about: Mapping[str, Any]) -> str:
    """Return the source of these rows in words, from the column ``source`` or the ``sources`` in ``about``."""
    if col.SOURCE in rows:
        words = [str(one) for one in rows[col.SOURCE].dropna().unique()]
    else:
        names = set(rows[col.PROBLEM].unique()) if col.PROBLEM in rows else set()
        entries = [one for one in about.get("sources", []) if not names or one.get("problem") in names]
        words = list(dict.fromkeys(str(one["source"]) for one in entries))
    return " and ".join(dict.fromkeys(words)) or "source not recorded"


def grid(panels: int, *, rows: int = 1, columns: int | None = None, height: float = 3.0) -> tuple[Figure, Any]:
    """Return a figure and its axes: for each panel, ``rows`` axes one below the other. Unused axes are removed."""
    across = min(columns or (2 if panels == 4 else 3), panels)
    down = -(-panels // across) * rows
    width = _WIDTHS.get(across, 3.2)
    figure = Figure(figsize=(width * across, height * down + 0.9), dpi=150, layout="constrained")
    axes = figure.subplots(down, across, squeeze=False)
    for place, ax in enumerate(axes.flat):
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(which="major", color="#e6e6e6", lw=0.7)
        ax.tick_params(labelsize=8)
        for axis in (ax.xaxis, ax.yaxis):
            axis.label.set_size(9)
        if rows == 1 and place >= panels:
            ax.remove()
    return figure, axes


def head(ax: Axes, panel: Panel, width: int = 44) -> None:
    """Write a panel's title, and below it the remark (such as the number of rankers) and the source of the numbers."""
    colour = _WARN if panel.source == "surrogate" else _SOFT
    below = " · ".join(one for one in (panel.about, panel.source) if one)
    ax.set_title(safe("\n".join(textwrap.wrap(panel.title, width))), loc="left", fontsize=9, pad=17)
    ax.annotate(
        safe(below), (0, 1), (0, 5), xycoords="axes fraction", textcoords="offset points", fontsize=8, color=colour
    )


def finish(figure: Figure, axes: Sequence[Axes], about: Mapping[str, Any], below: str = "") -> Figure:
    """Add to a figure its title, one legend for all panels, and a line with the scale, ``below`` and notes."""
    heading = about.get("figure", about)
    paper = str(heading.get("paper", ""))
    name = ", ".join(filter(None, dict.fromkeys((paper_title(paper), str(heading.get("number", ""))))))
    width = int(figure.get_figwidth() * 12)
    title = ": ".join(one for one in (name, str(heading.get("title", ""))) if one)
    if title:
        figure.suptitle(safe("\n".join(textwrap.wrap(title, width))), fontsize=11, x=0.01, ha="left")
    scale = f"{about['scale']} scale" if about.get("scale") else ""
    notes = dict.fromkeys(str(one["note"]) for one in about.get("sources", []) if one.get("note"))
    line = "; ".join(one for one in (scale, below, *notes) if one)
    line = safe("\n".join(textwrap.wrap(line, int(width * 1.3))))
    handles: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    names = sorted(handles, key=lambda label: label == BOUND)  # the bound is listed last
    if len(names) > 1:
        across = int(np.clip(figure.get_figwidth() * 12.5 / (max(map(len, names)) + 7), 1, len(names)))
        legend = figure.legend(
            [handles[one] for one in names], [safe(one) for one in names], title=line, title_fontsize=8,
            loc="outside lower center", ncols=across, fontsize=8, frameon=False, handlelength=3,
        )  # fmt: skip
        legend.get_title().set_color(_SOFT)
    elif line:
        figure.supxlabel(line, fontsize=8, color=_SOFT, x=0.01, ha="left")
    return figure


def outer_labels(axes: Any, panels: int) -> None:
    """Keep only the outer labels of the axes: x labels below the lowest panels, and y labels of the first column."""
    down, across = axes.shape
    for place in range(panels):
        row, column = divmod(place, across)
        if row < down - 1 and place + across < panels:
            axes[row, column].set_xlabel("")
        if column:
            axes[row, column].set_ylabel("")


def plain_numbers(axis: Axis) -> None:
    """Label large numbers on a linear axis as 250k or 2M, instead of with a power of ten at the end of the axis."""
    large = max(abs(end) for end in axis.get_view_interval()) >= 1e4
    axis.set_major_formatter(EngFormatter(sep="") if large else "{x:g}")


def same_ordinate(axes: Sequence[Axes]) -> None:
    """Set the same y-limits for all these axes: the smallest range that contains all their ranges."""
    limits = [ax.get_ylim() for ax in axes]
    for ax in axes:
        ax.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))


def safe(text: str) -> str:
    """Escape a string so that Matplotlib does not parse it as a formula."""
    return text.replace("$", r"\$")


def _title(by: str, value: object) -> str:
    if by == col.RANKERS:
        return f"K = {value}"
    return str(value) if isinstance(value, str) else f"{by} {value}"
