"""Parse one chunk of text into arrays: allocate memory, call the scanner, and perform the steps that need Python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.data.text import scan
from ltr_duel.data.text.chunks import Chunk
from ltr_duel.data.text.tokens import LARGEST, LARGEST_FLOAT

MOST_FEATURES = 10_000  # an id above this number is an error if the number of columns is not declared

_DOCUMENT = re.compile(rb"\s*docid\s*=\s*(\S+)")


class Rules(NamedTuple):
    """Rules for reading a file, from the dialect and the user's options."""

    grammar: scan.Grammar = scan.Grammar()
    features: int | None = None  # declared number of columns
    limit: int | None = None  # see `read_chunks`


class Room(NamedTuple):
    """Estimates for the size of a chunk's arrays; if the arrays are too small, parsing is repeated."""

    columns: int = 1
    bytes_per_row: float = 128.0


class Parsed(NamedTuple):
    """The documents of one chunk, and the scanner's state, which contains the position of the error, if any."""

    text: NDArray[np.uint8]
    finished: bool  # False if the file's last line is in this chunk and has no line end
    features: NDArray[np.float32]  # (rows, columns), row-major
    labels: NDArray[np.float32]  # (rows,)
    lines: scan.Records  # (rows,) of `scan.LINE`
    new: NDArray[np.bool_]  # (rows,): the query differs from the query of the row before; True in row 0
    comments: NDArray[np.bytes_] | None  # (rows,), None if no line has a comment
    documents: NDArray[np.bytes_] | None  # (rows,), None if no comment has an id
    width: int  # number of columns up to the last used column
    state: np.record  # one of `scan.STATE`

    def queries(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield the row, the line number and the text of the query, for row 0 and for each row with a new query."""
        rows = np.flatnonzero(self.new)
        lines = self.lines[rows]
        ranges = zip(rows.tolist(), lines.number.tolist(), lines.query.tolist(), lines.query_end.tolist(), strict=True)
        for row, number, start, end in ranges:
            yield row, number, self.text[start:end].tobytes()


def parse_chunk(chunk: Chunk, room: Room, rules: Rules) -> Parsed:
    """Parse whole lines. An error in the text is not raised: ``state`` contains its position and code.

    ``room`` is an estimate; a bad estimate makes parsing slower, but does not change the result.
    """
    text = chunk.text
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
    _settle(text, block)
    if rules.grammar.place == scan.IN_COMMENT:
        missing = scan.query_from_comment(text, lines)
        if missing < rows:
            state.code, state.at = scan.NO_COMMENT, lines[missing].start
    new = np.empty(rows, dtype=np.bool_)
    scan.mark_new_queries(text, lines, new)
    used = np.flatnonzero(block.last_row)
    width = int(used[-1]) + 1 if len(used) else 0
    features = block.features[:rows]
    needed = max(width, room.columns)
    if columns > needed and not rules.features:  # the estimate was too small, and the larger array has unused columns
        features = np.ascontiguousarray(features[:, :needed])
    comments, documents = _comments(text, lines)
    return Parsed(
        text=text,
        finished=chunk.finished,
        features=features,
        labels=block.labels[:rows],
        lines=lines,
        new=new,
        comments=comments,
        documents=documents,
        width=width,
        state=state,
    )


def _settle(text: NDArray[np.uint8], block: scan.Block) -> None:
    """Use Python to round the numbers whose float32 is uncertain."""
    state = block.state[0]
    for row, column, at in block.doubts[: state.doubts].tolist():
        if column == scan.REPLACED:
            continue
        end = at
        while int(text[end]) not in b" \t\r\n#":
            end += 1
        value = float(text[at:end].tobytes())
        if column == scan.LABEL:
            block.labels[row] = np.float32(min(value, LARGEST_FLOAT))
        else:
            state.clipped += abs(value) >= LARGEST
            block.features[row, column] = np.float32(max(-LARGEST_FLOAT, min(value, LARGEST_FLOAT)))


def _comments(
    text: NDArray[np.uint8], lines: scan.Records
) -> tuple[NDArray[np.bytes_] | None, NDArray[np.bytes_] | None]:
    """Return the comments, and the document ids that they contain."""
    if not np.any(lines.comment_end > lines.comment):
        return None, None
    raw = text.tobytes()
    comments = [raw[a:b].rstrip() for a, b in zip(lines.comment.tolist(), lines.comment_end.tolist(), strict=True)]
    found = [_DOCUMENT.match(comment) for comment in comments]
    documents = np.array([m.group(1) if m else b"" for m in found], dtype=np.bytes_) if any(found) else None
    return np.array(comments, dtype=np.bytes_), documents
