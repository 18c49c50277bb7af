"""Rows of a store: their content, and whether they are damaged.

The column ``sheet`` of a page, together with the settings and the shown ids, determines how clicks are credited.
"""

from __future__ import annotations

import io
import json
import sqlite3
import struct
from array import array
from collections.abc import Mapping
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from ltr_duel.interleaving import Page
from ltr_duel.live.settings import Settings
from ltr_duel.live.turns import Key

ALONE, CLICKED, UNCLICKED, EXPIRED = range(4)  # events: a page of one ranker was shown; a page was closed (three ways)
DAMAGED = (struct.error, LookupError, TypeError, ValueError, EOFError, OverflowError, RecursionError, BadZipFile)
"""The errors of reading a damaged row."""

_SIZES = struct.Struct("<HHHH")  # numbers of rankers, documents, shown documents, and values kept by the method


def pack_page(page: Page) -> bytes:
    """Return the bytes of a page."""
    place = {name: k for k, name in enumerate(page.rankers)}
    owners = [-1 if owner is None else place[owner] for owner in page.owners]
    return b"".join(
        [
            _SIZES.pack(*page.orders.shape, len(page.shown), len(page.kept)),
            np.array([page.numbers, owners], np.int16).tobytes(),
            page.orders.tobytes(),
            np.array(page.kept, np.float64).tobytes(),
        ]
    )


def unpack_page(settings: Settings, names: tuple[str, ...], shown: tuple[Any, ...], sheet: bytes) -> Page:
    """Make a page from its rankers, its shown ids and the bytes of `pack_page`.

    Damaged bytes raise `ValueError` or `struct.error`, because compiled functions use the numbers of a page as
    positions without checks.
    """
    rankers, documents, length, noted = _SIZES.unpack_from(sheet)
    numbers = np.frombuffer(sheet, np.int16, 2 * length, _SIZES.size).reshape(2, length).tolist()
    start = _SIZES.size + 4 * length
    orders = np.frombuffer(sheet, np.int16, rankers * documents, start).reshape(rankers, documents)
    kept = np.frombuffer(sheet, np.float64, noted, start + 2 * rankers * documents)
    if not (
        rankers == len(names)
        and length == len(shown) == len(set(shown)) == len(set(numbers[0]))
        and 0 <= min(numbers[0]) <= max(numbers[0]) < documents
        and -1 <= min(numbers[1]) <= max(numbers[1]) < rankers
        and (np.sort(orders, axis=1) == np.arange(documents)).all()
        and (noted == 0 or np.isfinite(kept).all())
    ):
        raise ValueError("the page is damaged")
    return Page(
        names,
        shown,
        tuple([None if owner < 0 else names[owner] for owner in numbers[1]]),
        settings.method,
        settings.outcome,
        tuple(numbers[0]),
        orders,
        tuple(kept.tolist()),
    )


def write_ids(shown: tuple[Any, ...]) -> str:
    """Return document ids as JSON."""
    return json.dumps([one.item() if isinstance(one, np.generic) else one for one in shown], separators=(",", ":"))


def read_ids(text: str) -> tuple[Any, ...]:
    """Return the ids in a string from `write_ids`."""
    return tuple(json.loads(text))


def read_key(arms: bytes, n_arms: int) -> Key:
    """Return the arms of a row. Raises `ValueError` or `TypeError` if they are damaged."""
    key = tuple(array("H", arms))
    if not key or max(key) >= n_arms:
        raise ValueError("the arms of a page are damaged")
    return key


def is_damaged(settings: Settings, arms: bytes, text: str, sheet: bytes) -> bool:
    """Whether a page with these cells cannot be credited."""
    try:
        key = read_key(arms, len(settings.rankers))
        ids = read_ids(text)
        if sheet:
            unpack_page(settings, tuple([f"{settings.rankers[arm]}\0{k}" for k, arm in enumerate(key)]), ids, sheet)
    except DAMAGED:
        return True
    return False


def in_bytes(bits: int) -> bytes:
    """Return a number as little-endian bytes."""
    return bits.to_bytes((bits.bit_length() + 7) // 8, "little")


class Event(NamedTuple):
    """A row of ``events``: a page was shown or closed."""

    event: int
    page: int
    at: float
    kind: int  # ALONE, CLICKED, UNCLICKED or EXPIRED
    clicks: bytes | None = None  # clicked positions from 0, two bytes each
    credit: bytes | None = None  # one byte for each pair on the page: +1, 0, -1
    signs: bytes | None = None  # the same with ties broken, for the policy
    seen: bytes | None = None  # pairs for which the user was shown an earlier page, one bit each; None: no pair

    def is_of(self, key: Key) -> bool:
        """Whether the event is undamaged and fits a page of these rankers."""
        pairs = len(key) * (len(key) - 1) // 2
        return (
            self.kind in range(ALONE, EXPIRED + 1)
            and _are(self.credit, pairs, b"\0\1\xff")
            and _are(self.signs, pairs, b"\1\xff")
            and isinstance(self.seen, bytes | None)
        )


class Snapshot(NamedTuple):
    """The memory of an experiment after ``events`` events."""

    events: int
    pages: int
    arrays: Mapping[str, NDArray[Any]]
    lines: str


def snapshot_in(db: sqlite3.Connection) -> Snapshot | None:
    """Return the snapshot, or None if no snapshot was made."""
    row = db.execute("SELECT events, pages, arrays, lines FROM snapshot").fetchone()
    if row is None:
        return None
    events, pages, arrays, lines = row
    with np.load(io.BytesIO(arrays), allow_pickle=False) as file:
        return Snapshot(events, pages, dict(file), lines)


def key_of(arms: bytes, n_arms: int) -> Key:
    """Return the arms of a row, or () if they are damaged."""
    try:
        return read_key(arms, n_arms)
    except (ValueError, TypeError):
        return ()


def _are(cell: Any, pairs: int, legal: bytes) -> bool:
    """Whether a cell is None or contains one valid byte for each pair."""
    return cell is None or (isinstance(cell, bytes) and len(cell) == pairs and not cell.strip(legal))
