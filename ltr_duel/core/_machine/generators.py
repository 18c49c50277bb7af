"""Random numbers in compiled code: pass a numpy Generator as addresses, and draw its next uniform number.

Kernels are compiled without reference counts and cannot hold a Python object. Therefore, when Python calls a kernel,
each Generator is replaced by two addresses from its ``bit_generator.ctypes`` (documented by numpy); the caller keeps
the Generator alive. Compiled code calls numpy's function, which gives the same numbers and the same final state as
``rng.random()``.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import NativeValue, models, overload_method, register_model, typeof_impl, unbox

from ltr_duel.core._machine.instructions import Writer, in_place_of


class Borrowed(NamedTuple):
    """The addresses of a Generator's state, and of the function that draws a number."""

    state: int
    function: int


def borrowed(rng: np.random.Generator) -> Borrowed:
    """Return the addresses of a Generator; the Generator must outlive the use of the addresses."""
    bits = rng.bit_generator.ctypes
    return Borrowed(bits.state_address, ctypes.cast(bits.next_double, ctypes.c_void_p).value or 0)


class BorrowedType(types.Type):  # type: ignore[misc]  # numba has no type annotations
    """numba's type for `Borrowed`."""

    def __init__(self) -> None:
        super().__init__(name="ltr_duel.Borrowed")


_TYPE = BorrowedType()


@typeof_impl.register(Borrowed)
def _typeof(value: Any, context: Any) -> Any:
    return _TYPE


@register_model(BorrowedType)
class _Model(models.StructModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, [(name, types.uint64) for name in Borrowed._fields])


@unbox(BorrowedType)
def _unbox(kind: Any, value: Any, c: Any) -> Any:
    pair = c.unbox(types.UniTuple(types.uint64, 2), value)
    native = cgutils.create_struct_proxy(kind)(c.context, c.builder)
    for k, name in enumerate(Borrowed._fields):
        setattr(native, name, c.builder.extract_value(pair.value, k))
    return NativeValue(native._getvalue(), is_error=pair.is_error)


def uniform(rng: np.random.Generator) -> float:
    """Draw a number uniformly from [0, 1).

    Parameters
    ----------
    rng : numpy.random.Generator

    Returns
    -------
    float
        The value of ``rng.random()``; ``rng`` is left in the same state as by ``rng.random()``.

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
    pointer = builder.inttoptr(given.function, ir.FunctionType(ir.DoubleType(), [ir.IntType(64)]).as_pointer())
    return builder.call(pointer, [given.state])


@overload_method(BorrowedType, "random", strict=False)
def _random(rng: Any) -> Any:
    return lambda rng: uniform(rng)
