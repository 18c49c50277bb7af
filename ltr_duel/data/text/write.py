"""Write a corpus as feature text. Each number has as few digits as possible without a loss of precision."""

from __future__ import annotations

import gzip
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ltr_duel.core import arguments, files
from ltr_duel.data.dataset import Dataset

_CHUNK = 2**17  # values per block of rows


def write_svmlight(dataset: Dataset, path: str | Path, *, sparse: bool = False) -> Path:
    """Write a corpus as a text file with a line ``<grade> qid:<query> <id>:<value> ... # comment`` for each document.

    If documents have ids, the comment is ``docid = <id>``. The names of features are not written.

    Parameters
    ----------
    dataset : Dataset
        The corpus. NaN is written as ``NULL``.
    path : str or Path
        The file to write. It appears only when it is complete. It is gzipped if its name ends with ``.gz``.
    sparse : bool
        Whether to leave out values that are 0. By default, they are written. XGBoost reads a written 0 as 0, but an
        omitted feature as missing.

    Returns
    -------
    Path

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
    arguments.require_type("the corpus", dataset, Dataset)
    path = Path(path)
    rows = max(1, _CHUNK // dataset.n_features)
    with files.replacing(path) as temporary, temporary.open("wb") as raw:
        is_gz = path.suffix == ".gz"
        with gzip.GzipFile("", "wb", 6, raw, mtime=0) if is_gz else nullcontext(raw) as out:
            for first in range(0, dataset.n_docs, rows):
                out.write(_lines(dataset, slice(first, min(first + rows, dataset.n_docs)), sparse))
    return path


def _lines(dataset: Dataset, rows: slice, sparse: bool) -> memoryview:
    values = np.ascontiguousarray(dataset.features[rows])
    written = values != 0 if sparse else np.ones_like(values, np.bool_)
    column = np.nonzero(written)[1]
    names = pa.array([f" {number}:" for number in range(1, dataset.n_features + 1)])
    numbers = pc.fill_null(pa.array(values[written], from_pandas=True).cast(pa.string()), "NULL")
    words = pc.binary_join_element_wise(names.take(pa.array(column)), numbers, "")
    ends = np.concatenate([[0], np.cumsum(written.sum(axis=1))]).astype(np.int32)
    query = np.searchsorted(dataset.query_ptr, np.arange(rows.start, rows.stop), side="right") - 1
    grades = dataset.relevance[rows].tolist()
    heads = [f"{g} qid:{q}" for g, q in zip(grades, dataset.query_ids[query].tolist(), strict=True)]
    tails = ["\n"] * len(values)
    if dataset.doc_ids is not None:
        tails = [f" #docid = {d}\n" if d else "\n" for d in dataset.doc_ids[rows].tolist()]
    features = pc.binary_join(pa.ListArray.from_arrays(pa.array(ends), words), "")
    lines = pc.binary_join_element_wise(pa.array(heads), features, pa.array(tails), "")
    begin, *_, end = np.frombuffer(lines.buffers()[1], np.int32)[: len(values) + 1]
    return memoryview(lines.buffers()[2])[begin:end]
