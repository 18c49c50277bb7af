"""Read files into a corpus: the steps shared by reading into memory and conversion on disk."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError, handed_over, several, texts
from ltr_duel.data.dataset import Dataset
from ltr_duel.data.feature_names import OHSUMED_WITHOUT_MINIMUM, is_ohsumed, known_names
from ltr_duel.data.text import scan
from ltr_duel.data.text.dialects import Dialect, dialect_named, read_sidecar, recognise_dialect, sidecar_of
from ltr_duel.data.text.feature_buffers import Copy, FeatureBuffer, nothing_to_copy
from ltr_duel.data.text.options import ReadOptions
from ltr_duel.data.text.parse import Parsed, Rules
from ltr_duel.data.text.parse_errors import parse_error, readable, strange_blank
from ltr_duel.data.text.pipeline import parse_file
from ltr_duel.data.text.values import as_grades, check_labels, fill_missing, usual_grades

NUMBERS = 2  # version; increase it when the code begins to read different numbers from the same text and options


class Naming(NamedTuple):
    """The name and related facts of a corpus, as set by the user or by its declaration.

    Examples
    --------
    >>> Naming("MQ2008, fold 1", grades=3).corpus is None
    True
    """

    name: str  # for plots and reports
    grades: int | None = None
    feature_names: Sequence[str] | None = None  # one name for each column
    corpus: str | None = None  # its name in CORPORA


class ReadWarning(UserWarning):
    """A note about numbers that were changed while text was read."""


class Part(NamedTuple):
    """One file of a corpus."""

    first_query: int  # position of its first query in the corpus
    columns: int  # number of features if the file is read separately


def read_files(
    files: Sequence[Path],
    options: ReadOptions,
    buffer: FeatureBuffer,
    naming: Naming,
    jobs: int,
    chunk_bytes: int = 0,
) -> tuple[Dataset, list[Part]]:
    """Read files, one after the other, as one corpus. By default, the first file determines the dialect.

    Returns the corpus, whose features are the buffer's matrix, and a `Part` for each file.
    """
    dialect = dialect_named(options.dialect) if options.dialect else recognise_dialect(files[0])
    declared = options.features or dialect.features
    grammar = scan.Grammar(
        dialect.place,
        options.fill is not None,
        options.first_id,
        options.repeated == "last",
        np.nan if options.omitted == "missing" else 0.0,
    )
    rules = Rules(grammar, declared, options.limit_bytes)
    assembly = _Assembly(options, buffer)
    for file in files:
        assembly.start_file(file, read_sidecar(file) if dialect.place == scan.IN_SIDECAR else None)
        columns = assembly.width  # an estimate
        parse_file(file, rules, assembly.add, jobs=jobs, columns=columns, chunk_bytes=chunk_bytes)
        assembly.end_file(declared)
    columns = declared or assembly.width
    if columns == 0:
        raise InputError(f"{files[0]}: no line has a feature; a line is '0 qid:1 1:0.5 2:3'")
    return assembly.dataset(buffer.matrix(columns), dialect, naming), assembly.parts


class _Assembly:
    """Joins parsed chunks, in order, into one corpus, and performs the checks that require the whole file."""

    def __init__(self, options: ReadOptions, buffer: FeatureBuffer) -> None:
        self.width = 0
        self.parts: list[Part] = []
        self._rows = self._values = self._zeros = 0
        self._widths: list[tuple[int, int]] = []  # rows and columns of each block
        self._query_starts: list[int] = []
        self._queries: dict[bytes, str] = {}  # query -> its first line
        self._options = options
        self._buffer = buffer
        self._labels: list[NDArray[np.float32]] = []
        self._clipped = 0
        self._comments: list[NDArray[np.bytes_]] = []
        self._documents: list[NDArray[np.bytes_]] = []

    def start_file(self, file: Path, sizes: list[int] | None = None) -> None:
        """Begin a file; ``sizes`` are the sizes of its queries, given if the lines do not name their query."""
        self._file = file
        self._sizes = sizes
        self._lines = 0
        self._file_width = 0
        self._queries_before_file = len(self._query_starts)
        self._last_query: bytes | None = None
        self._last_shape: tuple[int, bool] | None = None
        self._rows_before_file = self._rows

    def add(self, parsed: Parsed) -> Copy:
        """Add the next chunk; return a function that copies its features (see `FeatureBuffer.put`)."""
        check_labels(parsed, self._options, self._file, self._lines)
        if self._sizes is None:
            self._add_queries(parsed)
        state = parsed.state
        if state.code != scan.DONE:
            raise parse_error(self._file, parsed.text, self._lines, state, self._options.first_id)
        rows, copy = len(parsed.labels), nothing_to_copy
        if rows:
            last = parsed.lines[-1]
            shape = int(last.width), bool(last.comment_end > last.comment)
            if not parsed.finished and shape != self._last_shape:
                raise InputError(
                    f"{self._file}:{self._lines + state.lines}: the last line has no line end and is not as long as the"
                    " line before, so the file may be cut; get it again, or end the line if it is complete"
                )
            self._last_shape = shape
            self._labels.append(parsed.labels)
            nothing = np.zeros(rows, dtype="S1")
            self._comments.append(nothing if parsed.comments is None else parsed.comments)
            self._documents.append(nothing if parsed.documents is None else parsed.documents)
            copy = self._buffer.put(parsed.features, len(parsed.text))
            self._widths.append(parsed.features.shape)
            self._values += int(state.values)
            self._zeros += int(state.zeros)
        self._file_width = max(self._file_width, parsed.width)
        self.width = max(self.width, parsed.width)
        self._rows += rows
        self._clipped += int(state.clipped)
        self._lines += int(state.lines)
        return copy

    def end_file(self, declared: int | None) -> None:
        """Check that the file contained documents, and add its queries if their sizes are in a separate file."""
        rows = self._rows - self._rows_before_file
        if rows == 0:
            raise InputError(f"{self._file}: the file has no document, only empty lines or comments")
        self.parts.append(Part(self._queries_before_file, declared or self._file_width))
        if self._sizes is None:
            return
        if sum(self._sizes) != rows:
            sidecar = sidecar_of(self._file)
            raise InputError(
                f"{self._file}: {rows:,} documents, but the sizes in {sidecar} add up to {sum(self._sizes):,}"
            )
        starts = self._rows_before_file + np.cumsum([0, *self._sizes[:-1]])
        for start in starts.tolist():
            self._queries[str(len(self._queries) + 1).encode()] = str(self._file)
            self._query_starts.append(start)

    def dataset(self, matrix: NDArray[np.float32], dialect: Dialect, naming: Naming) -> Dataset:
        """Return the corpus; called after the last file."""
        query_ptr = np.array([*self._query_starts, self._rows], dtype=np.int64)
        documents, comments = _text_or_none(self._documents), _text_or_none(self._comments)
        first = str(documents[0]) if documents is not None else ""
        if documents is None and comments is not None:
            documents = first_words(comments, query_ptr)
        if self._clipped:
            what = several(self._clipped, "value")
            warnings.warn(
                f"{naming.name}: {what} beyond the range of float32, clipped to 3.4028235e38", ReadWarning, stacklevel=2
            )
        omitted = ""
        if self._options.omitted == "missing":
            self._mark_omitted(matrix)
        elif self._options.omitted is None and self._values < matrix.size:
            filled = self._options.fill not in (None, "nan")
            omitted = "some zeros" if self._zeros or filled else "all zeros"
        fill_missing(
            matrix,
            query_ptr,
            self._options.fill,
            zero_columns=OHSUMED_WITHOUT_MINIMUM if is_ohsumed(matrix.shape[1], first) else frozenset(),
            lower_is_better=dialect.lower_is_better,
        )
        relevance = as_grades(np.concatenate(self._labels), self._options)
        return Dataset(
            features=handed_over(matrix),
            relevance=relevance,
            query_ptr=query_ptr,
            query_ids=_decoded(np.array(list(self._queries))),
            doc_ids=documents if documents is None else handed_over(documents),
            name=naming.name,
            grades=naming.grades or usual_grades(int(relevance.max())),
            sha256="",
            feature_names=tuple(naming.feature_names or column_names(matrix, first, self._options.first_id)),
            lower_is_better=dialect.lower_is_better,
            comments=comments,
            omitted=omitted,
        )

    def _mark_omitted(self, matrix: NDArray[np.float32]) -> None:
        """Set the columns that a block does not have to NaN; the scanner did so in the block's own columns."""
        first = 0
        for rows, columns in self._widths:
            matrix[first : first + rows, columns:] = np.nan
            first += rows

    def _again(self, query: str, where: str, began: str) -> InputError:
        """Return the error for a query that has appeared before."""
        if began.startswith(f"{self._file}:"):
            advice = "the lines of a query must be adjacent"
        else:
            advice = "a query must be in one part; if ids start again in each part, read one part (--split train)"
        return InputError(f"{where}: query '{query}' appears again, it began at {began}; {advice}")

    def _add_queries(self, parsed: Parsed) -> None:
        for row, number, query in parsed.queries():
            if query == self._last_query:
                continue
            where = f"{self._file}:{self._lines + number}"
            if query in self._queries:
                raise self._again(readable(query), where, self._queries[query])
            if blank := strange_blank(query):
                raise InputError(
                    f"{where}: {blank} in 'qid:{readable(query)}' is not a separator; use a space or a tab"
                )
            self._queries[query] = where
            self._query_starts.append(self._rows + row)
            self._last_query = query


def first_words(comments: NDArray[np.str_], query_ptr: NDArray[np.int64]) -> NDArray[np.str_] | None:
    """Return the first word of each comment, shape (n_docs,), if these words can be ids of documents, as in RankLib.

    They can if each document has one, no two documents of a query have the same, and a query has several documents.
    """
    words = [(comment.split(None, 1) or [""])[0] for comment in comments.tolist()]
    queries = np.repeat(np.arange(len(query_ptr) - 1), np.diff(query_ptr)).tolist()
    different = len(set(zip(queries, words, strict=True))) == len(words)
    return np.array(words) if all(words) and different and len(words) > len(query_ptr) - 1 else None


def column_names(features: NDArray[np.float32], first_document: str, first_id: int) -> Sequence[str]:
    """Return default names of the columns of a corpus."""
    if first_id == 0:  # ids start at 1 in all corpora that `known_names` recognises
        return [str(column) for column in range(features.shape[1])]
    return known_names(features, first_document)


def _text_or_none(pieces: list[NDArray[np.bytes_]]) -> NDArray[np.str_] | None:
    words = np.concatenate(pieces)
    return _decoded(words) if np.any(words != b"") else None


def _decoded(words: NDArray[np.bytes_]) -> NDArray[np.str_]:
    """Decode each word as UTF-8, or as Latin-1 if it is not UTF-8."""
    try:
        return np.char.decode(words, "utf-8")
    except UnicodeDecodeError:
        return np.array([texts.decoded(word) for word in words.tolist()])
