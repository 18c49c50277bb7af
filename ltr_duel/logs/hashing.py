"""64-bit hashes of strings, equal in every process and on every machine.

The hashes number the users, queries and documents of sessions. Each step is invertible, so strings of up to eight bytes
have no collisions. The steps contain no sums or products that could overflow, so plain Python computes the same bits.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import IntVector, kernel
from ltr_duel.logs.table import texts_of

HashVector: TypeAlias = NDArray[np.uint64]
_START = np.uint64(0x9E3779B97F4A7C15)


def hash_texts(column: Any) -> HashVector:
    """Return the hash of each entry of an Arrow column of strings; null has the hash of the empty string."""
    texts = texts_of(column)
    out = np.full(len(column), _START)
    mix_bytes(texts.ptr, texts.data, out)
    return out


def hash_rows(hashes: HashVector, ptr: IntVector) -> HashVector:
    """Return a hash of each row of a ragged column, given the hashes of its entries."""
    out = np.full(len(ptr) - 1, _START)
    mix_rows(ptr, hashes, out)
    return out


@kernel
def mix(h: np.uint64) -> np.uint64:
    """Mix the bits: flip lower bits depending on the upper half, then apply a round of Marsaglia's xorshift."""
    h ^= (h >> np.uint64(32)) & (h >> np.uint64(45))
    h ^= h << np.uint64(13)
    h ^= h >> np.uint64(7)
    h ^= h << np.uint64(17)
    return h


@kernel
def mix_bytes(ptr: IntVector, data: NDArray[np.uint8], out: HashVector) -> None:
    """Mix the bytes ``data[ptr[r]:ptr[r + 1]]`` into ``out[r]``."""
    for r in range(out.shape[0]):
        h = out[r]
        for k in range(ptr[r], ptr[r + 1]):
            h = mix(h ^ np.uint64(data[k]))
        out[r] = mix(mix(mix(mix(h))))


@kernel
def mix_rows(ptr: IntVector, hashes: HashVector, out: HashVector) -> None:
    """Mix the entries ``hashes[ptr[r]:ptr[r + 1]]`` into ``out[r]``."""
    for r in range(out.shape[0]):
        h = out[r]
        for k in range(ptr[r], ptr[r + 1]):
            h = mix(mix(h) ^ hashes[k])
        out[r] = mix(h)
