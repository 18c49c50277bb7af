"""Groups of arms, called batches, in which MergeRUCB and MergeDTS search for the best arm.

With many arms, comparing all pairs takes too long. Both policies divide the arms into small batches, and only arms of
the same batch meet. An arm is removed if another arm of its batch confidently beats it. When few enough arms remain,
small batches are merged with large batches, and a new stage begins.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.state import Registers, registers
from ltr_duel.bandits.statistics import victories
from ltr_duel.core import FloatMatrix, IntMatrix, IntVector, kernel, shuffle


class Now:
    count: int  # number of batches
    stage: int  # number of the stage: 1, 2, ...
    since: int  # the last step of the previous stage


class Batches(NamedTuple):
    """The remaining arms in their batches. Batch m consists of ``arms[ends[m]:ends[m + 1]]``."""

    arms: IntVector  # (K,)
    ends: IntVector  # (K + 1,)
    order: IntVector  # (K,) scratch: batches from small to large
    merged: IntVector  # (K,) scratch: the next `arms`
    merged_ends: IntVector  # (K + 1,) scratch: the next `ends`
    now: Registers[Now]


def new_batches(n_arms: int, size: int) -> Batches:
    """Divide all arms into batches of ``size`` arms."""
    order, merged = np.zeros((2, n_arms), np.int64)
    ends = np.minimum(np.arange(n_arms + 1) * size, n_arms)
    now = registers(Now, count=-(-n_arms // size), stage=1)
    return Batches(np.arange(n_arms), ends, order, merged, np.zeros(n_arms + 1, np.int64), now)


def largest_batch(n_arms: int, size: int) -> int:
    # merging makes batches of up to 1.5 size arms; in MergeDTS, the last arm of any other batch may join later
    return min(n_arms, 3 * size // 2 + -(-n_arms // size))


@kernel
def batch_size(batches: Batches, m: int) -> int:
    """Return the number of arms in batch m."""
    return batches.ends[m + 1] - batches.ends[m]


@kernel
def arms_left(batches: Batches) -> int:
    """Return the number of remaining arms."""
    return batches.ends[batches.now[0].count]


@kernel
def batch_of_step(batches: Batches, t: int) -> int:
    """Return the batch that plays in step t. A batch of one arm plays only if no batch is larger."""
    count = batches.now[0].count
    m = (t - 1) % count
    for _ in range(count):
        if batch_size(batches, m) > 1:
            return m
        m = (m + 1) % count
    return m


@kernel
def drop_beaten(batches: Batches, crossings: FloatMatrix, m: int, bonus: float) -> None:
    """Remove each arm of batch m that another arm of the batch confidently beats (see `statistics`)."""
    position = batches.ends[m]
    while position < batches.ends[m + 1]:
        row, beaten = crossings[batches.arms[position]], False
        for other in batches.arms[batches.ends[m] : batches.ends[m + 1]]:
            beaten |= row[other] > bonus
        if not beaten:
            position += 1
            continue
        for k in range(position, arms_left(batches) - 1):
            batches.arms[k] = batches.arms[k + 1]
        for k in range(m + 1, batches.now[0].count + 1):
            batches.ends[k] -= 1
        position = batches.ends[m]


@kernel
def merge_when_due(batches: Batches, size: int, t: int, rng: Generator) -> None:
    """If few enough arms remain, merge batches and begin the next stage."""
    now, n_arms = batches.now[0], batches.arms.shape[0]
    if now.count == 1 or arms_left(batches) > n_arms / 2.0**now.stage + 1:
        return
    merge(batches, size, rng)
    smallest = n_arms
    for m in range(now.count):
        smallest = min(smallest, batch_size(batches, m))
    if 2 * smallest <= size and now.count > 1:
        merge(batches, size, rng)
    now.stage += 1
    now.since = t


@kernel
def merge(batches: Batches, size: int, rng: Generator) -> None:
    """Merge small batches with large batches. A merged batch has at most 1.5 ``size`` arms."""
    now = batches.now[0]
    sort_by_size(batches, rng)
    low, high, made, filled = 0, now.count - 1, 0, 0
    while low <= high:
        small, large = batches.order[low], batches.order[high]
        filled = copy_batch(batches, large, filled)
        if low < high and batch_size(batches, small) + batch_size(batches, large) <= 1.5 * size:
            filled = copy_batch(batches, small, filled)
            low += 1
        high -= 1
        made += 1
        batches.merged_ends[made] = filled
    for k in range(filled):
        batches.arms[k] = batches.merged[k]
    for m in range(1, made + 1):
        batches.ends[m] = batches.merged_ends[m]
    now.count = made


@kernel
def sort_by_size(batches: Batches, rng: Generator) -> None:
    order = batches.order[: batches.now[0].count]
    for m in range(order.shape[0]):
        order[m] = m
    shuffle(order, rng)
    for k in range(1, order.shape[0]):  # a stable sort
        m, place = order[k], k
        while place > 0 and batch_size(batches, order[place - 1]) > batch_size(batches, m):
            order[place] = order[place - 1]
            place -= 1
        order[place] = m


@kernel
def copy_batch(batches: Batches, m: int, filled: int) -> int:
    for arm in batches.arms[batches.ends[m] : batches.ends[m + 1]]:
        batches.merged[filled] = arm
        filled += 1
    return filled


@kernel
def most_victorious_left(wins: IntMatrix, batches: Batches) -> int:
    """Return the remaining arm that beats the most arms."""
    best, most = 0, -1
    for i in batches.arms[: arms_left(batches)]:
        beaten = victories(wins, i)
        if beaten > most:
            best, most = i, beaten
    return best
