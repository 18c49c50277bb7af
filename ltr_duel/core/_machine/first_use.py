"""The first use of compiled code: whether it is on disk, and one line on stderr when it has to be compiled."""

from __future__ import annotations

from typing import Any

from numba.core import event

from ltr_duel.core.progress import say

LINE = "compiling on first use, which takes some seconds; later runs load the code if the cache can be written"


def is_stored(dispatcher: Any, types: tuple[Any, ...]) -> bool:
    """Return whether the memory or the disk cache has code for these types; True if this cannot be found out."""
    try:
        cache = dispatcher._cache
        return (
            types in dispatcher.overloads
            or cache._index_key(types, dispatcher.targetctx.codegen()) in cache._cache_file._load_index()
        )
    except Exception:  # the private interface has changed, or nothing is ever stored
        return True


class _Line(event.Listener):  # type: ignore[misc]  # numba has no types
    def on_start(self, event: Any) -> None:
        say(LINE)

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Line())
