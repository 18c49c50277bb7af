"""Comparisons of sets: block b of an estimate contains lists 100 b to 100 (b + 1) - 1, and has its own random stream.

A list draws a query, multileaves a random set of rankers, simulates the clicks of one user, and credits all pairs of
the set. Lists are independent and contain a pair at most once, so the standard error of a pair is that of a mean, but
the outcomes of different pairs are correlated.
"""

from __future__ import annotations

import numpy as np

from ltr_duel.core import IntMatrix, IntVector, SignMatrix, interpreted, kernel, random_below, stream
from ltr_duel.interleaving import Comparison, compare_slate
from ltr_duel.preferences.estimate.blocks import Piece
from ltr_duel.preferences.estimate.settings import Settings
from ltr_duel.preferences.tally import SCALE

LISTS = 100  # lists in a block


class SlateWorker:
    """Counts multileaved lists in one thread, with scratch arrays that are allocated once."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        size = len(settings.rankings)
        self._comparison = settings.comparer.open()
        self._won = np.zeros((settings.size, settings.size), np.int8)
        self._counts = np.zeros((3, size, size), np.int64)
        self._count = count_slates if settings.comparer.compiled else interpreted(count_slates)

    def count(self, piece: Piece) -> IntMatrix:
        """Return one row (lists, total, square, within) for each pair; the lists are ``begin[0]`` to ``end[0] - 1``."""
        settings, size = self._settings, len(self._settings.rankings)
        begin, end = int(piece.begin[0]), int(piece.end[0])
        self._counts[:] = 0
        for block in range(begin // LISTS, -(-end // LISTS)):
            offset, rng = block * LISTS, stream(settings.seed, "preferences", "sets", settings.size, block)
            arms, part = np.arange(size), (max(begin - offset, 0), min(end - offset, LISTS))
            self._count(
                self._comparison, settings.rankings.n_queries, settings.size, *part, arms, self._won, rng, self._counts
            )
        lists, ahead, decided = self._counts[:, piece.first, piece.second]
        whole = int(SCALE)
        return np.stack([lists, ahead * whole, decided * whole, np.zeros_like(lists)], axis=1)


@kernel
def count_slates(
    comparison: Comparison,
    n_queries: int,
    size: int,
    begin: int,
    end: int,
    arms: IntVector,
    won: SignMatrix,
    rng: np.random.Generator,
    counts: IntMatrix,
) -> None:
    """Multileave the first ``end`` lists of a block, and add all except the first ``begin`` to ``counts[:, i, j]``.

    The counts of i < j are the lists, the wins of i minus those of j, and the lists that one of them won. ``arms`` are
    all rankers, in any order; the first ``size`` of them, after a partial shuffle, are the set of a list. The set of
    all rankers is not shuffled, so that a method that solves a program for a set solves it once for a query.
    """
    for n in range(end):
        query = random_below(n_queries, rng)
        for a in range(size if size < arms.shape[0] else 0):
            other = a + random_below(arms.shape[0] - a, rng)
            arms[a], arms[other] = arms[other], arms[a]
        compare_slate(comparison, query, arms, size, won, rng, rng)
        if n >= begin:
            for a in range(size):
                for b in range(a + 1, size):
                    i, j, outcome = arms[a], arms[b], int(won[a, b])
                    if i > j:
                        i, j, outcome = j, i, -outcome
                    counts[0, i, j] += 1
                    counts[1, i, j] += outcome
                    counts[2, i, j] += outcome * outcome
