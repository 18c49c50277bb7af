"""Figures of regret and accuracy against steps, and of regret at the horizon against properties of the problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from ltr_duel.analysis import COLOURS, describe_means, plot_accuracy, plot_against_arms, plot_regret
from ltr_duel.core import columns as col
from ltr_duel.papers.figures.panels import (
    drawable,
    finish,
    grid,
    head,
    outer_labels,
    plain_numbers,
    same_ordinate,
    split,
)
from ltr_duel.papers.standings import SETS, kind_of
from ltr_duel.simulation import final_rows

_OF_SETS = " (sets)"


def regret(
    frame: pd.DataFrame,
    about: Mapping[str, Any],
    *,
    column: str = col.REGRET,
    columns: int | None = None,
    spread: str = "sd",
    start: float = 100,
    kinds: bool = False,
) -> Figure:
    """Draw cumulative regret against steps, with a panel for each problem; panels side by side have the same y-range.

    columns: number of panels side by side.
    kinds: whether to draw the policies that compare sets dashed, add "(sets)" to their labels and list them last.
        If so, each policy and each variant has a different colour, unless there are too few colours.
    """
    parts, among = split(frame, about, col.PROBLEM), list(frame[col.POLICY].unique())
    figure, axes = grid(len(parts), columns=columns)
    marked = _marked_sets(among) if kinds else {}
    for ax, whole in zip(axes.flat, parts, strict=False):
        part, drawn = drawable(whole, column)
        plot_regret(part.rows, ax, column=drawn, spread=spread, start=start, legend=False, among=among, **marked)
        for line in ax.get_lines() if kinds else ():
            if str(line.get_label()) in among:
                line.set(linestyle="-", marker="")
            elif str(line.get_label()).endswith(_OF_SETS):
                line.set(linestyle="--", marker="")
        head(ax, part)
    for row in axes:
        same_ordinate([ax for ax in row if ax in figure.axes])
    outer_labels(axes, len(parts))
    return finish(figure, figure.axes, about, runs_line(frame, spread))


def _marked_sets(policies: Sequence[str]) -> dict[str, Any]:
    """Return colours, labels and an order that distinguish policies that compare pairs from those that compare sets."""
    sets = [policy for policy in policies if kind_of(policy) == SETS]
    order = [*(policy for policy in policies if policy not in sets), *sets]
    colours = dict(zip(order, COLOURS, strict=False)) if len(order) <= len(COLOURS) else {}
    return {"order": order, "colors": colours, "labels": {policy: policy + _OF_SETS for policy in sets}}


def regret_and_accuracy(frame: pd.DataFrame, about: Mapping[str, Any]) -> Figure:
    """Draw regret above accuracy, with a column of panels for each problem (Zoghi et al. 2014, Figure 4)."""
    parts, among, start = split(frame, about, col.PROBLEM), list(frame[col.POLICY].unique()), 1000
    figure, axes = grid(len(parts), rows=2, columns=len(parts))
    for place, whole in enumerate(parts):
        above, below = axes[:, place]
        part, drawn = drawable(whole, col.REGRET)
        plot_regret(part.rows, above, column=drawn, spread="range", start=start, legend=False, among=among)
        head(above, part)
        plot_accuracy(part.rows, below, start=start, legend=False, among=among).set_xlim(above.get_xlim())
        above.set_xlabel("")
        if place:
            above.set_ylabel("")
            below.set_ylabel("")
    same_ordinate(list(axes[0]))
    return finish(figure, figure.axes, about, runs_line(frame, "range"))


def runs_line(frame: pd.DataFrame, spread: str) -> str:
    """Return a phrase with the number of runs over which each mean is taken, and with the kind of spread drawn."""
    return describe_means(
        frame.groupby([col.PROBLEM, col.POLICY, col.HORIZON], sort=False)[col.REPETITION].nunique(), spread
    )


def size(
    frame: pd.DataFrame,
    about: Mapping[str, Any],
    *,
    x: str = col.RANKERS,
    label: str = "number of rankers K",
    panel: str = col.STUDY,
    titles: Sequence[str] = (),
    log: str = "xy",
) -> Figure:
    """Draw regret at the longest horizon against the property ``x``; each value of column ``panel`` has a panel."""
    ends = final_rows(frame, [col.PROBLEM, col.POLICY])
    parts, among = split(ends, about, panel, titles), list(ends[col.POLICY].unique())
    figure, axes = grid(len(parts), height=3.4)
    for ax, whole in zip(axes.flat, parts, strict=False):
        part, drawn = drawable(whole, col.REGRET)
        plot_against_arms(
            part.rows, ax, x=x, xlabel=label, column=drawn, spread="sd", log=log, legend=False, among=among
        )
        if "y" not in log:
            plain_numbers(ax.yaxis)
        head(ax, part)
    outer_labels(axes, len(parts))
    steps = " or ".join(f"{one:,}" for one in sorted(ends[col.HORIZON].unique()))
    means = describe_means(ends.groupby([col.POLICY, x], sort=False).size(), "sd")
    return finish(figure, figure.axes, about, f"after {steps} steps, {means}")


def gamma(frame: pd.DataFrame, about: Mapping[str, Any], **options: Any) -> Figure:
    """Call `size` with gamma as the abscissa and linear axes (Yue and Joachims 2011, Figure 2, bottom).

    The label of a policy that has gamma as a parameter differs from point to point; its points still form one line.
    """
    labels = frame[col.POLICY].str.replace(r"gamma=[^,]+", "gamma=γ", regex=True)
    options = {"x": col.GAMMA, "label": "γ (relaxed stochastic transitivity)", "log": "", **options}
    return size(frame.assign(**{col.POLICY: labels}), about, **options)
