"""Write a corpus as feature text that reads back as the same numbers."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import replacing
from ltr_duel.data.dataset import Dataset
from ltr_duel.data.text import printing

_CHUNK_BYTES = 4 * 2**20


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
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary, temporary.open("wb") as raw:
        if path.suffix == ".gz":
            with gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0) as out:
                _write(dataset, out, sparse)
        else:
            _write(dataset, raw, sparse)
    return path


def _write(dataset: Dataset, out: SupportsWrite, sparse: bool) -> None:
    rows = max(1, _CHUNK_BYTES // (dataset.n_features * printing.MOST_BYTES))
    for first in range(0, dataset.n_docs, rows):
        for text in _lines(dataset, first, min(first + rows, dataset.n_docs), sparse):
            out.write(text)


def _lines(dataset: Dataset, first: int, last: int, sparse: bool) -> Iterator[memoryview | bytes]:
    """Yield the text of some rows."""
    query = np.searchsorted(dataset.query_ptr, np.arange(first, last), side="right") - 1
    grades = dataset.relevance[first:last].tolist()
    heads = [f"{g} qid:{q}".encode() for g, q in zip(grades, dataset.query_ids[query].tolist(), strict=True)]
    tails = [b""] * (last - first)
    if dataset.comments is not None:
        tails = [f" #{c}".encode() if c else b"" for c in dataset.comments[first:last].tolist()]
    elif dataset.doc_ids is not None:
        tails = [f" #docid = {d}".encode() if d else b"" for d in dataset.doc_ids[first:last].tolist()]
    size = (last - first) * (dataset.n_features * printing.MOST_BYTES + 1)
    out = np.empty(size + sum(map(len, heads)) + sum(map(len, tails)), dtype=np.uint8)
    start = first
    while start < last:
        skip = start - first
        written = printing.print_rows(
            dataset.features, start, last, *_joined(heads[skip:]), *_joined(tails[skip:]), sparse, out
        )
        if written >= 0:
            yield out[:written].data
            return
        row = -1 - written  # Python prints this one, the kernel what stands before and behind it
        if row > start:
            yield from _lines(dataset, start, row, sparse)
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
