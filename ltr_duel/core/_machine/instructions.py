"""LLVM instructions in place of Python functions, in compiled code.

A kernel's text names plain Python functions, which run where kernels are interpreted. Before a kernel is compiled, each
global name that stands for such a function is bound to numba's intrinsic for it (`compiled_text`), so the instructions
become part of the kernel itself. Other compiled code, which reaches the function some other way, calls an overload.
"""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from types import BuiltinFunctionType, FunctionType
from typing import Any

from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic, overload

from ltr_duel.core._machine.options import INLINED

_PUT: dict[Any, Any] = {}  # the intrinsic that stands for a function
_REPLACED = (FunctionType, BuiltinFunctionType, type)  # the kinds of global values that may have one


def in_place_of(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let compiled code hold instructions in place of a function; they are defined as for numba's `intrinsic`."""

    def define(instructions: Callable[..., Any]) -> Callable[..., Any]:
        put = _PUT[function] = intrinsic(instructions)
        if function.__module__ != "builtins":
            names = ", ".join(inspect.signature(function).parameters)
            resolve = eval(f"lambda {names}: lambda {names}: _put({names})", {"_put": put})
            overload(function, jit_options=INLINED, strict=False)(resolve)
        return instructions

    return define


def compiled_as(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let compiled code run another text in place of a function: a decorator for that text."""

    def define(text: Callable[..., Any]) -> Callable[..., Any]:
        resolved_as(lambda *args: compiled_text(text), function, jit_options=INLINED)
        return text

    return define


def resolved_as(resolve: Callable[..., Any], function: Callable[..., Any], **options: Any) -> None:
    """Let numba call ``resolve`` with the types of the arguments: it returns the text that is to be compiled."""

    def typed(*args: Any) -> Callable[..., Any]:
        return resolve(*args)

    typed.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]  # functions have it
    overload(function, strict=False, **options)(typed)


def compiled_text(
    function: Callable[..., Any], folder: str = "", parts: Mapping[str, Any] | None = None
) -> Callable[..., Any]:
    """Return the function as numba is to read it: instructions bound to their names, and a place for its disk cache.

    numba keeps compiled code beside the file of a function's text. With a ``folder``, that is a file there which only
    marks the place: the folder's name says which sources the code was compiled from. ``parts`` are bound to names too.
    """
    given, code = function.__globals__, function.__code__
    own = function.__module__.startswith("ltr_duel.")
    names: dict[str, Any] = {"__name__": given["__name__"]}
    for name in code.co_names:
        if name in given or (own and hasattr(builtins, name)):
            value = given[name] if name in given else getattr(builtins, name)
            names[name] = _PUT.get(value, value) if isinstance(value, _REPLACED) else value
    names |= parts or {}
    if folder:
        mark = Path(folder, f"{function.__module__}.py")
        if not mark.exists():
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.touch()
        code = code.replace(co_filename=str(mark))
    text = FunctionType(code, names, function.__name__, function.__defaults__, function.__closure__)
    text.__qualname__, text.__module__ = function.__qualname__, function.__module__
    return text


def spread(builder: Any, number: Any, kind: ir.VectorType) -> Any:
    """Put a number into all lanes of a vector."""
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    first = ir.Constant(ir.VectorType(ir.IntType(32), kind.count), [0] * kind.count)
    return builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), first)


def load(context: Any, builder: Any, signature: Any, args: Any, kind: ir.Type, array: int, at: Any) -> Any:
    """Load a value of some type, from index ``at`` on, from the array with that number in ``args``."""
    value = builder.load(_address(context, builder, signature, args, kind, array, at))
    value.align = signature.args[array].dtype.bitwidth // 8  # of one number: any may be the first
    return value


def store(
    context: Any, builder: Any, signature: Any, args: Any, kind: ir.Type, array: int, at: Any, value: Any
) -> None:
    """Store a value of some type where `load` finds it."""
    address = _address(context, builder, signature, args, kind, array, at)
    builder.store(value, address).align = signature.args[array].dtype.bitwidth // 8


def _address(context: Any, builder: Any, signature: Any, args: Any, kind: ir.Type, array: int, at: Any) -> Any:
    data = cgutils.create_struct_proxy(signature.args[array])(context, builder, value=args[array]).data
    return builder.bitcast(builder.gep(data, [at]), kind.as_pointer())
