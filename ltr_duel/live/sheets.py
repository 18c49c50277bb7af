"""A page as the store keeps it: some bytes that, with the settings and the shown ids, say how to credit its clicks."""

from __future__ import annotations

import json
import struct
from array import array
from typing import Any
from zipfile import BadZipFile

import numpy as np

from ltr_duel.interleaving import Page
from ltr_duel.live.settings import Settings
from ltr_duel.live.turns import Key

DAMAGED = (struct.error, LookupError, TypeError, ValueError, EOFError, OverflowError, RecursionError, BadZipFile)
"""What reading a damaged row raises."""

_SIZES = struct.Struct("<HHHH")  # rankers, documents, shown, numbers that the method noted


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
    """Make a page of its rankers, its shown ids and the bytes of `pack_page`.

    Raises `ValueError` or `struct.error` if the bytes are damaged: kernels take numbers as places without a look.
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
    """Return what `write_ids` wrote."""
    return tuple(json.loads(text))


def read_key(arms: bytes, n_arms: int) -> Key:
    """Return the arms of a row.

    Raises `ValueError` or `TypeError` if they are damaged.
    """
    key = tuple(array("H", arms))
    if not key or max(key) >= n_arms:
        raise ValueError("the arms of a page are damaged")
    return key


def is_damaged(settings: Settings, arms: bytes, text: str, sheet: bytes) -> bool:
    """Whether a page of these cells could not be credited."""
    try:
        key = read_key(arms, len(settings.rankers))
        ids = read_ids(text)
        if sheet:
            unpack_page(settings, tuple([f"{settings.rankers[arm]}\0{k}" for k, arm in enumerate(key)]), ids, sheet)
    except DAMAGED:
        return True
    return False


def in_bytes(bits: int) -> bytes:
    """Return a number as bytes, little end first."""
    return bits.to_bytes((bits.bit_length() + 7) // 8, "little")
