"""Draw a table as a picture, with the measured values beside the printed values of the paper."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from ltr_duel.analysis import BOUND_COLOUR
from ltr_duel.core import columns as col
from ltr_duel.papers.figures.panels import finish, safe, source_of

_MOST_ROWS = 60
_WIDEST = 34  # maximum characters per line of a cell


def table(
    frame: pd.DataFrame, about: Mapping[str, Any], *, rows: Sequence[str] = (), columns: Sequence[str] = ()
) -> Figure:
    """Draw a table: unchanged, or with a line for each value of ``rows`` and a column for each value of ``columns``.

    By default, a table with several problems is drawn with one line per problem and one column per item. A cell shows
    the value; if the table has the columns ``standard_error`` and ``printed`` (the paper's value), it shows these, too.
    """
    if not rows and {col.PROBLEM, "item"} <= set(frame.columns) and frame[col.PROBLEM].nunique() > 1:
        rows, columns = [col.PROBLEM, col.RANKERS], ["item"]
    texts = _crossed(frame, list(rows), list(columns)) if rows and columns else _plain(frame)
    left_out = max(0, len(texts) - _MOST_ROWS)
    texts = texts.head(_MOST_ROWS)
    cells = [[textwrap.fill(str(name), _WIDEST) for name in texts.columns]]
    cells += [[textwrap.fill(one, _WIDEST) for one in row] for row in texts.itertuples(index=False)]
    widths = [max(len(part) for row in cells for part in row[k].split("\n")) + 3 for k in range(len(cells[0]))]
    heights = [max(cell.count("\n") + 1 for cell in row) + 0.55 for row in cells]
    figure = Figure(figsize=(max(6.0, sum(widths) * 0.088), 0.19 * sum(heights) + 1.3), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set(xlim=(0, sum(widths)), ylim=(sum(heights), 0))
    top = 0.0
    for place, (row, height) in enumerate(zip(cells, heights, strict=True)):
        left = 0
        for cell, width in zip(row, widths, strict=True):
            weight = "bold" if place == 0 else "normal"
            axes.text(left + 0.5, top + height / 2, safe(cell), va="center", fontsize=8.5, weight=weight)
            left += width
        top += height
        axes.axhline(top, color="#1c1f23" if place == 0 else "#e3e6ea", lw=0.9)
    axes.set_title(safe(source_of(frame, about)), loc="left", fontsize=9, color=BOUND_COLOUR)
    printed = "in brackets: as printed in the paper" if "printed" in frame and rows else ""
    return finish(figure, [], about, "; ".join(filter(None, [printed, f"{left_out} rows omitted" * bool(left_out)])))


def format_number(value: object, digits: int = 3) -> str:
    """Format a cell as text: numbers with ``digits`` significant digits, and "" for NaN."""
    if isinstance(value, float):
        if math.isnan(value):
            return ""
        if math.isinf(value):
            return str(value)
        return f"{value:,.0f}" if value == round(value) or abs(value) >= 10**digits else f"{value:.{digits}g}"
    return str(value)


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    names = [name for name in frame if name != col.SOURCE and frame[name].notna().any()]
    texts = {str(name).replace("_", " "): [format_number(one) for one in frame[name]] for name in names}
    return pd.DataFrame(texts)


def _crossed(frame: pd.DataFrame, rows: list[str], columns: list[str]) -> pd.DataFrame:
    cells = []
    for _, entry in frame.iterrows():
        error = float(entry.get("standard_error", math.nan))
        printed = format_number(entry.get("printed", math.nan))
        cells.append(
            format_number(entry["value"])
            + (f" ± {format_number(error, 2)}" if error > 0 else "")
            + (f" ({printed})" if printed else "")
        )
    named = frame[rows + columns].astype(str).assign(
        cell=cells, column=[", ".join(map(str, one)) for one in frame[columns].itertuples(index=False)]
    )  # fmt: skip
    wide = named.pivot_table(index=rows, columns="column", values="cell", aggfunc=", ".join, sort=False, fill_value="")
    return wide.reset_index()
