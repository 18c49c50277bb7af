"""Read feature files and tables, or open what the cache has of them: `load_dataset` is the entry point."""

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

KEPT_AFTER = 3.0  # seconds; a corpus that takes longer to read is kept in the cache


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
        One of: a file, plain or compressed; a folder with some of the parts train, vali and test, which are joined in
        this order (a query must not be in two parts); a folder with Fold1 to Fold5, of which the test parts are read,
        which together contain each document once; a folder of the cache; or a table (Parquet, Arrow, CSV, TSV), see
        `Dataset.from_frame`.
    name : str, optional
        Name of the corpus in plots and reports; by default derived from the path.
    split : {"train", "vali", "test"}, optional
        Read only this part of a folder.
    fold : int, optional
        Read only this fold of a folder with five folds.
    grades : int, optional
        Number of relevance grades; by default the smallest of 2, 3 and 5 that exceeds the highest grade in the data,
        or the highest grade plus 1 if none of them does.
    feature_names : sequence of str, optional
        One name for each column; by default the names of a recognised corpus, else ``"1"``, ``"2"``, ...
    jobs : int
        Number of threads, -1 for all cores; the result does not depend on it.
    dialect, features, fill, labels, unlabelled, first_id, omitted
        See `ReadOptions`. A folder of the cache accepts none of them.
    cache : bool
        Whether to use the cache (``LTR_DUEL_HOME``): a corpus that takes more than 3 seconds to read is stored there,
        and opened from there while paths, sizes and times of its files are the same.

    Returns
    -------
    Dataset
        Its ``features`` are exactly ``float32(float(text))``, or the largest float32 for larger values.

    Raises
    ------
    InputError
        If data are missing or violate the format; the message names file, line and column.

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
    """Describe in words how `load_dataset` reads a path: the dialect of its text, or the kind of its file."""
    if is_corpus(path):
        return "a folder of the cache"
    file = feature_files(path, split, fold)[0]
    if is_table(file):
        return "a table"
    chosen = dialect_named(dialect) if dialect else recognise_dialect(file)
    return f"{chosen.name} ({'as chosen' if dialect else 'recognised'}): {chosen.form}"


def _open_or_read(files: Sequence[Path], options: ReadOptions, jobs: int, name: str, grades: int | None) -> Dataset:
    """Open the corpus of these files in the cache; otherwise read the text, and store the corpus if this took long."""
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
