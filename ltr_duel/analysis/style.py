"""One look for all figures: the same colour for the same policy everywhere, safe for colour-blind readers."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ltr_duel.core import InputError, replacing

# Okabe and Ito's palette, without the yellow that vanishes on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES: tuple[str | tuple[int, tuple[int, ...]], ...] = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))
# Each policy's place, so that those that meet in the papers' figures differ in colour: seven to a row, a row for each
# kind of dash, and relatives in a column.
_PLACES = (
    "mdb", "rucb", "rmed1", "merge_rucb", "savage", "beat_the_mean", "interleaved_filter",
    "sparring", "double_thompson", "thompson_sparring", "rcs", "improved_doubler", "thompson_doubler", "doubler",
    "multi_self_sparring", "rucb_icml", "rmed2", "merge_dts", "balanced_doubler", "multisbm", "random_slate",
    "self_sparring", "double_thompson_plus", "rmed2fh", "winner_stays", "versatile_db", "ccb", "random",
    "exp3_sparring", "scb", "ecw_rmed", "winner_stays_strong", "beat_the_mean_pac",
)  # fmt: skip
# What would say when, and by which version, a file was made.
METADATA: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    ".svg": {"Date": None, "Creator": None},
}
BOUND_COLOUR = "#6b6b6b"


class Look(NamedTuple):
    """How one policy is drawn."""

    color: str
    linestyle: str | tuple[int, tuple[int, ...]]
    marker: str = ""  # tells apart the same policy with other parameters
    markevery: float | None = None


def look_of(label: str) -> Look:
    """Return the look of a policy: by its place in one list, whatever else is in the figure.

    Parameters change the marker only. A policy that is not in the list gets a look by its name.
    """
    name, _, params = label.partition(":")
    place = _PLACES.index(name) if name in _PLACES else _number(name)
    colour, dashes = COLOURS[place % len(COLOURS)], DASHES[place // len(COLOURS) % len(DASHES)]
    if not params:
        return Look(colour, dashes)
    return Look(colour, dashes, _MARKERS[_number(params) % len(_MARKERS)], 0.1)


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little")


def save_figure(figure: Figure, path: Path) -> Path:
    """Write a figure as PNG, PDF or SVG, by the suffix: the same figure gives the same bytes, whenever and wherever.

    Raises
    ------
    InputError
        For another suffix.
    """
    if path.suffix not in METADATA:
        raise InputError(f"{path}: a figure is written as {', '.join(METADATA)}")
    with replacing(path) as temporary, rc_context({"svg.hashsalt": "ltr_duel", "svg.fonttype": "path"}):
        figure.savefig(temporary, format=path.suffix[1:], metadata=METADATA[path.suffix])
    return path


def new_figure(width: float, height: float) -> tuple[Figure, Axes]:
    """Return a figure that belongs to no window and no global state, with one pair of axes."""
    figure = Figure(figsize=(width, height), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes
