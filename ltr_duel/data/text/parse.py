"""Parse one chunk of text into arrays, mostly with the compiled scanner."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.data.text import scan
from ltr_duel.data.text.tokens import LARGEST, LARGEST_FLOAT

MOST_FEATURES = 10_000  # an id above this number is an error if the number of columns is not declared

_WORD = re.compile(rb"\s*(\S+)")
_DOCUMENT = re.compile(rb"\s*docid\s*=\s*(\S+)")


class Rules(NamedTuple):
    """How a file is read, according to its dialect and the user's options."""

    grammar: scan.Grammar = scan.Grammar()
    features: int | None = None  # declared number of columns


class Room(NamedTuple):
    """Estimated sizes of a chunk's arrays. If the arrays are too small, the chunk is parsed again."""

    columns: int = 1
    bytes_per_row: float = 128.0


class Parsed(NamedTuple):
    """The documents of one chunk, and the state of the scanner, which says whether and where there is an error."""

    text: NDArray[np.uint8]
    features: NDArray[np.float32]  # (rows, columns), row-major
    labels: NDArray[np.float32]  # (rows,)
    lines: scan.Records  # (rows,) of `scan.LINE`
    new: NDArray[np.bool_]  # (rows,) whether the query differs from the query of the row before; True in row 0
    documents: NDArray[np.bytes_]  # (rows,) the word after ``docid =`` in the comment, or empty
    width: int  # number of columns up to the last one with a value
    state: np.record  # one of `scan.STATE`

    def queries(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield, for each row that begins a query, the row, the number of its line, and the query."""
        rows = np.flatnonzero(self.new)
        lines = self.lines[rows]
        ranges = zip(rows.tolist(), lines.number.tolist(), lines.query.tolist(), lines.query_end.tolist(), strict=True)
        for row, number, start, end in ranges:
            yield row, number, self.text[start:end].tobytes()


def parse_chunk(text: NDArray[np.uint8], room: Room, rules: Rules) -> Parsed:
    """Parse whole lines. If there is an error, ``state`` has its position and its code."""
    first_id = rules.grammar.first_id
    limit = (rules.features or MOST_FEATURES) - 1 + first_id  # the highest id
    columns = rules.features or max(room.columns, 1)
    rows_wanted = int(len(text) / room.bytes_per_row * 1.05) + 16
    doubts = 64
    while True:
        block = scan.Block(
            features=np.empty((rows_wanted, columns), np.float32),
            labels=np.empty(rows_wanted, dtype=np.float32),
            last_row=np.zeros(columns, dtype=np.int32),
            lines=np.recarray(rows_wanted, dtype=scan.LINE),
            doubts=np.recarray(doubts, dtype=scan.DOUBT),
            state=np.zeros(1, dtype=scan.STATE).view(np.recarray),
        )
        rows = scan.scan_lines(text, rules.grammar, block)
        state = block.state[0]
        if state.code == scan.NEED_ROOM:
            doubts = 8 * doubts if state.doubts == doubts else doubts
            rows_wanted = rows + int((len(text) - state.at) / max(state.at / max(rows, 1), 4.0) * 1.2) + 64
        elif state.code == scan.ID_TOO_LARGE and state.feature <= limit:
            columns = min(limit, max(int(state.feature), 2 * columns + 64)) + 1 - first_id
        else:
            break
    if state.code == scan.ID_TOO_LARGE:
        state.feature = limit
    lines = block.lines[:rows]
    _round_in_python(text, block)
    if rules.grammar.query == scan.IN_COMMENT:
        _take_queries(text, lines, state)
    new = np.empty(rows, dtype=np.bool_)
    scan.mark_new_queries(text, lines, new)
    used = np.flatnonzero(block.last_row)
    width = int(used[-1]) + 1 if len(used) else 0
    features = block.features[:rows]
    if columns > max(width, room.columns) and not rules.features:  # the arrays were made wider than necessary
        features = np.ascontiguousarray(features[:, : max(width, room.columns)])
    return Parsed(text, features, block.labels[:rows], lines, new, _document_ids(text, lines), width, state)


def _round_in_python(text: NDArray[np.uint8], block: scan.Block) -> None:
    """Parse with Python the numbers that the scanner could not round to float32."""
    state = block.state[0]
    for row, column, at in block.doubts[: state.doubts].tolist():
        end = at
        while int(text[end]) not in b" \t\r\n#":
            end += 1
        value = float(text[at:end].tobytes())
        if column == scan.LABEL:
            block.labels[row] = np.float32(min(value, LARGEST_FLOAT))
        else:
            state.clipped += abs(value) >= LARGEST
            block.features[row, column] = np.float32(max(-LARGEST_FLOAT, min(value, LARGEST_FLOAT)))


def _take_queries(text: NDArray[np.uint8], lines: scan.Records, state: np.record) -> None:
    """Use the first word of each comment as the query."""
    raw = text.tobytes()
    for row, span in enumerate(zip(lines.comment.tolist(), lines.comment_end.tolist(), strict=True)):
        match = _WORD.match(raw, *span)
        if match is None:
            state.code, state.at = scan.NO_COMMENT, lines[row].start
            return
        lines[row].query, lines[row].query_end = match.span(1)


def _document_ids(text: NDArray[np.uint8], lines: scan.Records) -> NDArray[np.bytes_]:
    if not np.any(lines.comment_end > lines.comment):
        return np.zeros(len(lines), "S1")
    raw = text.tobytes()
    spans = zip(lines.comment.tolist(), lines.comment_end.tolist(), strict=True)
    matches = [_DOCUMENT.match(raw, *span) for span in spans]
    return np.array([match[1] if match else b"" for match in matches], np.bytes_)
