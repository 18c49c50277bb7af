"""One name, many implementations: a kernel calls a function that is selected by the type of the first argument."""

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


class Dispatch:
    """One name, many implementations, selected by the NamedTuple class of the first argument.

    numba resolves the call by type while compiling. The simulation loop calls every policy and oracle in this way, and
    can therefore be stored in the disk cache. A stub defines the signature; implementations must have the same
    parameter names. The docstring of the stub states the contract. The body of the stub runs for classes without an
    implementation, and may raise an error.
    """

    def __init__(self, stub: Callable[..., Any]) -> None:
        self._table: dict[type, Callable[..., Any]] = {}
        self._parameters = list(inspect.signature(stub).parameters)
        self._stub = stub

    def implement(self, kind: type, function: Callable[..., Any]) -> None:
        """Make ``function`` the implementation for first arguments of class ``kind``."""
        text = interpreted(function)  # even a kernel is not compiled separately here, but as a part of its caller
        given = list(inspect.signature(text).parameters)
        if given != self._parameters:
            raise TypeError(
                f"{kind.__module__}: {self._stub.__name__} takes ({', '.join(self._parameters)}),"
                f" not ({', '.join(given)})"
            )
        if "." not in kind.__name__:
            # numba names compiled code by the names of classes, without their modules. Without this change of the name,
            # code could run for another class with the same name and the same types of fields. Names of classes from
            # outside the package have a number, because the user may define a class again; their code is not stored.
            number = "" if kind.__module__.startswith("ltr_duel.") else f"number{next(_numbers)}."
            kind.__name__ = f"{number}{kind.__module__}.{kind.__qualname__}"
        self._table[kind] = text

    def find(self, kind: type | None) -> Callable[..., Any]:
        """Return the implementation for a class, or the stub."""
        return self._table.get(kind, self._stub) if kind else self._stub


def dispatched(stub: Callable[P, R]) -> Callable[P, R]:
    """Turn a stub into a function that kernels and Python can call; see `Dispatch`.

    Use it for functions that take nanoseconds, because numba inlines the implementations before it compiles the caller.
    The attribute ``dispatch`` of the returned function is the `Dispatch` with the implementations.
    """
    return _dispatched(stub, "always")


def dispatched_call(stub: Callable[P, R]) -> Callable[P, R]:
    """Like `dispatched`, but inlined by LLVM, not by numba; for longer functions with several return statements.

    Without inlining, a call passes the address, shape and strides of each array: 100 to 200 numbers in total.
    """
    return _dispatched(stub, "never")


def _dispatched(stub: Callable[P, R], inline: str) -> Callable[P, R]:
    dispatch = Dispatch(stub)

    @functools.wraps(stub)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return dispatch.find(type(args[0]))(*args, **kwargs)

    def resolve(*args: Any) -> Callable[..., Any]:
        return compiled_text(dispatch.find(getattr(args[0], "instance_class", None)))

    resolved_as(resolve, call, jit_options=KERNEL if inline == "always" else INLINED, inline=inline)
    call.dispatch = dispatch  # type: ignore[attr-defined]  # read by `implement`
    return call


def implement(stub: Callable[..., Any], kind: type, function: Callable[..., Any]) -> None:
    """Make ``function`` the implementation of a `dispatched` stub for first arguments of class ``kind``."""
    stub.dispatch.implement(kind, function)  # type: ignore[attr-defined]  # set by `dispatched`
