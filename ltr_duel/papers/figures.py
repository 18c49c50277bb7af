"""Draw reproduced figures, with panels arranged as in the papers. `ltr_duel.analysis` draws the curves.

A drawing is a function ``drawing(frame, facts, **options)``. It gets the table and the facts of a reproduced figure
(`ltr_duel.papers.Made`). The declaration of the figure names the drawing and its options.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from ltr_duel.analysis import BOUND, COLOURS, DASHES, describe_means, plot_accuracy, plot_against_arms, plot_regret
from ltr_duel.core import columns as col
from ltr_duel.core import errors
from ltr_duel.papers.declaration import PAPERS
from ltr_duel.simulation import final_rows

_SOFT = "#5d6670"
_WIDTHS = {1: 7.0, 2: 4.6, 3: 3.6}
_NUMBERED = r" #\d+$"  # how the name of a problem ends if it is one of several random subsets


class _Panel(NamedTuple):
    title: str
    remark: str
    rows: pd.DataFrame


def draw_figure(frame: pd.DataFrame, facts: Mapping[str, Any]) -> Figure:
    """Draw a figure with the drawing and the options that it declares."""
    described = facts["figure"]
    errors.require_one_of("drawing", described["drawing"], DRAWINGS)
    return DRAWINGS[described["drawing"]](frame, facts, **described["options"])


def regret(
    frame: pd.DataFrame, facts: Mapping[str, Any], *, column: str = col.REGRET, columns: int = 3, spread: str = "sd"
) -> Figure:
    """Draw how regret grows with the steps, in a panel for each problem. Random subsets of a problem share a panel."""
    parts, among = _problems(frame), list(frame[col.POLICY].unique())
    figure, axes = _grid(len(parts), columns=columns)
    for ax, part in zip(axes.flat, parts, strict=False):
        panel, drawn = _drawable(part, column)
        plot_regret(panel.rows, ax, column=drawn, spread=spread, start=100, legend=False, among=among)
        _head(ax, panel)
    for row in axes:
        _same_ordinate([ax for ax in row if ax in figure.axes])
    _outer_labels(axes, len(parts))
    return _finish(figure, figure.axes, facts, _means(frame, spread))


def regret_and_accuracy(frame: pd.DataFrame, facts: Mapping[str, Any]) -> Figure:
    """Draw a column for each problem, with regret above and accuracy below (as in Zoghi et al. 2014, Figure 4)."""
    parts, among, start = _problems(frame), list(frame[col.POLICY].unique()), 1000
    figure, axes = _grid(len(parts), rows=2, columns=len(parts))
    for (above, below), part in zip(axes.T, parts, strict=True):
        panel, drawn = _drawable(part, col.REGRET)
        plot_regret(panel.rows, above, column=drawn, spread="range", start=start, legend=False, among=among)
        _head(above, panel)
        plot_accuracy(panel.rows, below, start=start, legend=False, among=among).set_xlim(above.get_xlim())
    _same_ordinate(list(axes[0]))
    _outer_labels(axes, 2 * len(parts))
    return _finish(figure, figure.axes, facts, _means(frame, "range"))


def size(
    frame: pd.DataFrame,
    facts: Mapping[str, Any],
    *,
    x: str = col.RANKERS,
    label: str = "number of rankers K",
    panel: str = col.STUDY,
    titles: Sequence[str] = (),
    log: str = "xy",
) -> Figure:
    """Draw regret at the longest horizon against the column ``x``, in a panel for each value of ``panel``."""
    ends = final_rows(frame, [col.PROBLEM, col.POLICY])
    groups, among = list(ends.groupby(panel, sort=False)), list(ends[col.POLICY].unique())
    figure, axes = _grid(len(groups), height=3.4)
    for number, (ax, (value, rows)) in enumerate(zip(axes.flat, groups, strict=False)):
        title = titles[number] if number < len(titles) else "" if panel == col.STUDY else str(value)
        part, drawn = _drawable(_Panel(title, "", rows), col.REGRET)
        plot_against_arms(
            part.rows, ax, x=x, xlabel=label, column=drawn, spread="sd", log=log, legend=False, among=among
        )
        if "y" not in log:  # write 250k or 2M instead of a power of ten
            ax.yaxis.set_major_formatter(EngFormatter(sep="") if max(ax.get_ylim()) >= 1e4 else "{x:g}")
        _head(ax, part)
    _outer_labels(axes, len(groups))
    steps = " or ".join(f"{step:,}" for step in sorted(ends[col.HORIZON].unique()))
    means = describe_means(ends.groupby([col.POLICY, x], sort=False).size(), "sd")
    return _finish(figure, figure.axes, facts, f"after {steps} steps, {means}")


def gamma(frame: pd.DataFrame, facts: Mapping[str, Any], **options: Any) -> Figure:
    """Draw regret against gamma on linear axes (as in Yue and Joachims 2011, Figure 2, bottom).

    If gamma is a parameter of a policy, one line joins all values of the parameter.
    """
    labels = frame[col.POLICY].str.replace(r"gamma=[^,]+", "gamma=γ", regex=True)
    options = {"x": col.GAMMA, "label": "γ (relaxed stochastic transitivity)", "log": "", **options}
    return size(frame.assign(**{col.POLICY: labels}), facts, **options)


def curves(frame: pd.DataFrame, facts: Mapping[str, Any]) -> Figure:
    """Draw a line for each item against the number of rankers (as in Zoghi et al. 2014, Figure 5)."""
    figure, axes = _grid(1, height=3.8)
    ax = axes[0, 0]
    lines = frame.dropna(subset=["value"]).groupby("item", sort=False).filter(lambda rows: len(rows) > 1)
    for number, (item, rows) in enumerate(lines.groupby("item", sort=False)):
        style: dict[str, Any] = {"color": COLOURS[number % len(COLOURS)], "ls": DASHES[number % len(DASHES)]}
        ax.plot(rows[col.RANKERS], rows["value"], label=str(item), marker="o", ms=3, lw=1.6, **style)
        ax.fill_between(rows[col.RANKERS], rows["low"], rows["high"], color=style["color"], alpha=0.12, lw=0)
    ax.set(xlabel="number of rankers K", ylabel="share of the sets")
    _head(ax, _Panel("", "", frame))
    return _finish(figure, figure.axes, facts, "shaded: possible for the true preferences")


DRAWINGS: dict[str, Callable[..., Figure]] = {
    "curves": curves,
    "gamma": gamma,
    "regret": regret,
    "regret_and_accuracy": regret_and_accuracy,
    "size": size,
}


def _problems(frame: pd.DataFrame) -> list[_Panel]:
    panels = []
    for name, rows in frame.groupby(frame[col.PROBLEM].str.replace(_NUMBERED, "", regex=True), sort=False):
        subsets, size = rows[col.PROBLEM].nunique(), rows[col.RANKERS].iloc[0]
        words = [f"K = {size}" * (f"K={size}" not in str(name)), f"{subsets} random subsets" * (subsets > 1)]
        panels.append(_Panel(str(name), "; ".join(filter(None, words)), rows))
    return panels


def _drawable(panel: _Panel, column: str) -> tuple[_Panel, str]:
    drawn = col.defined_regret(panel.rows, column)
    if drawn == column:
        return panel, column
    words = f"{col.regret_label(drawn)} ({col.NOBODY})"
    return panel._replace(remark="; ".join(filter(None, (panel.remark, words)))), drawn


def _means(frame: pd.DataFrame, spread: str) -> str:
    runs = frame.drop_duplicates([col.PROBLEM, col.POLICY, col.HORIZON, col.REPETITION])
    names = runs[col.PROBLEM].str.replace(_NUMBERED, "", regex=True)
    return describe_means(runs.groupby([names, col.POLICY, col.HORIZON], sort=False).size(), spread)


def _grid(panels: int, *, rows: int = 1, columns: int = 3, height: float = 3.0) -> tuple[Figure, Any]:
    across = min(2 if panels == 4 and rows == 1 else columns, panels)
    down = -(-panels // across) * rows
    figure = Figure(figsize=(_WIDTHS.get(across, 3.2) * across, height * down + 0.9), dpi=150, layout="constrained")
    axes = figure.subplots(down, across, squeeze=False)
    for number, ax in enumerate(axes.flat):
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(which="major", color="#e6e6e6", lw=0.7)
        ax.tick_params(labelsize=8)
        for axis in (ax.xaxis, ax.yaxis):
            axis.label.set_size(9)
        if rows == 1 and number >= panels:
            ax.remove()
    return figure, axes


def _head(ax: Axes, panel: _Panel) -> None:
    below = "; ".join(filter(None, (panel.remark, " and ".join(map(str, panel.rows[col.SOURCE].unique())))))
    ax.set_title(_safe("\n".join(textwrap.wrap(panel.title, 44))), loc="left", fontsize=9, pad=17)
    ax.annotate(
        _safe(below), (0, 1), (0, 5), xycoords="axes fraction", textcoords="offset points", fontsize=8, color=_SOFT
    )


def _finish(figure: Figure, axes: Sequence[Axes], facts: Mapping[str, Any], below: str) -> Figure:
    """Add the title, a legend for all panels, and a line with the scale, the text ``below`` and the notes."""
    described, width = facts["figure"], int(figure.get_figwidth() * 12)
    title = f"{PAPERS[described['paper']]}, {described['number']}: {described['title']}"
    figure.suptitle(_safe("\n".join(textwrap.wrap(title, width))), fontsize=11, x=0.01, ha="left")
    notes = dict.fromkeys(str(source["note"]) for source in facts["sources"] if source["note"])
    line = "; ".join([f"{facts['scale']} scale", below, *notes])
    handles: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    names = sorted(handles, key=lambda label: label == BOUND)  # the bound is listed last
    across = int(np.clip(figure.get_figwidth() * 12.5 / (max(map(len, names)) + 7), 1, len(names)))
    legend = figure.legend(
        [handles[name] for name in names], [_safe(name) for name in names], loc="outside lower center", ncols=across,
        title=_safe("\n".join(textwrap.wrap(line, int(width * 1.3)))), title_fontsize=8, fontsize=8, frameon=False,
        handlelength=3,
    )  # fmt: skip
    legend.get_title().set_color(_SOFT)
    return figure


def _outer_labels(axes: Any, panels: int) -> None:
    down, across = axes.shape
    for number in range(panels):
        row, column = divmod(number, across)
        if row < down - 1 and number + across < panels:
            axes[row, column].set_xlabel("")
        if column:
            axes[row, column].set_ylabel("")


def _same_ordinate(axes: Sequence[Axes]) -> None:
    limits = [ax.get_ylim() for ax in axes]
    for ax in axes:
        ax.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))


def _safe(text: str) -> str:
    """Escape dollar signs, which Matplotlib would take for formulas."""
    return text.replace("$", r"\$")
