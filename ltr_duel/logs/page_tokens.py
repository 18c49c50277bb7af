"""Read many page tokens at once, from the exact text that `Page.to_json` writes, without a Python object for each page.

Plans read millions of tokens. The result equals that of `Page.from_json`. A token whose text differs in any way from
the text of `Page.to_json` (spaces, another order of keys, escapes, non-ASCII letters, numbers out of range), or whose
method stored values when it drew the list, is not read here; the caller passes it to `Page`, which has all messages.

    {"version":1,"method":"...","outcome":"...","rankers":["..."],"shown":[...],"owners":[...],...
    '------------------------- head ---------------------------------------'
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ltr_duel.core import InputError, IntVector, MarkVector, SmallIntVector, inlined, kernel
from ltr_duel.interleaving import LONGEST_TEXT, MOST_DOCUMENTS, MOST_PLACES, MOST_SHOWN, Lists, Page
from ltr_duel.logs.table import Texts, texts_of

Bytes = NDArray[np.uint8]
_DIGITS = 18  # maximum number of digits of a document id that is an integer
_TRIED = 3  # tokens that are read in full before a head is left to `Page`
_REMEMBERED = 1 << 14  # maximum number of cached heads
_QUOTE, _COMMA, _CLOSE, _MINUS, _ZERO, _NINE, _BACKSLASH = (ord(c) for c in '",]-09\\')
_HEAD_END = '],"shown":['


def _as_bytes(text: str) -> Bytes:
    return np.frombuffer(text.encode(), np.uint8).copy()


_TO_OWNERS = _as_bytes('],"owners":[')
_TO_NUMBERS = _as_bytes('],"numbers":[')
_TO_ORDERS = _as_bytes('],"orders":[[')
_TO_ORDER = _as_bytes("],[")
_TO_END = _as_bytes(']],"kept":[]}')


class Head(NamedTuple):
    """The content of the first part of a page, before the documents."""

    method: str  # method with parameters
    outcome: str
    rankers: tuple[str, ...]


class TokenRows(NamedTuple):
    """Rows with the same method, outcome rule and number of rankers; row n is query n of the lists."""

    rows: IntVector
    heads: list[Head]  # the head of each row
    lists: Lists
    fit: MarkVector  # (rows,) 1 if the page was read, 0 if it must be passed to `Page`


class Listed(NamedTuple):
    """Document ids: page n shows the ids ``first[n]:last[n]``; id k has the bytes ``data[ptr[k]:ptr[k + 1]]``."""

    ptr: IntVector
    data: Bytes
    first: IntVector
    last: IntVector


class TokenReader:
    """Reads the tokens of batches; the heads that were found are cached."""

    def __init__(self) -> None:
        self._heads: dict[str, Head | None] = {}

    def read(
        self, tokens: Any, documents: Texts, ptr: IntVector, rows: IntVector, numbers: IntVector, owners: Any
    ) -> list[TokenRows]:
        """Read the tokens of rows, which show the documents ``ptr[row]:ptr[row + 1]``.

        numbers, owners: outputs with an entry for each shown document.
        """
        tokens = tokens.take(pa.array(rows))
        texts = texts_of(tokens)
        heads = pc.list_element(pc.split_pattern(tokens, _HEAD_END, max_splits=1), 0).dictionary_encode()
        code = heads.indices.to_numpy()
        first = np.unique(code, return_index=True)[1]
        found: list[Head | None] = [self._head(text, tokens, code, k, int(first[k])) for k, text in
                                    enumerate(heads.dictionary.to_pylist())]  # fmt: skip
        alike: dict[tuple[str, str, int], list[int]] = {}
        for k, head in enumerate(found):
            if head:
                alike.setdefault((head.method, head.outcome, len(head.rankers)), []).append(k)
        size = pc.binary_length(heads.dictionary).to_numpy(zero_copy_only=False)[code] + len(_HEAD_END)
        parts = []
        for (_, _, rankers), members in alike.items():
            here = np.flatnonzero(np.isin(code, members))
            shown = Listed(documents.ptr, documents.data, ptr[rows[here]], ptr[rows[here] + 1])
            begin, stop = texts.ptr[here] + size[here], texts.ptr[here + 1]
            lists, fit = scan_pages(texts.data, begin, stop, rankers, shown, numbers, owners)
            parts.append(TokenRows(rows[here], [found[k] for k in code[here]], lists, fit))
        return parts

    def _head(self, text: str, tokens: Any, code: IntVector, k: int, first: int) -> Head | None:
        """Return the content of a head, from a token that begins with it; None to leave its pages to `Page`."""
        if text not in self._heads:
            if len(self._heads) >= _REMEMBERED:
                self._heads.clear()
            self._heads[text] = None
            for row in (first, *np.flatnonzero(code[first + 1 :] == k)[: _TRIED - 1] + first + 1):
                token = tokens[int(row)].as_py()
                try:
                    page = Page.from_json(token)
                except InputError:
                    continue
                if page.to_json() == token and not page.kept:
                    self._heads[text] = Head(str(page.method), page.outcome, page.rankers)
                break
        return self._heads[text]


def scan_pages(
    data: Bytes, at: IntVector, stop: IntVector, rankers: int, shown: Listed, numbers: IntVector, owners: Any
) -> tuple[Lists, MarkVector]:
    """Read pages with equally many rankers; return their lists, and 1 for each page that was read.

    data: the texts of the pages.
    at, stop: the text of page n after its head is ``data[at[n]:stop[n]]``.
    shown: the documents that each page must show, all different.
    numbers, owners: outputs; page n is written to ``shown.first[n]:shown.last[n]``.
    """
    room = np.minimum((stop - at) // (2 * rankers), min(MOST_DOCUMENTS, MOST_PLACES // rankers))
    room[stop - at > LONGEST_TEXT // 2] = 0  # then text and head together may exceed LONGEST_TEXT
    order, rank = (np.empty((rankers, int(room.sum())), np.int16) for _ in range(2))  # memory is allocated when used
    lists, fit = Lists(order, rank, np.zeros(len(at) + 1, np.int64)), np.zeros(len(at), np.uint8)
    scan(
        data, at, stop, shown, room, order.reshape(-1), np.zeros(MOST_DOCUMENTS, np.int64), lists, fit, numbers, owners
    )
    return lists, fit


@kernel
def scan(
    data: Bytes, at: IntVector, stop: IntVector, shown: Listed, room: IntVector, flat: SmallIntVector, seen: IntVector,
    lists: Lists, fit: MarkVector, numbers: IntVector, owners: Any,
) -> None:  # fmt: skip
    """Fill the outputs; ``flat`` is a view of the orders, and ``seen`` (documents,) is zeroed scratch."""
    order, rank, ptr = lists.order, lists.rank, lists.query_ptr
    rankers, width = order.shape
    for n in range(at.shape[0]):
        base, end, first, last = ptr[n], stop[n], shown.first[n], shown.last[n]
        length = last - first
        ptr[n + 1] = base
        if not 1 <= length <= min(room[n], MOST_SHOWN):
            continue
        place = after(data, same_documents(data, at[n], end, shown, first, last), end, _TO_OWNERS)
        count, place = whole_numbers(data, place, end, -1, rankers - 1, owners, first, length)
        if count != length:
            continue
        place = after(data, place, end, _TO_NUMBERS)
        count, place = whole_numbers(data, place, end, 0, MOST_DOCUMENTS - 1, numbers, first, length)
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
            if numbers[k] >= size or seen[numbers[k]] == n + 1:
                right = False
                break
            seen[numbers[k]] = n + 1
        if right:
            fit[n] = 1
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
