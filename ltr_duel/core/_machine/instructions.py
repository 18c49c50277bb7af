"""Replace Python functions in compiled code by processor instructions that numba would not produce.

A replaced function has two forms. One form is plain Python, which also runs without compilation. The other form writes
LLVM instructions, the language into which numba compiles.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.ir import SetItem
from numba.core.ir_utils import remove_dead_extensions
from numba.extending import intrinsic, overload

from ltr_duel.core._machine.options import INLINED

_PUT: dict[Any, Any] = {}  # intrinsics, keyed by replaced function
_MARK = "_keeps_writes"  # a global name of the functions of this package


class Writer:
    """Writes the LLVM instructions for a call of one function."""

    # ``array`` is the position of an array among the arguments of the function

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        self.context, self.builder = context, builder
        self.kinds, self._args = signature.args, args

    def load(self, kind: ir.Type, array: int, at: Any) -> Any:
        """Read a value of the type ``kind`` that begins at index ``at`` of an array."""
        value = self.builder.load(self.address(kind, array, at))
        value.align = self.kinds[array].dtype.bitwidth // 8  # of one number, because a load may begin at any index
        return value

    def store(self, kind: ir.Type, array: int, at: Any, value: Any) -> None:
        """Write a value to an array, beginning at index ``at``."""
        self.builder.store(value, self.address(kind, array, at)).align = self.kinds[array].dtype.bitwidth // 8

    def spread(self, number: Any, kind: ir.VectorType) -> Any:
        """Return a vector in which every element is ``number``."""
        nothing = ir.Constant(kind, ir.Undefined)
        one = self.builder.insert_element(nothing, number, ir.Constant(ir.IntType(32), 0))
        first = ir.Constant(ir.VectorType(ir.IntType(32), kind.count), [0] * kind.count)
        return self.builder.shuffle_vector(one, nothing, first)

    def mask(self, bits: Any) -> Any:
        """Convert a vector of bits to a 64-bit integer."""
        return self.builder.zext(self.builder.bitcast(bits, ir.IntType(bits.type.count)), ir.IntType(64))

    def address(self, kind: ir.Type, array: int, at: Any) -> Any:
        """Return a pointer of the type ``kind`` to index ``at`` of an array."""
        own = cgutils.create_struct_proxy(self.kinds[array])(self.context, self.builder, value=self._args[array])
        return self.builder.bitcast(self.builder.gep(own.data, [at]), kind.as_pointer())


def in_place_of(function: Callable[..., Any], returns: Any, *takes: Any) -> Callable[[Callable[..., Any]], Any]:
    """Replace a function in compiled code by the instructions that the decorated function writes with a `Writer`.

    returns: numba's type of the result, or a function that returns this type for the types of the arguments.
    *takes: the type of each argument, to which it is converted. None means that the argument keeps its type.
    """

    def define(write: Callable[..., Any]) -> Callable[..., Any]:
        def typed(typing: Any, *given: Any) -> Any:
            def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
                value = write(Writer(context, builder, signature, args), *args)
                return context.get_dummy_value() if returns == types.void else value

            kinds = [kind or own for kind, own in zip(takes, given, strict=True)]
            return (returns if isinstance(returns, types.Type) else returns(*kinds))(*kinds), generate

        names = inspect.signature(function).parameters
        typed.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # functions have it
            [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in ("typing", *names)]
        )
        _PUT[function] = intrinsic(typed)
        listed = ", ".join(names)
        text = eval(f"lambda {listed}: _put({listed})", {"_put": _PUT[function]})
        resolved_as(lambda *args: text, function, jit_options=INLINED)
        return write

    return define


def compiled_as(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Replace a function in compiled code by the decorated function."""

    def define(text: Callable[..., Any]) -> Callable[..., Any]:
        resolved_as(lambda *args: compiled_text(text), function, jit_options=INLINED)
        return text

    return define


def resolved_as(resolve: Callable[..., Any], function: Callable[..., Any], **options: Any) -> None:
    # ``resolve`` returns the function that takes the place of ``function``, for given types of the arguments
    def typed(*args: Any) -> Callable[..., Any]:
        return resolve(*args)

    typed.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]  # functions have it
    overload(function, strict=False, **options)(typed)


def compiled_text(
    function: Callable[..., Any], folder: str = "", parts: Mapping[str, Any] | None = None
) -> Callable[..., Any]:
    """Return a copy of a function for numba, which calls the compiled forms of replaced functions."""
    # numba stores compiled code beside the source file of a function. If ``folder`` is given, an empty file in this
    # folder takes the place of the source file. ``parts`` maps the names of further functions to their replacements.
    given, code = function.__globals__, function.__code__
    names: dict[str, Any] = {"__name__": given["__name__"], _MARK: True}
    for name in code.co_names:
        if name in given:
            value = given[name]
            names[name] = _PUT.get(value, value) if isinstance(value, FunctionType) else value
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


def _keep_write(statement: Any, _: Any, live: set[str], *rest: Any) -> Any:
    # numba removes a write to an array that is not read later. It does not know that the array is part of an argument
    # if it has copied a function into its caller and the function contains, for example, `a, b = state.a, state.b`.
    func_ir = rest[2]
    if _MARK in func_ir.func_id.func.__globals__:
        live.add(statement.target.name)
    return statement


remove_dead_extensions.setdefault(SetItem, _keep_write)
