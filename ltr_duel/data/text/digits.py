"""Up to eight digits at once: the inner step of reading a number.

`leading_digits` is plain Python where kernels are interpreted. Compiled, it loads eight bytes as one word, finds the
first byte that is no digit without a branch, and adds the digits up in three multiplications (the word holds four
pairs, then two fours, then one eight). Both give the same answer on every input; a test compares them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, overload

from ltr_duel.core import KERNEL_FLAGS, IntVector

# A call, with all that describes an array, would cost more than the work.
INLINED = {**KERNEL_FLAGS, "forceinline": True}

_ZEROS = np.uint64(0x3030303030303030)  # "00000000"
_TEN_OR_MORE = np.uint64(0x7676767676767676)  # added to a byte from 10 on, it sets the highest bit
_HIGH_BITS = np.uint64(0x8080808080808080)
_EVERY_FOURTH = np.uint64(0x000000FF000000FF)
_FIRST_TWO = np.uint64(100 + (1_000_000 << 32))
_SECOND_TWO = np.uint64(1 + (10_000 << 32))
_TEN, _EIGHT, _SIXTEEN, _HALF = np.uint64(10), np.uint64(8), np.uint64(16), np.uint64(32)


def leading_digits(text: IntVector, at: int) -> tuple[int, int]:
    """Return the number that the digits from ``text[at]`` on make, at most eight of them, and how many there are."""
    number = count = 0
    while count < 8 and at + count < len(text) and 48 <= text[at + count] <= 57:
        number = number * 10 + int(text[at + count]) - 48
        count += 1
    return number, count


@intrinsic
def load_word(typing: Any, text: Any, at: Any) -> Any:
    """Load eight bytes as one little-endian word."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        place = builder.gep(builder.bitcast(array.data, ir.IntType(8).as_pointer()), [args[1]])
        word = builder.load(builder.bitcast(place, ir.IntType(64).as_pointer()))
        word.align = 1
        return word

    return types.uint64(text, types.int64), generate


@intrinsic
def trailing_zeros(typing: Any, word: Any) -> Any:
    """Count the zeros below the lowest bit that is set; 64 if none is."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


@njit(**INLINED)
def digits_of(word):
    """Return the number that the first digits of eight bytes make, and how many there are."""
    word = word ^ _ZEROS
    others = ((word + _TEN_OR_MORE) | word) & _HIGH_BITS
    bits = trailing_zeros(others) & ~np.uint64(7)  # eight for each digit; 64 if all are
    unused = (np.uint64(64) - bits) >> np.uint64(1)
    word = (word << unused) << unused  # in two steps: a shift by 64 is undefined
    word = word * _TEN + (word >> _EIGHT)
    word = ((word & _EVERY_FOURTH) * _FIRST_TWO + ((word >> _SIXTEEN) & _EVERY_FOURTH) * _SECOND_TWO) >> _HALF
    return np.int64(word), np.int64(bits >> np.uint64(3))


@overload(leading_digits, jit_options=INLINED, strict=False)
def _leading_digits(text: Any, at: Any) -> Any:
    def compiled(text: Any, at: Any) -> Any:
        if at + 8 > len(text):  # the last bytes, one by one
            number = np.int64(0)
            count = 0
            while at + count < len(text) and 48 <= text[at + count] <= 57:
                number = number * 10 + np.int64(text[at + count]) - 48
                count += 1
            return number, count
        return digits_of(load_word(text, at))

    return compiled
