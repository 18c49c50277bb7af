"""Texts of an Arrow column told apart exactly, by their bytes, in compiled code.

A hash says where in a table to look, and the bytes say whether it is the same text: no two texts are ever confused.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import IntVector, inlined, words
from ltr_duel.logs.hashing import HashVector, mix


class Table(NamedTuple):
    """Places for texts, at least twice as many as texts come in. Another round finds it empty."""

    round: IntVector  # the round in which a place was taken
    number: IntVector  # of the text
    start: IntVector  # where it begins
    size: IntVector
    word: HashVector  # its first eight bytes


def empty_table(texts: int) -> Table:
    """Return a table with room for so many texts; rounds begin with 1."""
    room = 1 << max(4, int(2 * texts - 1).bit_length())
    turn, number, start, size = (np.zeros(room, np.int64) for _ in range(4))
    return Table(turn, number, start, size, np.zeros(room, np.uint64))


@inlined
def place_of(table: Table, now: int, known: NDArray[np.uint8], data: NDArray[np.uint8], start: int, stop: int) -> int:
    """Return the place of a text among those of this round, or a free one; ``known`` holds what was entered."""
    size = stop - start
    word = words.word_at(data, start, stop)
    h = word ^ np.uint64(size)
    for k in range(8, size, 8):
        h = mix(h) ^ words.word_at(data, start + k, stop)
    last = table.round.shape[0] - 1
    place = np.int64(mix(mix(h)) >> np.uint64(32)) & last
    while table.round[place] == now:
        if (
            table.word[place] == word
            and table.size[place] == size
            and (size <= 8 or words.same_bytes(known, table.start[place] + 8, data, start + 8, size - 8))
        ):
            return place
        place = (place + 1) & last
    return place


@inlined
def enter(table: Table, now: int, data: NDArray[np.uint8], start: int, stop: int, number: int) -> int:
    """Enter a text with this number, if it is not there yet; return its number."""
    place = place_of(table, now, data, data, start, stop)
    if table.round[place] != now:
        table.round[place] = now
        table.number[place] = number
        table.start[place] = start
        table.size[place] = stop - start
        table.word[place] = words.word_at(data, start, stop)
    return table.number[place]


@inlined
def look_up(table: Table, now: int, known: NDArray[np.uint8], data: NDArray[np.uint8], start: int, stop: int) -> int:
    """Return the number of a text, or -1."""
    place = place_of(table, now, known, data, start, stop)
    return table.number[place] if table.round[place] == now else -1
