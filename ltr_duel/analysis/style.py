"""What all figures have in common: colours that colour-blind readers can tell apart, axes, legends and files."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ltr_duel.core import InputError, arguments, errors, files

Dash = str | tuple[int, tuple[int, ...]]
# The palette of Okabe and Ito, with wine red in place of yellow, which is hardly visible on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#882255")
DASHES: tuple[Dash, ...] = (  # one for each colour
    "-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (10, 2)), (0, (1, 4)), (0, (7, 1, 3, 1)),
)  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
BOUND_COLOUR = "#6b6b6b"
# For a paper of two columns: width and height of a figure in inches, without its legend, and font size in points.
WIDTHS = {"column": (3.3, 2.2, 6.5), "text": (7.0, 2.9, 8.0)}
# Metadata that files must not have, because it depends on the time or on the version of Matplotlib.
_METADATA: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    ".svg": {"Date": None, "Creator": None},
}


class LineStyle(NamedTuple):
    """How a line is drawn: arguments of `matplotlib.axes.Axes.plot`."""

    color: str
    linestyle: Dash
    marker: str
    markevery: float | None  # the distance between markers, as a share of the axes
    label: str


def line_style(position: int, label: str) -> LineStyle:
    """Return the style of a line, which depends on the position of the policy or method in a study.

    The first eight lines differ in colour and dashes. Further lines repeat these with markers.
    """
    again, hue = divmod(position, len(COLOURS))
    marker = ("", *MARKERS)[again % (len(MARKERS) + 1)]
    return LineStyle(COLOURS[hue], DASHES[hue], marker, 0.1 if marker else None, label)


def require_table(frame: Any, *columns: str) -> None:
    """Raise `InputError` if ``frame`` is no table, has no rows, or lacks one of these columns."""
    if not isinstance(frame, pd.DataFrame):
        table = "; pass the table of one problem from .to_frame()" if hasattr(frame, "to_frame") else ""
        raise InputError(f"a figure requires results or a DataFrame, not {errors.shown(frame)}{table}")
    missing = [column for column in columns if column not in frame]
    if missing or not len(frame):
        lack = f"no column '{missing[0]}'" if missing else "no row"
        raise InputError(f"the table for a figure has {lack}")


def save_figure(figure: Axes | Figure, path: str | Path) -> Path:
    """Write a figure to a PNG, PDF or SVG file. The same figure always gives the same bytes.

    Parameters
    ----------
    figure : Axes or Figure
        The axes that a function ``plot_...`` returns, or a figure.
    path : path
        The file to write, with a name that ends in .png, .pdf or .svg. Its folder is created if it is missing.

    Raises
    ------
    InputError
        If the name of the file has another ending.

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
    # by default, PDF has fonts of Type 3, which many journals refuse
    form = rc_context({"svg.hashsalt": "ltr_duel", "svg.fonttype": "path", "pdf.fonttype": 42})
    with files.replacing(path) as temporary, form:
        _whole(figure).savefig(temporary, format=suffix[1:], metadata=_METADATA[suffix])
    return path


def png_bytes(figure: Axes | Figure) -> bytes:
    """Return a figure as the content of a PNG file."""
    data = io.BytesIO()
    _whole(figure).savefig(data, format="png", metadata=_METADATA[".png"])
    return data.getvalue()


def _whole(drawn: Axes | Figure) -> Figure:
    figure = drawn.figure
    while not isinstance(figure, Figure):
        figure = figure.figure
    return figure


def prepared_axes(ax: Axes | None, width: float, height: float, title: str = "", paper: str = "") -> Axes:
    """Return ``ax``, or the axes of a new figure, with a grid and a title.

    paper: the width of a figure for print, a key of `WIDTHS`; by default, ``width`` and ``height`` hold.
    """
    font = 10.0
    if paper:
        errors.require_one_of("width", paper, WIDTHS)
        width, least, font = WIDTHS[paper]
        height = max(least, height * width / 10)
    if ax is None:
        ax = Figure(figsize=(width, height), dpi=150, layout="constrained").add_subplot()
    arguments.require_type("ax", ax, Axes)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(which="major", color="#e6e6e6", lw=0.7)
    ax.set_axisbelow(True)
    if paper:
        ax.tick_params(which="both", labelsize=font)
        for label in (ax.xaxis.label, ax.yaxis.label):
            label.set_fontsize(font + 1)
    if title:
        size = font + bool(paper)
        ax.set_title(wrapped(ax, title, size), loc="left", fontsize=size, wrap=True)  # wide labels make axes narrower
    return ax


def wrapped(ax: Axes, text: str, size: float) -> str:
    """Break a text into lines that are at most as wide as the axes."""
    figure, lines = _whole(ax), text.split("\n")
    room, probe = ax.get_position().width * figure.bbox.width, figure.text(0, 0, "", fontsize=size)
    for number, line in enumerate(lines):
        for most in range(max(1, len(line)), 0, -1):
            lines[number] = textwrap.fill(line, most)
            probe.set_text(lines[number])
            if probe.get_window_extent().width <= room:
                break
    probe.remove()
    return "\n".join(lines)


def add_legend(ax: Axes, handles: Sequence[Artist] | None = None, title: str = "", paper: str = "") -> None:
    """Add a legend: below a figure for print, inside the caller's axes, and otherwise beside the axes."""
    handles = handles or ax.get_legend_handles_labels()[0]
    if paper:
        names = [str(handle.get_label()) for handle in handles]
        legend_below(_whole(ax), handles, names, title, WIDTHS[paper][2])
        return
    position: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1, 1), "alignment": "left"}
    room = ax.figure.get_layout_engine() is not None  # beside the axes of a caller, there may be no room
    ax.legend(
        handles=handles, title=title.replace(", ", ",\n"), fontsize=8, title_fontsize=8, frameon=False,
        handlelength=4, **position if room else {},  # shorter samples would hide dashes
    )  # fmt: skip


def legend_below(figure: Figure, handles: Sequence[Any], names: Sequence[str], title: str, font: float) -> None:
    """Add one legend below all axes. The figure becomes higher by the height of the legend."""
    for old in list(figure.legends):  # of an earlier call on the same axes
        figure.set_figheight(figure.get_figheight() - old.get_window_extent().height / figure.dpi)
        old.remove()
    for columns in range(len(names), 0, -1):
        legend = figure.legend(
            handles, names, title=title, loc="outside lower center", ncols=columns, fontsize=font, title_fontsize=font,
            frameon=False, handlelength=3, columnspacing=1.2, borderpad=0.1,
        )  # fmt: skip
        box = legend.get_window_extent()
        if columns == 1 or box.width <= 0.98 * figure.bbox.width:
            legend.get_title().set_color("#5d6670")
            figure.set_figheight(figure.get_figheight() + box.height / figure.dpi)
            return
        legend.remove()
