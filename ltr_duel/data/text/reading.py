"""From files to a corpus: the steps that reading into memory and converting on disk share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError
from ltr_duel.data.dataset import Dataset
from ltr_duel.data.store.file_digest import FileDigest
from ltr_duel.data.text.assembly import Assembly
from ltr_duel.data.text.dialects import Dialect, dialect_named, read_sidecar, recognise_dialect
from ltr_duel.data.text.feature_buffers import Sink
from ltr_duel.data.text.fill import OHSUMED_ZERO, fill_missing
from ltr_duel.data.text.labels import as_grades, usual_grades
from ltr_duel.data.text.options import ReadOptions
from ltr_duel.data.text.parse import Rules
from ltr_duel.data.text.pipeline import parse_file
from ltr_duel.data.text.recognise import is_ohsumed, known_names
from ltr_duel.data.text.scan import IN_SIDECAR


class Naming(NamedTuple):
    """What a corpus is called, where the user or the catalogue says so."""

    name: str
    grades: int | None = None
    feature_names: Sequence[str] | None = None
    corpus: str | None = None  # name in the catalogue


def read_files(
    files: Sequence[Path],
    options: ReadOptions,
    sink: Sink,
    naming: Naming,
    digest: FileDigest,
    jobs: int,
    chunk_bytes: int = 0,
) -> tuple[Dataset, Assembly]:
    """Read files, one after the other, as one corpus.

    Parameters
    ----------
    files : sequence of Path
        In the order of the corpus; the first one shows the dialect, if none is named.
    options : ReadOptions
        What the user decided.
    sink : Sink
        Where the features go.
    naming : Naming
        Name, grades and names of features.
    digest : FileDigest
        Fed with all bytes of the files.
    jobs : int
        Threads; the result does not depend on it.
    chunk_bytes : int
        Text to take at a time; 0: the usual.

    Returns
    -------
    Dataset
        Its features are the sink's matrix.
    Assembly
        For what else it knows of the files.

    Raises
    ------
    InputError
        If something breaks the format; the sentence names file, line and column.
    """
    dialect = dialect_named(options.dialect) if options.dialect else recognise_dialect(files[0])
    declared = options.features or dialect.features
    rules = Rules(dialect.place, options.fill is not None, declared)
    assembly = Assembly(options, sink)
    for file in files:
        assembly.start_file(file, read_sidecar(file) if dialect.place == IN_SIDECAR else None)
        guess = assembly.width
        parse_file(file, rules, assembly.add, jobs=jobs, columns=guess, digest=digest, chunk_bytes=chunk_bytes)
        assembly.end_file()
        digest.end_file()
    columns = declared or assembly.width
    if columns == 0:
        raise InputError(f"{files[0]}: no line has a feature; a line is '0 qid:1 1:0.5 2:3'")
    return _finished(assembly, sink.matrix(columns), dialect, options, naming, digest), assembly


def _finished(
    assembly: Assembly,
    matrix: NDArray[np.float32],
    dialect: Dialect,
    options: ReadOptions,
    naming: Naming,
    digest: FileDigest,
) -> Dataset:
    query_ptr = np.array([*assembly.query_starts, assembly.rows], dtype=np.int64)
    documents = assembly.documents()
    first = str(documents[0]) if documents is not None else ""
    fill_missing(
        matrix,
        query_ptr,
        options.fill,
        zero_columns=OHSUMED_ZERO if is_ohsumed(matrix.shape[1], first) else frozenset(),
        lower_is_better=dialect.lower_is_better,
    )
    relevance = as_grades(assembly.labels(), options)
    return Dataset(
        features=matrix,
        relevance=relevance,
        query_ptr=query_ptr,
        query_ids=assembly.query_ids(),
        doc_ids=documents,
        name=naming.name,
        grades=naming.grades or usual_grades(int(relevance.max())),
        sha256=digest.hexdigest(),
        feature_names=tuple(naming.feature_names) if naming.feature_names else known_names(matrix, first),
        lower_is_better=dialect.lower_is_better,
        comments=assembly.comments(),
    )
