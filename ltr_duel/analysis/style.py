"""One look for all figures: the same colour for the same policy everywhere, safe for colour-blind readers."""

from __future__ import annotations

from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ltr_duel.bandits.policy import POLICIES

# Okabe and Ito's palette, without the yellow that vanishes on white.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES = ("-", "--", "-.", ":")
BOUND_COLOUR = "#6b6b6b"


class Look(NamedTuple):
    """How one policy is drawn."""

    color: str
    linestyle: str


def look_of(label: str) -> Look:
    """Return the look of a policy: by its place among all registered ones, whatever else is in the figure."""
    names = POLICIES.names()
    name = label.partition(":")[0]
    place = names.index(name) if name in names else len(names)
    # A stride through the palette, so that neighbours in the alphabet differ.
    return Look(_COLOURS[place % len(_COLOURS)], _DASHES[place // len(_COLOURS) % len(_DASHES)])


def new_figure(width: float, height: float) -> tuple[Figure, Axes]:
    """Return a figure that belongs to no window and no global state, with one pair of axes."""
    figure = Figure(figsize=(width, height), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes
