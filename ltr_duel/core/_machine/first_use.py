"""The first use of compiled code: whether it is on disk, and one line on stderr when it has to be compiled."""

from __future__ import annotations

from typing import Any

from numba.core import event

from ltr_duel.core.progress import say

LINE = "compiling for the first use; later runs load the compiled code from the cache"


def is_stored(dispatcher: Any, types: tuple[Any, ...]) -> bool:
    """Return whether the disk cache has code for arguments of these types; True if this cannot be found out."""
    try:
        cache = dispatcher._cache
        return cache._index_key(types, dispatcher.targetctx.codegen()) in cache._cache_file._load_index()
    except Exception:  # the private interface has changed, or nothing is ever stored
        return True


class _Line(event.Listener):  # type: ignore[misc]  # numba has no types
    def on_start(self, event: Any) -> None:
        say(LINE)

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Line())
