"""Read many page tokens at once, from the exact text that `Page.to_json` writes, without a Python object for each page.

Plans read millions of tokens. The result equals that of `Page.from_json`. A token whose text differs in any way from
the text of `Page.to_json` (spaces, another order of keys, escapes, non-ASCII letters, numbers out of range), or whose
method stores more than one value with a list, is not read here; the caller passes it to `Page`, which has all messages.

    {"version":1,"method":"...","outcome":"...","rankers":["..."],"shown":[...],"owners":[...],...
    '------------------------- head ---------------------------'
"""

from __future__ import annotations

import json
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ltr_duel.core import FloatVector, InputError, IntVector, MarkVector, inlined, kernel
from ltr_duel.interleaving import LONGEST_TEXT, MOST_DOCUMENTS, MOST_PLACES, MOST_SHOWN, Lists, Page
from ltr_duel.logs.table import Texts, texts_of

Bytes = NDArray[np.uint8]
_DIGITS = 18  # maximum number of digits of a document id that is an integer
_REMEMBERED = 1 << 14  # maximum number of cached heads
_QUOTE, _COMMA, _CLOSE, _MINUS, _ZERO, _NINE, _BACKSLASH = (ord(c) for c in '",]-09\\')
_TO_SHOWN = '],"shown":['
_KEPT = r'"kept":\[(?P<kept>(?:0\.[0-9]+)?)\]\}$'  # nothing, or one number that needs no exponent
_END = 40  # characters at the end of a token, with all of ``kept``

_BEFORE = ('],"owners":[', '],"numbers":[', '],"orders":[[', "],[", ']],"kept":[')  # texts before the lists of numbers
_WORDS = tuple(np.array(list(word.encode()), np.uint8) for word in _BEFORE)


class Head(NamedTuple):
    """The content of the first part of a page, before the documents."""

    method: str  # method with parameters
    outcome: str
    rankers: tuple[str, ...]
    keeps: int  # number of values that the method stores with a list, 0 or 1


class TokenRows(NamedTuple):
    """Rows with the same method, outcome rule and number of rankers; row n is query n of the lists."""

    rows: IntVector
    heads: list[Head]  # the head of each row
    lists: Lists
    fit: MarkVector  # (rows,) 1 if the page was read, 0 if it must be passed to `Page`


def read_tokens(
    tokens: Any, ids: Texts, ptr: IntVector, rows: IntVector, numbers: IntVector, owners: Any, kept: FloatVector
) -> list[TokenRows]:
    """Read the tokens of rows, which show the documents ``ids[ptr[row]:ptr[row + 1]]``.

    numbers, owners: outputs with an entry for each shown document.
    kept: output with an entry for each row of the batch.
    """
    tokens = tokens.take(pa.array(rows))
    texts, length = texts_of(tokens), _lengths(tokens)
    heads = pc.list_element(pc.split_pattern(tokens, _TO_SHOWN, max_splits=1), 0).dictionary_encode()
    end = pc.binary_slice(tokens.cast(pa.binary()), -_END)
    stored = pc.struct_field(pc.extract_regex(end, _KEPT), "kept").cast(pa.string())
    found = [read_head(text) for text in heads.dictionary.to_pylist()]
    code, size = heads.indices.to_numpy(), _lengths(heads.dictionary) + len(_TO_SHOWN)
    alike: dict[tuple[str, str, int], list[int]] = {}
    for k, head in enumerate(found):
        if head:
            alike.setdefault((head.method, head.outcome, len(head.rankers)), []).append(k)
    parts = []
    for (_, _, rankers), members in alike.items():
        some = np.flatnonzero(np.isin(code, members))
        here, mine, value = rows[some], [found[k] for k in code[some]], stored.take(pa.array(some))
        digits = _lengths(value)
        fit = (length[some] <= LONGEST_TEXT) & ((digits > 0) == mine[0].keeps) & value.is_valid().to_numpy(False)
        if mine[0].keeps:
            kept[here[fit]] = pc.cast(value.filter(pa.array(fit)), pa.float64()).to_numpy()
        begin, stop = texts.ptr[some] + size[code[some]], texts.ptr[some + 1] - digits - len("]}")
        most = min(MOST_DOCUMENTS, MOST_PLACES // rankers)
        room = np.where(fit, np.clip((stop - begin) // (2 * rankers), 0, most), 0)
        order, rank = (np.zeros((rankers, int(room.sum())), np.int16) for _ in range(2))
        lists, read = Lists(order, rank, np.zeros(len(some) + 1, np.int64)), np.zeros(len(some), np.uint8)
        values = np.zeros(2 * MOST_SHOWN + rankers * int(room.max(initial=0)), np.int64)
        scan(texts.data, begin, stop, room, ids, ptr, here, values, lists, read, numbers, owners)
        parts.append(TokenRows(here, mine, lists, read))
    return parts


def _lengths(texts: Any) -> IntVector:
    return np.asarray(pc.binary_length(texts).fill_null(0).to_numpy(zero_copy_only=False), np.int64)


@lru_cache(_REMEMBERED)
def read_head(text: str) -> Head | None:
    """Return the content of a head, as `Page` reads a page of one document; None to leave its pages to `Page`."""
    try:
        orders = ",".join(["[0]"] * len(json.loads(text + "]}")["rankers"]))
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    for kept in ("", "0.5"):
        token = f'{text}{_TO_SHOWN}0],"owners":[-1],"numbers":[0],"orders":[{orders}],"kept":[{kept}]}}'
        with suppress(InputError):
            if (page := Page.from_json(token)).to_json() == token:
                return Head(str(page.method), page.outcome, page.rankers, len(page.kept))
    return None


@kernel
def scan(
    data: Bytes, begin: IntVector, stop: IntVector, room: IntVector, ids: Texts, shown: IntVector, rows: IntVector,
    values: IntVector, lists: Lists, fit: MarkVector, numbers: IntVector, owners: Any,
) -> None:  # fmt: skip
    """Read pages of equally many rankers: the text of page n, after its head, is ``data[begin[n]:stop[n]]``.

    The outputs are ``lists``, a mark in ``fit`` for each page that was read, and the page's ``numbers`` and ``owners``.
    ``room[n]`` bounds the documents of page n; ``values`` is scratch for its numbers, list after list.
    """
    rankers = lists.order.shape[0]
    for n in range(rows.shape[0]):
        base, end, first, last = lists.query_ptr[n], stop[n], shown[rows[n]], shown[rows[n] + 1]
        length, size, filled = last - first, 0, 0
        at = same_documents(data, begin[n], end, ids, first, last)
        for m in range(rankers + 2):  # owners, numbers, and the order of each ranker
            at = after(data, at, end, _WORDS[min(m, 3)])
            at, count = whole_numbers(data, at, end, values, filled)
            filled += count
            if m == 2:
                size = count
            if count != (length if m < 2 else size):
                at = -1
        right = after(data, at, end, _WORDS[4]) == end and 1 <= length <= min(size, MOST_SHOWN) and size <= room[n]
        if right and place(values[:filled], length, size, base, lists, numbers[first:last], owners[first:last]):
            fit[n] = 1
            base += size
        lists.query_ptr[n + 1] = base


@inlined
def place(
    values: IntVector, length: int, size: int, base: int, lists: Lists, numbers: IntVector, owners: Any
) -> bool:  # fmt: skip
    """Copy the values of a page to the outputs; return whether owners, numbers and orders are those of a page."""
    rankers = lists.order.shape[0]
    for a in range(rankers):
        lists.rank[a, base : base + size] = 0
        for r in range(size):
            d = values[2 * length + a * size + r]
            if not 0 <= d < size or lists.rank[a, base + d] > 0:
                return False
            lists.order[a, base + r] = d
            lists.rank[a, base + d] = r + 1
    for k in range(length):
        owners[k], numbers[k] = values[k], values[length + k]
        if not (-1 <= owners[k] < rankers and 0 <= numbers[k] < size):
            return False
        for m in range(k):
            if numbers[m] == numbers[k]:
                return False
    return True


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
def same_documents(data: Bytes, at: int, stop: int, ids: Texts, first: int, last: int) -> int:
    """Return the end of the list of ids at ``at``; -1 if it differs from these ids, has escapes or is not ASCII."""
    for k in range(first, last):
        if k > first:
            if at >= stop or data[at] != _COMMA:
                return -1
            at += 1
        begin, size = ids.ptr[k], ids.ptr[k + 1] - ids.ptr[k]
        quoted = at < stop and data[at] == _QUOTE
        if not quoted and not is_whole(ids.data, begin, size):
            return -1
        at += int(quoted)
        if at + size >= stop:
            return -1
        for m in range(size):
            byte = ids.data[begin + m]
            if data[at + m] != byte or byte < 32 or byte > 126 or byte in (_QUOTE, _BACKSLASH):
                return -1
        at += size
        if quoted and data[at] != _QUOTE:
            return -1
        at += int(quoted)
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
def whole_numbers(data: Bytes, at: int, stop: int, values: IntVector, filled: int) -> tuple[int, int]:
    """Append a list of integers to ``values[:filled]``; return the position of its closing bracket, and their count.

    The position is -1 if the text contains anything else, or more numbers than ``values`` has room for.
    """
    for k in range(filled, values.shape[0] if at >= 0 else 0):
        minus = at < stop and data[at] == _MINUS
        at += int(minus)
        begin, value = at, 0
        while at < stop and _ZERO <= data[at] <= _NINE and at - begin < _DIGITS:
            value = 10 * value + int(np.int64(data[at])) - _ZERO
            at += 1
        leading = at > begin and data[begin] == _ZERO
        if not begin < at < stop or (leading and (minus or at > begin + 1)):
            break
        values[k] = -value if minus else value
        if data[at] == _CLOSE:
            return at, k + 1 - filled
        if data[at] != _COMMA:
            break
        at += 1
    return -1, 0
