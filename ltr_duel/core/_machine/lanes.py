"""Many numbers compared at once, and the few other machine instructions that numba does not offer.

Each is a plain Python function, which runs where kernels are interpreted; in compiled code an LLVM instruction replaces
it. Both return the same value for every input; tests compare them.

`larger`
    A maximum of floats written as a comparison is computed step by step, because the compiler may not reorder it. This
    instruction permits that, and a row is scanned six times faster.
`lanes_up_to`, `lanes_at`, `count_bits`, `trailing_zeros`
    The results of many comparisons are bits, in which the n-th number that fulfils a condition is found without a
    branch for each. A processor cannot predict where a loop leaves at that number.
`count_reaching`, `count_below`
    The same for the rank of a number among a few.
`load_word`, `space_mask`, `trailing_zeros`
    Feature files are read eight digits at a time, and 32 bytes are compared to find the next token. Without them
    scanning takes 1.8 times as long for dense text and 2.3 times as long for sparse text.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import NDArray

from ltr_duel.core._machine.instructions import in_place_of, load, spread

_BYTE = ir.IntType(8)
LANES = 32  # numbers that `lanes_up_to` and `lanes_at` take
_DOUBLES = ir.VectorType(ir.DoubleType(), LANES)
_SPACE = ord(" ")
AT_ONCE = 8  # floats that `count_reaching` takes
SMALL_AT_ONCE = 16  # integers that `count_below` takes


def larger(a: float, b: float) -> float:
    """Return the larger of two floats, neither of them NaN."""
    return a if a > b else b


@in_place_of(larger)
def _larger(typing: Any, a: Any, b: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        double = ir.DoubleType()
        function = builder.module.declare_intrinsic("llvm.maximum", [double], ir.FunctionType(double, [double, double]))
        return builder.call(function, args, fastmath=("nnan", "nsz"))

    return types.float64(types.float64, types.float64), generate


def lanes_up_to(values: NDArray[np.float64], at: int, level: float) -> int:
    """Compare 32 values from ``values[at]`` on with a level; bit k: whether value k is at most the level."""
    return sum(1 << k for k, value in enumerate(values[at : at + LANES].tolist()) if value <= level)


@in_place_of(lanes_up_to)
def _lanes_up_to(typing: Any, values: Any, at: Any, level: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = load(context, builder, signature, args, _DOUBLES, 0, args[1])
        return _mask(builder, builder.fcmp_ordered("<=", data, spread(builder, args[2], _DOUBLES)))

    return types.int64(values, types.int64, types.float64), generate


def lanes_at(base: NDArray[np.float64], width: NDArray[np.float64], at: int, scale: float, level: float) -> int:
    """Compute 32 numbers ``base + scale * width`` from place ``at`` on; bit k says whether number k is the level."""
    numbers = (base[at : at + LANES] + scale * width[at : at + LANES]).tolist()
    return sum(1 << k for k, number in enumerate(numbers) if number == level)


@in_place_of(lanes_at)
def _lanes_at(typing: Any, base: Any, width: Any, at: Any, scale: Any, level: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        start = load(context, builder, signature, args, _DOUBLES, 0, args[2])
        wide = load(context, builder, signature, args, _DOUBLES, 1, args[2])
        number = builder.fadd(start, builder.fmul(spread(builder, args[3], _DOUBLES), wide))
        return _mask(builder, builder.fcmp_ordered("==", number, spread(builder, args[4], _DOUBLES)))

    return types.int64(base, width, types.int64, types.float64, types.float64), generate


def count_reaching(values: NDArray[np.float64], at: int, level: float) -> int:
    """Count those of the `AT_ONCE` floats from ``values[at]`` on that are at least ``level``; all must be there."""
    return int((values[at : at + AT_ONCE] >= level).sum())


@in_place_of(count_reaching)
def _count_reaching(typing: Any, values: Any, at: Any, level: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = load(context, builder, signature, args, ir.VectorType(ir.DoubleType(), AT_ONCE), 0, args[1])
        return builder.ctpop(_mask(builder, builder.fcmp_ordered(">=", data, spread(builder, args[2], data.type))))

    return types.int64(values, types.int64, types.float64), generate


def count_below(values: NDArray[np.int16], at: int, level: int) -> int:
    """Count those of the `SMALL_AT_ONCE` small integers from ``values[at]`` on that are less than ``level``."""
    return int((values[at : at + SMALL_AT_ONCE] < level).sum())


@in_place_of(count_below)
def _count_below(typing: Any, values: Any, at: Any, level: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = load(context, builder, signature, args, ir.VectorType(ir.IntType(16), SMALL_AT_ONCE), 0, args[1])
        return builder.ctpop(_mask(builder, builder.icmp_signed("<", data, spread(builder, args[2], data.type))))

    return types.int64(values, types.int64, types.int16), generate


def _mask(builder: Any, same: Any) -> Any:
    return builder.zext(builder.bitcast(same, ir.IntType(same.type.count)), ir.IntType(64))


def count_bits(word: int) -> int:
    """Count the bits of a word of 64 bits that are set."""
    return int(word).bit_count()


@in_place_of(count_bits)
def _count_bits(typing: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.int64), generate


def load_word(text: NDArray[np.uint8], at: int) -> int:
    """Return eight bytes from ``text[at]`` on as one little-endian word; all must lie in the text."""
    return int.from_bytes(text[at : at + 8].tobytes(), "little")


@in_place_of(load_word)
def _load_word(typing: Any, text: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return load(context, builder, signature, args, ir.IntType(64), 0, args[1])

    return types.uint64(text, types.int64), generate


def space_mask(text: NDArray[np.uint8], at: int) -> int:
    """Compare 32 bytes from ``text[at]`` on with a space; bit k of the answer says whether byte k is one."""
    return sum(1 << k for k, byte in enumerate(text[at : at + 32].tolist()) if byte == _SPACE)


@in_place_of(space_mask)
def _space_mask(typing: Any, text: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = ir.VectorType(_BYTE, 32)
        data = load(context, builder, signature, args, vector, 0, args[1])
        same = builder.icmp_unsigned("==", data, ir.Constant(vector, [_SPACE] * 32))
        return builder.zext(builder.bitcast(same, ir.IntType(32)), ir.IntType(64))

    return types.int64(text, types.int64), generate


def trailing_zeros(word: int | np.uint64) -> int:
    """Count the zeros below the lowest bit of a word of 64 bits that is set; 64 if none is."""
    number = int(word)
    return (number & -number).bit_length() - 1 if number else 64


@in_place_of(trailing_zeros)
def _trailing_zeros(typing: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate
