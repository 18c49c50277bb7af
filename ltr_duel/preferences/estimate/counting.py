"""Simulate the comparisons of an estimate on several threads, and count their outcomes.

The comparisons of a pair are made in blocks of 4,000. Each block has its own random generator, whose seed contains the
names of the two rankers and the number of the block. For this reason, the comparisons of a pair do not depend on the
other rankers or on the number of threads. Sets of rankers are compared in blocks of 100 lists, each with its own
generator. A piece is the work that a thread does at a time: many pairs, or many blocks of one pair.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ltr_duel.core import IntMatrix, IntVector, SignMatrix, interpreted, kernel, parallel, random_below, shuffle, stream
from ltr_duel.interleaving import Comparison, compare_slate
from ltr_duel.preferences.estimate.control import corrections_of
from ltr_duel.preferences.estimate.evaluators import NO_CORRECTIONS, BlockPlan, count_block, open_evaluator
from ltr_duel.preferences.estimate.settings import Settings
from ltr_duel.preferences.tally import SCALE, Tally

BLOCK = 4000  # lists in a block of a pair. A unit has 1, 2 or 4 lists, so a block has whole units
SET_BLOCK = 100  # lists in a block of sets
_PIECE = 400_000  # comparisons of a piece: less than a second of work, so that Ctrl-C is fast


class Piece(NamedTuple):
    """Work for a thread: the comparisons ``begin[n]`` to ``end[n] - 1`` of each pair ``first[n]``, ``second[n]``."""

    first: IntVector
    second: IntVector
    begin: IntVector
    end: IntVector


class PairCounter:
    """Compare pairs of rankers on ``jobs`` threads, and count the outcomes."""

    def __init__(self, settings: Settings, jobs: int) -> None:
        self.settings = settings
        self._jobs = jobs
        self._local = threading.local()
        self._corrections = corrections_of(settings) if settings.reduced else NO_CORRECTIONS
        self._count_block = count_block if settings.comparer.compiled else interpreted(count_block)

    def add(self, tally: Tally, first: IntVector, second: IntVector, upto: IntVector) -> None:
        """Compare each pair ``first[n] < second[n]`` until ``tally`` has ``upto[n]`` comparisons of this pair."""
        begin = tally.lists[first, second]
        more = upto > begin
        pieces = list(_pieces(Piece(first[more], second[more], begin[more], upto[more])))
        rows = parallel.run_tasks(
            self._count,
            pieces,
            total=sum(len(piece.first) for piece in pieces),
            weight=lambda piece: len(piece.first),
            jobs=self._jobs,
            label="preferences",
            unit="pair",
        )
        for piece, counts in zip(pieces, rows, strict=True):
            for matrix, column in zip(tally, counts.T, strict=True):
                matrix[piece.first, piece.second] += column

    def _count(self, piece: Piece) -> IntMatrix:
        settings, names = self.settings, self.settings.rankings.names
        if not hasattr(self._local, "evaluator"):
            self._local.evaluator = open_evaluator(settings)
        rows = np.zeros((len(piece.first), 4), np.int64)
        for row, first, second, begin, end in zip(rows, *(column.tolist() for column in piece), strict=True):
            for block in range(begin // BLOCK, -(-end // BLOCK)):
                offset, rng = block * BLOCK, stream(settings.seed, "preferences", names[first], names[second], block)
                plan = BlockPlan(
                    self._local.evaluator,
                    queries_of(block, settings, names[first], names[second]),
                    self._corrections,
                    settings.lists,
                    settings.evaluations,
                )
                self._count_block(plan, first, second, max(begin - offset, 0), min(end - offset, BLOCK), rng, row)
        return rows


def queries_of(block: int, settings: Settings, first: str, second: str) -> IntVector:
    """Return the queries that a block of a pair visits, in order. It is empty if queries are drawn at random.

    Each pass over all queries has a new random order, which all pairs share. A pair begins each pass at a place of its
    own and returns to the start of the order: if all pairs saw the same part of a pass, their errors would be alike.
    """
    if not settings.stratified:
        return np.zeros(0, np.int64)
    size, n = BLOCK // (settings.lists * settings.evaluations), settings.rankings.n_queries
    units, place = np.arange(block * size, (block + 1) * size), stream(settings.seed, "preferences", first, second)
    passes, begin = units // n, random_below(n, place)
    orders = _orders(settings.seed, int(passes[0]), int(passes[-1]), n)
    return orders[passes - passes[0], (begin + units) % n]


@lru_cache(maxsize=64)
def _orders(seed: int, first: int, last: int, n_queries: int) -> IntMatrix:
    orders = np.tile(np.arange(n_queries), (last - first + 1, 1))
    for number, order in enumerate(orders, first):
        shuffle(order, stream(seed, "preferences", "pass", number))
    return orders


def _pieces(work: Piece) -> Iterator[Piece]:
    """Cut the work into pieces of about equal size."""
    sizes = work.end - work.begin
    before, start = np.concatenate([[0], np.cumsum(sizes)]), 0
    while start < len(sizes):
        if sizes[start] > _PIECE:
            first, second, begin, end = (column[start : start + 1] for column in work)
            for cut in range(int(begin[0]), int(end[0]), _PIECE):
                yield Piece(first, second, np.array([cut]), np.minimum(cut + _PIECE, end))
            start += 1
            continue
        stop = int(np.searchsorted(before, before[start] + _PIECE, side="right")) - 1
        yield Piece(*(column[start:stop] for column in work))
        start = stop


def count_sets(settings: Settings, comparisons: int, jobs: int) -> Tally:
    """Compare random sets of rankers until the mean number of comparisons of a pair is ``comparisons``."""
    size, rankers = settings.size, len(settings.rankings)
    lists = -(-comparisons * rankers * (rankers - 1) // (size * (size - 1)))
    piece = -(-_PIECE // (size * (size - 1) // 2 * SET_BLOCK)) * SET_BLOCK
    run = count_slates if settings.comparer.compiled else interpreted(count_slates)
    local = threading.local()

    def count(start: int) -> IntMatrix:
        if not hasattr(local, "comparison"):
            local.comparison = settings.comparer.open()
        counts, won = np.zeros((3, rankers, rankers), np.int64), np.zeros((size, size), np.int8)
        for begin in range(start, min(start + piece, lists), SET_BLOCK):
            rng = stream(settings.seed, "preferences", "sets", size, begin // SET_BLOCK)
            part, arms = min(SET_BLOCK, lists - begin), np.arange(rankers)
            run(local.comparison, settings.rankings.n_queries, size, part, arms, won, rng, counts)
        return counts

    starts, sums = range(0, lists, piece), np.zeros((3, rankers, rankers), np.int64)
    for counts in parallel.run_tasks(
        count, starts, total=len(starts), jobs=jobs, label="preferences", unit="part of the lists"
    ):
        sums += counts
    return Tally(sums[0], sums[1] * int(SCALE), sums[2] * int(SCALE), np.zeros_like(sums[0]))


@kernel
def count_slates(
    comparison: Comparison,
    n_queries: int,
    size: int,
    lists: int,
    arms: IntVector,
    won: SignMatrix,
    rng: np.random.Generator,
    counts: IntMatrix,
) -> None:
    """Show a number of lists for random sets of rankers, and count the outcomes of each pair."""
    for _ in range(lists):
        query = random_below(n_queries, rng)
        # A set of all rankers is not shuffled, so that a method can reuse its solution for the set.
        for a in range(size if size < arms.shape[0] else 0):
            other = a + random_below(arms.shape[0] - a, rng)
            arms[a], arms[other] = arms[other], arms[a]
        compare_slate(comparison, query, arms, size, won, rng, rng)
        for a in range(size):
            for b in range(a + 1, size):
                i, j, outcome = arms[a], arms[b], int(won[a, b])
                if i > j:
                    i, j, outcome = j, i, -outcome
                counts[0, i, j] += 1
                counts[1, i, j] += outcome  # wins of i minus wins of j
                counts[2, i, j] += outcome * outcome  # lists without a tie
