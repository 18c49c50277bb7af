"""Functions with many implementations. The class of the first argument decides which implementation runs.

The simulation loop calls policies and sources of outcomes by such functions. The implementation is chosen when the loop
is compiled.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from ltr_duel.core._machine.instructions import compiled_text, resolved_as
from ltr_duel.core._machine.options import INLINED, KERNEL
from ltr_duel.core.jit import interpreted

P = ParamSpec("P")
R = TypeVar("R")

_numbers = itertools.count()


def dispatched(stub: Callable[P, R]) -> Callable[P, R]:
    """Make a function whose implementation depends on the class of its first argument, a NamedTuple.

    The stub defines the parameters, and its docstring says what an implementation must do. If a class has no
    implementation, the body of the stub runs. The code of an implementation is copied into the caller, so use this for
    functions that take nanoseconds.
    """
    return _dispatched(stub, "always", KERNEL)


def dispatched_call(stub: Callable[P, R]) -> Callable[P, R]:
    """Like `dispatched`, for longer functions with several return statements."""
    return _dispatched(stub, "never", INLINED)  # LLVM copies the code into the caller, not numba


def _dispatched(stub: Callable[P, R], inline: str, options: dict[str, Any]) -> Callable[P, R]:
    table: dict[type, Callable[..., Any]] = {}

    @functools.wraps(stub)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return table.get(type(args[0]), stub)(*args, **kwargs)

    def resolve(*args: Any) -> Callable[..., Any]:
        return compiled_text(table.get(getattr(args[0], "instance_class", type(None)), stub))

    resolved_as(resolve, call, jit_options=options, inline=inline)
    call.implementations = table  # type: ignore[attr-defined]  # read by `implement`
    return call


def implement(stub: Callable[..., Any], kind: type, function: Callable[..., Any]) -> None:
    """Register a function as the implementation of a `dispatched` stub for arguments of the class ``kind``."""
    text = interpreted(function)  # even a kernel is not compiled separately here, but as a part of its caller
    wanted, given = (", ".join(inspect.signature(part).parameters) for part in (stub, text))
    if given != wanted:
        raise TypeError(f"{kind.__module__}: {stub.__name__} takes ({wanted}), not ({given})")
    if "." not in kind.__name__:
        # numba names compiled code by the name of the class, without its module. With the longer name, code cannot run
        # for another class with the same name and fields. The number is for users who define a class again.
        number = "" if kind.__module__.startswith("ltr_duel.") else f"number{next(_numbers)}."
        kind.__name__ = f"{number}{kind.__module__}.{kind.__qualname__}"
    stub.implementations[kind] = text  # type: ignore[attr-defined]  # set by `dispatched`
