"""Parsed chunks, in their order, become one corpus; checks what only the whole file can show."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError
from ltr_duel.data.text import scan
from ltr_duel.data.text.feature_buffers import Copy, Sink, nothing_to_copy
from ltr_duel.data.text.labels import check_labels
from ltr_duel.data.text.options import ReadOptions
from ltr_duel.data.text.parse import Parsed
from ltr_duel.data.text.parse_errors import complaint


class Assembly:
    """Collects the chunks of one file after the other.

    Parameters
    ----------
    options : ReadOptions
        What the user decided.
    sink : Sink
        Where the features go.
    """

    def __init__(self, options: ReadOptions, sink: Sink) -> None:
        self.width = 0
        self.rows = 0
        self.query_starts: list[int] = []
        self.part_starts: list[int] = []  # first query of each file
        self._queries: dict[bytes, str] = {}  # query -> where it starts
        self._options = options
        self._sink = sink
        self._labels: list[NDArray[np.float32]] = []
        self._comments: list[NDArray[np.bytes_]] = []
        self._documents: list[NDArray[np.bytes_]] = []
        self._file = Path()
        self._lines = 0
        self._last_query: bytes | None = None
        self._last_shape: tuple[int, bool] | None = None
        self._sizes: list[int] | None = None
        self._rows_before_file = 0

    def start_file(self, file: Path, sizes: list[int] | None = None) -> None:
        """Say which file the next chunks come from, and the sizes of its queries if they are not on its lines."""
        self._file = file
        self._sizes = sizes
        self._lines = 0
        self._last_query = None
        self._last_shape = None
        self._rows_before_file = self.rows
        self.part_starts.append(len(self.query_starts))

    def add(self, parsed: Parsed) -> Copy:
        """Take the next chunk, and return what copies its features to their place; see `Sink.put`.

        Raises
        ------
        InputError
            If the scanner stopped in it, or a query, a label or the last line is wrong.
        """
        check_labels(parsed, self._options, self._file, self._lines)
        if self._sizes is None:
            self._add_queries(parsed)
        if parsed.state[0] != scan.DONE:
            raise complaint(self._file, parsed.text, self._lines, parsed.state)
        rows, copy = len(parsed.labels), nothing_to_copy
        if rows:
            if not parsed.finished and _shape(parsed) != self._last_shape:
                raise self._cut(parsed)
            self._last_shape = _shape(parsed)
            self._labels.append(parsed.labels)
            nothing = np.zeros(rows, dtype="S1")
            self._comments.append(nothing if parsed.comments is None else parsed.comments)
            self._documents.append(nothing if parsed.documents is None else parsed.documents)
            copy = self._sink.put(parsed.features, len(parsed.text))
        self.width = max(self.width, parsed.width)
        self.rows += rows
        self._lines += parsed.lines
        return copy

    def end_file(self) -> None:
        """Check that the file held anything, and give the sizes of its queries their place."""
        rows = self.rows - self._rows_before_file
        if rows == 0:
            raise InputError(f"{self._file}: there is no document in it, only empty lines or comments")
        if self._sizes is None:
            return
        if sum(self._sizes) != rows:
            raise InputError(
                f"{self._file}: {rows:,} documents, but the sizes in its .query file add up to {sum(self._sizes):,}"
            )
        starts = self._rows_before_file + np.cumsum([0, *self._sizes[:-1]])
        for start in starts.tolist():
            self._queries[str(len(self._queries) + 1).encode()] = str(self._file)
            self.query_starts.append(start)

    def labels(self) -> NDArray[np.float32]:
        """All labels, shape (rows,)."""
        return np.concatenate(self._labels)

    def query_ids(self) -> NDArray[np.str_]:
        """All queries in order, shape (queries,)."""
        return decoded(np.array(list(self._queries)))

    def comments(self) -> NDArray[np.str_] | None:
        """All comments, shape (rows,), or None if there is none."""
        return _text_or_none(self._comments)

    def documents(self) -> NDArray[np.str_] | None:
        """All document ids, shape (rows,), or None if there is none."""
        return _text_or_none(self._documents)

    def _add_queries(self, parsed: Parsed) -> None:
        for row in np.flatnonzero(parsed.new).tolist():
            query = parsed.query(row)
            if query == self._last_query:
                continue
            where = f"{self._file}:{self._lines + int(parsed.spans[row, scan.NUMBER])}"
            if query in self._queries:
                raise InputError(
                    f"{where}: query '{query.decode('utf-8', 'replace')}' comes back, it began at"
                    f" {self._queries[query]}; the lines of a query must stand together, in one part"
                )
            self._queries[query] = where
            self.query_starts.append(self.rows + row)
            self._last_query = query

    def _cut(self, parsed: Parsed) -> InputError:
        return InputError(
            f"{self._file}:{self._lines + parsed.lines}: the last line has no line end and is not as long as the"
            " line before, so the file may be cut; get it again, or end the line if it is complete"
        )


def _shape(parsed: Parsed) -> tuple[int, bool]:
    """Return what the last line looks like: its last feature id, and whether it has a comment."""
    last = parsed.spans[-1]
    return int(last[scan.LAST_ID]), bool(last[scan.COMMENT_END] > last[scan.COMMENT])


def _text_or_none(pieces: list[NDArray[np.bytes_]]) -> NDArray[np.str_] | None:
    words = np.concatenate(pieces)
    return decoded(words) if np.any(words != b"") else None


def decoded(words: NDArray[np.bytes_]) -> NDArray[np.str_]:
    """Decode UTF-8, or Latin-1 where it is not."""
    try:
        return np.char.decode(words, "utf-8")
    except UnicodeDecodeError:
        return np.char.decode(words, "latin-1")
