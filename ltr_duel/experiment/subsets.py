"""Random subsets of the rankers of a corpus."""

from __future__ import annotations

import numpy as np

from ltr_duel.core import InputError, stream
from ltr_duel.preferences import PreferenceMatrix

_TRIES = 10_000


def draw_subset(matrix: PreferenceMatrix, size: int, number: int, seed: int, *, condorcet: bool) -> list[int]:
    """Draw one subset: positions of the rankers, ascending.

    Parameters
    ----------
    matrix : PreferenceMatrix
        Of all rankers.
    size : int
        Of the subset.
    number, seed : int
        Subset ``number`` depends on nothing else than these two and the size.
    condorcet : bool
        Draw until a subset has a Condorcet winner.

    Raises
    ------
    InputError
        If there are fewer rankers than ``size``, or no subset with a Condorcet winner was drawn in 10,000 tries.
    """
    if size > len(matrix):
        raise InputError(f"a subset of {size} rankers cannot be drawn from {len(matrix)}")
    rng = stream(seed, "subset", size, number)
    for _ in range(_TRIES):
        keys = np.array([rng.random() for _ in range(len(matrix))])
        picks = [int(k) for k in np.sort(np.argsort(keys, kind="stable")[:size])]
        if not condorcet or matrix[picks].condorcet_winner is not None:
            return picks
    raise InputError(f"none of {_TRIES:,} random subsets of {size} rankers has a Condorcet winner")
