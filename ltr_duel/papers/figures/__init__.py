"""Functions that draw reproduced figures from one table: ``drawing(frame, about, **options)``.

``frame`` holds the results: `StudyResults.to_frame` with the column ``source``, or the table of a measure. ``about``
describes them: ``figure`` (paper, number, title), ``scale``, ``sources`` (each with problem, source, note). The options
are declared in the figure file. `ltr_duel.analysis` draws curves of runs; this package arranges them in panels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from ltr_duel.core import errors
from ltr_duel.papers.figures.curves import curves, frontier
from ltr_duel.papers.figures.table import table
from ltr_duel.papers.figures.times import gamma, regret, regret_and_accuracy, size

DRAWINGS: dict[str, Callable[..., Figure]] = {
    "curves": curves,
    "frontier": frontier,
    "gamma": gamma,
    "regret": regret,
    "regret_and_accuracy": regret_and_accuracy,
    "size": size,
    "table": table,
}


def draw_figure(frame: pd.DataFrame, about: Mapping[str, Any]) -> Figure:
    """Draw a figure: ``about["figure"]`` names the drawing function (``drawing``) and its ``options``."""
    described = about["figure"]
    errors.require_one_of("drawing", described["drawing"], DRAWINGS)
    return DRAWINGS[described["drawing"]](frame, about, **described.get("options", {}))
