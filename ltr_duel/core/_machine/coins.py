"""Flip 32 coins at once: compare random words with words that represent probabilities.

From a loop over the coins, the compiler would make slower instructions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import NDArray

from ltr_duel.core._machine.instructions import Writer, in_place_of

COINS = 32  # coins sampled at once, one for each word of 16 bits
_LANES = COINS // 4  # number of 64-bit random numbers that together contain the words of all coins
_ALL = 2**64 - 1
_STEP, _MIX = 0x9E3779B97F4A7C15, ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
_VECTOR = ir.VectorType(ir.IntType(16), COINS)
_PAIR = types.UniTuple(types.int64, 2)


def compare_words(words: NDArray[np.uint16], levels: NDArray[np.uint16]) -> tuple[int, int]:
    """Compare the first 32 words with the first 32 levels.

    Bit k of the first result is 1 if word k is below level k. Bit k of the second result is 1 if they are equal.
    """
    both = list(enumerate(zip(words[:COINS].tolist(), levels[:COINS].tolist(), strict=True)))
    return sum((a < b) << k for k, (a, b) in both), sum((a == b) << k for k, (a, b) in both)


@in_place_of(compare_words, _PAIR, None, None)
def _compare_words(write: Writer, words: Any, levels: Any) -> Any:
    word, level = (write.load(_VECTOR, array, ir.IntType(64)(0)) for array in (0, 1))
    masks = [write.mask(write.builder.icmp_unsigned(order, word, level)) for order in ("<", "==")]
    return write.context.make_tuple(write.builder, _PAIR, masks)


def tally_bits(counts: NDArray[np.int16], at: int, mask: int) -> None:
    """Add bit k of a mask of 32 bits to the number at index ``at + k``, for each k."""
    for k in range(COINS):
        counts[at + k] += mask >> k & 1


@in_place_of(tally_bits, types.void, None, types.int64, types.int64)
def _tally_bits(write: Writer, counts: Any, at: Any, mask: Any) -> Any:
    builder = write.builder
    bits = builder.bitcast(builder.trunc(mask, ir.IntType(COINS)), ir.VectorType(ir.IntType(1), COINS))
    write.store(_VECTOR, 0, at, builder.add(write.load(_VECTOR, 0, at), builder.zext(bits, _VECTOR)))


def write_words(lane: NDArray[np.uint64], seed: int | np.uint64, start: int) -> None:
    """Write eight random numbers to ``lane``: the numbers from index ``start`` on in the sequence of a seed.

    The generator is splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
    """
    for k in range(_LANES):
        x = (int(seed) + (int(start) + k + 1) * _STEP) & _ALL
        for shift, factor in _MIX:
            x = ((x ^ x >> shift) * factor) & _ALL
        lane[k] = x ^ x >> 31


@in_place_of(write_words, types.void, None, types.uint64, types.int64)
def _write_words(write: Writer, lane: Any, seed: Any, start: Any) -> Any:
    builder, wide, vector = write.builder, ir.IntType(64), ir.VectorType(ir.IntType(64), _LANES)

    def same(number: int) -> Any:
        return ir.Constant(vector, [number] * _LANES)

    def folded(x: Any, shift: int) -> Any:
        return builder.xor(x, builder.lshr(x, same(shift)))

    first = builder.add(seed, builder.mul(start, wide(_STEP)))
    x = builder.add(write.spread(first, vector), ir.Constant(vector, [(k + 1) * _STEP & _ALL for k in range(_LANES)]))
    for shift, factor in _MIX:
        x = builder.mul(folded(x, shift), same(factor))
    write.store(vector, 0, wide(0), folded(x, 31))
