"""Read feature files: `load_dataset` is the entry point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ltr_duel.core import InputError, as_path, checked_jobs
from ltr_duel.data.dataset import Dataset
from ltr_duel.data.store.convert import find_converted
from ltr_duel.data.store.converted import is_converted, open_converted, open_parts
from ltr_duel.data.store.folders import default_name, feature_files
from ltr_duel.data.text.chunks import FileDigest, estimate_text_bytes
from ltr_duel.data.text.feature_buffers import MemoryBuffer
from ltr_duel.data.text.options import ReadOptions
from ltr_duel.data.text.reading import Naming, read_files


def load_dataset(
    path: str | Path,
    *,
    name: str | None = None,
    split: str | None = None,
    fold: int | None = None,
    grades: int | None = None,
    feature_names: Sequence[str] | None = None,
    jobs: int = -1,
    dialect: str | None = None,
    features: int | None = None,
    fill: float | str | None = None,
    labels: str = "grades",
    unlabelled: str = "refuse",
) -> Dataset:
    """Read a corpus from a feature file or from a folder of them.

    Parameters
    ----------
    path : str or Path
        A file, plain or gzipped; a folder with some of the parts train, vali and test, which are joined in this
        order (a query must not be in two of them); or a folder with Fold1 to Fold5, which is read as the five test
        parts, each document once; or a folder made by ``ltr-duel data convert``. What has been converted before,
        and whose files have not changed since, is opened instead of being read.
    name : str, optional
        What plots and reports call the corpus; default: from the path.
    split : {"train", "vali", "test"}, optional
        Read only this part of a folder.
    fold : int, optional
        Of a folder with five folds: this one.
    grades : int, optional
        Number of relevance grades; default: the next usual number (2, 3, 5) above the highest grade seen.
    feature_names : sequence of str, optional
        One for each column; default: known ones where the corpus is recognised, else ``"1"``, ``"2"``, ...
    jobs : int
        Threads, -1 for all cores; the result does not depend on it.
    dialect, features, fill, labels, unlabelled
        See `ReadOptions`.

    Returns
    -------
    Dataset
        Its ``features`` are exactly ``float32(float(text))``; what a line leaves out is 0.

    Raises
    ------
    InputError
        If something is missing or breaks the format; the sentence names file, line and column.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", prefix="corpus", suffix=".txt") as file:
    ...     for line in ("1 qid:7 1:0.5 2:3", "0 qid:7 2:1"):
    ...         print(line, file=file, flush=True)
    ...     corpus = load_dataset(file.name, name="tiny")
    >>> corpus
    <Dataset tiny: 1 queries, 2 documents, 2 features, grades 0..1>
    >>> corpus.features.tolist()
    [[0.5, 3.0], [0.0, 1.0]]
    """
    path = as_path("a corpus", path)
    options = ReadOptions(dialect, features, fill, labels, unlabelled)
    if is_converted(path):
        if split or fold:
            raise InputError(f"{path}: this is a converted corpus; give the path of its text to choose a split or fold")
        return _renamed(open_converted(path), name, grades, feature_names)
    name = name or default_name(path, split, fold)
    files = feature_files(path, split, fold)
    if converted := find_converted(path, options, split, fold):
        return _renamed(open_converted(converted), name, grades, feature_names)
    if (split or fold) and labels != "distinct" and (whole := find_converted(path, options)):
        return _renamed(open_parts(whole, files, name), name, grades, feature_names)
    naming = Naming(name, grades, feature_names)
    workers = checked_jobs(jobs)
    with FileDigest(workers) as digest:
        return read_files(files, options, MemoryBuffer(estimate_text_bytes(files)), naming, digest, workers)[0]


def _renamed(dataset: Dataset, name: str | None, grades: int | None, feature_names: Sequence[str] | None) -> Dataset:
    return replace(
        dataset,
        name=name or dataset.name,
        grades=grades or dataset.grades,
        feature_names=tuple(feature_names) if feature_names else dataset.feature_names,
    )
