"""Compiled kernels: the decorator, and the cache of compiled code.

Kernels are plain Python functions over arrays and NamedTuples of arrays. They allocate nothing. With
``NUMBA_DISABLE_JIT=1`` the same code runs interpreted and returns the same values.

numba's disk cache notices an edit only in the kernel's own file. The name of the cache folder is therefore a digest of
the sources of the kernel's floor and of the floors below it (`ltr_duel.core.sources`).
"""

from __future__ import annotations

import functools
import inspect
import pickle
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any, Generic, ParamSpec, TypeVar, cast

import numba
import numpy as np
from numba.extending import typeof_impl

from ltr_duel.core._machine.first_use import LINE as LINE
from ltr_duel.core._machine.first_use import is_stored
from ltr_duel.core._machine.generators import borrowed
from ltr_duel.core._machine.instructions import compiled_as, compiled_text
from ltr_duel.core._machine.options import CALLED, INLINED, KERNEL, compiler
from ltr_duel.core.kernel_cache import kernel_folder, remove_kernels, warn_of_cache
from ltr_duel.core.sources import kernel_digest

P = ParamSpec("P")
R = TypeVar("R")

# Annotations of arguments that cannot have a type from outside this package.
_FROM_HERE = re.compile(r"int|float|bool|np\.\w+int\d+|\w*(Vector|Matrix|Generator)|NDArray\[.*|Streams")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function on first call; the result is cached on disk until a source file changes.

    Parameters
    ----------
    function : callable
        It may only read and write its arguments: no allocation, no defaults, no checks, no global state.

    Returns
    -------
    callable
        The kernel; its plain Python function is available as ``.py_func`` (see `interpreted`).

    Examples
    --------
    >>> from ltr_duel.core import random_below, stream  # a kernel
    >>> random_below(6, stream(0, "die")) == interpreted(random_below)(6, stream(0, "die"))
    True
    """
    return kernel_for(function)


def outlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile like `kernel`; LLVM decides whether to inline the function into implementations of a `dispatched_call`.

    Inlining speeds up functions that take nanoseconds, but slows down loops over arrays, for example through register
    pressure.
    """
    return kernel_for(function, forceinline=False)


def kernel_for(
    function: Callable[P, R], *modules: str, parts: Mapping[str, Callable[..., Any]] | None = None, **flags: bool
) -> Callable[P, R]:
    """Compile, like `kernel`, a function whose `dispatched` calls are implemented in ``modules``.

    Stored code is valid until a source of these modules or of the function changes. ``parts`` maps global names in the
    code to functions that are inlined there. This saves time, because for a `dispatched` call numba would also compile
    the implementation as a separate function.
    """
    if numba.config.DISABLE_JIT:
        return function
    known = {name: value for name, value in flags.items() if name in INLINED}
    return cast(Callable[P, R], Kernel(function, frozenset({function.__module__, *modules}), known, parts or {}))


def uncached_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function from outside this package like `kernel`, but do not store the compiled code on disk."""
    if numba.config.DISABLE_JIT:
        return interpreted(function)
    return cast(Callable[P, R], Kernel(interpreted(function), frozenset({""}), {}, {}))


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile like `kernel`, but into each caller's machine code, for functions that take less time than a call."""
    if numba.config.DISABLE_JIT:
        return function
    compiled_as(function)(function)
    return function


def interpreted(function: Callable[P, R]) -> Callable[P, R]:
    """Return the plain Python function of a kernel.

    Parameters
    ----------
    function : callable
        A kernel, or a plain Python function.

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


class Kernel(Generic[P, R]):
    """A compiled function in two forms: with an entry point for Python, and without one, for other kernels.

    Compiling the second form takes four fifths of the time of the first. How Python passes arguments to the first form
    is one of three states: *new* until the first call; then *direct*, if numba accepts the arguments unchanged; else
    *converted*: Generators become addresses, and in each call the types of NamedTuples are checked. Code that contains
    types from outside this package is not stored on disk: the source of such a type may be edited, and other processes
    could not read a cache index that names its class.
    """

    __qualname__: str  # name of the function

    def __init__(
        self,
        function: Callable[P, R],
        modules: frozenset[str],
        flags: dict[str, bool],
        parts: Mapping[str, Callable[..., Any]],
    ) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.modules, self._flags, self._parts = modules, flags, parts
        self._forms: dict[tuple[bool, bool], Any] = {}
        self._private = not all(module.startswith("ltr_duel.") for module in modules)  # never stored
        kinds = (str(function.__annotations__.get(name, "")) for name in inspect.signature(function).parameters)
        self._open = not all(map(_FROM_HERE.fullmatch, kinds))  # arguments may have types from outside the package
        self._state: Callable[[tuple[Any, ...]], Any] = self._new

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the compiled function."""
        given = inspect.signature(self.py_func).bind(*args, **kwargs).args if kwargs else args
        try:
            return cast(R, self._state(given))
        except (OSError, *_UNREADABLE) as error:  # errors of the disk cache; kernels raise no such errors
            _recover(error)
            self._state = self._new
            return cast(R, self._state(given))

    def __reduce__(self) -> str | tuple[Any, ...]:
        if getattr(sys.modules.get(self.__module__), self.__qualname__, None) is self and self.__module__ != "__main__":
            return self.__qualname__  # pickled by name, like a function
        return uncached_kernel, (self.py_func,)

    def _new(self, args: tuple[Any, ...]) -> Any:
        result = self._converted(args)
        plain = all(_lent(value) is value for value in args) and not self._private
        self._state = self._direct if plain else self._converted
        return result

    def _direct(self, args: tuple[Any, ...]) -> Any:
        return self.compiled()(*args)

    def _converted(self, args: tuple[Any, ...]) -> Any:
        given = tuple(map(_lent, args))
        if self._open and (self._private or _has_outsiders(given)):
            with _nothing_stored():
                return self.compiled()(*given)
        return self.compiled()(*given)

    def compiled(self, *, for_python: bool = True) -> Any:
        """Return numba's dispatcher: with an entry point for Python, or without one, for other kernels."""
        stored = not (self._private or _unkept or (self._open and getattr(_unstored, "depth", 0) > 0))
        form = self._forms.get((for_python, stored))
        return self._form(for_python, stored) if form is None else form

    def types_of(self, *args: Any) -> tuple[Any, ...]:
        """Return numba's types of arguments, which can be pickled."""
        return tuple(numba.typeof(_lent(value)) for value in args)

    def compile(self, types: tuple[Any, ...]) -> Any:
        """Compile the function for arguments of these types, or load it; return numba's type of the result."""
        with _nothing_stored() if self._private else nullcontext():
            dispatcher = self.compiled()
            dispatcher.compile(types)
        return dispatcher.nopython_signatures[-1].return_type

    def is_compiled(self, types: tuple[Any, ...]) -> bool:
        """Return whether code for arguments of these types is in memory or on disk, or will never be on disk."""
        dispatcher = self.compiled()
        return self._private or bool(_unkept) or is_stored(dispatcher, types)

    def _form(self, for_python: bool, stored: bool) -> Any:
        folder = _cache_folder(self.modules) if stored else ""
        options = {**KERNEL, **self._flags}
        if not for_python and CALLED:
            options |= CALLED
            folder = folder and f"{folder}/called"
        with _one_at_a_time:
            parts = {name: numba.njit(**KERNEL, inline="always")(compiled_text(f)) for name, f in self._parts.items()}
            text = compiled_text(self.py_func, folder, parts)
            return self._forms.setdefault((for_python, stored), numba.njit(**options, cache=bool(folder))(text))


@typeof_impl.register(Kernel)  # type: ignore[untyped-decorator]  # numba has no types
def _typeof(function: Kernel[Any, Any], context: Any) -> Any:
    return numba.typeof(function.compiled(for_python=False))


_UNREADABLE = (EOFError, ImportError, UnicodeDecodeError, pickle.UnpicklingError)
_unkept: list[BaseException] = []  # the errors that stopped the use of the disk cache
_one_at_a_time = threading.Lock()
_unstored = threading.local()


def _recover(error: BaseException) -> None:
    """Delete the stored code if a file is unreadable; if the disk is full or read-only, store no more code."""
    if isinstance(error, _UNREADABLE):
        remove_kernels()
        return
    if not _unkept:
        warn_of_cache(f"compiled code is not kept between runs: {error}")
    _unkept.append(error)


@contextmanager
def _nothing_stored() -> Iterator[None]:
    """Store no code that this thread compiles in this context, because it contains types from outside the package."""
    _unstored.depth = getattr(_unstored, "depth", 0) + 1
    try:
        yield
    finally:
        _unstored.depth -= 1


def _has_outsiders(values: Any) -> bool:
    """Return whether the values contain, at any depth, a NamedTuple of a class from outside this package."""
    for one in values:  # noqa: SIM110 -- runs in each call of a kernel; a generator takes twice as long
        if isinstance(one, tuple) and (not _is_own(type(one)) or _has_outsiders(one)):
            return True
    return False


@functools.cache
def _is_own(kind: type) -> bool:
    return kind is tuple or kind.__module__.startswith("ltr_duel.")


def _lent(value: Any) -> Any:
    """Return an argument for compiled code: each Generator, also in a tuple, is replaced by its addresses."""
    if isinstance(value, np.random.Generator):
        return borrowed(value)
    if isinstance(value, tuple) and any(isinstance(one, np.random.Generator) for one in value):
        return type(value)(*map(_lent, value))
    return value


@functools.cache
def _cache_folder(modules: frozenset[str]) -> str:
    """Return the folder for compiled code of the modules' current sources, or ``""`` if no folder can be used."""
    return kernel_folder(kernel_digest(modules, compiler())[:16])
