"""Thirty-two coins at once: random words, compared with the words of probabilities, and wins that are counted.

The compiler does not find these instructions by itself; with them a sampled tournament takes a third of the time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import NDArray

from ltr_duel.core._machine.instructions import in_place_of, load, spread, store

COINS = 32  # are tossed at once, by words of 16 bits
_LANES = COINS // 4  # numbers of 64 bits
_ALL = 2**64 - 1
_STEP, _MIX = 0x9E3779B97F4A7C15, ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
_VECTOR = ir.VectorType(ir.IntType(16), COINS)


def compare_words(words: NDArray[np.uint16], levels: NDArray[np.uint16]) -> tuple[int, int]:
    """Compare the first 32 words with as many levels.

    Bit k of the first answer says whether word k is below its level, bit k of the second whether it equals it.
    """
    both = list(enumerate(zip(words[:COINS].tolist(), levels[:COINS].tolist(), strict=True)))
    return sum((a < b) << k for k, (a, b) in both), sum((a == b) << k for k, (a, b) in both)


@in_place_of(compare_words)
def _compare_words(typing: Any, words: Any, levels: Any) -> Any:
    pair = types.UniTuple(types.int64, 2)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide = ir.IntType(64)
        word, level = (load(context, builder, signature, args, _VECTOR, array, wide(0)) for array in (0, 1))
        bits = [builder.icmp_unsigned(how, word, level) for how in ("<", "==")]
        numbers = [builder.zext(builder.bitcast(one, ir.IntType(COINS)), wide) for one in bits]
        return context.make_tuple(builder, pair, numbers)

    return pair(words, levels), generate


def tally_bits(counts: NDArray[np.int16], at: int, mask: int) -> None:
    """Add bit k of a mask of 32 to the number in place ``at + k``, for each k."""
    for k in range(COINS):
        counts[at + k] += mask >> k & 1


@in_place_of(tally_bits)
def _tally_bits(typing: Any, counts: Any, at: Any, mask: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = context, builder, signature, args, _VECTOR, 0, args[1]
        bits = builder.bitcast(builder.trunc(args[2], ir.IntType(COINS)), ir.VectorType(ir.IntType(1), COINS))
        store(*place, builder.add(load(*place), builder.zext(bits, _VECTOR)))
        return context.get_dummy_value()

    return types.void(counts, types.int64, types.int64), generate


def write_words(lane: NDArray[np.uint64], seed: int | np.uint64, start: int) -> None:
    """Write the random numbers ``start``, ``start + 1``, ... of a seed of 64 bits, eight of them.

    They are those of splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
    """
    for k in range(_LANES):
        x = (int(seed) + (int(start) + k + 1) * _STEP) & _ALL
        for shift, factor in _MIX:
            x = ((x ^ x >> shift) * factor) & _ALL
        lane[k] = x ^ x >> 31


@in_place_of(write_words)
def _write_words(typing: Any, lane: Any, seed: Any, start: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide, vector = ir.IntType(64), ir.VectorType(ir.IntType(64), _LANES)

        def same(number: int) -> Any:
            return ir.Constant(vector, [number] * _LANES)

        def folded(x: Any, shift: int) -> Any:
            return builder.xor(x, builder.lshr(x, same(shift)))

        first = builder.add(args[1], builder.mul(args[2], wide(_STEP)))
        apart = ir.Constant(vector, [(k + 1) * _STEP & _ALL for k in range(_LANES)])
        x = builder.add(spread(builder, first, vector), apart)
        for shift, factor in _MIX:
            x = builder.mul(folded(x, shift), same(factor))
        store(context, builder, signature, args, vector, 0, wide(0), folded(x, 31))
        return context.get_dummy_value()

    return types.void(lane, types.uint64, types.int64), generate
