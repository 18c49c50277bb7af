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
    return np.empty((_ROOMS, longest + longest // 8 + 1), np.int64)


@kernel
def rank_documents(
    bits: IntVector, query_ptr: IntVector, documents: LongVector, salt: np.uint64, hashed: bool, order: SmallIntVector,
    rank: SmallIntVector, tied: MarkVector, room: IntMatrix,
) -> int:  # fmt: skip
    """Order the documents of each query by one ranker, and count those that tie.

    bits: shape (n_docs,); the bits of the scores as doubles. NaN counts as minus infinity, both zeros are equal.
    query_ptr: shape (n_queries + 1,); queries of at most 32,767 documents.
    documents: shape (n_docs,); from `ltr_duel.rankers.ties.document_keys`.
    salt: from `ltr_duel.rankers.ties.salt_of`.
    hashed: whether the hashes order tied documents; if not, their positions do.
    order, rank: shape (n_docs,); are written: as in `Rankings`.
    tied: shape (n_docs,) or (0,); is written: as in `Rankings`.
    room: scratch.

    Returns documents that share their score with another document of their query.
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
            run[k] |= np.int64(mix(documents[run[k]] ^ salt) >> np.uint64(17)) << _PLACES
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
    """Sort ``numbers[:size]``, all different and below 2^63 - ``size``; an eighth of ``size`` after them is scratch.

    Blocks of one length are sorted by counting, and merged two and two. The last block is filled up with large numbers.
    """
    rising = True
    for k in range(1, size):
        rising &= numbers[k - 1] <= numbers[k]
    if rising:
        return
    length, blocks = size, 1
    while length > _FEW:
        length, blocks = (length + 1) // 2, 2 * blocks
    total = length * blocks
    for k in range(size, total):
        numbers[k] = _MOST - total + k
    for low in range(0, total, length):
        count_smaller(numbers, spare, low, low + length)
    source, target = spare, numbers
    while length < total:
        if 2 * length == total:
            merge(source, target, 0, length)
        for low in range(0, total - 2 * length, 4 * length):
            merge_twice(source, target, low, length)
        length, source, target = 2 * length, target, source
    for k in range(size):  # copies nothing where they lie there already
        numbers[k] = source[k]


@kernel
def count_smaller(numbers: IntVector, spare: IntVector, low: int, high: int) -> None:
    """Write ``numbers[low:high]`` to ``spare``, sorted: the position of a number is how many are smaller."""
    for k in range(low, high):
        at = low
        for other in range(low, high):
            at += numbers[other] < numbers[k]
        spare[at] = numbers[k]


@kernel
def merge(source: IntVector, target: IntVector, low: int, length: int) -> None:
    """Write two sorted blocks, the first one at ``low``, to ``target`` as one.

    The smaller half is found from below and the larger one from above, at once: a processor does both in the time of
    one, since neither waits for the other; and neither half can reach the end of a block before it is done.
    """
    below, above = low, low + length - 1  # in the first block; those in the second one follow from the step
    for step in range(length):
        below += put_smaller(source, target, below, 2 * low + length + step - below, low + step)
        above -= put_larger(source, target, above, 2 * low + 3 * length - 2 - step - above, low + 2 * length - 1 - step)


@kernel
def merge_twice(source: IntVector, target: IntVector, low: int, length: int) -> None:
    """Merge four sorted blocks, the first one at ``low``, to two: as `merge`, both at once."""
    next_low = low + 2 * length
    below, above = low, low + length - 1
    next_below, next_above = below + 2 * length, above + 2 * length
    for step in range(length):
        up, down = length + step, 3 * length - 2 - step
        below += put_smaller(source, target, below, 2 * low + up - below, low + step)
        above -= put_larger(source, target, above, 2 * low + down - above, next_low - 1 - step)
        next_below += put_smaller(source, target, next_below, 2 * next_low + up - next_below, next_low + step)
        next_above -= put_larger(
            source, target, next_above, 2 * next_low + down - next_above, next_low + 2 * length - 1 - step
        )


@kernel
def put_smaller(source: IntVector, target: IntVector, left: int, right: int, at: int) -> int:
    """Write the smaller one of two numbers; return 1 if it is the left one, else 0."""
    one, other = source[left], source[right]
    first = int(one < other)
    target[at] = one if first else other
    return first


@kernel
def put_larger(source: IntVector, target: IntVector, left: int, right: int, at: int) -> int:
    """Write the larger one of two numbers; return 1 if it is the left one, else 0."""
    one, other = source[left], source[right]
    first = int(one > other)
    target[at] = one if first else other
    return first
