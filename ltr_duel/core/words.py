"""Read and compare bytes of text, eight at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core._machine.lanes import load_word
from ltr_duel.core.jit import inlined


@inlined
def word_at(data: NDArray[np.uint8], start: int, stop: int) -> np.uint64:
    """Return the bytes ``data[start:stop]``, at most eight, as a word; the first byte is the lowest."""
    if start + 8 <= data.shape[0]:
        word = np.uint64(load_word(data, start))
        if stop - start < 8:
            word &= (np.uint64(1) << np.uint64(8 * (stop - start))) - np.uint64(1)
        return word
    word = np.uint64(0)
    for k in range(min(stop - start, 8)):
        word |= np.uint64(data[start + k]) << np.uint64(8 * k)
    return word


@inlined
def same_bytes(one: NDArray[np.uint8], a: int, other: NDArray[np.uint8], b: int, size: int) -> bool:
    """Return whether the ``size`` bytes from ``one[a]`` on equal those from ``other[b]`` on."""
    for k in range(0, size, 8):  # noqa: SIM110 -- numba compiles no generator
        if word_at(one, a + k, a + size) != word_at(other, b + k, b + size):
            return False
    return True
