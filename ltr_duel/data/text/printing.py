"""Numbers become text that reads back as the same float32, with as few decimals as possible."""

from __future__ import annotations

import math

import numpy as np

from ltr_duel.core import kernel
from ltr_duel.data.text.numbers import POWERS

_LARGEST_EXACT = 2.0**53
_ONE = 90  # POWERS[_ONE] == 1
_MOST_DECIMALS = 22  # beyond it a power of ten is not exact in a double
_WRITTEN_OUT = 9  # more decimals than this are written as an exponent

MOST_BYTES = 40  # of "<id>:<value> "


@kernel
def print_row(features, row, sparse, out, at):
    """Write `` <id>:<value>`` for each column; return the new position, or -1 if a number is out of reach."""
    for column in range(features.shape[1]):
        value = features[row, column]
        if sparse and value == 0:
            continue
        out[at] = 32
        at = print_integer(column + 1, out, at + 1)
        out[at] = 58
        at = print_number(value, out, at + 1)
        if at < 0:
            return -1
    return at


@kernel
def print_rows(features, first, last, heads, head_ends, tails, tail_ends, sparse, out):
    """Write the lines of rows ``first:last``; return their length, or -1 - row if a row is out of reach."""
    at = 0
    head = 0
    tail = 0
    for row in range(first, last):
        while head < head_ends[row - first]:
            out[at] = heads[head]
            at += 1
            head += 1
        at = print_row(features, row, sparse, out, at)
        if at < 0:
            return -1 - row
        while tail < tail_ends[row - first]:
            out[at] = tails[tail]
            at += 1
            tail += 1
        out[at] = 10
        at += 1
    return at


@kernel
def print_number(value, out, at):
    """Write one float32; NaN is ``NULL``. Return the new position, or -1 if the number is out of reach."""
    if value != value:
        out[at] = 78
        out[at + 1] = 85
        out[at + 2] = 76
        out[at + 3] = 76
        return at + 4
    if math.copysign(1.0, value) < 0:
        out[at] = 45
        at += 1
    size = abs(float(value))
    for decimals in range(_MOST_DECIMALS + 1):
        scaled = np.rint(size * POWERS[_ONE + decimals])
        if scaled >= _LARGEST_EXACT:
            return -1
        if np.float32(scaled / POWERS[_ONE + decimals]) == np.float32(size):
            return print_decimal(int(scaled), decimals, out, at)
    return -1


@kernel
def print_decimal(integer, decimals, out, at):
    """Write ``integer / 10**decimals``."""
    if decimals > _WRITTEN_OUT:
        at = print_integer(integer, out, at)
        out[at] = 101
        out[at + 1] = 45
        return print_integer(decimals, out, at + 2)
    unit = 1
    for _ in range(decimals):
        unit *= 10
    at = print_integer(integer // unit, out, at)
    if decimals == 0:
        return at
    out[at] = 46
    rest = integer % unit
    for place in range(decimals, 0, -1):
        out[at + place] = 48 + rest % 10
        rest //= 10
    return at + decimals + 1


@kernel
def print_integer(integer, out, at):
    """Write an integer that is not negative."""
    size = 1
    rest = integer // 10
    while rest > 0:
        size += 1
        rest //= 10
    rest = integer
    for place in range(size - 1, -1, -1):
        out[at + place] = 48 + rest % 10
        rest //= 10
    return at + size
