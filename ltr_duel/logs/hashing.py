"""64-bit hashes of strings, equal in every process and on every machine.

The hashes are used to count users in fixed memory and to find rows with equal content; where equality matters, the
bytes are compared too. Each step is invertible, so strings of up to eight bytes have no collisions. The steps contain
no sums or products that could overflow, so plain Python computes the same bits.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import IntVector, inlined, kernel, words
from ltr_duel.logs.table import marks_of, texts_of

HashVector: TypeAlias = NDArray[np.uint64]
_START = np.uint64(0x9E3779B97F4A7C15)


class Spans(NamedTuple):
    """Strings in one buffer: string k is the bytes ``data[begin[k]:stop[k]]``."""

    begin: IntVector
    stop: IntVector
    data: NDArray[np.uint8]


def spans_of(column: Any) -> Spans:
    """Return the buffers of an Arrow column of strings without a copy; null becomes an empty string."""
    texts = texts_of(column)
    return Spans(texts.ptr[:-1], texts.ptr[1:], texts.data)


def hash_texts(column: Any) -> HashVector:
    """Return the hash of each entry of an Arrow column of strings; null has the hash of the empty string."""
    texts = texts_of(column)
    out = np.full(len(column), _START)
    mix_bytes(texts.ptr, texts.data, out)
    return out


def hash_users(table: Any, others: HashVector) -> HashVector:
    """Return the hash of each row's user; rows without a user get their entry of ``others``."""
    if "user" not in table.schema.names:
        return others
    return np.where(marks_of(table, "user"), hash_texts(table.column("user")), others)


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


@inlined
def find_text(
    data: NDArray[np.uint8], begin: int, stop: int, known: Spans, first: int, table: IntVector, stamp: int
) -> int:
    """Return the number of the known string equal to ``data[begin:stop]``, or -1 - (a free slot of ``table`` for it).

    ``table`` has 2^k entries; entries with this ``stamp`` refer to known strings, and at least one entry is free.
    """
    h = _START
    for k in range(begin, stop, 8):
        h = mix(mix(h ^ words.word_at(data, k, stop)))
    slot = np.int64((h ^ h >> np.uint64(32)) & np.uint64(table.shape[0] - 1))
    while table[slot] >> 32 == stamp:
        n = table[slot] & 0xFFFFFFFF
        other = known.begin[first + n]
        same = known.stop[first + n] - other == stop - begin
        if same and words.same_bytes(data, begin, known.data, other, stop - begin):
            return n
        slot = (slot + 1) & (table.shape[0] - 1)
    return int(-1 - slot)


@kernel
def count_different(texts: Spans, ptr: IntVector, table: IntVector) -> int:
    """Return the index of the first string that repeats a string of its row, else ``ptr[-1]``; ``table`` is zeroed."""
    for r in range(ptr.shape[0] - 1):
        for k in range(ptr[r], ptr[r + 1]):
            d = find_text(texts.data, texts.begin[k], texts.stop[k], texts, ptr[r], table, r + 1)
            if d >= 0:
                return k
            table[-1 - d] = (r + 1) << 32 | (k - ptr[r])
    return int(ptr[-1])


def differ_in_rows(texts: Any, ptr: IntVector) -> bool:
    """Return whether all strings within each row of a ragged column differ; null counts as an empty string."""
    return count_different(spans_of(texts), ptr, table_for(np.diff(ptr).max(initial=0))) == ptr[-1]


def table_for(texts: int) -> IntVector:
    """Return an empty hash table for `find_text` with space for `texts` strings."""
    return np.zeros(1 << (2 * int(texts)).bit_length(), np.int64)
