"""Colours, dashes and markers of lines, from a palette for colour-blind readers; axes, legends and files of figures."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ltr_duel.core import InputError, arguments, errors, files

Dash = str | tuple[int, tuple[int, ...]]
# Palette of Okabe and Ito, without yellow, which is hardly visible on white, and with wine red.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#882255")
DASHES: tuple[Dash, ...] = (  # one for each colour
    "-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (10, 2)), (0, (1, 4)), (0, (7, 1, 3, 1)),
)  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
BOUND_COLOUR = "#6b6b6b"
# Omitted metadata fields, which depend on the time or on the version of Matplotlib.
_METADATA: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    ".svg": {"Date": None, "Creator": None},
}


class LineStyle(NamedTuple):
    """Keywords of `matplotlib.axes.Axes.plot`."""

    color: str
    linestyle: Dash
    marker: str = ""
    markevery: float | None = None  # distance of the markers, as a share of the axes
    label: str = ""


def line_styles(labels: Iterable[str]) -> dict[str, LineStyle]:
    """Return the styles of the policies or methods of a study, by their positions.

    The first eight names differ in colour and in dashes; then these repeat, with markers. Markers also distinguish the
    variants of a policy, ``name:parameter=value``. Figures of one study agree if all of them get all its labels.
    """
    labels = list(dict.fromkeys(labels))
    names = list(dict.fromkeys(label.partition(":")[0] for label in labels))
    used: Counter[int] = Counter()
    styles = {}
    for label in labels:
        hue = names.index(label.partition(":")[0]) % len(COLOURS)
        marker = ("", *MARKERS)[used[hue] % (len(MARKERS) + 1)]
        styles[label] = LineStyle(COLOURS[hue], DASHES[hue], marker, 0.1 if marker else None, label)
        used[hue] += 1
    return styles


def require_table(frame: Any, *columns: str) -> None:
    """Raise `InputError` unless the argument is a table with these columns and at least one row."""
    if not isinstance(frame, pd.DataFrame):
        table = "; pass the table of one problem from .to_frame()" if hasattr(frame, "to_frame") else ""
        raise InputError(f"a figure requires results or a DataFrame, not {errors.shown(frame)}{table}")
    missing = [column for column in columns if column not in frame]
    if missing or not len(frame):
        what = f"no column '{missing[0]}'" if missing else "no row"
        raise InputError(f"the table for a figure has {what}")


def save_figure(figure: Axes | Figure, path: str | Path) -> Path:
    """Write a figure as PNG, PDF or SVG, depending on the suffix; the same figure always gives the same bytes.

    Parameters
    ----------
    figure : Axes or Figure
        The axes that a function ``plot_...`` returns, or a figure.
    path : path
        Path of the file; its folder is created if missing.

    Raises
    ------
    InputError
        If the suffix is not .png, .pdf or .svg.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_figure(Figure(), f"{folder}/empty.svg").name
    'empty.svg'
    """
    arguments.require_type("a figure", figure, Axes, Figure)
    path = arguments.as_path("a figure", path)
    suffix = path.suffix.lower()
    if suffix not in _METADATA:
        raise InputError(f"{path}: the file name of a figure must end in .png, .pdf or .svg")
    with files.replacing(path) as temporary, rc_context({"svg.hashsalt": "ltr_duel", "svg.fonttype": "path"}):
        _whole(figure).savefig(temporary, format=suffix[1:], metadata=_METADATA[suffix])
    return path


def png_bytes(figure: Axes | Figure) -> bytes:
    """Return a figure as PNG."""
    data = io.BytesIO()
    _whole(figure).savefig(data, format="png", metadata=_METADATA[".png"])
    return data.getvalue()


def _whole(drawn: Axes | Figure) -> Figure:
    figure = drawn.figure
    while not isinstance(figure, Figure):
        figure = figure.figure
    return figure


def prepared_axes(ax: Axes | None, width: float, height: float, title: str = "") -> Axes:
    """Return ``ax`` or the axes of a new figure, with grid and title; new figures have no window or global state."""
    if ax is None:
        ax = Figure(figsize=(width, height), dpi=150, layout="constrained").add_subplot()
    arguments.require_type("ax", ax, Axes)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(which="major", color="#e6e6e6", lw=0.7)
    ax.set_axisbelow(True)
    if title:
        ax.set_title(title, loc="left", fontsize=10)
    return ax


def legend_beside(ax: Axes, handles: Sequence[Artist] | None = None, title: str = "") -> None:
    """Add a legend to the right of the axes; the title is broken after commas."""
    beside: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1, 1), "alignment": "left"}
    ax.legend(
        handles=handles or ax.get_legend_handles_labels()[0], title=title.replace(", ", ",\n"), title_fontsize=8,
        fontsize=8, frameon=False, handlelength=4, **beside,  # shorter samples would hide dashes
    )  # fmt: skip
