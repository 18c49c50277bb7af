"""One look for each comparison method, in all figures: colour and marker, safe for colour-blind readers."""

from __future__ import annotations

from typing import NamedTuple

from ltr_duel.analysis.style import COLOURS
from ltr_duel.interleaving import METHODS

_MARKERS = ("o", "s", "^", "D", "v", "h", "*", "<", ">")
_DASHES = ("-", "--", "-.", ":")


class MethodLook(NamedTuple):
    """How one method is drawn."""

    color: str
    marker: str
    linestyle: str


def method_look(label: str) -> MethodLook:
    """Return the look of a method: by its place among all registered ones, whatever else is in the figure."""
    names = METHODS.names()
    name = label.partition(":")[0]
    place = names.index(name) if name in names else len(names)
    return MethodLook(
        COLOURS[place % len(COLOURS)],
        _MARKERS[place % len(_MARKERS)],
        _DASHES[place // len(COLOURS) % len(_DASHES)],
    )
