"""Rules that determine which of two documents with the same score is ranked first.

``fixed_random`` orders tied documents by a hash of (seed, query, position in the query, ranker). This order is
reproducible, the same for the whole experiment, independent of the labels (which may determine the order of a file),
and different for each ranker, so that ties do not make two rankers identical.

- ``shared`` uses the same hash for all rankers, so that two constant features give identical rankings;
- ``file`` keeps the order of the file;
- ``resample`` and ``redraw_at_inference`` order ties again in each comparison (`ltr_duel.interleaving.comparison`).
"""

from __future__ import annotations

import hashlib
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import IntVector, interpreted, kernel

TieRule = Literal["fixed_random", "shared", "file", "resample", "redraw_at_inference"]
TIE_RULES: tuple[TieRule, ...] = ("fixed_random", "shared", "file", "resample", "redraw_at_inference")
SEEDED: tuple[TieRule, ...] = ("fixed_random", "shared")  # rules that depend on the tie seed
REDRAWING: tuple[TieRule, ...] = ("resample", "redraw_at_inference")

TIE_NUMBERS = 1  # version of the orders that result from a seed (`ltr_duel.core.digest`)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def document_keys(query_ids: NDArray[np.str_], query_ptr: IntVector) -> NDArray[np.uint64]:
    """Return one number for each document, computed from its query id and its position in the query."""
    sizes = np.diff(query_ptr)
    queries = np.array([_digest(str(query)) for query in query_ids], dtype=np.uint64)
    place = np.arange(query_ptr[-1], dtype=np.uint64) - np.repeat(query_ptr[:-1], sizes).astype(np.uint64)
    mix_all: Any = interpreted(mix)  # the uncompiled function accepts arrays, too
    return np.asarray(mix_all((np.repeat(queries, sizes) + place * _GOLDEN).astype(np.uint64)))


def salt_of(seed: int, ranker: str) -> np.uint64:
    """Return the salt of a ranker; its tied documents are ordered by ascending ``mix(document ^ salt)``."""
    return np.uint64(_digest(f"{seed}\x1f{ranker}"))


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


@kernel
def mix(key: np.uint64) -> np.uint64:
    """Scramble a number of 64 bits one to one (the finaliser of splitmix64)."""
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))
