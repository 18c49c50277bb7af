"""Search and count numbers in vectors, and find the largest. The loops compile to fast SIMD instructions."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core._machine.lanes import LANES, count_bits, lanes_at, lanes_up_to, larger, trailing_zeros
from ltr_duel.core.arrays import FloatVector, IntVector
from ltr_duel.core.jit import inlined, kernel
from ltr_duel.core.random import random_below


@kernel
def sign(number: float, tolerance: float) -> int:
    """Return the sign of a number as +1 or -1. If the number is within ``tolerance`` of 0, return 0."""
    return int(number > tolerance) - int(number < -tolerance)


@kernel
def largest(values: FloatVector) -> float:
    """Return the largest of several numbers, which must not be negative."""
    result = 0.0
    for k in range(values.shape[0]):
        result = larger(result, values[k])
    return result


@kernel
def count_up_to(values: FloatVector, level: float) -> int:
    """Count the values that are at most ``level``."""
    count = 0
    for k in range(values.shape[0]):
        count += values[k] <= level
    return count


@inlined
def block_up_to(values: FloatVector, start: int, level: float) -> int:
    """Return a bit for each of the next 32 values: 1 if the value exists and is at most ``level``."""
    size, mask = values.shape[0], 0
    if start + LANES <= size:
        return lanes_up_to(values, start, level)
    if size >= LANES:  # the last 32 values are compared; bits of values before ``start`` are shifted out
        return lanes_up_to(values, size - LANES, level) >> (start + LANES - size)
    for k in range(size):
        mask |= int(values[k] <= level) << k
    return mask


@inlined
def block_at(base: FloatVector, width: FloatVector, start: int, scale: float, level: float) -> int:
    """Return a bit for each of the next 32 indices: 1 if ``base + scale * width`` equals ``level`` there."""
    size, mask = base.shape[0], 0
    if start + LANES <= size:
        return lanes_at(base, width, start, scale, level)
    if size >= LANES:
        return lanes_at(base, width, size - LANES, scale, level) >> (start + LANES - size)
    for k in range(size):
        mask |= int(base[k] + scale * width[k] == level) << k
    return mask


@inlined
def nth_bit(mask: int, n: int) -> int:
    """Return the position of the n-th set bit (from 0) of a mask. The mask must have more than n set bits."""
    for _ in range(n):
        mask &= mask - 1
    return int(trailing_zeros(mask))


@inlined
def counted(mask: int, start: int, count: int, first: int) -> tuple[int, int]:
    """Count the set bits of several masks, and find the first set bit. Call the function for each mask.

    ``count`` and ``first`` are the results so far, and ``start`` is the index of bit 0 of the mask. The new results are
    returned.
    """
    if mask != 0 and count == 0:
        first = start + int(trailing_zeros(mask))
    return count + count_bits(mask), first


@kernel
def nth_up_to(values: FloatVector, level: float, n: int) -> int:
    """Return the index of value number ``n``, from 0, among the values that are at most ``level``."""
    start = 0
    while True:
        mask = block_up_to(values, start, level)
        count = count_bits(mask)
        if count > n:
            return start + nth_bit(mask, n)
        n -= count
        start += LANES


@kernel
def add_up_to(values: FloatVector, level: float, indices: IntVector, n: int) -> int:
    """Append the indices of all values up to ``level`` to the ``n`` indices. Return the new number of indices."""
    for start in range(0, values.shape[0], LANES):
        mask = block_up_to(values, start, level)
        while mask != 0:
            indices[n] = start + int(trailing_zeros(mask))
            mask &= mask - 1
            n += 1
    return n


@kernel
def random_up_to(values: FloatVector, level: float, count: int, rng: np.random.Generator) -> int:
    """Draw an index whose value is at most ``level``. There must be ``count`` such indices."""
    n = random_below(count, rng)
    if count == values.shape[0]:
        return n
    return nth_up_to(values, level, n)


@kernel
def draw_up_to(values: FloatVector, level: float, rng: np.random.Generator) -> int:
    """Draw an index whose value is at most ``level``. There must be at least one such index."""
    count, first = 0, 0
    for start in range(0, values.shape[0], LANES):
        count, first = counted(block_up_to(values, start, level), start, count, first)
    return first if count == 1 else random_up_to(values, level, count, rng)


@kernel
def smallest(values: FloatVector) -> float:
    """Return the smallest number."""
    result = values[0]
    for k in range(values.shape[0]):
        result = -larger(-result, -values[k])
    return result


@kernel
def smallest_above(values: FloatVector, level: float) -> float:
    """Return the smallest number above ``level``. If there is none, return infinity."""
    result = -inf
    for k in range(values.shape[0]):
        result = larger(result, -values[k] if values[k] > level else -inf)
    return -result


@kernel
def highest(base: FloatVector, width: FloatVector, scale: float) -> float:
    """Return the largest number in the vector ``base + scale * width``."""
    best = base[0] + scale * width[0]
    for k in range(base.shape[0]):
        best = larger(best, base[k] + scale * width[k])
    return best


@kernel
def find_at(base: FloatVector, width: FloatVector, scale: float, level: float) -> tuple[int, int]:
    """Count the indices at which ``base + scale * width`` equals ``level``. Return the count and the first index."""
    count, first = 0, 0
    for start in range(0, base.shape[0], LANES):
        count, first = counted(block_at(base, width, start, scale, level), start, count, first)
    return count, first


@kernel
def nth_at(base: FloatVector, width: FloatVector, scale: float, level: float, n: int) -> int:
    """Return index number ``n``, from 0, among the indices at which ``base + scale * width`` equals ``level``."""
    start = 0
    while True:
        mask = block_at(base, width, start, scale, level)
        count = count_bits(mask)
        if count > n:
            return start + nth_bit(mask, n)
        n -= count
        start += LANES


@kernel
def random_highest(base: FloatVector, width: FloatVector, scale: float, rng: np.random.Generator) -> int:
    """Return the index of the largest number in ``base + scale * width``. Ties are broken at random."""
    best = highest(base, width, scale)
    ties, first = find_at(base, width, scale, best)
    return first if ties == 1 else nth_at(base, width, scale, best, random_below(ties, rng))


@kernel
def first_most(counts: IntVector) -> int:
    """Return the index of the largest integer. If several are largest, return the first index."""
    best = 0
    for k in range(1, counts.shape[0]):
        if counts[k] > counts[best]:
            best = k
    return best


@kernel
def nth_equal(counts: NDArray[np.signedinteger[Any]], count: int, n: int) -> int:
    """Return index number ``n``, from 0, among the indices at which ``counts`` equals ``count``, or -1."""
    for i in range(counts.shape[0]):
        n -= counts[i] == count
        if n < 0:
            return i
    return -1


@kernel
def fewest(counts: IntVector) -> int:
    """Return the smallest count."""
    least = counts[0]
    for k in range(counts.shape[0]):
        least = min(least, counts[k])
    return least


@kernel
def random_fewest(counts: IntVector, rng: np.random.Generator) -> int:
    """Return the index of the smallest integer. Ties are broken at random."""
    least, ties = fewest(counts), 0
    for k in range(counts.shape[0]):
        ties += counts[k] == least
    return nth_equal(counts, least, random_below(ties, rng))


@kernel
def first_above(sums: FloatVector | IntVector, value: float) -> int:
    """Return the index of the first number above ``value`` in a sorted vector. The last number must be above it."""
    low, high = 0, sums.shape[0] - 1
    while low < high:
        middle = (low + high) // 2
        if sums[middle] > value:
            high = middle
        else:
            low = middle + 1
    return low
