"""Parse chunks on several cores, with a limit on the number of chunks in progress.

disk -> read_chunks -> parse_chunk -> add, in order -> copy          (threads; kernels hold no lock)

If all earlier chunks have been added, the thread that parsed a chunk also adds it, because the numbers are still in its
core's cache. Otherwise another thread adds the chunk later, and this thread parses the next chunk, so threads never
wait for each other. Adding only assigns positions and is quick; the numbers are copied afterwards, in parallel.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np

from ltr_duel.data.text.chunks import CHUNK_BYTES, Chunk, ChunkSize, read_chunks
from ltr_duel.data.text.feature_buffers import Copy
from ltr_duel.data.text.parse import Parsed, Room, Rules, parse_chunk

_FIRST_BYTES = 2**16  # largest size of the first chunk, which shows how wide the lines are


def parse_file(
    file: Path,
    rules: Rules,
    add: Callable[[Parsed], Copy],
    *,
    jobs: int = 1,
    columns: int = 1,
    chunk_bytes: int = 0,
) -> None:
    """Parse a file, and pass its chunks to ``add``, one at a time and in order.

    add: function that receives a chunk; called in any thread, but never concurrently. It returns a function, which is
        called afterwards, perhaps in parallel with other such functions. An exception in ``add`` or in a returned
        function ends the reading and is raised. An error in a line is recorded in the ``state`` of the line's chunk.
    jobs: number of threads. The result does not depend on it.
    columns: an estimate of the number of columns.
    chunk_bytes: bytes of text per chunk; 0: the default.
    """
    room = Room(rules.features or columns)
    most = chunk_bytes or CHUNK_BYTES
    size = ChunkSize(min(_fitting(room, most), _FIRST_BYTES))
    chunks = read_chunks(file, size, rules.limit)
    for chunk in chunks:
        parsed = parse_chunk(chunk, room, rules)
        add(parsed)()
        room = _better(room, parsed)
        size.bytes = _fitting(room, most)
        if jobs > 1:
            break  # the first chunk compiles the scanner (numba must not compile in two threads) and shows the sizes
    if jobs == 1:
        return
    turns, waiting = _Turns(add, 2 * jobs + 2), deque[Future[Room]]()
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for number, chunk in enumerate(chunks):
                turns.room.acquire()
                waiting.append(pool.submit(turns.take, number, chunk, room, rules))
                while waiting[0].done() and len(waiting) > 1:
                    room = waiting.popleft().result()
                    size.bytes = _fitting(room, most)
                if turns.stopped:
                    break
            while waiting:
                waiting.popleft().result()
        except BaseException:
            turns.stop()
            raise


class _Turns:
    """Adds parsed chunks in order, in any free thread; at most ``most`` chunks are in progress at a time.

    Callers acquire ``room`` before each `take`.
    """

    def __init__(self, add: Callable[[Parsed], Copy], most: int) -> None:
        self.room = threading.Semaphore(most)
        self.stopped = False
        self._add = add
        self._parsed: dict[int, Parsed] = {}  # chunks waiting for their turn
        self._next = 0
        self._busy = False
        self._lock = threading.Lock()

    def take(self, number: int, chunk: Chunk, room: Room, rules: Rules) -> Room:
        """Parse a chunk, add and copy the chunks whose turn has come, and return better sizes for the next chunks."""
        try:
            parsed = parse_chunk(chunk, room, rules)
            with self._lock:
                self._parsed[number] = parsed
                mine = not self._busy and not self.stopped
                self._busy = True
            copies = deque[Copy]()
            while mine and (turn := self._pop()) is not None:
                copies.append(self._add(turn))
            while copies:
                copies.popleft()()  # afterwards nothing refers to the chunk
                self.room.release()
        except BaseException:
            self.stop()
            raise
        return _better(room, parsed)

    def stop(self) -> None:
        """Add no more chunks, and wake all threads that wait for ``room``."""
        self.stopped = True
        self.room.release(1_000_000)

    def _pop(self) -> Parsed | None:
        """Return the next chunk if it is parsed; otherwise the calling thread stops adding."""
        with self._lock:
            parsed = None if self.stopped else self._parsed.pop(self._next, None)
            self._next += parsed is not None
            self._busy = parsed is not None
        return parsed


def _better(room: Room, parsed: Parsed) -> Room:
    """Return better sizes for the next chunk; if lines differ in width, add columns for still wider lines."""
    rows = len(parsed.labels)
    if not rows:
        return room
    columns = max(room.columns, parsed.width)
    if columns > room.columns and np.any(parsed.lines.width != parsed.width):
        columns += columns // 16 + 4
    return Room(columns, len(parsed.text) / rows)


def _fitting(room: Room, most: int) -> int:
    """Return the number of bytes of text to read, so that the text and its matrix each have about ``most`` at most."""
    return max(256, min(most, int(most * room.bytes_per_row / (4 * max(room.columns, 1)))))
