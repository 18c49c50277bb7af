"""Compile a plug-in's functions one by one before their first call: an error names the function and the cause."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ltr_duel.core import IntVector, compile_error, jit, stream
from ltr_duel.interleaving.hooks import Lists, Shown
from ltr_duel.interleaving.method import Method, MethodError

_compiled: set[type] = set()


def is_new_plugin(method: Method) -> bool:
    """Return whether a method runs compiled, is defined outside this package, and has not been compiled before."""
    inside = method.state.__module__.startswith("ltr_duel.")
    return method.compiled and not inside and method.state not in _compiled and not numba.config.DISABLE_JIT


def compile_plugin(method: Method, state: Any, lists: Lists, page: Shown, slate: IntVector) -> None:
    """Compile the functions of a plug-in's method for its state, lists and scratch.

    Raises `MethodError` if numba cannot compile one of them.
    """
    of_pairs, of_slates = (state, lists, 0, 0, 1, page), (state, lists, 0, slate, 1, page)
    rng, won = stream(0, "compile"), np.zeros((1, 1), np.int8)
    for function, arguments in (
        (method.draw_pair, (*of_pairs, rng)),
        (method.credit_pair, (*of_pairs, 1, 1)),
        (method.draw_slate, (*of_slates, rng)),
        (method.credit_slate, (*of_slates, 1, 1, won)),
    ):
        if function is not None:
            try:
                compiler: Any = jit.uncached_kernel(function)
                compiler.return_type(*arguments)
            except (numba.errors.NumbaError, ValueError) as error:
                raise MethodError(f"method '{method.name}': {compile_error(function, error)}") from error
    _compiled.add(method.state)
