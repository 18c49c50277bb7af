"""Read feature files: `load_dataset` is the entry point."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ltr_duel.core import InputError, arguments, errors, parallel
from ltr_duel.data.dataset import Dataset
from ltr_duel.data.store.convert import find_converted, keep_read
from ltr_duel.data.store.converted import is_converted, open_converted, open_parts, read_meta
from ltr_duel.data.store.folders import default_name, feature_files, is_pipe
from ltr_duel.data.store.known_files import identity_of
from ltr_duel.data.tables import is_table, read_table
from ltr_duel.data.text.chunks import estimate_text_bytes
from ltr_duel.data.text.dialects import dialect_named, recognise_dialect
from ltr_duel.data.text.feature_buffers import MemoryBuffer
from ltr_duel.data.text.options import ReadOptions
from ltr_duel.data.text.reading import Naming, read_files

KEPT_AFTER = 3.0  # seconds; a corpus that takes longer to read is kept in the cache

_MOST_GRADES = 2**15  # grades are int16


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
    repeated: str = "refuse",
    first_id: int = 1,
    omitted: str | None = None,
    limit: float | None = None,
    cache: bool = True,
) -> Dataset:
    """Read a corpus from a feature file, from a folder of feature files, or from a table.

    Parameters
    ----------
    path : str or Path
        One of: a file, plain or compressed; a pipe; a folder with some of the parts train, vali and test, which are
        joined in this order (a query must not be in two parts); a folder with Fold1 to Fold5; the folder of a converted
        corpus; or a table (Parquet, Arrow, CSV, TSV) with columns for the query (``query``, ``qid``, ...), the grade
        (``label``, ``grade``, ``relevance``, ...), perhaps the document (``document``, ``docno``, ...) and the
        features. Of five folds only the test parts are read, which together contain each document once. A pool of
        CatBoost is a table with a description, a file ``.cd`` beside it.
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
    dialect, features, fill, labels, unlabelled, repeated, first_id, omitted, limit
        See `ReadOptions`. A converted corpus accepts only the options of its conversion.
    cache : bool
        Whether to use the cache (``LTR_DUEL_HOME``): a corpus that takes more than 3 seconds to read is stored there,
        and a stored or converted corpus is opened from there if its files have not changed. If False, the text is read
        and nothing is written.

    Returns
    -------
    Dataset
        Its ``features`` are exactly ``float32(float(text))``, or the largest float32 for larger values; a feature that
        is missing from a line is 0, or NaN with ``omitted="missing"``.

    Raises
    ------
    InputError
        If data are missing or violate the format; the message names file, line and column.

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
    path = arguments.as_path("a corpus", path)
    options = ReadOptions(dialect, features, fill, labels, unlabelled, repeated, first_id, omitted, limit)
    if name is not None:
        arguments.require_type("the name of a corpus", name, str)
    grades = None if grades is None else errors.require_whole("the number of grades", grades, 1, _MOST_GRADES)
    feature_names = None if feature_names is None else arguments.as_names("the names of features", feature_names)
    if is_pipe(path):
        naming = Naming(name or path.name, grades, feature_names)
        return _from_pipe(path, options, naming, jobs=jobs, split=split, fold=fold, cache=False)
    if is_converted(path):
        if split or fold:
            raise InputError(f"{path}: this is a converted corpus; give the path of its text to choose a split or fold")
        _refuse_other_reading(path, options)
        return _renamed(open_converted(path), name, grades, feature_names)
    files = feature_files(path, split, fold)
    own_name = default_name(path, split, fold)
    if len(files) == 1 and is_table(files[0]):
        return read_table(files[0], options, Naming(name or own_name, grades, feature_names))
    dataset = _opened(path, files, own_name, options, part=bool(split or fold)) if cache else None
    if dataset is None:
        dataset = _read(files, own_name, options, parallel.checked_jobs(jobs), cache=cache)
    return _renamed(dataset, name or own_name, grades, feature_names)


def format_of(path: Path, split: str | None = None, fold: int | None = None, dialect: str | None = None) -> str:
    """Describe in words how `load_dataset` reads a path: the dialect of its text, or the kind of its file."""
    if is_pipe(path) or is_converted(path):
        return "a pipe" if is_pipe(path) else "a converted corpus"
    file = feature_files(path, split, fold)[0]
    if is_table(file):
        return "a table"
    found = dialect_named(dialect) if dialect else recognise_dialect(file)
    return f"{found.name} ({'as chosen' if dialect else 'recognised'}): {found.about}"


def _opened(path: Path, files: Sequence[Path], name: str, options: ReadOptions, *, part: bool) -> Dataset | None:
    """Open the corpus that was converted or cached from these files, or these files' part of a larger corpus."""
    with suppress(InputError):  # another process may have removed the corpus
        if converted := find_converted(files, options):
            return open_converted(converted)
        if part and options.labels != "distinct":
            every = feature_files(path)
            whole = find_converted(every, options)
            if whole and (options.dialect or recognise_dialect(every[0]) == recognise_dialect(files[0])):
                return open_parts(whole, [every.index(file) for file in files], name)
    return None


def _read(files: Sequence[Path], name: str, options: ReadOptions, workers: int, *, cache: bool) -> Dataset:
    """Read text; if reading takes long, write the corpus to the cache and open the cached corpus."""
    identity, began = None, time.monotonic()
    with suppress(OSError):  # files that cannot be read are reported by the reader
        identity = identity_of(files) if cache else None
    buffer = MemoryBuffer(estimate_text_bytes(files), options.limit_bytes)
    dataset, parts = read_files(files, options, buffer, Naming(name), workers)
    if identity is None or time.monotonic() - began <= KEPT_AFTER:
        return dataset
    folder = keep_read(dataset, files, options, parts, identity)
    with suppress(InputError):  # another process may have evicted the corpus
        return open_converted(folder) if folder else dataset
    return dataset


def _from_pipe(path: Path, options: ReadOptions, naming: Naming, **how: Any) -> Dataset:
    """Copy a pipe's output to a temporary file and read this file, because the first line must be read twice."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "pipe"
        with path.open("rb") as pipe, copy.open("wb") as file:
            shutil.copyfileobj(pipe, file)
        try:
            name, grades, names, _ = naming
            return load_dataset(copy, name=name, grades=grades, feature_names=names, **how, **asdict(options))
        except InputError as error:
            raise InputError(str(error).replace(str(copy), str(path))) from None


def _refuse_other_reading(folder: Path, options: ReadOptions) -> None:
    """Raise `InputError` if options differ from the options of the conversion, which determined the stored numbers."""
    made = read_meta(folder)["options"]
    for key, wanted in options.chosen.items():
        if key != "limit" and made.get(key) != wanted:
            how = f"without {key}" if made.get(key) is None else f"with {key} {made.get(key)}"
            raise InputError(
                f"{folder}: this corpus was converted {how}, but {wanted} is asked for; to read it differently, give"
                " the path of its text"
            )


def _renamed(dataset: Dataset, name: str | None, grades: int | None, feature_names: Sequence[str] | None) -> Dataset:
    names = tuple(feature_names) if feature_names else dataset.feature_names
    return replace(
        dataset,
        name=name or dataset.name,
        grades=grades or dataset.grades,
        feature_names=names,
        sha256=dataset.sha256 if names == dataset.feature_names else "",
    )
