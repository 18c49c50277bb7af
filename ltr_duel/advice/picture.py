"""Plot of the probability of being right against impressions, for the first five candidates."""

from __future__ import annotations

from matplotlib.axes import Axes

from ltr_duel.advice.answer import Advice
from ltr_duel.analysis import COLOURS, DASHES, legend_beside, prepared_axes

_SHOWN = 5


def plot_advice(advice: Advice, ax: Axes | None = None) -> Axes:
    """Plot the curves of the first candidates, each under the click model in which it is least often right.

    The interval of the advised candidate is shaded.
    """
    ax = prepared_axes(ax, 8, 4.2)
    rows = [row for row in advice.rows if row.may_be_deployed][:_SHOWN]
    for place, row in enumerate(rows):
        curve = row.worst.curve
        colour = COLOURS[place % len(COLOURS)]
        ax.plot(
            advice.times,
            [one.value for one in curve],
            color=colour,
            linestyle=DASHES[place % len(DASHES)],
            lw=2.2 if place == 0 else 1.3,
            label=f"{row.candidate}, {row.worst.users}" if len(row.worlds) > 1 else row.candidate,
        )
        if place == 0:
            ax.fill_between(
                advice.times, [one.low for one in curve], [one.high for one in curve], color=colour, alpha=0.2, lw=0
            )
    ax.axhline(advice.settings["confidence"], color="#6b6b6b", lw=0.8, ls=":")
    ax.set_xscale("log")
    ax.set_ylim(-0.02, 1.02)
    ax.set_xlabel("impressions")
    ax.set_ylabel("probability that a right ranker is named")
    legend_beside(ax)
    return ax
