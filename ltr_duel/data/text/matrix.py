"""The feature matrix of a corpus while it is being read. It grows by blocks of rows, and may be larger than memory.

The final numbers of rows and columns are not known. The rows are therefore stored in several segments:

    segment 0   rows 0..k    the first block, which shows how many columns there are
    segment 1   rows k..l    has room for the estimated number of rows
    segment 2   rows l..     begun when a row or column did not fit into segment 1

Each segment also has room for all earlier rows. At the end, the earlier rows are copied to the last segment, which is
then the whole matrix. Usually, only the first block must be copied.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError, host, kernel, mapped

Copy = Callable[[], None]

MOST_IN_MEMORY = 3 * 2**30  # bytes; a matrix that is larger, or above a quarter of the memory, is stored in a file
RELEASE_AFTER = 2**28  # after this many bytes, the memory for copies of a file is released
_SLACK = 1.06  # rows that are allocated for each estimated row


class _Segment(NamedTuple):
    first: int  # the first row that is stored in this segment
    columns: NDArray[np.float32]  # (columns, rows)


class Matrix:
    """A feature matrix to which blocks of rows are added, in order."""

    def __init__(self, lines: int, omitted: float = 0.0) -> None:
        self._lines = lines
        self._omitted = omitted
        self._rows = 0
        self._segments = [_Segment(0, np.zeros((0, 0), np.float32))]
        self._unreleased = 0
        transpose(self._segments[0].columns, self._segments[0].columns, 0)  # numba must not compile in two threads

    def put(self, block: NDArray[np.float32]) -> Copy:
        """Reserve room for the next block, and return a function that copies it.

        Any thread may call this function. It must be called before `features`.
        """
        first = self._rows
        self._rows += len(block)
        width, rows = self._segments[-1].columns.shape
        if block.shape[1] > width or self._rows > rows:
            estimate = int(_SLACK * self._lines) if self._rows <= _SLACK * self._lines else self._rows * 3 // 2
            self._begin(first, max(rows, estimate) if first else self._rows, max(width, block.shape[1]))
        columns = self._segments[-1].columns

        def copy() -> None:
            transpose(block, columns, first)
            self._unreleased += block.nbytes  # only roughly right, because other threads add to it, too
            if self._unreleased > RELEASE_AFTER:
                self._unreleased = 0
                mapped.release_pages(columns)

        return copy

    def features(self, columns: int) -> NDArray[np.float32]:
        """Return all rows, shape (rows, columns), column-major."""
        if columns > len(self._segments[-1].columns):
            self._begin(self._rows, self._rows, columns)
        *earlier, last = self._segments
        ends = [segment.first for segment in self._segments[1:]]
        for (first, old), end in zip(earlier, ends, strict=True):
            for column, values in zip(last.columns, old, strict=False):
                column[first:end] = values[first:end]
                mapped.release_pages(values)
            mapped.release_pages(last.columns)
        self._segments = [last]
        return last.columns[:columns, : self._rows].T

    def _begin(self, first: int, rows: int, columns: int) -> None:
        large = min(MOST_IN_MEMORY, host.total_memory() // 4)
        try:
            self._segments.append(_Segment(first, mapped.new_array((columns, rows), np.float32, large)))
        except (InputError, MemoryError) as error:
            size, why = 4 * rows * columns / 1e9, "more than the free memory"
            why = str(error) if isinstance(error, InputError) else why
            raise InputError(f"about {rows:,} documents with {columns:,} features need {size:,.3g} GB: {why}") from None
        if self._omitted != 0:
            self._segments[-1].columns[:] = self._omitted


@kernel
def transpose(block, columns, first):
    """Copy ``block[row, column]`` to ``columns[column, first + row]``, without surplus columns of the block.

    Four columns are written at a time, because they fit into the processor's cache.
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
