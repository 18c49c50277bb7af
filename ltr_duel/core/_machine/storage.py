"""Store compiled code on disk, and print a line when code must be compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba import types
from numba.core.caching import FunctionCache

from ltr_duel.core._machine.addresses import WordsType
from ltr_duel.core.kernel_cache import remove_kernels, warn_of_cache
from ltr_duel.core.progress import say

LINE = "compiling on first use, which takes some seconds; later runs load the code if the cache can be written"


class _Cache(FunctionCache):  # type: ignore[misc]  # numba has no types
    """The stored code of a function. If the disk fails, the code is compiled again.

    Code for types from outside this package is not stored, because the source of such a type may be edited.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        if not _is_from_here(sig):
            return None
        try:
            code = super().load_overload(sig, target_context)
        except Exception:  # the errors of an unreadable pickle are of any kind
            remove_kernels()
            code = None
        if code is None:
            say(LINE)
        return code

    def save_overload(self, sig: Any, data: Any) -> None:
        if _is_from_here(sig):
            try:
                super().save_overload(sig, data)
            except OSError as error:
                warn_of_cache(str(error))


def compiled(text: Callable[..., Any], options: dict[str, Any], *, stored: bool) -> Any:
    """Return numba's dispatcher for a function. With ``stored``, its code is kept beside the function's file."""
    dispatcher = numba.njit(**options)(text)
    if stored:
        dispatcher._cache = _Cache(text)
    return dispatcher


def is_stored(dispatcher: Any, sig: tuple[Any, ...]) -> bool:
    """Return True if code for these types is in memory or on disk, or is never stored."""
    cache = dispatcher._cache
    if sig in dispatcher.overloads or not isinstance(cache, _Cache):
        return True
    return cache._index_key(sig, dispatcher.targetctx.codegen()) in cache._cache_file._load_index()


def address_of(dispatcher: Any, sig: tuple[Any, ...]) -> int:
    """Return the address of the compiled code for these types."""
    code = dispatcher.overloads[sig]
    return int(code.library.get_pointer_to_function(code.fndesc.llvm_func_name))


def _is_from_here(kinds: Any) -> bool:
    return all(
        getattr(kind, "instance_class", _is_from_here).__module__.startswith("ltr_duel.")
        and (not isinstance(kind, types.BaseTuple) or _is_from_here(kind))
        and (not isinstance(kind, WordsType) or _is_from_here([kind.kind]))
        for kind in kinds
    )
