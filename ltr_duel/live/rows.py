"""Rows of a store: what they hold, and whether they are damaged."""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError
from ltr_duel.live.settings import Settings, kept_settings
from ltr_duel.live.sheets import DAMAGED, read_key
from ltr_duel.live.switches import Switched, unpack_switch
from ltr_duel.live.tally import ALONE, EXPIRED
from ltr_duel.live.turns import Key


class Event(NamedTuple):
    """Something that happened to a page: a row of ``events``."""

    event: int
    page: int
    at: float
    kind: int  # see `ltr_duel.live.tally`
    clicks: bytes | None = None  # clicked places from 0, two bytes each
    credit: bytes | None = None  # of each pair on the page, a byte each: +1, 0, -1
    signs: bytes | None = None  # what the policy is told: the same, ties broken
    seen: bytes | None = None  # the pairs of which the user had been shown an earlier page, a bit each; None for none

    def is_of(self, key: Key) -> bool:
        """Whether the event can be one of a page of these rankers, and is not damaged."""
        pairs = len(key) * (len(key) - 1) // 2
        return (
            self.kind in range(ALONE, EXPIRED + 1)
            and _are(self.credit, pairs, b"\0\1\xff")
            and _are(self.signs, pairs, b"\1\xff")
            and isinstance(self.seen, bytes | None)
        )


class Snapshot(NamedTuple):
    """What an experiment knew."""

    events: int
    pages: int
    arrays: Mapping[str, NDArray[Any]]
    lines: str


def snapshot_in(db: sqlite3.Connection) -> Snapshot | None:
    """Return the snapshot, if one was ever made."""
    row = db.execute("SELECT events, pages, arrays, lines FROM snapshot").fetchone()
    if row is None:
        return None
    events, pages, arrays, lines = row
    with np.load(io.BytesIO(arrays), allow_pickle=False) as file:
        return Snapshot(events, pages, dict(file), lines)


def switches_in(db: sqlite3.Connection) -> Iterator[Switched | None]:
    """Yield the switches that were used; None where a row is damaged, and where rows are missing."""
    last = 0
    for number, page, at, *cells in db.execute(
        "SELECT switch, page, at, what, value, who FROM switches ORDER BY switch"
    ):
        if number != last + 1:
            yield None
        last = number
        try:
            yield Switched(float(at), int(page), unpack_switch(*cells))
        except DAMAGED:
            yield None


def settings_in(db: sqlite3.Connection, path: Path) -> Settings:
    """Return the settings of a store.

    Raises `InputError` if they are missing or damaged.
    """
    row: Any = db.execute("SELECT value FROM about WHERE key = 'settings'").fetchone()
    if row is None:
        raise InputError(f"{path}: the settings are missing")
    return kept_settings(row[0], path)


def key_of(arms: bytes, n_arms: int) -> Key:
    """Return the arms of a row, none where they are damaged."""
    try:
        return read_key(arms, n_arms)
    except (ValueError, TypeError):
        return ()


def _are(cell: Any, pairs: int, legal: bytes) -> bool:
    """Whether a cell holds a legal byte for each pair, or nothing."""
    return cell is None or (isinstance(cell, bytes) and len(cell) == pairs and not cell.strip(legal))
