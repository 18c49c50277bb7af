"""One chunk of text becomes arrays: makes room for the scanner, and does what a kernel cannot."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.data.text import scan
from ltr_duel.data.text.buffer_pool import Pool
from ltr_duel.data.text.chunks import Chunk
from ltr_duel.data.text.numbers import LARGEST

MOST_FEATURES = 10_000  # an undeclared id above this is taken for a slip, not for a corpus

_DOCUMENT = re.compile(rb"\s*docid\s*=\s*(\S+)")


class Rules(NamedTuple):
    """How to read a file: what the dialect and the user's options come to."""

    place: int = scan.IN_TOKEN  # where the query is written
    null_allowed: bool = False
    features: int | None = None  # declared number of columns


class Room(NamedTuple):
    """How much a chunk is expected to need; more is made where it is too little."""

    columns: int = 1
    bytes_per_row: float = 128.0


class Parsed(NamedTuple):
    """The documents of one chunk, and the place where reading stopped if it did."""

    text: NDArray[np.uint8]
    finished: bool  # False: the last line has no line end
    features: NDArray[np.float32]  # (rows, columns), row-major
    labels: NDArray[np.float32]  # (rows,)
    spans: NDArray[np.int32]  # (rows, 7), see `scan`
    new: NDArray[np.bool_]  # (rows,): the query differs from the row before; True in row 0
    comments: NDArray[np.bytes_] | None  # (rows,), None where no line has one
    documents: NDArray[np.bytes_] | None  # (rows,), None where no comment has one
    width: int  # highest feature id
    lines: int
    state: NDArray[np.int64]  # the scanner's, see `scan.Block`

    def query(self, row: int) -> bytes:
        """Return the query as written."""
        return self.text[self.spans[row, scan.QUERY] : self.spans[row, scan.QUERY_END]].tobytes()


def parse_chunk(chunk: Chunk, room: Room, rules: Rules, pool: Pool) -> Parsed:
    """Parse whole lines; never raises on bad text, but says in ``state`` where it stopped and why.

    Parameters
    ----------
    chunk : Chunk
        The lines.
    room : Room
        A guess; a bad one costs time, nothing else.
    rules : Rules
        How to read.
    pool : Pool
        Where the memory of the features comes from.
    """
    text = chunk.text
    limit = rules.features or MOST_FEATURES
    columns = rules.features or max(room.columns, 1)
    rows_wanted = int(len(text) / room.bytes_per_row * 1.05) + 16
    unsure = 64
    while True:
        block = scan.Block(
            features=pool.empty((rows_wanted, columns), np.float32),
            labels=np.empty(rows_wanted, dtype=np.float32),
            spans=np.empty((rows_wanted, 7), dtype=np.int32),
            unsure=np.empty((unsure, 3), dtype=np.int32),
            last_row=np.zeros(columns, dtype=np.int32),
            state=np.zeros(5, dtype=np.int64),
        )
        rows = scan.scan_lines(text, rules.place, rules.null_allowed, block)
        code, at, feature = block.state[:3].tolist()
        if code == scan.NEED_ROOM:
            unsure = 8 * unsure if block.state[3] == unsure else unsure
            rows_wanted = rows + int((len(text) - at) / max(at / max(rows, 1), 4.0) * 1.2) + 64
        elif code == scan.ID_TOO_LARGE and columns < feature <= limit:
            columns = min(limit, max(feature, 2 * columns + 64))
        else:
            break
    if code == scan.ID_TOO_LARGE:
        block.state[2] = limit

    spans = block.spans[:rows]
    _settle(text, block)
    if rules.place == scan.IN_COMMENT:
        missing = scan.query_from_comment(text, spans, rows)
        if missing >= 0:
            block.state[:2] = scan.NO_COMMENT, spans[missing, scan.LINE]
    new = np.empty(rows, dtype=np.bool_)
    scan.mark_new_queries(text, spans, rows, new)
    used = np.flatnonzero(block.last_row)
    width = int(used[-1]) + 1 if len(used) else 0
    features = block.features[:rows]
    if (
        columns > max(width, room.columns) and not rules.features
    ):  # the guess was too small, and its correction too large
        features = np.ascontiguousarray(features[:, : max(width, room.columns)])
    comments, documents = _comments(text, spans)
    return Parsed(
        text=text,
        finished=chunk.finished,
        features=features,
        labels=block.labels[:rows],
        spans=spans,
        new=new,
        comments=comments,
        documents=documents,
        width=width,
        lines=int(block.state[4]),
        state=block.state,
    )


def _settle(text: NDArray[np.uint8], block: scan.Block) -> None:
    """Let Python round the numbers whose float32 was not certain."""
    for row, column, at in block.unsure[: block.state[3]].tolist():
        end = at
        while int(text[end]) not in b" \t\r\n#":
            end += 1
        value = float(text[at:end].tobytes())
        if abs(value) >= LARGEST:
            block.state[:3] = scan.LARGE_VALUE, at, column + 1
            return
        if column < 0:
            block.labels[row] = np.float32(value)
        else:
            block.features[row, column] = np.float32(value)


def _comments(
    text: NDArray[np.uint8], spans: NDArray[np.int32]
) -> tuple[NDArray[np.bytes_] | None, NDArray[np.bytes_] | None]:
    """Return the comments and the document ids in them."""
    starts, ends = spans[:, scan.COMMENT], spans[:, scan.COMMENT_END]
    if not np.any(ends > starts):
        return None, None
    raw = text.tobytes()
    comments = [raw[a:b].rstrip() for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
    found = [_DOCUMENT.match(comment) for comment in comments]
    documents = np.array([m.group(1) if m else b"" for m in found], dtype=np.bytes_) if any(found) else None
    return np.array(comments, dtype=np.bytes_), documents
