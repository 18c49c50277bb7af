"""Machine instructions that numba does not offer, for example to compare many numbers at once.

Each function is written in plain Python. In compiled code, machine instructions take the place of the function and
return the same value. Some functions return a mask, an integer with one bit for each number that was compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import NDArray

from ltr_duel.core._machine.instructions import Writer, in_place_of

LANES = 32  # numbers compared by one call of `lanes_up_to` or `lanes_at`
_DOUBLES = ir.VectorType(ir.DoubleType(), LANES)
_SPACE = ord(" ")
AT_ONCE = 8  # floats compared by one call of `count_reaching`
SMALL_AT_ONCE = 16  # integers compared by one call of `count_below`


def larger(a: float, b: float) -> float:
    """Return the larger of two floats, which must not be NaN."""
    return a if a > b else b


@in_place_of(larger, types.float64, types.float64, types.float64)
def _larger(write: Writer, a: Any, b: Any) -> Any:
    double = ir.DoubleType()  # the compiler may change the order of calls, and so vectorise a loop
    maximum = ir.FunctionType(double, [double, double])
    function = write.builder.module.declare_intrinsic("llvm.maximum", [double], maximum)
    return write.builder.call(function, (a, b), fastmath=("nnan", "nsz"))


def lanes_up_to(values: NDArray[np.float64], at: int, level: float) -> int:
    """Return a mask that shows which of the 32 values from ``values[at]`` on are at most ``level``."""
    return sum(1 << k for k, value in enumerate(values[at : at + LANES].tolist()) if value <= level)


@in_place_of(lanes_up_to, types.int64, None, types.int64, types.float64)
def _lanes_up_to(write: Writer, values: Any, at: Any, level: Any) -> Any:
    data = write.load(_DOUBLES, 0, at)
    return write.mask(write.builder.fcmp_ordered("<=", data, write.spread(level, _DOUBLES)))


def lanes_at(base: NDArray[np.float64], width: NDArray[np.float64], at: int, scale: float, level: float) -> int:
    """Return a mask that shows at which of 32 indices, from ``at`` on, ``base + scale * width`` equals ``level``."""
    numbers = (base[at : at + LANES] + scale * width[at : at + LANES]).tolist()
    return sum(1 << k for k, number in enumerate(numbers) if number == level)


@in_place_of(lanes_at, types.int64, None, None, types.int64, types.float64, types.float64)
def _lanes_at(write: Writer, base: Any, width: Any, at: Any, scale: Any, level: Any) -> Any:
    builder = write.builder
    added = builder.fmul(write.spread(scale, _DOUBLES), write.load(_DOUBLES, 1, at))
    number = builder.fadd(write.load(_DOUBLES, 0, at), added)
    return write.mask(builder.fcmp_ordered("==", number, write.spread(level, _DOUBLES)))


def count_reaching(values: NDArray[np.float64], at: int, level: float) -> int:
    """Count how many of the `AT_ONCE` floats from ``values[at]`` on are at least ``level``."""
    return int((values[at : at + AT_ONCE] >= level).sum())


@in_place_of(count_reaching, types.int64, None, types.int64, types.float64)
def _count_reaching(write: Writer, values: Any, at: Any, level: Any) -> Any:
    data = write.load(ir.VectorType(ir.DoubleType(), AT_ONCE), 0, at)
    return write.builder.ctpop(write.mask(write.builder.fcmp_ordered(">=", data, write.spread(level, data.type))))


def count_below(values: NDArray[np.int16], at: int, level: int) -> int:
    """Count how many of the `SMALL_AT_ONCE` integers from ``values[at]`` on are below ``level``."""
    return int((values[at : at + SMALL_AT_ONCE] < level).sum())


@in_place_of(count_below, types.int64, None, types.int64, types.int16)
def _count_below(write: Writer, values: Any, at: Any, level: Any) -> Any:
    data = write.load(ir.VectorType(ir.IntType(16), SMALL_AT_ONCE), 0, at)
    return write.builder.ctpop(write.mask(write.builder.icmp_signed("<", data, write.spread(level, data.type))))


def count_bits(word: int) -> int:
    """Count the bits of a 64-bit word that are 1."""
    return int(word).bit_count()


@in_place_of(count_bits, types.int64, types.int64)
def _count_bits(write: Writer, word: Any) -> Any:
    return write.builder.ctpop(word)


def load_word(text: NDArray[np.uint8], at: int) -> int:
    """Return the eight bytes from ``text[at]`` on as one little-endian integer."""
    return int.from_bytes(text[at : at + 8].tobytes(), "little")


@in_place_of(load_word, types.uint64, None, types.int64)
def _load_word(write: Writer, text: Any, at: Any) -> Any:
    return write.load(ir.IntType(64), 0, at)


def space_mask(text: NDArray[np.uint8], at: int) -> int:
    """Return a mask that shows which of the 32 bytes from ``text[at]`` on are spaces."""
    return sum(1 << k for k, byte in enumerate(text[at : at + 32].tolist()) if byte == _SPACE)


@in_place_of(space_mask, types.int64, None, types.int64)
def _space_mask(write: Writer, text: Any, at: Any) -> Any:
    vector = ir.VectorType(ir.IntType(8), 32)
    return write.mask(
        write.builder.icmp_unsigned("==", write.load(vector, 0, at), ir.Constant(vector, [_SPACE] * vector.count))
    )


def trailing_zeros(word: int | np.uint64) -> int:
    """Return the position of the lowest set bit of a 64-bit word, or 64 if no bit is set."""
    number = int(word)
    return (number & -number).bit_length() - 1 if number else 64


@in_place_of(trailing_zeros, types.uint64, types.uint64)
def _trailing_zeros(write: Writer, word: Any) -> Any:
    return write.builder.cttz(word, ir.Constant(ir.IntType(1), 0))
