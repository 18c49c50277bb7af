"""Write a corpus as feature text that reads back as the same numbers, each with as few decimals as possible."""

from __future__ import annotations

import gzip
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError, as_writable, errors, files, kernel
from ltr_duel.data.dataset import Dataset
from ltr_duel.data.text.tokens import COLON, LINE_FEED, MINUS, NULL, POINT, POWERS, SPACE, ZERO, ZERO_POWER

_CHUNK_BYTES = 4 * 2**20
_MOST_BYTES = 40  # of " <id>:<value>"
_LARGEST_EXACT = 2.0**53
_MOST_DECIMALS = 22  # beyond it a power of ten is not exact in a double
_WRITTEN_OUT = 9  # more decimals than this are written as an exponent
_UNPRINTED = -1  # in place of a position: the number is beyond what the kernel can print
_E = ord("e")


class SupportsWrite(Protocol):
    """A plain or a gzipped file."""

    def write(self, data: memoryview | bytes, /) -> object:
        """Write some bytes."""


def write_svmlight(dataset: Dataset, path: str | Path, *, sparse: bool = False) -> Path:
    """Write ``<grade> qid:<query> <id>:<value> ... # comment`` for each document.

    The comment is the one that was read, or ``docid = <id>`` where only ids are known.

    Parameters
    ----------
    dataset : Dataset
        What to write. NaN is written as ``NULL``.
    path : str or Path
        The file; it appears when it is complete. Gzipped if the name ends in ``.gz``.
    sparse : bool
        Leave out values that are 0.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    InputError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from ltr_duel.data import load_dataset, make_corpus
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = write_svmlight(make_corpus(queries=2, documents=3, features=4), Path(folder) / "corpus.txt.gz")
    ...     load_dataset(file)
    <Dataset corpus: 2 queries, 7 documents, 4 features, grades 0..4>
    """
    if not isinstance(dataset, Dataset) or not isinstance(path, str | Path):
        raise InputError(f"a Dataset is written to a path, not {errors.shown(dataset)} to {errors.shown(path)}")
    path = Path(path)
    with files.replacing(path) as temporary, temporary.open("wb") as raw:
        if path.suffix == ".gz":
            with gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0) as out:
                _write(dataset, out, sparse)
        else:
            _write(dataset, raw, sparse)
    return path


def _write(dataset: Dataset, out: SupportsWrite, sparse: bool) -> None:
    rows = max(1, _CHUNK_BYTES // (dataset.n_features * _MOST_BYTES))
    for first in range(0, dataset.n_docs, rows):
        for text in _lines(dataset, first, min(first + rows, dataset.n_docs), sparse):
            out.write(text)


def _lines(dataset: Dataset, first: int, last: int, sparse: bool) -> Iterator[memoryview | bytes]:
    """Yield the text of some rows."""
    features = as_writable(dataset.features)
    query = np.searchsorted(dataset.query_ptr, np.arange(first, last), side="right") - 1
    grades = dataset.relevance[first:last].tolist()
    heads = [f"{g} qid:{q}".encode() for g, q in zip(grades, dataset.query_ids[query].tolist(), strict=True)]
    tails = [b""] * (last - first)
    if dataset.comments is not None:
        tails = [f" #{c}".encode() if c else b"" for c in dataset.comments[first:last].tolist()]
    elif dataset.doc_ids is not None:
        tails = [f" #docid = {d}".encode() if d else b"" for d in dataset.doc_ids[first:last].tolist()]
    size = (last - first) * (dataset.n_features * _MOST_BYTES + 1)
    out = np.empty(size + sum(map(len, heads)) + sum(map(len, tails)), dtype=np.uint8)
    start = first
    while start < last:
        skip = start - first
        at, row = print_rows(features, start, last, *_joined(heads[skip:]), *_joined(tails[skip:]), sparse, out)
        yield out[:at].data
        if row < last:  # Python prints this one
            yield heads[row - first] + _python_row(dataset.features[row], sparse) + tails[row - first] + b"\n"
        start = row + 1


def _joined(words: list[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the bytes of all words in one array, and where each ends."""
    return np.frombuffer(b"".join(words), dtype=np.uint8), np.cumsum([len(word) for word in words])


def _python_row(values: NDArray[np.float32], sparse: bool) -> bytes:
    """Return the text of one row by numpy's shortest printing that reads back."""
    words = [
        f" {i}:{'NULL' if np.isnan(value) else np.format_float_scientific(value, unique=True, trim='-')}"
        for i, value in enumerate(values, start=1)
        if not (sparse and value == 0)
    ]
    return "".join(words).encode()


@kernel
def print_rows(features, first, last, heads, head_ends, tails, tail_ends, sparse, out):
    """Write the lines of rows ``first:last``; return their length, and the row that could not be printed, or last."""
    at = 0
    head = 0
    tail = 0
    for row in range(first, last):
        start = at
        at, head = copy_up_to(heads, head, head_ends[row - first], out, at)
        for column in range(features.shape[1]):
            value = features[row, column]
            if not (sparse and value == 0):
                out[at] = SPACE
                at = print_integer(column + 1, out, at + 1)
                out[at] = COLON
                at = print_number(value, out, at + 1)
                if at == _UNPRINTED:
                    return start, row
        at, tail = copy_up_to(tails, tail, tail_ends[row - first], out, at)
        out[at] = LINE_FEED
        at += 1
    return at, last


@kernel
def copy_up_to(words, start, end, out, at):
    """Copy ``words[start:end]``; return the new positions in both."""
    for place in range(start, end):
        out[at] = words[place]
        at += 1
    return at, end


@kernel
def print_number(value, out, at):
    """Write one float32, NaN as ``NULL``; return the new position."""
    if value != value:
        for k in range(len(NULL)):
            out[at + k] = NULL[k]
        return at + len(NULL)
    if math.copysign(1.0, value) < 0:
        out[at] = MINUS
        at += 1
    size = abs(float(value))
    for decimals in range(_MOST_DECIMALS + 1):
        scaled = np.rint(size * POWERS[ZERO_POWER + decimals])
        if scaled >= _LARGEST_EXACT:
            return _UNPRINTED
        if np.float32(scaled / POWERS[ZERO_POWER + decimals]) == np.float32(size):
            return print_decimal(int(scaled), decimals, out, at)
    return _UNPRINTED


@kernel
def print_decimal(integer, decimals, out, at):
    """Write ``integer / 10**decimals``; return the new position."""
    if decimals > _WRITTEN_OUT:
        at = print_integer(integer, out, at)
        out[at] = _E
        out[at + 1] = MINUS
        return print_integer(decimals, out, at + 2)
    unit = 1
    for _ in range(decimals):
        unit *= 10
    at = print_integer(integer // unit, out, at)
    if decimals == 0:
        return at
    out[at] = POINT
    rest = integer % unit
    for place in range(decimals, 0, -1):
        out[at + place] = ZERO + rest % 10
        rest //= 10
    return at + decimals + 1


@kernel
def print_integer(integer, out, at):
    """Write an integer that is not negative; return the new position."""
    size = 1
    rest = integer // 10
    while rest > 0:
        size += 1
        rest //= 10
    rest = integer
    for place in range(size - 1, -1, -1):
        out[at + place] = ZERO + rest % 10
        rest //= 10
    return at + size
