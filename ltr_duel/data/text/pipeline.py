"""Parse the chunks of a file on several cores. Only a few chunks are in memory at any time.

disk -> read_chunks -> parse_chunk -> add, in order -> copy     (threads parse and copy; this one adds)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np

from ltr_duel.data.text.chunks import CHUNK_BYTES, read_chunks
from ltr_duel.data.text.matrix import Copy
from ltr_duel.data.text.parse import Parsed, Room, Rules, parse_chunk

FIRST_BYTES = 2**16  # largest size of the first chunk, from which the length of lines is estimated


def parse_file(file: Path, rules: Rules, add: Callable[[Parsed], Copy], *, jobs: int = 1, columns: int = 1) -> None:
    """Parse a file, and pass its chunks to ``add``, in order.

    add: a function that receives a chunk and returns a second function, which is called later, perhaps in another
        thread.
    columns: an estimate of the number of columns.
    """
    room = Room(rules.features or columns)
    size = min(FIRST_BYTES, _fitting(room))
    chunks = read_chunks(file, lambda: size)
    for chunk in chunks:
        parsed = parse_chunk(chunk, room, rules)
        add(parsed)()
        room = _better(room, parsed)
        size = _fitting(room)
        if jobs > 1:
            break  # the first chunk compiles the scanner, because numba must not compile in two threads
    if jobs == 1:
        return
    parsing, copying = deque[Future[Parsed]](), deque[Future[None]]()
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for chunk in chunks:
                parsing.append(pool.submit(parse_chunk, chunk, room, rules))
                while parsing and (parsing[0].done() or len(parsing) > jobs + 1):
                    parsed = parsing.popleft().result()
                    copying.append(pool.submit(add(parsed)))
                    room = _better(room, parsed)
                    size = _fitting(room)
                while len(copying) > jobs:
                    copying.popleft().result()
            for future in parsing:
                copying.append(pool.submit(add(future.result())))
            for copied in copying:
                copied.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _better(room: Room, parsed: Parsed) -> Room:
    rows = len(parsed.labels)
    if not rows:
        return room
    columns = max(room.columns, parsed.width)
    if columns > room.columns and np.any(parsed.lines.width != parsed.width):
        columns += columns // 16 + 4
    return Room(columns, len(parsed.text) / rows)


def _fitting(room: Room) -> int:
    """Return how many bytes to read, so that the text and its numbers are not much larger than CHUNK_BYTES."""
    return max(256, min(CHUNK_BYTES, int(CHUNK_BYTES * room.bytes_per_row / (4 * max(room.columns, 1)))))
