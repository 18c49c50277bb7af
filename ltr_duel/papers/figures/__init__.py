"""Drawings of reproduced figures, one file for each, over one tidy table: ``drawing(frame, about, **options)``.

``frame`` is what was measured: `StudyResults.to_frame` with the column ``source``, or the table of a measure. ``about``
says of what: ``figure`` (paper, number, title), ``scale``, ``sources`` (a list of problem, source, note). The options
are those of the figure's file.
"""

from __future__ import annotations

from collections.abc import Callable

from matplotlib.figure import Figure

from ltr_duel.core import PlainRegistry

DRAWINGS: PlainRegistry[Callable[..., Figure]] = PlainRegistry("drawing", "ltr_duel.papers.figures")
