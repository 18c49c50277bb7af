"""The documents of each query by falling scores: compiled, one column of scores at a time.

A score becomes a whole number that rises as the score falls. Its upper 35 bits, which hold a single float exactly, 14
bits of the hash by which the tie rule orders documents, and the document's position in the query share one number of 64
bits, so sorting plain numbers orders the documents. Where these bits do not decide, in a run of documents whose scores
agree in 35 bits, whole hashes and scores do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import IntMatrix, IntVector, MarkVector, SmallIntVector, kernel
from ltr_duel.rankers.ties import mix

LongVector = NDArray[np.uint64]

_ROOMS = 5  # rows of scratch
_PLACES = 15  # bits of a position
_POSITION = 2**_PLACES - 1
_SHARED = 29  # bits that a mark and a position share
_LOWER = 2**_SHARED - 1
_MOST = 2**63 - 1
_INFINITY = 0x7FF << 52  # the bits of an infinite double
_FEW = 16  # numbers that are sorted by counting


def new_room(longest: int) -> IntMatrix:
    """Allocate the scratch of `rank_documents` for queries of at most ``longest`` documents."""
    return np.empty((_ROOMS, longest), np.int64)


@kernel
def rank_documents(
    bits: IntVector,
    query_ptr: IntVector,
    documents: LongVector,
    salt: np.uint64,
    hashed: bool,
    order: SmallIntVector,
    rank: SmallIntVector,
    tied: MarkVector,
    room: IntMatrix,
) -> int:
    """Order the documents of each query by one ranker, and count those that tie.

    Parameters
    ----------
    bits : ndarray of int64, shape (n_docs,)
        The bits of the scores as doubles. NaN counts as minus infinity, both zeros are equal.
    query_ptr : ndarray of int64, shape (n_queries + 1,)
        Queries of at most 32,767 documents.
    documents : ndarray of uint64, shape (n_docs,)
        From `ltr_duel.rankers.ties.document_keys`.
    salt : uint64
        From `ltr_duel.rankers.ties.salt_of`.
    hashed : bool
        Whether the hashes order tied documents; if not, their positions do.
    order, rank : ndarray of int16, shape (n_docs,)
        Are written: as in `Rankings`.
    tied : ndarray of uint8, shape (n_docs,) or (0,)
        Is written: as in `Rankings`.
    room : ndarray of int64, from `new_room`
        Scratch.

    Returns
    -------
    int
        Documents that share their score with another document of their query.
    """
    keys, numbers = room[0], room[1]
    sharing = 0
    for query in range(query_ptr.shape[0] - 1):
        start = query_ptr[query]
        size = query_ptr[query + 1] - start
        for d in range(size):
            keys[d] = falling_key(bits[start + d])
            numbers[d] = (keys[d] & ~_LOWER) | d
            if hashed:
                numbers[d] |= np.int64(mix(documents[start + d] ^ salt) >> np.uint64(50)) << _PLACES
        sort_numbers(numbers, room[4], size)
        begin = 0  # of a run
        for end in range(1, size + 1):
            if end == size or numbers[end] >> _SHARED != numbers[begin] >> _SHARED:
                if end - begin > 1:
                    sharing += order_run(room, begin, end, documents[start:], salt, hashed)
                begin = end
        for r in range(size):
            d = numbers[r] & _POSITION
            order[start + r] = d
            rank[start + d] = r + 1
            if tied.shape[0] > 0:
                tied[start + r] = r > 0 and keys[d] == keys[numbers[r - 1] & _POSITION]
    return sharing


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
def order_run(room: IntMatrix, begin: int, end: int, documents: LongVector, salt: np.uint64, hashed: bool) -> int:
    """Order documents whose scores agree in their upper 35 bits; return how many share their score."""
    keys, numbers, run, lower, spare = room[0], room[1][begin:end], room[2], room[3], room[4]
    size = end - begin
    differ = 0
    for k in range(size):
        differ |= keys[numbers[k] & _POSITION] ^ keys[numbers[0] & _POSITION]
    if differ == 0:
        if hashed:
            order_close_hashes(numbers, size, documents, salt)
        return size
    for k in range(size):
        run[k] = numbers[k] & _POSITION
        if hashed:
            run[k] |= np.int64(mix(documents[run[k]] ^ salt) >> np.uint64(16)) << _PLACES
    sort_numbers(run, spare, size)
    if hashed:
        order_close_hashes(run, size, documents, salt)
    for k in range(size):
        lower[k] = (keys[run[k] & _POSITION] & _LOWER) << _PLACES | k
    sort_numbers(lower, spare, size)
    sharing, first = 0, 0  # of documents with the same score
    for k in range(size):
        numbers[k] = run[lower[k] & _POSITION]
        if lower[k] >> _PLACES != lower[first] >> _PLACES:
            first = k
        sharing += min(k - first, 1) + (k - first == 1)
    return sharing


@kernel
def order_close_hashes(run: IntVector, size: int, documents: LongVector, salt: np.uint64) -> None:
    """Order documents by their whole hashes where the numbers agree in all but the positions."""
    for k in range(1, size):
        at = k
        while at > 0 and run[at] >> _PLACES == run[at - 1] >> _PLACES:
            if mix(documents[run[at] & _POSITION] ^ salt) > mix(documents[run[at - 1] & _POSITION] ^ salt):
                break
            run[at], run[at - 1] = run[at - 1], run[at]
            at -= 1


@kernel
def sort_numbers(numbers: IntVector, spare: IntVector, size: int) -> None:
    """Sort ``numbers[:size]``, all different: few at a time by counting, then by merging, without hard branches."""
    rising = True
    for k in range(1, size):
        rising &= numbers[k - 1] <= numbers[k]
    if rising:
        return
    for low in range(0, size, _FEW):
        sort_few(numbers, spare, low, min(low + _FEW, size))
    step, source, target = _FEW, numbers, spare
    while step < size:
        for low in range(0, size, 2 * step):
            merge(source, target, low, min(low + step, size), min(low + 2 * step, size))
        step, source, target = 2 * step, target, source
    for k in range(size):  # copies nothing where they lie there already
        numbers[k] = source[k]


@kernel
def sort_few(numbers: IntVector, spare: IntVector, low: int, high: int) -> None:
    """Sort ``numbers[low:high]``: the position of a number is how many are smaller."""
    for k in range(low, high):
        at = low
        for other in range(low, high):
            at += numbers[other] < numbers[k]
        spare[at] = numbers[k]
    for k in range(low, high):
        numbers[k] = spare[k]


@kernel
def merge(source: IntVector, target: IntVector, low: int, middle: int, high: int) -> None:
    """Write ``source[low:middle]`` and ``source[middle:high]``, both sorted, to ``target`` as one."""
    left, right, at = low, middle, low
    while left < middle and right < high:
        one, other = source[left], source[right]
        first = int(one < other)
        target[at] = one if first else other
        left += first
        right += 1 - first
        at += 1
    for k in range(left, middle):
        target[at + k - left] = source[k]
    for k in range(right, high):
        target[at + k - right] = source[k]
