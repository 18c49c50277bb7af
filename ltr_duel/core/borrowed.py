"""Generators that kernels borrow: numba lets a kernel hold what it is given, by a counter that kernels do without.

numba's own way is replaced for the whole process.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import boxing, cgutils, pythonapi
from numba.core.types import NumPyRandomGeneratorType
from numba.extending import NativeValue

_BORROW = "ltr_duel.borrow_generator"


def borrow_generators() -> None:
    """Let kernels take numpy Generators without holding them."""
    pythonapi._unboxers.functions[NumPyRandomGeneratorType] = _borrow_generator


def _borrow_generator(kind: Any, generator: Any, call: Any) -> Any:
    """Hand a numpy Generator to a kernel.

    Asking a Generator for the addresses of its functions takes hundreds of instructions. They are compiled once for a
    kernel, as a function, and not once for each Generator that the kernel takes: that was a sixth of the time of
    compiling a simulation loop.
    """
    builder, value = call.builder, call.context.get_value_type(kind)
    borrow = builder.module.globals.get(_BORROW) or _borrowing(kind, generator.type, value, call)
    room = cgutils.alloca_once(builder, value)
    failed = builder.call(borrow, [generator, room])
    return NativeValue(builder.load(room), is_error=failed)


def _borrowing(kind: Any, given: Any, value: Any, call: Any) -> Any:
    """Write the function that looks into a Generator, fills a structure, and returns whether that failed.

    numba makes a record of 48 bytes at each call, which holds the Generator until its reference counter lets go of it.
    Kernels are compiled without the counter, so nobody ever would: they borrow the Generator from their caller.
    """
    signature = ir.FunctionType(ir.IntType(1), [given, value.as_pointer()])
    function = ir.Function(call.builder.module, signature, _BORROW)
    function.linkage = "internal"
    function.attributes.add("noinline")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    inner = type(call)(call.context, builder, call.context.get_python_api(builder))
    if not call.context.enable_nrt:
        inner.pyapi.nrt_meminfo_new_from_pyobject = lambda data, owner: cgutils.voidptr_t(None)
    generator, room = function.args
    native = boxing.unbox_numpy_random_generator(kind, generator, inner)
    builder.store(native.value, room)
    builder.ret(native.is_error)
    return function
