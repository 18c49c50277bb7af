"""Read feature files as one corpus: join the parsed chunks of text, and check the rules that concern whole files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError, handed_over, texts
from ltr_duel.data.dataset import Dataset
from ltr_duel.data.feature_names import OHSUMED_WITHOUT_MINIMUM, is_ohsumed, known_names
from ltr_duel.data.text import scan
from ltr_duel.data.text.chunks import estimate_lines
from ltr_duel.data.text.dialects import Dialect, dialect_named, read_sidecar, recognise_dialect
from ltr_duel.data.text.matrix import Copy, Matrix
from ltr_duel.data.text.options import ReadOptions
from ltr_duel.data.text.parse import Parsed, Rules
from ltr_duel.data.text.parse_errors import parse_error, printable
from ltr_duel.data.text.pipeline import parse_file
from ltr_duel.data.text.values import as_grades, fill_missing, require_labels, usual_grades, warn_of_clipped


def read_files(files: Sequence[Path], options: ReadOptions, jobs: int, name: str) -> Dataset:
    """Read feature files as one corpus. If the options do not name the dialect, the first file determines it."""
    dialect = dialect_named(options.dialect) if options.dialect else recognise_dialect(files[0])
    if dialect.lower_is_better and options.fill == "min":
        raise InputError(
            "NULL in a rank list marks a document that was not retrieved; fill it with 'last', not with 'min'"
        )
    declared = options.features or dialect.features
    omitted = np.nan if options.omitted == "missing" else 0.0
    rules = Rules(scan.Grammar(dialect.query, options.fill is not None, options.first_id, omitted), declared)
    corpus = _Corpus(options, Matrix(estimate_lines(files), omitted))
    for file in files:
        corpus.start_file(file, read_sidecar(file) if dialect.query == scan.IN_SIDECAR else None)
        parse_file(file, rules, corpus.add, jobs=jobs, columns=corpus.width)
        corpus.end_file()
    columns = declared or corpus.width
    if columns == 0:
        raise InputError(f"{files[0]}: no line has a feature; a line is '0 qid:1 1:0.5 2:3'")
    return corpus.dataset(columns, dialect, name)


class _Corpus:
    """A corpus to which chunks of text are added, file by file."""

    def __init__(self, options: ReadOptions, matrix: Matrix) -> None:
        self.width = 0  # number of columns
        self._options = options
        self._matrix = matrix
        self._rows = self._values = self._clipped = 0
        self._query_starts: list[int] = []
        self._queries: dict[bytes, str] = {}  # query -> its first line
        self._labels: list[NDArray[np.float32]] = []
        self._documents: list[NDArray[np.bytes_]] = []

    def start_file(self, file: Path, sizes: list[int] | None) -> None:
        """Begin a file. If its lines do not name their query, ``sizes`` has the number of documents of each query."""
        self._file = file
        self._sizes = sizes
        self._lines = 0
        self._last_query: bytes | None = None
        self._first_row = self._rows

    def add(self, parsed: Parsed) -> Copy:
        """Add the next chunk. The returned function copies the features of the chunk, and any thread may call it."""
        require_labels(parsed.labels, self._options, lambda row: f"{self._line(parsed.lines[row].number)}:1")
        if self._sizes is None:
            self._add_queries(parsed)
        state = parsed.state
        if state.code != scan.DONE:
            raise parse_error(self._file, parsed.text, self._lines, state, self._options.first_id)
        self.width = max(self.width, parsed.width)
        self._values += int(state.values)
        self._clipped += int(state.clipped)
        self._lines += int(state.lines)
        if not len(parsed.labels):
            return lambda: None
        self._rows += len(parsed.labels)
        self._labels.append(parsed.labels)
        self._documents.append(parsed.documents)
        return self._matrix.put(parsed.features)

    def _add_queries(self, parsed: Parsed) -> None:
        for row, number, query in parsed.queries():
            if query == self._last_query:
                continue
            line, text = self._line(number), texts.decoded(query)
            if start := self._queries.get(query):
                advice = "a query must be in one part; if ids start again in each part, read one part (--split train)"
                if start.startswith(f"{self._file}:"):
                    advice = "the lines of a query must be adjacent"
                raise InputError(f"{line}: query '{printable(query)}' appears again, it began at {start}; {advice}")
            if not text.isascii() and any(map(str.isspace, text)):
                raise InputError(f"{line}: 'qid:{printable(query)}' contains a blank that is no space or tab")
            self._queries[query] = line
            self._query_starts.append(self._rows + row)
            self._last_query = query

    def end_file(self) -> None:
        """Check that the file contained documents, and add its queries if its lines do not name them."""
        rows = self._rows - self._first_row
        if rows == 0:
            raise InputError(f"{self._file}: the file has no document, only empty lines or comments")
        if self._sizes is None:
            return
        if sum(self._sizes) != rows:
            total = f"the sizes of its queries in the file beside it add up to {sum(self._sizes):,}"
            raise InputError(f"{self._file}: {rows:,} documents, but {total}")
        for start in (self._first_row + np.cumsum([0, *self._sizes[:-1]])).tolist():
            self._queries[str(len(self._queries) + 1).encode()] = str(self._file)
            self._query_starts.append(start)

    def dataset(self, columns: int, dialect: Dialect, name: str) -> Dataset:
        """Return the corpus, after the last file."""
        matrix, options = self._matrix.features(columns), self._options
        query_ptr = np.array([*self._query_starts, self._rows], dtype=np.int64)
        words = np.concatenate(self._documents)
        documents = _decoded(words) if np.all(words != b"") else None
        first = "" if documents is None else str(documents[0])
        warn_of_clipped(name, self._clipped)
        zero_columns = OHSUMED_WITHOUT_MINIMUM if is_ohsumed(columns, first) else frozenset[int]()
        fill_missing(matrix, query_ptr, options.fill, zero_columns)
        relevance = as_grades(np.concatenate(self._labels), options)
        # Ids start at 1 in all corpora that `known_names` recognises.
        names = known_names(matrix, first) if options.first_id else tuple(map(str, range(columns)))
        return Dataset(
            features=handed_over(matrix),
            relevance=relevance,
            query_ptr=query_ptr,
            query_ids=_decoded(np.array(list(self._queries))),
            doc_ids=documents if documents is None else handed_over(documents),
            name=name,
            grades=usual_grades(int(relevance.max())),
            sha256="",
            feature_names=names,
            lower_is_better=dialect.lower_is_better,
            omits=options.omitted is None and self._values < matrix.size,
        )

    def _line(self, number: int) -> str:
        return f"{self._file}:{self._lines + number}"


def _decoded(words: NDArray[np.bytes_]) -> NDArray[np.str_]:
    """Decode each word as UTF-8, or as Latin-1 if it is not UTF-8."""
    try:
        return np.char.decode(words, "utf-8")
    except UnicodeDecodeError:
        return np.array([texts.decoded(word) for word in words.tolist()])
