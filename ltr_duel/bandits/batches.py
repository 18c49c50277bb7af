"""Arms in small batches that are compared among themselves, thinned out, and merged: MergeRUCB and MergeDTS.

Batch m holds ``arms[ends[m]:ends[m + 1]]``. The batches and the counters are passed as `Batches`, a view on the
arrays of a policy's state.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from ltr_duel.core import FloatMatrix, IntMatrix, IntVector, kernel, random_below, shuffle

BATCHES, STAGE, SINCE = 0, 1, 2  # in `clock`: number of batches; stage; the step before this stage began


def batch_rows(n_arms: int, size: int) -> tuple[IntVector, IntVector, IntVector, IntMatrix]:
    """Make arms (K,), ends (K + 1,), clock (3,) and scratch (3, K + 1) for batches of ``size`` arms."""
    ends = np.minimum(np.arange(n_arms + 1) * size, n_arms)
    clock = np.array([-(-n_arms // size), 1, 0])
    return np.arange(n_arms), ends, clock, np.zeros((3, n_arms + 1), np.int64)


@kernel
def batch_of_step(state: Any, t: int) -> int:
    """Return the batch whose turn it is; batches of one arm pass as long as there are others."""
    batches = state.clock[BATCHES]
    m = (t - 1) % batches
    for _ in range(batches):
        if state.ends[m + 1] - state.ends[m] > 1:
            return m
        m = (m + 1) % batches
    return m


@kernel
def drop_beaten(state: Any, m: int, bonus: float) -> None:
    """Remove arms that some other arm of the batch confidently beats, one at a time."""
    again = True
    while again:
        again = False
        for place in range(state.ends[m], state.ends[m + 1]):
            if not again and is_beaten(state.doubts, state.arms, state.ends[m], state.ends[m + 1], place, bonus):
                remove_arm(state, m, place)
                again = True


@kernel
def is_beaten(doubts: FloatMatrix, arms: IntVector, start: int, end: int, place: int, bonus: float) -> bool:
    """Return whether u_ij < 1/2 for the arm i in that place and some arm j of its batch."""
    beaten = False
    for other in range(start, end):
        beaten |= doubts[arms[place], arms[other]] > bonus
    return beaten


@kernel
def remove_arm(state: Any, m: int, place: int) -> None:
    """Take the arm in that place, of batch m, out."""
    batches = state.clock[BATCHES]
    for k in range(place, state.ends[batches] - 1):
        state.arms[k] = state.arms[k + 1]
    for k in range(m + 1, batches + 1):
        state.ends[k] -= 1


@kernel
def merge_when_due(state: Any, size: int, t: int, rng: Generator) -> None:
    """End the stage when so many arms are gone that batches can be paired."""
    batches, n_arms = state.clock[BATCHES], state.arms.shape[0]
    if batches == 1 or state.ends[batches] > n_arms / 2.0 ** state.clock[STAGE] + 1:
        return
    merge(state, size, rng)
    smallest = n_arms
    for m in range(state.clock[BATCHES]):
        smallest = min(smallest, state.ends[m + 1] - state.ends[m])
    if 2 * smallest <= size and state.clock[BATCHES] > 1:
        merge(state, size, rng)
    state.clock[STAGE] += 1
    state.clock[SINCE] = t


@kernel
def merge(state: Any, size: int, rng: Generator) -> None:
    """Pair small batches with large ones, as long as a pair has at most 1.5 ``size`` arms."""
    batches = state.clock[BATCHES]
    order = state.scratch[0, :batches]
    for m in range(batches):
        state.scratch[0, m] = m
    shuffle(order, rng)
    for k in range(1, batches):  # stable sort by size
        m, place = state.scratch[0, k], k
        while place > 0 and batch_size(state.ends, state.scratch[0, place - 1]) > batch_size(state.ends, m):
            state.scratch[0, place] = state.scratch[0, place - 1]
            place -= 1
        state.scratch[0, place] = m
    low, high, made, filled = 0, batches - 1, 0, 0
    while low <= high:
        large, small = state.scratch[0, high], state.scratch[0, low]
        filled = copy_batch(state, large, filled)
        if low < high and batch_size(state.ends, small) + batch_size(state.ends, large) <= 1.5 * size:
            filled = copy_batch(state, small, filled)
            low += 1
        high -= 1
        made += 1
        state.scratch[2, made] = filled
    for k in range(filled):
        state.arms[k] = state.scratch[1, k]
    for m in range(1, made + 1):
        state.ends[m] = state.scratch[2, m]
    state.clock[BATCHES] = made


@kernel
def batch_size(ends: IntVector, m: int) -> int:
    """Return how many arms batch m has."""
    return ends[m + 1] - ends[m]


@kernel
def copy_batch(state: Any, m: int, filled: int) -> int:
    """Append batch m to the new list of arms; return how many that has now."""
    for place in range(state.ends[m], state.ends[m + 1]):
        state.scratch[1, filled] = state.arms[place]
        filled += 1
    return filled


@kernel
def random_place(state: Any, m: int, rng: Generator) -> int:
    """Draw a place of batch m."""
    return state.ends[m] + random_below(batch_size(state.ends, m), rng)


@kernel
def is_decided(state: Any) -> bool:
    """Return whether one arm alone is left."""
    return state.ends[state.clock[BATCHES]] == 1


@kernel
def most_victorious_left(wins: IntMatrix, state: Any) -> int:
    """Return the remaining arm that won more than half of its duels against the most rivals."""
    best, most = 0, -1
    for place in range(state.ends[state.clock[BATCHES]]):
        i, beaten = state.arms[place], 0
        for j in range(wins.shape[0]):
            beaten += wins[i, j] > wins[j, i]
        if beaten > most:
            best, most = i, beaten
    return best
