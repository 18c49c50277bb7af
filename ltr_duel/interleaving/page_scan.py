"""Read many pages at once from the exact text that `write_page` writes, without a Python object for each page.

The result equals the result of `read_page`. Two kinds of pages are not read here, and the caller must pass them to
`read_page`: pages whose text differs in any way from the text of `write_page` (spaces, another order of keys, escapes,
non-ASCII letters, numbers out of range), and pages of methods that store values when they draw a list. So all error
messages come from `read_page`.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError, IntVector, MarkVector, SmallIntVector, inlined, kernel, words
from ltr_duel.interleaving.hooks import Lists
from ltr_duel.interleaving.method import METHODS, Method
from ltr_duel.interleaving.page_json import (
    LONGEST_TEXT,
    MOST_DOCUMENTS,
    MOST_PLACES,
    MOST_SHOWN,
    VERSION,
    Stored,
    wrong_names,
)
from ltr_duel.interleaving.workspace import workspace

Bytes = NDArray[np.uint8]
_DIGITS = 18  # maximum number of digits of a document id that is an integer
_QUOTE, _COMMA, _OPEN, _CLOSE, _MINUS, _ZERO, _NINE, _BACKSLASH = (ord(c) for c in '",[]-09\\')


def _as_bytes(text: str) -> Bytes:
    return np.frombuffer(text.encode(), np.uint8).copy()


_TO_METHOD = _as_bytes(f'{{"version":{VERSION},"method":"')
_TO_OUTCOME = _as_bytes(',"outcome":"')
_TO_RANKERS = _as_bytes(',"rankers":["')
_TO_SHOWN = _as_bytes('],"shown":[')
_TO_OWNERS = _as_bytes('],"owners":[')
_TO_NUMBERS = _as_bytes('],"numbers":[')
_TO_ORDERS = _as_bytes('],"orders":[[')
_TO_ORDER = _as_bytes("],[")
_TO_END = _as_bytes(']],"kept":[]}')


class Head(NamedTuple):
    """The content of the first part of a page, before the documents."""

    method: str  # method with parameters
    component: Method
    params: Any
    outcome: str
    rankers: tuple[str, ...]


class Listed(NamedTuple):
    """Document ids: page n shows the ids ``first[n]:last[n]``; id k has the bytes ``data[ptr[k]:ptr[k + 1]]``."""

    ptr: IntVector
    data: Bytes
    first: IntVector
    last: IntVector


class Scanned(NamedTuple):
    """Pages with the same head; page n is query n of the lists."""

    lists: Lists
    fit: MarkVector  # (pages,) 1 if the page was read, 0 if it must be passed to `read_page`
    numbers: IntVector  # numbers of the shown documents of all pages, including pages with other heads
    owners: NDArray[np.int32]  # owners of the shown documents, in the same order


def read_head(text: bytes) -> Head | None:
    """Return the content of a head that `head_ends` found; None if its pages must be passed to `read_page`."""
    if len(text) > LONGEST_TEXT // 2:
        return None
    try:
        given = json.loads(text.removesuffix(b',"shown":[') + b"}")
        stored = Stored(**given, **dict.fromkeys(("shown", "owners", "numbers", "orders", "kept")))
        if wrong_names(stored):
            return None
        space = workspace(stored.method, stored.outcome, 1, len(stored.rankers), 1)
    except (ValueError, InputError):
        return None
    if space.keeps() or not isinstance(space.named, str):
        return None
    label, component, params = METHODS.configure(space.named)
    return Head(label, component, params, space.outcome, tuple(stored.rankers))


def scan_pages(
    data: Bytes, at: IntVector, stop: IntVector, rankers: int, shown: Listed, numbers: IntVector, owners: Any
) -> Scanned:
    """Read pages with the same head.

    data: the texts of the pages.
    at, stop: the text of page n after its head is ``data[at[n]:stop[n]]``.
    shown: the documents that each page must show, all different.
    numbers, owners: outputs; page n is written to ``shown.first[n]:shown.last[n]``.
    """
    room = np.minimum((stop - at) // (2 * rankers), min(MOST_DOCUMENTS, MOST_PLACES // rankers))
    room[stop - at > LONGEST_TEXT // 2] = 0  # then text and head together may exceed LONGEST_TEXT
    order, rank = (np.empty((rankers, int(room.sum())), np.int16) for _ in range(2))  # memory is allocated when used
    found = Scanned(Lists(order, rank, np.zeros(len(at) + 1, np.int64)), np.zeros(len(at), np.uint8), numbers, owners)
    scan(data, at, stop, shown, room, order.reshape(-1), np.zeros(MOST_DOCUMENTS, np.int64), found)
    return found


@kernel
def head_ends(data: Bytes, begin: IntVector, stop: IntVector, ends: IntVector) -> None:
    """Write the position of the first document in each page's text, or -1 for a text not written by `write_page`."""
    for n in range(ends.shape[0]):
        size = ends[n - 1] - begin[n - 1] if n > 0 else -1
        if 0 < size <= stop[n] - begin[n] and words.same_bytes(data, begin[n - 1], data, begin[n], size):
            ends[n] = begin[n] + size
            continue
        at = after(data, begin[n], stop[n], _TO_METHOD)
        at = after(data, text_end(data, at, stop[n]), stop[n], _TO_OUTCOME)
        at = after(data, text_end(data, at, stop[n]), stop[n], _TO_RANKERS)
        at = text_end(data, at, stop[n])
        while 0 < at < stop[n] - 1 and data[at] == _COMMA and data[at + 1] == _QUOTE:
            at = text_end(data, at + 2, stop[n])
        ends[n] = after(data, at, stop[n], _TO_SHOWN)


@kernel
def scan(
    data: Bytes, at: IntVector, stop: IntVector, shown: Listed, room: IntVector, flat: SmallIntVector, seen: IntVector,
    found: Scanned,
) -> None:  # fmt: skip
    """Fill ``found`` from the pages; ``flat`` is a view of the orders, and ``seen`` (documents,) is zeroed scratch."""
    order, rank, ptr = found.lists.order, found.lists.rank, found.lists.query_ptr
    rankers, width = order.shape
    for n in range(at.shape[0]):
        base, end, first, last = ptr[n], stop[n], shown.first[n], shown.last[n]
        length = last - first
        ptr[n + 1] = base
        if not 1 <= length <= min(room[n], MOST_SHOWN):
            continue
        place = after(data, same_documents(data, at[n], end, shown, first, last), end, _TO_OWNERS)
        count, place = whole_numbers(data, place, end, -1, rankers - 1, found.owners, first, length)
        if count != length:
            continue
        place = after(data, place, end, _TO_NUMBERS)
        count, place = whole_numbers(data, place, end, 0, MOST_DOCUMENTS - 1, found.numbers, first, length)
        if count != length:
            continue
        place = after(data, place, end, _TO_ORDERS)
        size, place = whole_numbers(data, place, end, 0, MOST_DOCUMENTS - 1, flat, base, room[n])
        for a in range(1, rankers):
            place = after(data, place, end, _TO_ORDER)
            count, place = whole_numbers(data, place, end, 0, size - 1, flat, a * width + base, size)
            if count != size:
                place = -1
        if size < 1 or after(data, place, end, _TO_END) != end:
            continue
        right = True
        for a in range(rankers):
            for d in range(size):
                rank[a, base + d] = 0
            for r in range(size):
                d = order[a, base + r]
                if d >= size or rank[a, base + d] > 0:
                    right = False
                    break
                rank[a, base + d] = r + 1
        for k in range(first, last):
            if found.numbers[k] >= size or seen[found.numbers[k]] == n + 1:
                right = False
                break
            seen[found.numbers[k]] = n + 1
        if right:
            found.fit[n] = 1
            ptr[n + 1] = base + size


@inlined
def after(data: Bytes, at: int, stop: int, word: Bytes) -> int:
    """Return the position after ``word``; -1 if the text at ``at`` is not ``word``."""
    size = word.shape[0]
    if at < 0 or stop - at < size:
        return -1
    for k in range(size):
        if data[at + k] != word[k]:
            return -1
    return at + size


@inlined
def text_end(data: Bytes, at: int, stop: int) -> int:
    """Return the position after the quoted text that contains ``at``; -1 if there is no closing quote."""
    if at < 0:
        return -1
    while at < stop:
        if data[at] == _QUOTE:
            return at + 1
        at += 2 if data[at] == _BACKSLASH else 1
    return -1


@inlined
def same_documents(data: Bytes, at: int, stop: int, shown: Listed, first: int, last: int) -> int:
    """Return the end of the list of ids at ``at``; -1 if it differs from ``shown``, has escapes or is not ASCII."""
    for k in range(first, last):
        if k > first:
            if at >= stop or data[at] != _COMMA:
                return -1
            at += 1
        begin, size = shown.ptr[k], shown.ptr[k + 1] - shown.ptr[k]
        quoted = at < stop and data[at] == _QUOTE
        if quoted:
            at += 1
        elif not is_whole(shown.data, begin, size):
            return -1
        if at + size >= stop:
            return -1
        for m in range(size):
            byte = shown.data[begin + m]
            if data[at + m] != byte or byte < 32 or byte > 126 or byte in (_QUOTE, _BACKSLASH):
                return -1
        at += size
        if quoted:
            if data[at] != _QUOTE:
                return -1
            at += 1
    return at


@inlined
def is_whole(data: Bytes, begin: int, size: int) -> bool:
    """Return whether a text is an integer of at most 18 digits, as JSON and Python write it."""
    minus = 1 if size > 0 and data[begin] == _MINUS else 0
    if not 1 <= size - minus <= _DIGITS or (data[begin + minus] == _ZERO and size > 1):
        return False
    for k in range(minus, size):  # noqa: SIM110 -- numba cannot compile generators
        if not _ZERO <= data[begin + k] <= _NINE:
            return False
    return True


@inlined
def whole_numbers(
    data: Bytes, at: int, stop: int, low: int, high: int, out: Any, begin: int, room: int
) -> tuple[int, int]:
    """Read integers in ``low`` (-1 or 0) to ``high``; return their count and the position of the closing bracket.

    Returns (0, -1) if the text contains anything else, or more than ``room`` numbers.
    """
    count = 0
    while 0 <= at < stop and count < room:
        minus = low < 0 and data[at] == _MINUS
        if minus:
            at += 1
        value, digits = 0, 0
        while at < stop and _ZERO <= data[at] <= _NINE and value <= high:
            value = 10 * value + int(np.int64(data[at])) - _ZERO
            digits += 1
            at += 1
            if value == 0:
                break  # no digit may follow a leading zero
        if digits == 0 or at >= stop or (minus and value != 1) or (not minus and value > high):
            break
        out[begin + count] = -1 if minus else value
        count += 1
        if data[at] == _CLOSE:
            return count, at
        if data[at] != _COMMA:
            break
        at += 1
    return 0, -1
