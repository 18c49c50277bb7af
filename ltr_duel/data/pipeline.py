"""Chunks through the parser on several cores, in order, with a bounded number on the way.

disk -> read_chunks -> parse_chunk (threads; kernels hold no lock) -> in order, to whoever assembles
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np

from ltr_duel.data.chunks import CHUNK_BYTES, ChunkSize, Digest, read_chunks
from ltr_duel.data.parse import Parsed, Room, Rules, parse_chunk
from ltr_duel.data.scan import LAST_ID

_FIRST_BYTES = 2**16  # the first chunk shows how wide lines are


def parse_file(
    file: Path, rules: Rules, *, jobs: int = 1, columns: int = 1, digest: Digest | None = None, chunk_bytes: int = 0
) -> Iterator[Parsed]:
    """Yield the parsed chunks of a file, in order.

    Parameters
    ----------
    file : Path
        Plain or gzipped.
    rules : Rules
        How to read.
    jobs : int
        Threads. The result does not depend on it.
    columns : int
        Guess of the number of columns.
    digest : hash object, optional
        Fed with the file's bytes.
    chunk_bytes : int
        Text to take at a time; 0: the usual.

    Raises
    ------
    InputError
        If the file cannot be read. What is wrong in a line is in ``state`` of the last chunk yielded.
    """
    room = Room(columns)
    most = chunk_bytes or CHUNK_BYTES
    size = ChunkSize(min(most, _FIRST_BYTES))
    chunks = read_chunks(file, digest, size)
    for chunk in chunks:
        parsed = parse_chunk(chunk, room, rules)
        room = _better(room, parsed)
        size.bytes = _fitting(room, most)
        yield parsed
        if jobs > 1:
            break  # the kernels are compiled now (numba must not do that in two threads), and the room is known
    if jobs == 1:
        return
    pool = ThreadPoolExecutor(jobs)
    try:
        waiting: deque[Future[Parsed]] = deque()
        for chunk in chunks:
            waiting.append(pool.submit(parse_chunk, chunk, room, rules))
            if len(waiting) > jobs + 1:
                parsed = waiting.popleft().result()
                room = _better(room, parsed)
                size.bytes = _fitting(room, most)
                yield parsed
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _better(room: Room, parsed: Parsed) -> Room:
    """Return the guess for the next chunk after seeing this one; lines that end differently may yet grow."""
    rows = len(parsed.labels)
    if not rows:
        return room
    columns = max(room.columns, parsed.width)
    if columns > room.columns and np.any(parsed.spans[:, LAST_ID] != parsed.width):
        columns += columns // 16 + 4
    return Room(columns, len(parsed.text) / rows)


def _fitting(room: Room, most: int) -> int:
    """Return how much text gives a matrix of about the same size: sparse lines become many more bytes than they are."""
    return max(4096, min(most, int(most * room.bytes_per_row / (4 * max(room.columns, 1)))))
