"""Comparisons in blocks: block b of a pair contains comparisons 4,000 b to 4,000 (b + 1) - 1.

Each block of each pair has a separate random stream, whose key contains the names of the two rankers and the number of
the block. So the first n comparisons of a pair do not depend on the other rankers in the set. They are the same whether
they are made at once, in pieces, on other machines, or in a process that resumes after a kill.

A block consists of units. A unit is the group of lists shown for one choice of a query (`Settings.lists_of_a_unit`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import (
    FloatMatrix,
    IntMatrix,
    IntVector,
    dispatched,
    implement,
    interpreted,
    kernel,
    random_below,
    shuffle,
    stream,
)
from ltr_duel.interleaving import Comparison, compare_pair
from ltr_duel.preferences.estimate.settings import Settings
from ltr_duel.preferences.tally import SCALE

BLOCK = 4000  # lists in a block; a multiple of the number of lists in a unit, which is 1, 2 or 4
NOTHING = np.zeros((0, 0))  # no corrections


@dispatched
def evaluate(evaluator: Any, query: int, first: int, second: int, rng: np.random.Generator) -> float:
    """Return the outcome, from -1 (``second`` won) to +1, of one list or mirrored pair of lists for a query."""
    raise TypeError("this evaluator cannot evaluate lists")


class Played(NamedTuple):
    """Evaluator in which one user sees the list and clicks."""

    comparison: Comparison
    n_queries: int


def _play(evaluator: Played, query: int, first: int, second: int, rng: np.random.Generator) -> float:
    return compare_pair(evaluator.comparison, query, first, second, rng, rng)


implement(evaluate, Played, _play)


class Piece(NamedTuple):
    """Task of one thread: comparisons ``begin[n]`` to ``end[n] - 1`` of each pair ``first[n]``, ``second[n]``."""

    first: IntVector
    second: IntVector
    begin: IntVector
    end: IntVector


class BlockWorker:
    """Counts comparisons in one thread, with scratch arrays that are allocated once.

    taken: corrections, shape (K, n_queries), or (0, 0) for none; see `ltr_duel.preferences.estimate.control`.
    """

    def __init__(self, settings: Settings, evaluator: Any, taken: FloatMatrix = NOTHING) -> None:
        self._settings = settings
        self._taken = taken
        self._evaluator = evaluator
        self._count = count_block if settings.comparer.compiled else interpreted(count_block)

    def count(self, piece: Piece) -> IntMatrix:
        """Return one row (lists, total, square, within) for each pair of a piece."""
        settings, names = self._settings, self._settings.rankings.names
        rows = np.zeros((len(piece.first), 4), np.int64)
        for row, first, second, begin, end in zip(rows, *(column.tolist() for column in piece), strict=True):
            for block in range(begin // BLOCK, -(-end // BLOCK)):
                offset = block * BLOCK
                rng = stream(settings.seed, "preferences", names[first], names[second], block)
                plan = BlockPlan(
                    self._evaluator,
                    queries_of(block, settings),
                    self._taken,
                    settings.lists_of_an_evaluation,
                    settings.evaluations_of_a_unit,
                )
                self._count(plan, first, second, max(begin - offset, 0), min(end - offset, BLOCK), rng, row)
        return rows


def queries_of(block: int, settings: Settings) -> IntVector:
    """Return the queries of a block, one for each unit; empty if queries are drawn separately for each pair.

    If queries are stratified, the units of a pair visit all queries in turn, in a new random order for each pass.
    """
    if not settings.stratified:
        return np.zeros(0, np.int64)
    return _queries_in_turn(block, settings.seed, settings.rankings.n_queries, BLOCK // settings.lists_of_a_unit)


@lru_cache(maxsize=64)
def _queries_in_turn(block: int, seed: int, n_queries: int, size: int) -> IntVector:
    units = np.arange(block * size, (block + 1) * size)
    passes = range(units[0] // n_queries, units[-1] // n_queries + 1)
    orders = np.empty((len(passes), n_queries), np.int64)
    for order, number in zip(orders, passes, strict=True):
        order[:] = np.arange(n_queries)
        shuffle(order, stream(seed, "preferences", "pass", number))
    return orders[units // n_queries - passes[0], units % n_queries]


class BlockPlan(NamedTuple):
    """Settings for the comparisons of a block."""

    evaluator: Any
    queries: IntVector  # one query for each unit; empty if queries are drawn separately for each pair
    taken: FloatMatrix  # (K, n_queries) corrections of outcomes, or (0, 0) for none
    lists_of_an_evaluation: int
    evaluations_of_a_unit: int


@kernel
def count_block(
    block: BlockPlan, first: int, second: int, begin: int, end: int, rng: np.random.Generator, row: IntVector
) -> None:
    """Simulate the first ``end`` comparisons of a block; add all except the first ``begin`` of them to ``row``."""
    evaluator, queries, taken = block.evaluator, block.queries, block.taken
    lists = block.lists_of_an_evaluation * block.evaluations_of_a_unit
    for unit in range(end // lists):
        if queries.shape[0] == 0:
            query = random_below(evaluator.n_queries, rng)
        else:
            query = queries[unit]
        mean = evaluate(evaluator, query, first, second, rng)
        spread = 0.0
        if block.evaluations_of_a_unit == 2:
            other = evaluate(evaluator, query, first, second, rng)
            spread = (mean - other) * (mean - other) / 2.0
            mean = (mean + other) / 2.0
        if taken.shape[0] > 0:
            mean -= taken[first, query] - taken[second, query]
        if unit * lists >= begin:
            row[0] += lists
            row[1] += int(np.floor(lists * mean * SCALE + 0.5))
            row[2] += int(np.floor(mean * mean * SCALE + 0.5))
            row[3] += int(np.floor(spread * SCALE + 0.5))
