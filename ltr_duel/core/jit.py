"""Compiled kernels: one decorator and one cache place.

Kernels are plain Python functions over arrays and NamedTuples of arrays. They allocate nothing and are compiled
without numba's reference counter, which makes small steps several times faster. With ``NUMBA_DISABLE_JIT=1`` the
same text runs interpreted and gives the same numbers.

numba's disk cache does not notice an edit in another file, so the cache lies under a folder named by a digest of all
source files that a kernel depends on (`ltr_duel.core.sources`).
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar

import numba

from ltr_duel.core.blas import import_blas_when_used
from ltr_duel.core.borrowed import borrow_generators
from ltr_duel.core.home import cache_home
from ltr_duel.core.scalars import put_scalars_in_place
from ltr_duel.core.sources import kernel_digest

P = ParamSpec("P")
R = TypeVar("R")

# No kernel makes a NaN or asks for the sign of a zero; saying so lets a maximum be vectorised and changes no result.
KERNEL_FLAGS: dict[str, Any] = {
    "nogil": True,
    "_nrt": False,
    "error_model": "numpy",
    "fastmath": {"nnan", "nsz"},
    "no_cfunc_wrapper": True,  # no kernel is handed to C, and none is an argument of another
}


borrow_generators()
import_blas_when_used()
put_scalars_in_place()


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function on first call; the result is cached on disk until a source file changes.

    Parameters
    ----------
    function : callable
        It may only read and write what it is given: no allocation, no defaults, no checks, no global state.

    Returns
    -------
    callable
        The plain Python text stays reachable as ``.py_func`` (see `interpreted`).

    Examples
    --------
    >>> from ltr_duel.core import random_below, stream  # a kernel
    >>> random_below(6, stream(0, "die")) == interpreted(random_below)(6, stream(0, "die"))
    True
    """
    return kernel_for(function)


def outlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile like `kernel`, but leave it to LLVM whether it becomes part of its callers.

    What a `dispatched_call` calls becomes part of it otherwise, which is good for what runs for nanoseconds, and bad
    for loops over arrays: among others they lose registers.
    """
    return kernel_for(function, forceinline=False)


def kernel_for(function: Callable[P, R], *modules: str, **flags: bool) -> Callable[P, R]:
    """Compile like `kernel` a function whose `dispatched` calls are implemented in ``modules``.

    The modules' sources decide, beside those of the function itself, whether what was compiled before is still valid.
    """
    directory = _cache_directory(frozenset({function.__module__, *modules}))
    compiled = _dispatcher(function, directory, **flags)
    if numba.config.DISABLE_JIT:
        return compiled

    @functools.cache
    def called() -> Any:
        """Return the same for other kernels: without an entrance from Python, a fifth of the time of compiling."""
        inner = _dispatcher(function, directory and f"{directory}/called", no_cpython_wrapper=True, **flags)
        inner._compiling_counter = compiled._compiling_counter  # by which numba knows a function that calls itself
        return inner

    whole = compiled._compiler.compile

    def compile_entrance(args: Any, returned: Any) -> Any:
        """Compile for Python: an entrance to what other kernels call, if that is there; else the whole in one."""
        inner = called()
        there = args in inner.overloads or inner._cache.load_overload(args, inner.targetctx) is not None
        if not there:
            return whole(args, returned)
        shared = inner._compiling_counter
        inner._compiling_counter = type(shared)()  # for the entrance it is another function
        try:
            return _entrance(function, inner)._compiler.compile(args, returned)
        finally:
            inner._compiling_counter = shared

    compiled._compiler.compile = compile_entrance
    compiled.get_call_template = lambda args, kws: called().get_call_template(args, kws)
    compiled.get_overload = lambda signature: called().get_overload(signature)
    return compiled


def _entrance(function: Callable[..., Any], inner: Any) -> Any:
    """Return a function that only calls a kernel, with the parameters of that."""
    names = ", ".join(inspect.signature(function).parameters)
    text = {"inner": inner, "__name__": function.__module__}
    exec(f"def {function.__name__}({names}): return inner({names})", text)  # numba takes no *args for many types
    return numba.njit(**KERNEL_FLAGS)(text[function.__name__])


def _dispatcher(function: Callable[..., Any], directory: str, **flags: Any) -> Any:
    with _one_at_a_time:
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = directory
        try:
            compiled = numba.njit(**KERNEL_FLAGS, **flags, cache=bool(directory))(function)
        finally:
            numba.config.CACHE_DIR = before
    store = getattr(getattr(compiled, "_cache", None), "_impl", None)
    if store is not None:
        # What was compiled for types of a plug-in file is not stored: it holds code that may be edited, and other
        # processes could not read the index of a cache that names its classes.
        fit = store.check_cachable
        store.check_cachable = lambda result: _of_this_package(result.signature.args) and fit(result)
    return compiled


_one_at_a_time = threading.Lock()  # numba's folder is a global of numba's


def _of_this_package(kinds: Iterable[Any]) -> bool:
    """Whether all types, and those within them, are numba's or this package's."""
    for kind in kinds:
        owner = getattr(kind, "instance_class", None)
        if owner is not None and not owner.__module__.startswith("ltr_duel."):
            return False
        if not _of_this_package(getattr(kind, "types", ())):
            return False
    return True


def uncached_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile like `kernel`, but never to disk: for code whose text lies outside this package."""
    return numba.njit(**KERNEL_FLAGS)(function)


def interpreted(function: Callable[P, R]) -> Callable[P, R]:
    """Return the plain Python text of a kernel.

    Parameters
    ----------
    function : callable
        A kernel, or a function that is plain Python already.

    Returns
    -------
    callable

    Examples
    --------
    >>> from ltr_duel.core import coin
    >>> interpreted(coin).__name__, interpreted(len) is len
    ('coin', True)
    """
    return getattr(function, "py_func", function)


@functools.cache
def _cache_directory(modules: frozenset[str]) -> str:
    """Return the folder for compiled code of these modules as they are, or ``""`` where none can be written."""
    if not all(module.startswith("ltr_duel.") for module in modules):
        return ""  # only this package's sources are looked after
    directory = cache_home() / "kernels" / kernel_digest(modules)[:16]
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError:
        return ""
    return str(directory)
