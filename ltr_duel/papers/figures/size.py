"""Regret at the horizon against a property of the problems: the number of rankers, or gamma."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from ltr_duel.analysis import describe_means, plot_against_arms
from ltr_duel.core import columns as col
from ltr_duel.papers.figures.panels import finish, grid, head, outer_labels, plain_numbers, split
from ltr_duel.simulation import final_rows


def size(
    frame: pd.DataFrame,
    about: Mapping[str, Any],
    *,
    x: str = col.RANKERS,
    label: str = "number of rankers K",
    column: str = col.REGRET,
    panel: str = col.STUDY,
    titles: Sequence[str] = (),
    columns: int | None = None,
    spread: str = "sd",
    log: str = "xy",
) -> Figure:
    """Draw the regret at the longest horizon against a property of the problem.

    frame: columns problem, policy, horizon, repetition, t, the regret, and ``x``.
    x, label: the column of the abscissa, and its name.
    column, spread, log: see `ltr_duel.analysis.plot_against_arms`.
    panel: the column whose values make the panels; ``titles`` are theirs.
    columns: panels side by side.
    """
    ends = final_rows(frame, [col.PROBLEM, col.POLICY])
    parts, among = split(ends, about, panel, titles), list(ends[col.POLICY].unique())
    figure, axes = grid(len(parts), columns=columns, height=3.4)
    for ax, part in zip(axes.flat, parts, strict=False):
        plot_against_arms(
            part.rows, ax, x=x, xlabel=label, column=column, spread=spread, log=log, legend=False, among=among
        )
        if "y" not in log:
            plain_numbers(ax.yaxis)
        head(ax, part)
    outer_labels(axes, len(parts))
    steps = " or ".join(f"{one:,}" for one in sorted(ends[col.HORIZON].unique()))
    means = describe_means(ends.groupby([col.POLICY, x], sort=False).size(), spread)
    return finish(figure, figure.axes, about, f"after {steps} steps, {means}")


def gamma(frame: pd.DataFrame, about: Mapping[str, Any], **options: Any) -> Figure:
    """Draw as ``size`` does, with gamma as the abscissa and linear axes (Yue, Joachims 2011, Figure 2, bottom).

    A policy with gamma as a parameter has another label at each point; they are drawn as one line.
    """
    labels = frame[col.POLICY].str.replace(r"gamma=[^,]+", "gamma=γ", regex=True)
    options = {"x": col.GAMMA, "label": "γ (relaxed stochastic transitivity)", "log": "", **options}
    return size(frame.assign(**{col.POLICY: labels}), about, **options)
