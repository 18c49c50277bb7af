"""Tick labels of logarithmic axes as plain text, 10³; parsing mathematical text takes a third of the drawing time."""

from __future__ import annotations

import re

from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatterSciNotation

_MATH = re.compile(r"\$\\mathdefault\{(-?)(?:(\d+)\\times)?10\^\{(-?\d+)\}\}\$")
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Powers(LogFormatterSciNotation):
    """matplotlib's labels with Unicode superscripts."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the label of a tick."""
        return _MATH.sub(_written, super().__call__(x, pos))


def _written(label: re.Match[str]) -> str:
    sign, factor, power = label.groups()
    return f"{sign}{factor + '×' if factor else ''}10{power.translate(_RAISED)}"


def write_powers_as_text(figure: Figure) -> None:
    """Replace matplotlib's default labels on the logarithmic axes of a figure."""
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if type(axis.get_major_formatter()) is LogFormatterSciNotation:
                axis.set_major_formatter(Powers())
                axis.set_minor_formatter(Powers())
