"""Weights of lists: a list's probability under the target rankers, divided by that under the rankers of the log.

The rankers differ between rows of a log. If pair k was shown in a share a_k of a query's rows, all rows of the query
are a sample of the mixture ``sum_k a_k P(list | k)``. The weight w of a list is ``P(list | target)`` divided by the
list's probability under this mixture (the balance heuristic: Veach, Guibas, SIGGRAPH 1995). The mean of w is 1 for each
query.

Observed weights do not show which lists a log lacks, because missing lists have no weight. However, all probabilities
are known. Lists are therefore sampled for the target rankers, and their weights are computed. The mean of w over these
samples estimates the mean of w^2 in the log. Lists with a weight above a cap are too rare in the log to be used; they
are called out of reach. The cap is the one that gives the narrowest interval. It depends on neither clicks nor observed
weights.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, MarkVector, kernel
from ltr_duel.interleaving import Lists, Shown, draw_slate

_DRAWS, _FEWEST, _MOST = 20_000, 20, 2_000  # sampled lists: in total, and minimum and maximum for each cell
LARGEST = 0.02  # maximum share of one impression in the sum of all weights
_SPREAD = 0.5  # assumed standard deviation of outcomes, to choose the cap


class Mixtures(NamedTuple):
    """Cells (rows with the same query and list length), and the sets of rankers that the rows of a cell interleave."""

    lists: Lists  # lists of all rankers; 0 where a ranker does not rank a query
    decay: FloatVector  # (longest + 1,) weight of each rank
    wanted: IntVector  # (2,) the target rankers
    query: IntVector  # (cells,)
    length: IntVector  # (cells,)
    rows: FloatVector  # (cells,) number of rows
    set_ptr: IntVector  # (cells + 1,) the sets of each cell
    share: FloatVector  # (sets,) share of the cell's rows
    arm_ptr: IntVector  # (sets + 1,)
    arms: IntVector  # rankers of all sets, concatenated


class Reach(NamedTuple):
    """The part of the target rankers' lists that is within reach of a log, and the moments of the weights."""

    cap: float  # lists with a larger weight are omitted
    covered: FloatVector  # (cells,) share of the target rankers' lists within reach, with a weight up to the cap
    square: FloatVector  # (cells,) mean squared weight
    missing: float  # share of the target rankers' lists out of reach, plus two standard errors
    drawn: IntMatrix  # (lists, longest length) the sampled lists
    cell: IntVector  # (lists,)
    weight: FloatVector  # (lists,)


def reach_of(mixtures: Mixtures, state: object, quantile: float, rng: Generator) -> Reach:
    """Sample lists for the target rankers, and choose the cap; ``quantile``: normal quantile of the interval."""
    cells, longest = len(mixtures.query), int(mixtures.length.max())
    each = int(np.clip(_DRAWS // cells, _FEWEST, _MOST))
    cell = np.repeat(np.arange(cells), each)
    drawn, weight = np.zeros((len(cell), longest), np.int64), np.zeros(len(cell))
    page = Shown(*(np.zeros(longest, np.int64) for _ in Shown._fields))
    draw_wanted(state, mixtures, cell, page, drawn, rng)
    list_weights(mixtures, cell, longest * np.arange(len(cell)), drawn.ravel(), _scratch(mixtures), weight)
    whole = mixtures.rows.sum()
    order = np.argsort(weight)
    mass = (mixtures.rows[cell] / (whole * each))[order]
    covered, square = np.cumsum(mass), np.cumsum(mass * weight[order])
    width = quantile * _SPREAD * np.sqrt(square / whole) + 1 - covered
    width[weight[order] > LARGEST * whole] = np.inf
    cap = float(weight[order][np.argmin(width)])
    inside = weight <= cap
    share = np.bincount(cell, inside, cells) / each
    error = math.sqrt(((mixtures.rows / whole) ** 2 * share * (1 - share)).sum() / each)
    missing = 1 - float(mixtures.rows @ share / whole) + 2 * error
    return Reach(cap, share, np.bincount(cell, weight * inside, cells) / each, min(missing, 1.0), drawn, cell, weight)


def weights_of(mixtures: Mixtures, cell: IntVector, begin: IntVector, numbers: IntVector) -> FloatVector:
    """Return the weights of lists; list n is ``numbers[begin[n]:]`` up to the length of its cell."""
    out = np.zeros(len(cell))
    list_weights(mixtures, cell, begin, numbers, _scratch(mixtures), out)
    return out


class Scratch(NamedTuple):
    """Scratch arrays of the kernels."""

    used: MarkVector  # (documents,) all zero between lists
    chance: FloatMatrix  # (rankers, longest length) probability of each position's document under each ranker
    done: IntVector  # (rankers,) the list for which the ranker's row of ``chance`` is valid


def _scratch(mixtures: Mixtures) -> Scratch:
    rankers, longest = len(mixtures.lists.rank), int(mixtures.length.max())
    documents = int(np.diff(mixtures.lists.query_ptr).max())
    return Scratch(np.zeros(documents, np.uint8), np.zeros((rankers, longest)), np.full(rankers, -1))


def chances_of(
    mixtures: Mixtures, arms: IntVector, cell: IntVector, begin: IntVector, numbers: IntVector
) -> FloatVector:
    """Return the probabilities that these rankers show the lists; lists are given as in `weights_of`."""
    out = np.zeros(len(cell))
    list_chances(mixtures, arms, cell, begin, numbers, _scratch(mixtures), out)
    return out


@kernel
def list_chances(
    mixtures: Mixtures,
    arms: IntVector,
    cell: IntVector,
    begin: IntVector,
    numbers: IntVector,
    scratch: Scratch,
    out: FloatVector,
) -> None:
    """Write the probabilities of lists."""
    scratch.done[:] = -1
    for n in range(cell.shape[0]):
        shown = numbers[begin[n] : begin[n] + mixtures.length[cell[n]]]
        out[n] = math.exp(log_chance(mixtures, arms, n, cell[n], shown, scratch))


@kernel
def draw_wanted(
    state: object, mixtures: Mixtures, cell: IntVector, page: Shown, drawn: IntMatrix, rng: Generator
) -> None:
    """Sample long lists for the target rankers, and cut them: a prefix is distributed like a shorter list."""
    for n in range(cell.shape[0]):
        draw_slate(state, mixtures.lists, mixtures.query[cell[n]], mixtures.wanted, 2, page, rng)
        for k in range(mixtures.length[cell[n]]):
            drawn[n, k] = page.shown[k]


@kernel
def list_weights(
    mixtures: Mixtures, cell: IntVector, begin: IntVector, numbers: IntVector, scratch: Scratch, out: FloatVector
) -> None:
    """Write the weights of lists."""
    scratch.done[:] = -1
    for n in range(cell.shape[0]):
        c = cell[n]
        shown = numbers[begin[n] : begin[n] + mixtures.length[c]]
        wanted = log_chance(mixtures, mixtures.wanted, n, c, shown, scratch)
        most, total = -np.inf, 0.0
        for s in range(mixtures.set_ptr[c], mixtures.set_ptr[c + 1]):
            arms = mixtures.arms[mixtures.arm_ptr[s] : mixtures.arm_ptr[s + 1]]
            here = math.log(mixtures.share[s]) + log_chance(mixtures, arms, n, c, shown, scratch)
            if here > most:
                total *= math.exp(most - here)
                most = here
            total += math.exp(here - most)
        out[n] = math.exp(min(wanted - most - math.log(total), 700.0))


@kernel
def log_chance(mixtures: Mixtures, arms: IntVector, n: int, c: int, shown: IntVector, scratch: Scratch) -> float:
    """Return the log probability that probabilistic interleaving of the arms shows a list.

    The weights of the remaining documents are summed from the end of the list, to avoid cancellation for any decay.
    """
    lists, length = mixtures.lists, shown.shape[0]
    used, chance, done = scratch.used, scratch.chance, scratch.done
    for d in shown:
        used[d] = 1
    start = lists.query_ptr[mixtures.query[c]]
    documents = lists.query_ptr[mixtures.query[c] + 1] - start
    for a in arms:
        if done[a] == n:
            continue
        done[a] = n
        left = 0.0
        for d in range(documents):
            if used[d] == 0:
                left += mixtures.decay[lists.rank[a, start + d]]
        for k in range(length - 1, -1, -1):
            weight = mixtures.decay[lists.rank[a, start + shown[k]]]
            left += weight
            chance[a, k] = weight / left
    total = 0.0
    for k in range(length):
        here = 0.0
        for a in arms:
            here += chance[a, k]
        total += math.log(here / arms.shape[0])
    for d in shown:
        used[d] = 0
    return total
