"""Reading ahead: while one item is worked on, a thread makes the next."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, TypeVar

Item = TypeVar("Item")
_END: Any = object()


def one_ahead(items: Generator[Item, None, None]) -> Iterator[Item]:
    """Yield the items of a generator, which runs in a thread, one item ahead.

    For work that releases the interpreter's lock, such as reading a file. What the generator raises is raised here.
    """
    with closing(items), ThreadPoolExecutor(1) as pool:  # the thread has ended when the generator is closed
        coming = pool.submit(next, items, _END)
        while (item := coming.result()) is not _END:
            coming = pool.submit(next, items, _END)
            yield item
