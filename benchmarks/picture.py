"""Time of a step by the number of rankers, in the style of all figures."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.record import Found
from ltr_duel.analysis import plot_against_arms, save_figure


def draw(rows: list[Found], path: Path) -> Path:
    """Draw a line for each policy."""
    frame = pd.DataFrame([(row["policy"], row["K"], 1e9 / row["rate"]) for row in rows], columns=["policy", "K", "ns"])
    ax = plot_against_arms(frame.assign(t=1), x="K", column="ns", xlabel="number of rankers K", spread="none")
    ax.set(xlabel="number of rankers K", ylabel="nanoseconds a step, from the first one")
    return save_figure(ax, path)
