"""Compiled kernels: one decorator, one cache place, one way to let a kernel call what it does not know by name.

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
from llvmlite import ir
from numba.core import boxing, cgutils, pythonapi, types
from numba.core.types import NumPyRandomGeneratorType
from numba.core.typing import templates
from numba.extending import NativeValue, overload

from ltr_duel.core.blas import import_blas_when_used
from ltr_duel.core.home import cache_home
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


_BORROW = "ltr_duel.borrow_generator"


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


pythonapi._unboxers.functions[NumPyRandomGeneratorType] = _borrow_generator
import_blas_when_used()


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


class Dispatch:
    """One name, many implementations, chosen by the NamedTuple class of the first argument.

    This is how the one simulation loop calls whatever policy and oracle it is given, compiled or interpreted:
    numba resolves the call while compiling, from the type alone, so the loop itself stays cached on disk.

    Parameters
    ----------
    stub : callable
        Gives the name, the signature (which every implementation must repeat, names included) and the contract
        in its docstring. Its body is the fallback for classes without an implementation, and may raise.
    """

    def __init__(self, stub: Callable[..., Any]) -> None:
        self._table: dict[type, Callable[..., Any]] = {}
        self._parameters = list(inspect.signature(stub).parameters)
        self._stub = stub

    def implement(self, kind: type, function: Callable[..., Any]) -> None:
        """Make ``function`` the implementation for first arguments of class ``kind``."""
        text = interpreted(function)  # a kernel among a user's functions is compiled with the loop, like the others
        given = list(inspect.signature(text).parameters)
        if given != self._parameters:
            raise TypeError(
                f"{kind.__module__}: {self._stub.__name__} takes ({', '.join(self._parameters)}),"
                f" not ({', '.join(given)})"
            )
        # numba names compiled code by the names of classes, without their modules. Code from the disk cache could then
        # be taken for that of another class with the same name and the same types of fields.
        kind.__name__ = f"{kind.__module__}.{kind.__qualname__}"
        self._table[kind] = text

    def find(self, kind: type | None) -> Callable[..., Any]:
        """Return the implementation for a class, or the stub."""
        return self._table.get(kind, self._stub) if kind else self._stub


def dispatched(stub: Callable[P, R]) -> Callable[P, R]:
    """Turn a stub into a function that kernels and Python can call; see `Dispatch`.

    The implementations become part of the caller's text before it is compiled: for steps of nanoseconds. The returned
    function has an attribute ``dispatch``, the `Dispatch` that holds its implementations.
    """
    return _dispatched(stub, "always")


def dispatched_call(stub: Callable[P, R]) -> Callable[P, R]:
    """Like `dispatched`, for longer functions, with returns in several places: left to LLVM, which is told to inline.

    A call would hand over all arrays of all arguments, described one by one: 100 to 200 numbers.
    """
    return _dispatched(stub, "never")


def _dispatched(stub: Callable[P, R], inline: str) -> Callable[P, R]:
    dispatch = Dispatch(stub)

    @functools.wraps(stub)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return dispatch.find(type(args[0]))(*args, **kwargs)

    def resolve(*args: Any) -> Callable[..., Any]:
        return dispatch.find(getattr(args[0], "instance_class", None))

    resolve.__signature__ = inspect.signature(stub)  # type: ignore[attr-defined]  # functions have it
    if inline == "always":
        overload_as_text(call, resolve)
    else:
        options = {**KERNEL_FLAGS, "forceinline": True}
        overload(call, jit_options=options, inline=inline, strict=False)(resolve)
    call.dispatch = dispatch  # type: ignore[attr-defined]  # where `implement` finds it
    return call


def overload_as_text(name: Callable[..., Any], resolve: Callable[..., Any]) -> None:
    """Let numba put the text of what ``resolve`` returns wherever a kernel calls ``name``.

    That is numba's ``overload(inline="always")``, which compiles the function first, by itself, and throws that away.
    """

    def build(self: Any, key: Any, args: Any, kws: Any) -> Any:
        text: Any = numba.njit(**KERNEL_FLAGS)(resolve(*args, **kws))
        text.get_call_template = lambda args, kws: (None, *text._compiler.fold_argument_types(args, kws), {})
        self._impl_cache[key] = text, args
        return text, args

    template = templates.make_overload_template(name, resolve, KERNEL_FLAGS, strict=False, inline="always")
    template._build_impl = build
    templates.infer(template)
    templates.infer_global(name, types.Function(template))


def implement(stub: Callable[..., Any], kind: type, function: Callable[..., Any]) -> None:
    """Make ``function`` the implementation of a `dispatched` stub for first arguments of class ``kind``."""
    stub.dispatch.implement(kind, function)  # type: ignore[attr-defined]  # set by `dispatched`


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
