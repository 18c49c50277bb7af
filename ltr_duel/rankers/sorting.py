"""Sort the documents of each query by the scores of a ranker, highest score first.

For speed, each document becomes one 64-bit number, and numpy sorts these numbers. The highest 35 bits are a key that
increases as the score decreases. 35 bits are enough to represent a float32 exactly. The next 14 bits are a hash, by
which the tie rule orders documents with equal scores. The lowest 15 bits are the position of the document in its query.

After this sort, documents whose keys agree in all 35 bits are neighbours. A group of documents with the same key is
called a run. A second sort orders each run by the complete scores and hashes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import IntMatrix, IntVector, MarkVector, SmallIntVector, interpreted, kernel

LongVector = NDArray[np.uint64]

_AT_ONCE = 2**16  # numbers in a block, chosen so that a block fits in a core's cache
_PLACES = 15  # bits of a position
_POSITION = 2**_PLACES - 1
_SHARED = 29  # bits of a hash and a position together
_LOWER = 2**_SHARED - 1
_MOST = 2**63 - 1
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_INFINITY = 0x7FF << 52  # the bits of an infinite double


def document_keys(query_ids: NDArray[np.str_], query_ptr: IntVector) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each document, computed from its query id and its position in the query."""
    sizes = np.diff(query_ptr)
    queries = np.array([_digest(str(query)) for query in query_ids], dtype=np.uint64)
    place = np.arange(query_ptr[-1], dtype=np.uint64) - np.repeat(query_ptr[:-1], sizes).astype(np.uint64)
    mix_all: Any = interpreted(mix)  # the uncompiled function accepts arrays, too
    return np.asarray(mix_all((np.repeat(queries, sizes) + place * _GOLDEN).astype(np.uint64)))


def salt_of(seed: int, ranker: str) -> np.uint64:
    """Return a number (the salt) that makes the hashes of documents differ between rankers."""
    return np.uint64(_digest(f"{seed}\x1f{ranker}"))


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


@kernel
def mix(key: np.uint64) -> np.uint64:
    """Scramble the bits of a number with the finaliser of splitmix64."""
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))


class Scored(NamedTuple):
    """The scores of one ranker, and the numbers that order documents with equal scores."""

    bits: IntVector  # (n_docs,) bits of the scores as doubles; NaN counts as minus infinity, both zeros are equal
    query_ptr: IntVector  # (n_queries + 1,) for queries of at most 32,767 documents
    documents: LongVector  # (n_docs,) from `document_keys`
    salt: np.uint64  # from `salt_of`
    hashed: bool  # whether tied documents are ordered by hashes instead of positions


class Ranked(NamedTuple):
    """Arrays for the sorted documents of one ranker; see the fields of the same names in `Rankings`."""

    order: SmallIntVector
    rank: SmallIntVector
    tied: MarkVector


def blocks_of(query_ptr: IntVector) -> Iterator[IntVector]:
    """Yield blocks of queries of similar length, because numpy sorts the rows of a matrix faster than single rows."""
    sizes = np.diff(query_ptr)
    queries = np.argsort(sizes, kind="stable")
    rising, first = sizes[queries], 0
    while first < len(queries):
        longest = rising[first] + rising[first] // 8
        last = min(np.searchsorted(rising, longest, side="right"), first + max(1, _AT_ONCE // longest))
        yield queries[first:last]
        first = int(last)


def rank_documents(scored: Scored, blocks: list[IntVector], ranked: Ranked) -> int:
    """Order the documents of each query, and return the number of tied documents."""
    sharing = 0
    for queries in blocks:
        longest = scored.query_ptr[queries[-1] + 1] - scored.query_ptr[queries[-1]]
        numbers = np.empty((len(queries), longest), np.int64)
        number_documents(scored, queries, numbers)
        numbers.sort(axis=1)
        sharing += place_documents(scored, queries, numbers, ranked)
    return sharing


@kernel
def number_documents(scored: Scored, queries: IntVector, numbers: IntMatrix) -> None:
    """Write the numbers that will be sorted: one row for each query, filled up with the largest number."""
    for row in range(queries.shape[0]):
        start = scored.query_ptr[queries[row]]
        size = scored.query_ptr[queries[row] + 1] - start
        for d in range(size):
            numbers[row, d] = (falling_key(scored.bits[start + d]) & ~_LOWER) | d
            if scored.hashed:
                mixed = mix(scored.documents[start + d] ^ scored.salt)
                numbers[row, d] |= np.int64(mixed >> np.uint64(50)) << _PLACES
        for d in range(size, numbers.shape[1]):
            numbers[row, d] = _MOST


@kernel
def falling_key(bits: int) -> int:
    """Return a whole number that is larger for a smaller score, and equal for equal scores."""
    size = bits & _MOST
    if size > _INFINITY:  # NaN
        bits = ~_MOST | _INFINITY
    elif size == 0:
        bits = size
    return ~(bits ^ ((bits >> 63) & _MOST))


@kernel
def place_documents(scored: Scored, queries: IntVector, numbers: IntMatrix, ranked: Ranked) -> int:
    """Write the orders, ranks and ties of a block from its sorted numbers, and return the number of tied documents."""
    sharing = 0
    for row in range(queries.shape[0]):
        start = scored.query_ptr[queries[row]]
        size = scored.query_ptr[queries[row] + 1] - start
        begin = 0  # position of the first document of a run
        for end in range(1, size + 1):
            if end == size or numbers[row, end] >> _SHARED != numbers[row, begin] >> _SHARED:
                if end - begin > 1:
                    order_run(scored, start, numbers[row, begin:end])
                begin = end
        before, tied = 0, False
        for r in range(size):
            d = numbers[row, r] & _POSITION
            key, again = falling_key(scored.bits[start + d]), tied
            tied = r > 0 and key == before
            before = key
            sharing += int(tied) + int(tied and not again)
            ranked.order[start + r] = d
            ranked.rank[start + d] = r + 1
            if ranked.tied.shape[0] > 0:
                ranked.tied[start + r] = tied
    return sharing


@kernel
def order_run(scored: Scored, start: int, run: IntVector) -> None:
    """Sort documents with the same key by their complete scores and hashes, with Shellsort."""
    size, gap = run.shape[0], 1
    first = falling_key(scored.bits[start + (run[0] & _POSITION)])
    for k in range(1, size):
        if falling_key(scored.bits[start + (run[k] & _POSITION)]) != first:
            while 3 * gap + 1 < size:  # equal scores need gap 1 only, because 14 bits of the hashes are sorted already
                gap = 3 * gap + 1
            break
    while gap > 0:
        for k in range(gap, size):
            number, at = run[k], k
            while at >= gap and comes_first(scored, start, number, run[at - gap]):
                run[at] = run[at - gap]
                at -= gap
            run[at] = number
        gap //= 3


@kernel
def comes_first(scored: Scored, start: int, number: int, other: int) -> bool:
    """Return whether the first of two documents, given by their numbers to sort, comes first."""
    a, b = start + (number & _POSITION), start + (other & _POSITION)
    key, other_key = falling_key(scored.bits[a]), falling_key(scored.bits[b])
    if key != other_key:
        return bool(key < other_key)
    if scored.hashed and number >> _PLACES == other >> _PLACES:
        return bool(mix(scored.documents[a] ^ scored.salt) < mix(scored.documents[b] ^ scored.salt))
    return number < other
