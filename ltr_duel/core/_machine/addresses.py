"""Call compiled functions by their address, and pass them a NamedTuple of arrays by its address.

The code of the caller then does not depend on the function, and is compiled only once. The NamedTuple is stored as
*words*: 64-bit numbers that describe the arrays of the NamedTuple and contain its other values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import models, register_model
from numba.np.arrayobj import populate_array

from ltr_duel.core._machine.instructions import Writer, in_place_of
from ltr_duel.core.arrays import IntVector, SignMatrix

_WORD = ir.IntType(64)


class WordsType(types.Type):  # type: ignore[misc]  # numba has no type annotations
    """numba's type for the address of a value's words. ``kind`` is numba's type of the value."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind
        super().__init__(name=f"ltr_duel.Words({kind})")


@register_model(WordsType)
class _Model(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _WORD)


def words_of(value: Any) -> list[Any]:
    """Return a value as 64-bit words. An array becomes its address, shape and strides."""
    if isinstance(value, tuple):
        return [word for part in value for word in words_of(part)]
    if isinstance(value, np.ndarray):
        return [value.ctypes.data, *value.shape, *value.strides]
    return [np.float64(value).view(np.int64) if isinstance(value, float) else int(value)]


def value_at(words: int) -> Any:
    """Return the value whose words are at an address of the type `WordsType`. Only compiled code can call this."""
    raise TypeError("only compiled code has values at addresses")


@in_place_of(value_at, lambda words: words.kind, None)
def _value_at(write: Writer, words: Any) -> Any:
    start = write.builder.inttoptr(words, _WORD.as_pointer())
    return _read(write, write.kinds[0].kind, start, 0)[0]


def _read(write: Writer, kind: Any, start: Any, at: int) -> tuple[Any, int]:
    """Load the value that begins at index ``at``; return it and the index after it."""
    builder = write.builder

    def load(k: int) -> Any:
        word = builder.load(builder.gep(start, [_WORD(k)]))
        word.set_metadata("invariant.load", builder.module.add_metadata([]))
        return word

    if isinstance(kind, types.BaseTuple):
        parts = []
        for part in kind.types:
            value, at = _read(write, part, start, at)
            parts.append(value)
        return write.context.make_tuple(builder, kind, parts), at
    if isinstance(kind, types.Array):
        array = write.context.make_array(kind)(write.context, builder)
        numbers = [load(at + k) for k in range(1, 1 + 2 * kind.ndim)]
        item = _WORD(write.context.get_abi_sizeof(write.context.get_data_type(kind.dtype)))
        data = builder.inttoptr(load(at), array.data.type)
        populate_array(array, data, numbers[: kind.ndim], numbers[kind.ndim :], item, meminfo=None)
        return array._getvalue(), at + 1 + 2 * kind.ndim
    if isinstance(kind, types.Float):
        return builder.bitcast(load(at), ir.DoubleType()), at + 1
    return builder.trunc(load(at), write.context.get_value_type(kind)), at + 1


def call_pair(code: int, words: IntVector, first: int, second: int, streams: Any) -> int:
    """Call the compiled function at address ``code`` with the address of ``words`` and the other arguments."""
    raise TypeError("only compiled code calls addresses")


def call_slate(code: int, words: IntVector, slate: IntVector, size: int, won: SignMatrix, streams: Any) -> int:
    """Call the compiled function at address ``code``, as `call_pair` does."""
    raise TypeError("only compiled code calls addresses")


@in_place_of(call_pair, types.int64, types.int64, None, types.int64, types.int64, None)
@in_place_of(call_slate, types.int64, types.int64, None, types.int64[::1], types.int64, types.int8[:, ::1], None)
def _call(write: Writer, code: Any, words: Any, *rest: Any) -> Any:
    builder, convention, kinds = write.builder, write.context.call_conv, (types.int64, *write.kinds[2:])
    pointer = builder.inttoptr(code, convention.get_function_type(types.int64, kinds).as_pointer())
    given = (builder.ptrtoint(write.address(_WORD, 1, _WORD(0)), _WORD), *rest)
    return convention.call_function(builder, pointer, types.int64, kinds, given)[1]
