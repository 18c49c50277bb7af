"""Tie rules: which of two documents with the same score is ranked first.

The rule ``fixed_random``, the default, orders tied documents by a hash of the seed, the query, the position in the
query and the ranker. The order is random, but the same in the whole experiment. It differs between rankers, because two
rankers with many ties could otherwise agree. The rule ``shared`` uses the same hash for all rankers, so that two
constant features give identical rankings. The rule ``file`` keeps the order of the file. The rules ``resample`` and
``redraw_at_inference`` reorder ties in each comparison (see `ltr_duel.interleaving.comparison`).

This module has only the names, so that the help of commands starts without the compiler.
"""

from __future__ import annotations

from typing import Literal

TieRule = Literal["fixed_random", "shared", "file", "resample", "redraw_at_inference"]
TIE_RULES: tuple[TieRule, ...] = ("fixed_random", "shared", "file", "resample", "redraw_at_inference")
SEEDED: tuple[TieRule, ...] = ("fixed_random", "shared")  # rules whose order depends on the seed
REDRAWING: tuple[TieRule, ...] = ("resample", "redraw_at_inference")

TIE_NUMBERS = 1  # version number; it is raised if the same seed gives another order (`ltr_duel.core.digest`)
