"""A whole `<id>:<value>` of the usual form at once; whatever is not usual is left to the scanner, byte by byte.

Usual is: up to seven digits, a colon, perhaps a sign, up to seven digits, perhaps a point and up to seven more, a
space, all within 32 bytes. There is no branch that depends on how many digits there are, and where the next token
starts is found by one comparison of 32 bytes with a space, not from the number: so the processor begins the next
token while it still computes this one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from ltr_duel.core import IntVector
from ltr_duel.data.text.digits import INLINED, digits_of, load_word, trailing_zeros
from ltr_duel.data.text.numbers import INTEGER_POWERS, POWERS, ZERO_POWER

_REACH = 64  # bytes that may be looked at
_BYTE = np.uint64(255)


def quick_token(text: IntVector, at: int) -> tuple[int, float, int]:
    """Return feature id, value and the position behind the space, or id 0 if the token is not of the usual form.

    Interpreted, no token is usual. ``text[at]`` is a digit.
    """
    return 0, 0.0, at


@intrinsic
def _spaces(typing: Any, text: Any, at: Any) -> Any:
    """Compare 32 bytes with a space; bit k of the answer is that of byte k."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        vector = ir.VectorType(ir.IntType(8), 32)
        place = builder.gep(builder.bitcast(array.data, ir.IntType(8).as_pointer()), [args[1]])
        data = builder.load(builder.bitcast(place, vector.as_pointer()))
        data.align = 1
        same = builder.icmp_unsigned("==", data, ir.Constant(vector, [32] * 32))
        return builder.zext(builder.bitcast(same, ir.IntType(32)), ir.IntType(64))

    return types.int64(text, types.int64), generate


@overload(quick_token, jit_options=INLINED, strict=False)
def _quick_token(text: Any, at: Any) -> Any:
    def compiled(text: Any, at: Any) -> Any:
        if at + _REACH > len(text):
            return 0, 0.0, at
        spaces = _spaces(text, at)
        feature, width = digits_of(load_word(text, at))
        start = at + width + 1
        colon = load_word(text, start - 1) & _BYTE == 58
        first = load_word(text, start) & _BYTE
        negative = first == 45
        start += np.int64(negative or first == 43)
        integer, digits = digits_of(load_word(text, start))
        end = start + digits
        end += np.int64(load_word(text, end) & _BYTE == 46)
        part, fraction = digits_of(load_word(text, end))  # without a point no digit stands here
        end += fraction
        few = width < 8 and digits < 8 and fraction < 8 and digits + fraction > 0
        if not (few and colon and spaces & -spaces == 1 << (end - at)):
            return 0, 0.0, at
        value = float(integer * INTEGER_POWERS[fraction] + part) / POWERS[ZERO_POWER + fraction]
        if negative:
            value = -value
        return feature, value, at + np.int64(trailing_zeros(np.uint64(spaces))) + 1

    return compiled
