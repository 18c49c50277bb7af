"""Figures that compare runs beside their regret: who finds the winner, how soon, and what more arms cost."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from ltr_duel.analysis.plots import BANDS, band_of, finish, kind_of, legend
from ltr_duel.analysis.style import look_of, new_figure


def plot_accuracy(frame: pd.DataFrame, title: str = "") -> Figure:
    """Draw the share of runs that name the Condorcet winner, against steps.

    Parameters
    ----------
    frame : DataFrame
        Columns policy, t, correct (as from `StudyResults.to_frame`).
    title : str
    """
    figure, axes = new_figure(7.2, 4.2)
    for policy, runs in frame.groupby("policy", sort=False):
        share = runs.groupby("t")["correct"].mean()
        axes.plot(share.index, share, lw=2, label=str(policy), **look_of(str(policy))._asdict())
    axes.set(xscale="log", ylim=(-0.02, 1.02), xlabel="steps (impressions)", ylabel="share of runs naming the winner")
    axes.margins(x=0.02)
    finish(axes, title)
    legend(axes)
    return figure


def plot_identification(final: pd.DataFrame, title: str = "") -> Figure:
    """Draw after how many steps each policy has settled on the winner: every run a dot, the median a line.

    The number of runs that do not name the winner at the end is written at the right edge; where they are the greater
    part, the median stands there too.

    Parameters
    ----------
    final : DataFrame
        Columns policy, t, identified_at (as from `StudyResults.final`).
    title : str
    """
    policies = list(dict.fromkeys(final["policy"]))
    figure, axes = new_figure(7.2, 1.2 + 0.42 * len(policies))
    edge = float(final["t"].max()) * 2
    for place, policy in enumerate(policies):
        times = final.loc[final["policy"] == policy, "identified_at"].dropna().to_numpy(np.float64)
        look, found = look_of(policy), times[np.isfinite(times)]
        lift = (np.arange(len(found)) % 5 - 2) * 0.06
        axes.plot(np.sort(found), place + lift, "o", color=look.color, alpha=0.5, ms=4, lw=0)
        if len(times):
            middle = min(float(np.median(times)), edge)
            axes.plot([middle, middle], [place - 0.3, place + 0.3], color=look.color, lw=2.5)
        if len(found) < len(times):
            text = f"{len(times) - len(found)} of {len(times)} never"
            axes.annotate(text, (edge, place), va="center", ha="left", fontsize=8, color=look.color)
    label = "steps until the winner is settled on (dot: a run, line: median)"
    axes.set(xscale="log", xlabel=label, ylim=(len(policies) - 0.5, -0.5))
    axes.set_xlim(0.9, edge)
    axes.set_yticks(range(len(policies)), policies)
    finish(axes, title)
    return figure


def plot_against_arms(
    final: pd.DataFrame, column: str = "regret_average", title: str = "", *, band: str = "quantiles"
) -> Figure:
    """Draw the regret at the horizon against the number of arms, log-log, with a band over runs and problems.

    Parameters
    ----------
    final : DataFrame
        Columns policy, rankers and the regret (as from `StudyResults.final`, of one horizon).
    column : str
    title : str
    band : {"quantiles", "standard error"}
    """
    figure, axes = new_figure(7.2, 4.8)
    for policy, runs in final.groupby("policy", sort=False):
        groups = runs.groupby("rankers")[column]
        mean, (low, high), look = groups.mean(), band_of(groups, band), look_of(str(policy))
        axes.plot(
            mean.index, mean, color=look.color, linestyle=look.linestyle, marker=look.marker or ".", ms=5, lw=2,
            label=str(policy),
        )  # fmt: skip
        seen = low > 0
        axes.fill_between(low.index[seen], low[seen], high[seen], color=look.color, alpha=0.18, lw=0)
    label = f"cumulative {kind_of(column)} at the horizon"
    axes.set(xscale="log", yscale="log", xlabel=f"arms (rankers) (band: {BANDS[band]})", ylabel=label)
    sizes = sorted(final["rankers"].unique())
    axes.set_xticks(_apart(sizes), [str(size) for size in _apart(sizes)])
    axes.xaxis.set_minor_locator(NullLocator())
    finish(axes, title)
    legend(axes)
    return figure


def _apart(sizes: list[int], ratio: float = 1.08) -> list[int]:
    """Return those numbers of arms whose names do not touch on a logarithmic axis."""
    kept: list[int] = []
    for size in sizes:
        if not kept or size >= ratio * kept[-1]:
            kept.append(size)
    return kept
