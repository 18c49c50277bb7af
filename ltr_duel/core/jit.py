"""Compile Python functions with numba.

A compiled function is called a kernel. It takes numbers, arrays and NamedTuples of arrays, and allocates no memory. If
the environment variable ``NUMBA_DISABLE_JIT`` is 1, kernels run as plain Python and return the same values.
"""

from __future__ import annotations

import functools
import operator
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any, Generic, ParamSpec, TypeVar, cast

import numba
import numpy as np
from numba.extending import typeof_impl

from ltr_duel.core._machine import storage
from ltr_duel.core._machine.generators import borrowed
from ltr_duel.core._machine.instructions import compiled_as, compiled_text
from ltr_duel.core._machine.options import CALLED, INLINED, KERNEL, compiler
from ltr_duel.core._machine.storage import LINE as LINE
from ltr_duel.core.kernel_cache import kernel_folder

P = ParamSpec("P")
R = TypeVar("R")

_one_at_a_time = threading.Lock()


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function when it is first called.

    Parameters
    ----------
    function : callable
        A function that only reads and writes its arguments. The function must not allocate memory, have defaults, raise
        errors, or use global variables that change.

    Returns
    -------
    callable
        The compiled function, called a kernel. Its attribute ``py_func`` is the plain Python function. Compiled code is
        kept on disk until a source file that it was built from changes.

    Examples
    --------
    >>> from ltr_duel.core import random_below, stream  # a kernel
    >>> random_below(6, stream(0, "die")) == interpreted(random_below)(6, stream(0, "die"))
    True
    """
    return kernel_for(function)


def outlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function with loops over arrays, like `kernel`.

    With `kernel`, the code of the function is always copied into a `dispatched_call` that uses it. This can be slow if
    the function has long loops. With ``outlined``, the code is copied only if the compiler expects a gain.
    """
    return kernel_for(function, forceinline=False)


def kernel_for(
    function: Callable[P, R], *modules: str, parts: Mapping[str, Callable[..., Any]] | None = None, **flags: bool
) -> Callable[P, R]:
    """Compile a function like `kernel`. The function may call `dispatched` functions, which other modules implement.

    ``modules`` are the names of these modules. If one of their source files changes, the function is compiled again.
    ``parts`` is a dict from global names that the function calls to functions whose code takes the place of the calls.
    """
    if numba.config.DISABLE_JIT:
        return interpreted(function)
    return cast(Callable[P, R], Kernel(function, frozenset({function.__module__, *modules}), flags, parts or {}))


def uncached_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function like `kernel`, but do not keep the compiled code on disk."""
    return kernel_for(interpreted(function), "")


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Copy the code of a function into each kernel that calls it. Use it if a call takes longer than the code."""
    if not numba.config.DISABLE_JIT:
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
    """A compiled function. It has two forms: Python calls the first, and other kernels call the second.

    Each form is compiled when it is first used. The compiled code is stored on disk if the source code of the function
    belongs to this package.
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
        self._forms: dict[bool, Any] = {}
        self._direct: Any = None  # set by a call without Generators, so that later calls need not search for them

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the compiled function."""
        if self._direct is not None and not kwargs:
            return cast(R, self._direct(*args))
        given = tuple(map(_addressed, args))
        named = {name: _addressed(value) for name, value in kwargs.items()}
        result = self.compiled()(*given, **named)
        if not kwargs and all(map(operator.is_, given, args)):
            self._direct = self.compiled()
        return cast(R, result)

    def __reduce__(self) -> str | tuple[Any, ...]:
        if getattr(sys.modules.get(self.__module__), self.__qualname__, None) is self and self.__module__ != "__main__":
            return self.__qualname__  # pickled by name, like a function
        return uncached_kernel, (self.py_func,)

    def compiled(self, *, for_python: bool = True) -> Any:
        """Return the form that Python calls, or the form that other kernels call, as an object of numba."""
        form = self._forms.get(for_python)
        return self._form(for_python) if form is None else form

    def types_of(self, *args: Any) -> tuple[Any, ...]:
        """Return the types that numba gives to the arguments."""
        return tuple(numba.typeof(_addressed(value)) for value in args)

    def compile(self, types: tuple[Any, ...], *, for_python: bool = True) -> Any:
        """Compile the function for arguments of these types, or load it from disk. Return the type of its result."""
        dispatcher = self.compiled(for_python=for_python)
        dispatcher.compile(types)
        return dispatcher.nopython_signatures[-1].return_type

    def address(self, types: tuple[Any, ...]) -> int:
        """Return the address in memory of the compiled code for arguments of these types."""
        self.compile(types, for_python=False)
        return storage.address_of(self.compiled(for_python=False), types)

    def is_compiled(self, types: tuple[Any, ...], *, for_python: bool = True) -> bool:
        """Return False if the code for arguments of these types is not yet in memory, and is missing on disk."""
        return storage.is_stored(self.compiled(for_python=for_python), types)

    def _form(self, for_python: bool) -> Any:
        options = KERNEL | {name: value for name, value in self._flags.items() if name in INLINED}
        ours = all(module.startswith("ltr_duel.") for module in self.modules)
        folder = kernel_folder(self.modules, compiler()) if ours else ""
        if not for_python and CALLED:
            options |= CALLED
            folder = folder and f"{folder}/called"
        with _one_at_a_time:
            parts = {name: numba.njit(**KERNEL, inline="always")(compiled_text(f)) for name, f in self._parts.items()}
            text = compiled_text(self.py_func, folder, parts)
            return self._forms.setdefault(for_python, storage.compiled(text, options, stored=bool(folder)))


@typeof_impl.register(Kernel)  # type: ignore[untyped-decorator]  # numba has no types
def _typeof(function: Kernel[Any, Any], context: Any) -> Any:
    return numba.typeof(function.compiled(for_python=False))


def _addressed(value: Any) -> Any:
    if isinstance(value, np.random.Generator):
        return borrowed(value)
    if isinstance(value, tuple):
        for part in value:
            if isinstance(part, np.random.Generator):
                return type(value)(*map(_addressed, value))
    return value
