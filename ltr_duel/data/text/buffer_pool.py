"""Arrays whose memory is used again when nothing refers to them any more.

Fresh memory costs a page fault every 4 kB, and threads wait for each other in them; chunks of a file come and go by the
thousand, all of about the same size.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class Pool:
    """Makes arrays; used in any thread."""

    def __init__(self) -> None:
        self._free: list[NDArray[np.uint8]] = []

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return an array of whatever was there."""
        size = prod(shape) * np.dtype(dtype).itemsize
        memory = np.empty(0, dtype=np.uint8)
        while len(memory) < size:
            try:
                memory = self._free.pop()
            except IndexError:
                memory = np.empty(size + size // 8, dtype=np.uint8)
        return np.asarray(_Lease(memory, self._free))[:size].view(dtype).reshape(shape)


class _Lease:
    """Gives its memory back when the last array (or view of one) that lies in it is gone."""

    def __init__(self, memory: NDArray[np.uint8], free: list[NDArray[np.uint8]]) -> None:
        self.__array_interface__ = memory.__array_interface__
        self._memory = memory
        self._free = free

    def __del__(self) -> None:
        self._free.append(self._memory)
