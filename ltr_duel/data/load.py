"""Read a corpus from feature files, from a table, or from the cache."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ltr_duel.core import InputError, arguments, errors, parallel
from ltr_duel.data.cache import find_corpus, is_corpus, keep_corpus, limit, open_corpus, remove, text_key
from ltr_duel.data.dataset import Dataset
from ltr_duel.data.folders import default_name, feature_files
from ltr_duel.data.tables import is_table, read_table
from ltr_duel.data.text.assemble import read_files
from ltr_duel.data.text.dialects import dialect_named, recognise_dialect
from ltr_duel.data.text.options import ReadOptions
from ltr_duel.data.text.values import MOST_GRADES, usual_grades

KEPT_AFTER = 3.0  # a corpus that takes more seconds than this to read is stored in the cache


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
    first_id: int = 1,
    omitted: str | None = None,
    cache: bool = True,
) -> Dataset:
    """Read a corpus from a feature file, from a folder of feature files, or from a table.

    Parameters
    ----------
    path : str or Path
        The path of a feature file, of a table, or of a folder. Files may be compressed. A table is a file in Parquet,
        Arrow, CSV or TSV with the columns that `Dataset.from_frame` needs. If a folder has files for the parts train,
        vali and test, these parts are joined. If a folder has subfolders Fold1 to Fold5, the test parts of these
        subfolders are joined. The path may also be a folder of the cache.
    name : str, optional
        The name of the corpus in plots and reports. By default, the name is made from the path.
    split : {"train", "vali", "test"}, optional
        The part of the folder that you want to read.
    fold : int, optional
        The fold that you want to read, if the folder has five folds.
    grades : int, optional
        The number of relevance grades, 0 included. By default, it is the smallest of the numbers 2, 3 and 5 that is
        enough for the data. If 5 is too small, it is the highest grade plus 1.
    feature_names : sequence of str, optional
        The names of the features. By default, they are the names of a well-known corpus, or ``"1"``, ``"2"``, ...
    jobs : int
        The number of threads, or -1 for one thread on each core. The number does not change the corpus.
    dialect, features, fill, labels, unlabelled, first_id, omitted : optional
        Options that say how text is read. `ReadOptions` explains them.
    cache : bool
        Whether to use the cache, a folder in ``LTR_DUEL_HOME``. If a corpus takes more than 3 seconds to read, a copy
        is stored in the cache, and later calls open the copy.

    Returns
    -------
    Dataset
        The corpus, in which each feature is exactly ``float32(float(text))``. Numbers that are too large for float32
        become the largest float32.

    Raises
    ------
    InputError
        If a file is missing or is not in the format. The message names the file, the line and the column.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", prefix="corpus", suffix=".txt") as file:
    ...     print("1 qid:7 1:0.5 2:3", file=file)
    ...     print("0 qid:7 2:1", file=file, flush=True)
    ...     corpus = load_dataset(file.name, name="tiny")
    >>> corpus, corpus.features.tolist()
    (<Dataset tiny: 1 queries, 2 documents, 2 features, grades 0..1>, [[0.5, 3.0], [0.0, 1.0]])
    """
    if hasattr(path, "shape"):
        raise InputError(
            "load_dataset reads files; a data frame becomes a corpus with Dataset.from_frame(frame), arrays with"
            " Dataset.from_arrays(X, y, qid)"
        )
    path = arguments.as_path("a corpus", path)
    options = ReadOptions(dialect, features, fill, labels, unlabelled, first_id, omitted)
    grades = None if grades is None else errors.require_whole("the number of grades", grades, 1, MOST_GRADES)
    names = None if feature_names is None else tuple(arguments.as_names("the names of features", feature_names))
    workers = parallel.checked_jobs(jobs)
    if is_corpus(path):
        if options.chosen or split is not None or fold is not None:
            raise InputError(f"{path}: a folder of the cache is read as it is; for options, give the path of its text")
        dataset = open_corpus(path)
        name, grades = name or dataset.name, grades or dataset.grades
    else:
        files, name = feature_files(path, split, fold), name or default_name(path, split, fold)
        if len(files) == 1 and is_table(files[0]):
            dataset = read_table(files[0], options, name)
        elif cache:
            dataset = _open_or_read(files, options, workers, name, grades)
        else:
            dataset = read_files(files, options, workers, name)
        grades = grades or usual_grades(int(dataset.relevance.max()))
    if names is None or names == dataset.feature_names:
        return replace(dataset, name=name, grades=grades)
    return replace(dataset, name=name, grades=grades, feature_names=names, sha256="")


def format_of(path: Path, split: str | None = None, fold: int | None = None, dialect: str | None = None) -> str:
    """Name the format in which `load_dataset` reads a path."""
    if is_corpus(path):
        return "a folder of the cache"
    file = feature_files(path, split, fold)[0]
    if is_table(file):
        return "a table"
    chosen = dialect_named(dialect) if dialect else recognise_dialect(file)
    return f"{chosen.name} ({'as chosen' if dialect else 'recognised'}): {chosen.form}"


def _open_or_read(files: Sequence[Path], options: ReadOptions, jobs: int, name: str, grades: int | None) -> Dataset:
    try:
        key = text_key(files, options)
    except OSError:
        return read_files(files, options, jobs, name)  # which reports the file
    if folder := find_corpus(f"text-{key}"):
        with suppress(InputError):  # damaged, or another process has just removed it
            return open_corpus(folder)
        remove(folder)
    limit()  # refuse a wrong limit before the work
    began = time.monotonic()
    dataset = read_files(files, options, jobs, name)
    if time.monotonic() - began <= KEPT_AFTER:
        return dataset
    dataset = replace(dataset, grades=grades or dataset.grades)
    with suppress(InputError, OSError):  # the cache is not needed
        if key == text_key(files, options):
            return open_corpus(keep_corpus(dataset, f"text-{key}"))
    return dataset
