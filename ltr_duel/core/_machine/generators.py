"""Random numbers in compiled code, which gets the addresses of a numpy Generator instead of the object.

Kernels cannot hold Python objects, because they are compiled without reference counts. For a PCG64 generator, the
compiled code computes the numbers itself (`Stepped`). This takes a third of the time of a call of numpy's function
(`Called`) and gives the same numbers.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import NativeValue, models, overload_method, register_model, typeof_impl, unbox

from ltr_duel.core._machine.instructions import Writer, in_place_of

_FACTOR = 0x2360ED051FC65DA44385DF649FCCF645  # multiplier of PCG's 128-bit generator (O'Neill, 2014)
_WIDE, _HUGE, _DOUBLE = ir.IntType(64), ir.IntType(128), ir.DoubleType()


class Stepped(NamedTuple):
    """The address of the state of a PCG64 generator, whose numbers compiled code computes itself."""

    state: int


class Called(NamedTuple):
    """The addresses of a Generator's state, and of numpy's function that draws a number."""

    state: int
    function: int


def borrowed(rng: np.random.Generator) -> Stepped | Called:
    """Return the addresses of a Generator. The Generator must live longer than the addresses."""
    bits = rng.bit_generator
    if type(bits) is np.random.PCG64 and _steps_in_place():
        return Stepped(bits.ctypes.state_address)
    return Called(bits.ctypes.state_address, ctypes.cast(bits.ctypes.next_double, ctypes.c_void_p).value or 0)


@functools.cache
def _steps_in_place() -> bool:
    """Return whether numpy's PCG64 stores state and increment as two 128-bit numbers, lowest byte first."""
    bits = np.random.PCG64(1)
    address = ctypes.c_void_p.from_address(bits.ctypes.state_address).value
    numbers = bits.state["state"]["state"], bits.state["state"]["inc"]
    return address is not None and ctypes.string_at(address, 32) == b"".join(n.to_bytes(16, "little") for n in numbers)


class BorrowedType(types.Type):  # type: ignore[misc]  # numba has no type annotations
    def __init__(self, fields: tuple[str, ...]) -> None:
        self.fields = fields
        super().__init__(name=f"ltr_duel.Borrowed({', '.join(fields)})")


_TYPES = {kind: BorrowedType(kind._fields) for kind in (Stepped, Called)}


@typeof_impl.register(Stepped)
@typeof_impl.register(Called)
def _typeof(value: Any, context: Any) -> Any:
    return _TYPES[type(value)]


@register_model(BorrowedType)
class _Model(models.StructModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, [(name, types.uint64) for name in kind.fields])


@unbox(BorrowedType)
def _unbox(kind: Any, value: Any, c: Any) -> Any:
    pair = c.unbox(types.UniTuple(types.uint64, len(kind.fields)), value)
    native = cgutils.create_struct_proxy(kind)(c.context, c.builder)
    for k, name in enumerate(kind.fields):
        setattr(native, name, c.builder.extract_value(pair.value, k))
    return NativeValue(native._getvalue(), is_error=pair.is_error)


def uniform(rng: np.random.Generator) -> float:
    """Draw a number uniformly from [0, 1), as ``rng.random()`` does.

    Parameters
    ----------
    rng : numpy.random.Generator

    Returns
    -------
    float
        The number that ``rng.random()`` would return. The generator changes in the same way.

    Examples
    --------
    >>> uniform(np.random.default_rng(1)) == np.random.default_rng(1).random()
    True
    """
    return rng.random()


@in_place_of(uniform, types.float64, None)
def _uniform(write: Writer, rng: Any) -> Any:
    (kind,) = write.kinds
    if not isinstance(kind, BorrowedType):  # a Generator in a function compiled outside this package
        return write.context.compile_internal(write.builder, lambda rng: rng.random(), types.float64(kind), (rng,))
    builder = write.builder
    given = cgutils.create_struct_proxy(kind)(write.context, builder, value=rng)
    if "function" not in kind.fields:
        return _step(builder, given.state)
    pointer = builder.inttoptr(given.function, ir.FunctionType(_DOUBLE, [_WIDE]).as_pointer())
    return builder.call(pointer, [given.state])


def _step(builder: Any, address: Any) -> Any:
    """Step the 128-bit generator, combine its halves into 64 bits (XSL RR), and convert the upper 53 to a float."""
    place = builder.load(builder.inttoptr(address, _HUGE.as_pointer().as_pointer()))
    before = builder.load(place)
    increment = builder.load(builder.gep(place, [ir.IntType(32)(1)]))
    after = builder.add(builder.mul(before, _HUGE(_FACTOR)), increment)
    kept = builder.store(after, place)
    before.align = increment.align = kept.align = 8
    high, low = (builder.trunc(half, _WIDE) for half in (builder.lshr(after, _HUGE(64)), after))
    turned = builder.module.declare_intrinsic("llvm.fshr", [_WIDE], ir.FunctionType(_WIDE, [_WIDE] * 3))
    mixed = builder.xor(high, low)
    word = builder.call(turned, [mixed, mixed, builder.lshr(high, _WIDE(58))])
    return builder.fmul(builder.uitofp(builder.lshr(word, _WIDE(11)), _DOUBLE), _DOUBLE(2.0**-53))


@overload_method(BorrowedType, "random", strict=False)
def _random(rng: Any) -> Any:
    return lambda rng: uniform(rng)
