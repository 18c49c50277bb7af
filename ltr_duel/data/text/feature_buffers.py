"""Buffers that collect the features while a corpus is read: in memory, or in a file that may exceed memory."""

from __future__ import annotations

import io
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError, host, kernel, mapped
from ltr_duel.data.text.chunks import gigabytes

Copy = Callable[[], None]


def nothing_to_copy() -> None:
    """Copy nothing."""


def refuse_excess(rows: int, columns: int, most: int) -> None:
    """Raise `InputError` if a matrix of float32, not yet allocated, needs more than ``most`` bytes."""
    if 4 * rows * columns > most:
        raise InputError(
            f"{rows:,} documents or more with {columns:,} features need {gigabytes(4 * rows * columns)}, but"
            f" at most {gigabytes(most)} may be used; --limit GB allows more, if these numbers are right"
        )


class FeatureBuffer(Protocol):
    """Collects blocks of rows, in order, in one column-major matrix."""

    def put(self, block: NDArray[np.float32], text_bytes: int) -> Copy:
        """Assign positions to the rows of the next block, shape (rows, columns), made of ``text_bytes`` bytes of text.

        Return a function that copies the rows. This function must be called before `matrix`; any thread may call it,
        also in parallel with the functions of other blocks.
        """

    def matrix(self, columns: int) -> NDArray[np.float32]:
        """Return all rows, shape (rows, columns), column-major; a column that is in no block is 0."""


class MemoryBuffer:
    """Copies each block into the matrix at once, while the block is still in the core's cache.

    The number of rows is estimated from the first blocks, and memory for slightly more rows is allocated. The unused
    rows at the end of each column are never touched, so they use no physical memory. If the estimate is too low, a
    larger matrix is allocated, and the rows of the old matrix are copied at the end. A large matrix is stored in a
    temporary file (`core.mapped`), whose pages are released from memory during the reading.

    text_bytes: estimated size of the text.
    most: largest size of the matrix in bytes; by default three quarters of `total_memory` or of the free disk space,
        whichever is larger.
    """

    _LOOK_AT = 2**20  # bytes of text to read before the estimate
    _MOST_WAITING = 2**28  # bytes: limit for blocks without a position, and for the rows copied between two releases
    _MOST_IN_MEMORY = 3 * 2**30  # bytes: the limit for a matrix in memory, unless a quarter of `total_memory` is less
    _SLACK = 1.06

    def __init__(self, text_bytes: int, most: int | None = None) -> None:
        self._expected = text_bytes
        memory = host.total_memory()
        self._large = min(self._MOST_IN_MEMORY, memory // 4)
        self._most = max(memory, mapped.free_disk()) * 3 // 4 if most is None else most
        self._unreleased = 0  # bytes copied to a file since the last release of memory
        self._seen = 0
        self._rows = 0
        self._waiting: list[tuple[NDArray[np.float32], int]] = []  # blocks without a position, and their first rows
        self._columns = np.zeros((0, 0), dtype=np.float32)
        self._begins = 0  # first row that is in `_columns`
        self._before: list[tuple[NDArray[np.float32], int, int]] = []  # old matrices, and their rows
        transpose(self._columns, self._columns, 0)  # compile here, because numba must not compile in two threads

    def put(self, block: NDArray[np.float32], text_bytes: int) -> Copy:
        """Assign positions to the rows; the first blocks are collected until the number of rows is estimated."""
        self._seen += text_bytes
        self._waiting.append((block, self._rows))
        self._rows += len(block)
        refuse_excess(self._rows, block.shape[1], self._most)
        if self._seen < self._LOOK_AT and 4 * self._rows * block.shape[1] < self._MOST_WAITING:
            return nothing_to_copy
        expected = self._expected / self._seen * self._rows
        refuse_excess(int(expected / 2), block.shape[1], self._most)  # half, as the estimate is rough for gzipped text
        return self._place(int(self._SLACK * expected))

    def matrix(self, columns: int) -> NDArray[np.float32]:
        """Return the rows."""
        self._place(0)()
        if columns > self._columns.shape[0]:
            self._make_room(self._rows, columns, self._rows)
        for old, first, end in self._before:
            for column, numbers in zip(self._columns, old, strict=False):
                column[first:end] = numbers[first:end]
                mapped.release_pages(numbers)
            mapped.release_pages(self._columns)
        self._before.clear()
        return self._columns[:columns, : self._rows].T

    def _place(self, rows_expected: int) -> Copy:
        blocks, self._waiting = self._waiting, []
        width = max((block.shape[1] for block, _ in blocks), default=0)
        before = self._columns.shape[1]
        if self._rows > before or width > self._columns.shape[0]:
            more = before + before // 2 if self._rows > before else 0
            self._make_room(max(self._rows, rows_expected, more), width, blocks[0][1] if blocks else 0)
        columns = self._columns

        def copy() -> None:
            for block, first in blocks:
                transpose(block, columns, first)
                self._unreleased += block.nbytes
            if self._unreleased > self._MOST_WAITING:  # approximate, because concurrent additions can be lost
                self._unreleased = 0
                mapped.release_pages(columns)

        return copy

    def _make_room(self, rows: int, columns: int, begins: int) -> None:
        """Allocate a new matrix for row ``begins`` and all later rows."""
        old = self._columns
        if begins > self._begins:
            self._before.append((old, self._begins, begins))
        columns = max(columns, old.shape[0])
        refuse_excess(self._rows, columns, self._most)
        rows = max(self._rows, min(max(rows, old.shape[1]), self._most // (4 * max(columns, 1))))
        try:
            self._columns = mapped.new_array((columns, rows), np.float32, self._large)
        except MemoryError:
            need = f"{rows:,} documents with {columns:,} features need {gigabytes(4 * rows * columns)}"
            raise InputError(f"{need}, which is more than the free memory") from None
        self._begins = begins


class FileBuffer:
    """Writes each block to its position in a column-major ``.npy`` file; the number of rows is known in advance.

    most: largest size of the file in bytes; by default the free space on the disk.
    """

    _HEADER = 128  # bytes of the header of a matrix

    def __init__(self, path: Path, rows: int, most: int | None = None) -> None:
        self._most = shutil.disk_usage(path.parent).free if most is None else most
        self._path = path
        self._rows = rows
        self._written = 0
        self._file, self._writing = path.open("wb", buffering=0), threading.Lock()

    def put(self, block: NDArray[np.float32], text_bytes: int) -> Copy:
        """Assign positions in the file to the rows, which are contiguous in each column."""
        refuse_excess(self._rows, block.shape[1], self._most)
        first = self._written
        self._written += len(block)

        def copy() -> None:
            columns = np.empty(block.shape[::-1], dtype=np.float32)
            transpose(block, columns, 0)
            with self._writing:  # most systems allow only one thread at a time to write to a file
                for number, column in enumerate(columns):
                    self._write(column.data.cast("B"), self._HEADER + 4 * (number * self._rows + first))

        return copy

    def matrix(self, columns: int) -> NDArray[np.float32]:
        """Write the header, and return the file as a writable memory map."""
        refuse_excess(self._rows, columns, self._most)
        self._file.truncate(self._HEADER + 4 * columns * self._rows)
        self._write(memoryview(npy_header(self._rows, columns)), 0)
        self.close()
        return np.asarray(np.load(self._path, mmap_mode="r+", allow_pickle=False))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, data: memoryview, offset: int) -> None:
        self._file.seek(offset)
        while data:
            data = data[self._file.write(data) :]


def npy_header(rows: int, columns: int) -> bytes:
    """Return the beginning of a ``.npy`` file with a column-major matrix of float32."""
    header = io.BytesIO()
    layout = {"descr": "<f4", "fortran_order": True, "shape": (int(rows), int(columns))}
    np.lib.format.write_array_header_1_0(header, layout)
    return header.getvalue()


@kernel
def transpose(block, columns, first):
    """Copy ``block[row, column]`` to ``columns[column, first + row]``; surplus columns of the block are ignored.

    Only four columns are written at a time, so that their cache lines stay in the core's cache. The cache lines of the
    block stay there too, and contain the next four columns.
    """
    rows = block.shape[0]
    width = min(block.shape[1], columns.shape[0])
    whole = width - width % 4
    for start in range(0, whole, 4):
        for row in range(rows):
            for k in range(4):
                columns[start + k, first + row] = block[row, start + k]
    for column in range(whole, width):
        for row in range(rows):
            columns[column, first + row] = block[row, column]
