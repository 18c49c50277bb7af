"""Consistent looks for all figures: a usual colour for each policy, from a palette for colour-blind readers."""

from __future__ import annotations

import functools
import hashlib
import io
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import pandas as pd
from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatterSciNotation

from ltr_duel.bandits import POLICIES
from ltr_duel.core import InputError, arguments, errors, files
from ltr_duel.interleaving import METHODS

# Palette of Okabe and Ito, without yellow, which is hardly visible on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
HUES = (*COLOURS, "#882255")  # hues of one figure, with wine red, which colour-blind readers can distinguish too
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
Dash = str | tuple[int, tuple[int, ...]]
DASHES: tuple[Dash, ...] = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))
PATTERNS: tuple[Dash, ...] = (*DASHES, (0, (10, 2)), (0, (1, 4)), (0, (7, 1, 3, 1)))  # dashes of one figure
# The positions of known policies, seven per row, are arranged so that policies of the same figure in a paper differ in
# colour, and related policies share a column. Dashes also change at every position, so that policies of one row whose
# colours look the same in greyscale differ in their dashes. "" keeps the positions of the others. Any other policy gets
# a free position by the hash of its name.
_POLICIES = (
    "mdb", "rucb", "rmed1", "merge_rucb", "savage", "beat_the_mean", "interleaved_filter",
    "sparring", "double_thompson", "thompson_sparring", "rcs", "improved_doubler", "thompson_doubler", "doubler",
    "multi_self_sparring", "", "rmed2", "merge_dts", "balanced_doubler", "multisbm", "random_slate",
    "self_sparring", "", "rmed2fh", "winner_stays", "versatile_db", "ccb", "random",
    "exp3_sparring", "", "ecw_rmed", "winner_stays_strong", "beat_the_mean_pac", "auto", "auto_sets",
)  # fmt: skip
_METHODS = (
    "balanced", "document_constraints", "optimized", "optimized_multileave", "pairwise_preference", "probabilistic",
    "roughly_optimized", "sosm", "team_draft",
)  # fmt: skip
_METHOD_MARKERS = (*MARKERS[:5], "h", "*", "<", ">")
# Omitted metadata fields, which depend on the time or on the version of Matplotlib.
_METADATA: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    ".svg": {"Date": None, "Creator": None},
}
BOUND_COLOUR = "#6b6b6b"
_T = TypeVar("_T")


class Look(NamedTuple):
    """The look of a policy or a method: keywords of `matplotlib.axes.Axes.plot`.

    Parameters
    ----------
    color : str
    linestyle : str or tuple
    marker : str
        Marker; used to distinguish variants of a policy with parameters, and if colours and dashes are exhausted.
    markevery : float, optional
        Distance of the markers, as a share of the axes.

    Examples
    --------
    >>> Look("#000000", "--")._asdict()
    {'color': '#000000', 'linestyle': '--', 'marker': '', 'markevery': None}
    """

    color: str
    linestyle: Dash
    marker: str = ""
    markevery: float | None = None


def look_of(label: str) -> Look:
    """Return the look of a policy: unique to its name, and the same in every figure.

    Parameters in the label change the marker only.
    """
    name, _, params = label.partition(":")
    look = _look(_place(name, _POLICIES, POLICIES.names, slots=len(_looks())))
    if not params:
        return look
    others = [marker for marker in MARKERS if marker != look.marker]
    return look._replace(marker=others[_number(params) % len(others)], markevery=0.1)


def looks_of(labels: Iterable[str]) -> dict[str, Look]:
    """Return the looks of policies in one figure; the first eight differ in hues and in dashes.

    A policy keeps the colour and the dashes of `look_of`, unless an earlier policy has them; then the later policy gets
    the first free colour or dashes. From the ninth policy on, dashes repeat and markers distinguish the lines; markers
    also distinguish variants of a policy. If several figures must agree, pass all policies of the study in the same
    order.
    """
    looks = {label: look_of(label) for label in labels}
    own = {label.partition(":")[0]: look for label, look in looks.items()}
    hues = _shared_out({name: look.color for name, look in own.items()}, HUES)
    dashes = _shared_out({name: look.linestyle for name, look in own.items()}, PATTERNS)
    late = [name for name in own if name not in dashes]
    dashes |= {name: PATTERNS[place % len(PATTERNS)] for place, name in enumerate(late)}
    for label, look in looks.items():
        name = label.partition(":")[0]
        looks[label] = look._replace(color=hues.get(name, look.color), linestyle=dashes[name])
        if label in late:
            marker = MARKERS[late.index(label) // len(PATTERNS) % len(MARKERS)]
            looks[label] = looks[label]._replace(marker=marker, markevery=0.1)
        elif label == name:  # only `late` policies, whose dashes repeat, have a marker
            looks[label] = looks[label]._replace(marker="", markevery=None)
    return looks


def _shared_out(own: dict[str, _T], known: Sequence[_T]) -> dict[str, _T]:
    """Assign each name its value in ``own``; a name whose value is taken gets the next free value, if there is one."""
    chosen: dict[str, _T] = {}
    for name, one in own.items():
        if one not in chosen.values() and len(chosen) < len(known):
            chosen[name] = one
    free = [one for one in known if one not in chosen.values()]
    return chosen | dict(zip([name for name in own if name not in chosen], free, strict=False))


def method_look(label: str) -> Look:
    """Return the look of a comparison method by its name: the same in every figure, for any parameters."""
    name = label.partition(":")[0]
    place = _place(name, _METHODS, METHODS.names, slots=len(COLOURS) * len(_METHOD_MARKERS))
    row, column = divmod(place, len(COLOURS))
    return Look(COLOURS[column], DASHES[row % 4], _METHOD_MARKERS[place % len(_METHOD_MARKERS)])


def _look(place: int) -> Look:
    if place < len(_looks()):
        return _looks()[place]
    row, column = divmod(place, len(COLOURS))
    return Look(COLOURS[column], (0, (6, 1) + (1, 1) * row))  # for hundreds of policies, each row adds one dot


@functools.cache
def _looks() -> list[Look]:
    """Return all combinations of colours and dashes, first without a marker and then with each marker."""
    places = range(len(COLOURS) * len(DASHES))  # seven and five are coprime, so no combination repeats
    plain = [Look(COLOURS[place % len(COLOURS)], DASHES[place % len(DASHES)]) for place in places]
    marked = [look._replace(marker=marker, markevery=0.1) for marker in MARKERS for look in plain]
    return [*plain, *marked]


def _place(name: str, known: tuple[str, ...], registered: Callable[[], Collection[str]], slots: int) -> int:
    """Return a number unique to the name: its index in ``known``, else a free number found by hashing and probing."""
    if name in known:
        return known.index(name)
    return _free_places(known, frozenset([*registered(), name]), slots)[name]


@functools.lru_cache(maxsize=256)
def _free_places(known: tuple[str, ...], names: frozenset[str], slots: int) -> dict[str, int]:
    taken = set(range(len(known)))
    places = {}
    for name in sorted(names - set(known)):
        place = len(known) + _number(name) % (slots - len(known))
        while place in taken:
            place += 1
        places[name] = place
        taken.add(place)
    return places


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little")


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

    Returns
    -------
    Path
        Path of the file.

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
        _with_plain_labels(figure).savefig(temporary, format=suffix[1:], metadata=_METADATA[suffix])
    return path


def png_bytes(figure: Axes | Figure) -> bytes:
    """Return a figure as PNG."""
    data = io.BytesIO()
    _with_plain_labels(figure).savefig(data, format="png", metadata=_METADATA[".png"])
    return data.getvalue()


def _with_plain_labels(drawn: Axes | Figure) -> Figure:
    figure = whole_figure(drawn)
    write_powers_as_text(figure)
    return figure


def whole_figure(drawn: Axes | Figure) -> Figure:
    """Return the figure that contains the axes."""
    figure = drawn.figure
    while not isinstance(figure, Figure):
        figure = figure.figure
    return figure


def prepared_axes(
    ax: Axes | None, width: float, height: float, title: str = "", grid: Literal["both", "x"] = "both"
) -> Axes:
    """Return ``ax`` or the axes of a new figure, with grid and title; new figures have no window or global state."""
    if ax is None:
        ax = Figure(figsize=(width, height), dpi=150, layout="constrained").add_subplot()
    arguments.require_type("ax", ax, Axes)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(which="major", axis=grid, color="#e6e6e6", lw=0.7)
    ax.set_axisbelow(True)
    if title:
        ax.set_title(title, loc="left", fontsize=10)
    return ax


def legend_beside(ax: Axes, handles: Sequence[Artist] | None = None) -> None:
    """Add a legend to the right of the axes."""
    named = handles if handles is not None else ax.get_legend_handles_labels()[0]
    beside: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1, 1)}
    ax.legend(handles=named, fontsize=8, frameon=False, handlelength=4, **beside)  # shorter samples would hide dashes


# Labels of logarithmic axes are plain text (10³), because parsing mathematical text takes a third of the drawing time.
_MATH = re.compile(r"\$\\mathdefault\{(-?)(?:(\d+)\\times)?10\^\{(-?\d+)\}\}\$")
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Powers(LogFormatterSciNotation):
    """Matplotlib's tick labels with Unicode superscripts."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the label of a tick."""
        return _MATH.sub(_written, super().__call__(x, pos))


def _written(label: re.Match[str]) -> str:
    sign, factor, power = label.groups()
    return f"{sign}{factor + '×' if factor else ''}10{power.translate(_RAISED)}"


def write_powers_as_text(figure: Figure) -> None:
    """Replace Matplotlib's default tick labels on the logarithmic axes of a figure by plain text."""
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if type(axis.get_major_formatter()) is LogFormatterSciNotation:
                axis.set_major_formatter(Powers())
                axis.set_minor_formatter(Powers())
