"""Reductions over a vector, written so that the compiler turns them into SIMD code; exact, in any order."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core.arrays import FloatVector, IntVector
from ltr_duel.core.jit import kernel
from ltr_duel.core.random import random_below
from ltr_duel.core.simd import larger

_BLOCK = 32  # indices counted at once while looking for the n-th one


@kernel
def sign(number: float, tolerance: float) -> int:
    """Return +1, -1, or 0 where the number is within ``tolerance`` of zero."""
    return int(number > tolerance) - int(number < -tolerance)


@kernel
def largest(values: FloatVector) -> float:
    """Return the largest of some non-negative numbers."""
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


@kernel
def nth_up_to(values: FloatVector, level: float, n: int) -> int:
    """Return the index of the value number n = 0, 1, ... among those that are at most ``level``; there must be one."""
    start, size = 0, values.shape[0]
    while start + _BLOCK <= size:
        count = 0
        for k in range(start, start + _BLOCK):
            count += values[k] <= level
        if count > n:
            break
        n -= count
        start += _BLOCK
    for k in range(start, size):
        n -= values[k] <= level
        if n < 0:
            return k
    return -1


@kernel
def random_up_to(values: FloatVector, level: float, count: int, rng: np.random.Generator) -> int:
    """Draw one of the ``count`` indices whose value is at most ``level``."""
    n = random_below(count, rng)
    if count == values.shape[0]:
        return n
    return nth_up_to(values, level, n)


@kernel
def smallest(values: FloatVector) -> float:
    """Return the smallest of some numbers."""
    result = values[0]
    for k in range(values.shape[0]):
        result = -larger(-result, -values[k])
    return result


@kernel
def smallest_above(values: FloatVector, level: float) -> float:
    """Return the smallest of those numbers that are larger than ``level``, infinity if there is none."""
    result = -inf
    for k in range(values.shape[0]):
        result = larger(result, -values[k] if values[k] > level else -inf)
    return -result


@kernel
def highest(base: FloatVector, width: FloatVector, scale: float) -> float:
    """Return the largest ``base + scale * width``."""
    best = base[0] + scale * width[0]
    for k in range(base.shape[0]):
        best = larger(best, base[k] + scale * width[k])
    return best


@kernel
def count_at(base: FloatVector, width: FloatVector, scale: float, level: float) -> int:
    """Count the indices at which ``base + scale * width`` is exactly ``level``."""
    count = 0
    for k in range(base.shape[0]):
        count += base[k] + scale * width[k] == level
    return count


@kernel
def nth_at(base: FloatVector, width: FloatVector, scale: float, level: float, n: int) -> int:
    """Return index number n = 0, 1, ... of those at which ``base + scale * width`` is ``level``; there must be one."""
    start, size = 0, base.shape[0]
    while start + _BLOCK <= size:
        count = 0
        for k in range(start, start + _BLOCK):
            count += base[k] + scale * width[k] == level
        if count > n:
            break
        n -= count
        start += _BLOCK
    for k in range(start, size):
        n -= base[k] + scale * width[k] == level
        if n < 0:
            return k
    return -1


@kernel
def random_highest(base: FloatVector, width: FloatVector, scale: float, rng: np.random.Generator) -> int:
    """Return the index of the largest ``base + scale * width``, one of several at random."""
    best = highest(base, width, scale)
    ties = count_at(base, width, scale, best)
    return nth_at(base, width, scale, best, random_below(ties, rng))


@kernel
def random_most(counts: NDArray[np.signedinteger[Any]], rng: np.random.Generator) -> int:
    """Return the index of the largest of some integers, one of several at random."""
    best = counts[0]
    for k in range(counts.shape[0]):
        best = max(best, counts[k])
    ties = 0
    for k in range(counts.shape[0]):
        ties += counts[k] == best
    skip = random_below(ties, rng)
    for k in range(counts.shape[0]):
        if counts[k] == best:
            if skip == 0:
                return k
            skip -= 1
    return 0


@kernel
def first_most(counts: IntVector) -> int:
    """Return the index of the largest of some integers, the first of several."""
    best = 0
    for k in range(1, counts.shape[0]):
        if counts[k] > counts[best]:
            best = k
    return best


@kernel
def random_fewest(counts: IntVector, rng: np.random.Generator) -> int:
    """Return the index of the smallest of some integers, one of several at random."""
    least = counts[0]
    for k in range(counts.shape[0]):
        least = min(least, counts[k])
    ties = 0
    for k in range(counts.shape[0]):
        ties += counts[k] == least
    skip = random_below(ties, rng)
    for k in range(counts.shape[0]):
        if counts[k] == least:
            if skip == 0:
                return k
            skip -= 1
    return 0
