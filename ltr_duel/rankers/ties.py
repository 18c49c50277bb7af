"""Rules that determine which of two documents with the same score is ranked first.

``fixed_random`` orders tied documents by a hash of (seed, query, position in the query, ranker). This order is
reproducible, the same for the whole experiment, independent of the labels (which may determine the order of a file),
and different for each ranker, so that ties do not make two rankers identical.

- ``shared`` uses the same hash for all rankers, so that two constant features give identical rankings;
- ``file`` keeps the order of the file;
- ``resample`` and ``redraw_at_inference`` order ties again in each comparison (`ltr_duel.interleaving.comparison`).

The hash is computed in `ltr_duel.rankers.sorting`; the help of commands needs only the names, without the compiler.
"""

from __future__ import annotations

from typing import Literal

TieRule = Literal["fixed_random", "shared", "file", "resample", "redraw_at_inference"]
TIE_RULES: tuple[TieRule, ...] = ("fixed_random", "shared", "file", "resample", "redraw_at_inference")
SEEDED: tuple[TieRule, ...] = ("fixed_random", "shared")  # rules that depend on the tie seed
REDRAWING: tuple[TieRule, ...] = ("resample", "redraw_at_inference")

TIE_NUMBERS = 1  # version of the orders that result from a seed (`ltr_duel.core.digest`)
