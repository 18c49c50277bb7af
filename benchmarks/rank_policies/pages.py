"""Standings as tables of Markdown and as a figure."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ltr_duel.analysis import markdown_table

_ABOUT = ["problems", "batches", "steps"]


def standings_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return standings as a table of strings: one row per policy, the best first.

    frame: standings of one kind of problems and one number of steps, with or without batches.
    """
    names = list(frame.columns)
    families = [name for name in names[names.index("error") + 1 :] if frame[name].notna().any()]
    rows = [
        {
            "policy": row["policy"],
            "× best": f"{row['times the best']:.2f}",
            "95 %": "" if np.isnan(row["low"]) else f"{row['low']:.2f} to {row['high']:.2f}",
            "worst": f"{row['worst']:.1f}",
            "worst on": row["worst on"],
            "wrong": f"{row['wrong']:.0%}",
        }
        | {family: f"{row[family]:.2f}" for family in families}
        for row in frame.to_dict("records")
    ]
    return pd.DataFrame(rows)


def parts_of(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Divide standings into a table for each kind of problems, number of steps and use of batches, keyed by title."""
    parts = {}
    for (problems, batches, steps), part in frame.groupby(_ABOUT, sort=False):
        late = " in batches of 1 %" if batches != "no" else ""
        parts[f"{problems}, {steps:,} steps{late}"] = part
    return parts


def standings_page(halves: Mapping[str, pd.DataFrame]) -> str:
    """Return all tables as Markdown."""
    lines = []
    for half, frame in halves.items():
        for title, part in parts_of(frame).items():
            wrong = f"The best policy of each problem is wrong in {part['wrong at best'].iloc[0]:.0%} of runs."
            lines += [f"## {half.capitalize()} half: {title}", wrong, markdown_table(standings_table(part))]
    return "\n\n".join(lines) + "\n"


def plot_standings(halves: Mapping[str, pd.DataFrame]) -> Axes:
    """Plot the geometric mean and the worst problem of each policy on the last of the ``halves``, without batches.

    There is a panel for matrices and one for live problems, and a dot for each number of steps, from light to dark.
    """
    frame = list(halves.values())[-1]
    frame = frame[frame["batches"] == "no"]
    kinds = list(dict.fromkeys(frame["problems"]))
    figure = Figure(figsize=(6 * len(kinds), 4.4), dpi=150, layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(kinds)))
    for panel, kind in zip(panels, kinds, strict=False):
        part = frame[frame["problems"] == kind]
        mean = part.groupby("policy")["times the best"].mean().sort_values(ascending=False)
        place = {name: number for number, name in enumerate(mean.index)}
        panel.set_title(f"{kind}: regret as a multiple of the best policy's", loc="left", fontsize=10)
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(axis="x", color="#e6e6e6", lw=0.7)
        lengths = sorted(set(part["steps"]))
        for number, steps in enumerate(lengths):
            rows = part[part["steps"] == steps]
            at = rows["policy"].map(place) + 0.16 * (number - (len(lengths) - 1) / 2)
            colour = str(0.75 - 0.75 * number / max(1, len(lengths) - 1)) if len(lengths) > 1 else "0"
            panel.hlines(at, rows["times the best"], rows["worst"], color=colour, lw=0.8)
            panel.plot(rows["times the best"], at, "o", color=colour, ms=4, label=f"{steps:,} steps")
            panel.plot(rows["worst"], at, "|", color=colour, ms=5)
        panel.set_xscale("log")
        panel.set_yticks(range(len(place)), list(place), fontsize=8)
        panel.set_xlabel("geometric mean (dot) and worst problem (end)")
        panel.legend(fontsize=7, frameon=False)
    axes: Axes = panels[0]
    return axes
