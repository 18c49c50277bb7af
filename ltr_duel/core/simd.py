"""The few machine instructions that numba does not offer; all LLVM code of the package is here.

Each is a plain Python function, which is what runs where kernels are interpreted. In compiled code an LLVM instruction
stands in its place. Both give the same answer on every input; tests compare them.

`larger`
    A maximum of floats written as a comparison is computed step by step: the compiler may not reorder it. This
    instruction says that it may, and scanning a row gets six times faster.
`load_word`, `space_mask`, `trailing_zeros`
    Feature files are read eight digits at a time, and the next token is found by comparing 32 bytes at once. Without
    them scanning takes 1.8 times as long for dense text and 2.3 times as long for sparse text.
`write_words`, `compare_words`, `count_bits`, `ones`
    Coins are tossed 32 at once: random words are compared with the words of probabilities, and wins are counted. The
    compiler does not find these instructions by itself; with them a tournament takes a third of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from ltr_duel.core.jit import KERNEL_FLAGS

# For kernels that cost less than a call with all that describes an array.
INLINED: dict[str, Any] = {**KERNEL_FLAGS, "forceinline": True}

_BYTE = ir.IntType(8)
_SPACE = ord(" ")
_COINS = 32  # are tossed at once
_VECTOR = ir.VectorType(ir.IntType(16), _COINS)
_LANES = _COINS // 4  # numbers of 64 bits
_ALL = 2**64 - 1
_STEP, _MIX = 0x9E3779B97F4A7C15, ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function like a kernel; its machine code becomes part of every kernel that calls it."""
    return njit(**INLINED)(function)


def larger(a: float, b: float) -> float:
    """Return the larger of two floats, neither of them NaN."""
    return a if a > b else b


@intrinsic
def _larger(typing: Any, a: Any, b: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        double = ir.DoubleType()
        function = builder.module.declare_intrinsic("llvm.maximum", [double], ir.FunctionType(double, [double, double]))
        return builder.call(function, args, fastmath=("nnan", "nsz"))

    return types.float64(types.float64, types.float64), generate


@overload(larger, jit_options=KERNEL_FLAGS, inline="always", strict=False)
def _larger_compiled(a: Any, b: Any) -> Any:
    return lambda a, b: _larger(a, b)


def load_word(text: NDArray[np.uint8], at: int) -> int:
    """Return eight bytes from ``text[at]`` on as one little-endian word; all must lie in the text."""
    return int.from_bytes(text[at : at + 8].tobytes(), "little")


@intrinsic
def _load_word(typing: Any, text: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _load(context, builder, signature.args[0], args[0], args[1], ir.IntType(64))

    return types.uint64(text, types.int64), generate


@overload(load_word, jit_options=INLINED, strict=False)
def _load_word_compiled(text: Any, at: Any) -> Any:
    return lambda text, at: _load_word(text, at)


def space_mask(text: NDArray[np.uint8], at: int) -> int:
    """Compare 32 bytes from ``text[at]`` on with a space; bit k of the answer says whether byte k is one."""
    return sum(1 << k for k, byte in enumerate(text[at : at + 32].tolist()) if byte == _SPACE)


@intrinsic
def _space_mask(typing: Any, text: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = ir.VectorType(_BYTE, 32)
        data = _load(context, builder, signature.args[0], args[0], args[1], vector)
        same = builder.icmp_unsigned("==", data, ir.Constant(vector, [_SPACE] * 32))
        return builder.zext(builder.bitcast(same, ir.IntType(32)), ir.IntType(64))

    return types.int64(text, types.int64), generate


@overload(space_mask, jit_options=INLINED, strict=False)
def _space_mask_compiled(text: Any, at: Any) -> Any:
    return lambda text, at: _space_mask(text, at)


def trailing_zeros(word: int | np.uint64) -> int:
    """Count the zeros below the lowest bit of a word of 64 bits that is set; 64 if none is."""
    number = int(word)
    return (number & -number).bit_length() - 1 if number else 64


@intrinsic
def _trailing_zeros(typing: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


@overload(trailing_zeros, jit_options=INLINED, strict=False)
def _trailing_zeros_compiled(word: Any) -> Any:
    return lambda word: _trailing_zeros(word)


def compare_words(words: NDArray[np.uint16], levels: NDArray[np.uint16]) -> tuple[int, int]:
    """Compare the first 32 words with as many levels.

    Bit k of the first answer says whether word k is below its level, bit k of the second whether it equals it.
    """
    both = list(enumerate(zip(words[:_COINS].tolist(), levels[:_COINS].tolist(), strict=True)))
    return sum((a < b) << k for k, (a, b) in both), sum((a == b) << k for k, (a, b) in both)


@intrinsic
def _compare_words(typing: Any, words: Any, levels: Any) -> Any:
    pair = types.UniTuple(types.int64, 2)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide = ir.IntType(64)
        word, level = (
            _load(context, builder, *one, wide(0), _VECTOR) for one in zip(signature.args, args, strict=True)
        )
        bits = [builder.icmp_unsigned(how, word, level) for how in ("<", "==")]
        numbers = [builder.zext(builder.bitcast(one, ir.IntType(_COINS)), wide) for one in bits]
        return context.make_tuple(builder, pair, numbers)

    return pair(words, levels), generate


@overload(compare_words, jit_options=INLINED, strict=False)
def _compare_words_compiled(words: Any, levels: Any) -> Any:
    return lambda words, levels: _compare_words(words, levels)


def count_bits(counts: NDArray[np.int16], at: int, mask: int) -> None:
    """Add bit k of a mask of 32 to the number in place ``at + k``, for each k."""
    for k in range(_COINS):
        counts[at + k] += mask >> k & 1


@intrinsic
def _count_bits(typing: Any, counts: Any, at: Any, mask: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _place(context, builder, signature.args[0], args[0], args[1], _VECTOR)
        before, bits = builder.load(place), builder.trunc(args[2], ir.IntType(_COINS))
        before.align = 1
        added = builder.zext(builder.bitcast(bits, ir.VectorType(ir.IntType(1), _COINS)), _VECTOR)
        builder.store(builder.add(before, added), place).align = 1
        return context.get_dummy_value()

    return types.void(counts, types.int64, types.int64), generate


@overload(count_bits, jit_options=INLINED, strict=False)
def _count_bits_compiled(counts: Any, at: Any, mask: Any) -> Any:
    return lambda counts, at, mask: _count_bits(counts, at, mask)


def ones(word: int) -> int:
    """Return how many bits of a word of 64 bits are set."""
    return int(word).bit_count()


@intrinsic
def _ones(typing: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.int64), generate


@overload(ones, jit_options=INLINED, strict=False)
def _ones_compiled(word: Any) -> Any:
    return lambda word: _ones(word)


def write_words(lane: NDArray[np.uint64], seed: int | np.uint64, start: int) -> None:
    """Write the random numbers ``start``, ``start + 1``, ... of a seed of 64 bits, eight of them.

    They are those of splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
    """
    for k in range(_LANES):
        x = (int(seed) + (int(start) + k + 1) * _STEP) & _ALL
        for shift, factor in _MIX:
            x = ((x ^ x >> shift) * factor) & _ALL
        lane[k] = x ^ x >> 31


@intrinsic
def _write_words(typing: Any, lane: Any, seed: Any, start: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide, vector = ir.IntType(64), ir.VectorType(ir.IntType(64), _LANES)

        def all_of(number: Any) -> Any:
            one = builder.insert_element(ir.Constant(vector, ir.Undefined), number, wide(0))
            return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), _LANES), [0] * _LANES))

        def same(number: int) -> Any:
            return ir.Constant(vector, [number] * _LANES)

        def folded(x: Any, shift: int) -> Any:
            return builder.xor(x, builder.lshr(x, same(shift)))

        first = builder.add(args[1], builder.mul(args[2], wide(_STEP)))
        x = builder.add(all_of(first), ir.Constant(vector, [(k + 1) * _STEP & _ALL for k in range(_LANES)]))
        for shift, factor in _MIX:
            x = builder.mul(folded(x, shift), same(factor))
        place = _place(context, builder, signature.args[0], args[0], wide(0), vector)
        builder.store(folded(x, 31), place).align = 1
        return context.get_dummy_value()

    return types.void(lane, types.uint64, types.int64), generate


@overload(write_words, jit_options=INLINED, strict=False)
def _write_words_compiled(lane: Any, seed: Any, start: Any) -> Any:
    return lambda lane, seed, start: _write_words(lane, seed, start)


def _load(context: Any, builder: Any, array: Any, data: Any, at: Any, kind: ir.Type) -> Any:
    """Load a value of some type from element ``at`` of an array on; it need not be aligned."""
    value = builder.load(_place(context, builder, array, data, at, kind))
    value.align = 1
    return value


def _place(context: Any, builder: Any, array: Any, data: Any, at: Any, kind: ir.Type) -> Any:
    """Return the address of element ``at`` of an array, as that of a value of some type."""
    first = context.make_array(array)(context, builder, data).data
    return builder.bitcast(builder.gep(first, [at]), kind.as_pointer())
