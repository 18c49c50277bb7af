"""A converted corpus on disk: a folder of plain arrays that opens in milliseconds, regardless of its size.

    corpus.json       name, shape and origin of the corpus, and the options of the conversion
    features.npy      float32, column-major, opened as a memory map
    documents.arrow   relevance, and document ids and comments if there are any (Arrow IPC, memory-mapped)
    queries.arrow     query ids and first rows

Nothing is pickled. A folder is an entry of the cache (`entries`): complete or absent, with checksums.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError, arguments, handed_over, mapped
from ltr_duel.data.dataset import Dataset
from ltr_duel.data.feature_names import is_ohsumed
from ltr_duel.data.store.entries import is_sound
from ltr_duel.data.text.feature_buffers import npy_header
from ltr_duel.data.text.options import ReadOptions
from ltr_duel.data.text.reading import column_names
from ltr_duel.data.text.values import usual_grades

Kind = TypeVar("Kind", bound=np.generic)

FORMAT = 4  # a folder with a different format is not opened; the corpus is converted again

FEATURES = "features.npy"
# The required facts of `corpus.json`, and their types.
_FACTS = {
    "name": str, "grades": int, "sha256": str, "lower_is_better": bool, "omitted": str, "feature_names": list,
    "queries": int, "documents": int, "features": int, "options": dict, "parts": list,
}  # fmt: skip
_META, _DOCUMENTS, _QUERIES = "corpus.json", "documents.arrow", "queries.arrow"


def is_converted(path: str | Path) -> bool:
    """Return whether this folder contains a converted corpus."""
    try:
        return (arguments.as_path("a corpus", path) / _META).is_file()
    except OSError:  # no permission to read the folder
        return False


def write_features(folder: Path, features: NDArray[np.float32]) -> None:
    """Write a column-major matrix; its columns need not be adjacent in memory."""
    with (folder / FEATURES).open("wb", buffering=0) as out:
        out.write(npy_header(*features.shape))
        for column in features.T:
            data = np.ascontiguousarray(column).data.cast("B")
            while data:
                data = data[out.write(data) :]
            mapped.release_pages(column)


def write_tables(folder: Path, dataset: Dataset, provenance: dict[str, Any]) -> None:
    """Write all data except the features; ``provenance``, the origin of the corpus, is stored as JSON."""
    documents = {"relevance": dataset.relevance, "id": dataset.doc_ids, "comment": dataset.comments}
    _write_arrow(folder / _DOCUMENTS, documents)
    _write_arrow(folder / _QUERIES, {"id": dataset.query_ids, "first_row": dataset.query_ptr[:-1]})
    meta = {
        "format": FORMAT,
        "name": dataset.name,
        "grades": dataset.grades,
        "sha256": dataset.sha256,
        "lower_is_better": dataset.lower_is_better,
        "omitted": dataset.omitted,
        "feature_names": list(dataset.feature_names),
        "queries": dataset.n_queries,
        "documents": dataset.n_docs,
        "features": dataset.n_features,
        **provenance,
    }
    (folder / _META).write_text(json.dumps(meta, indent=1))


def read_meta(folder: Path) -> dict[str, Any]:
    """Return the content of ``corpus.json``. Raise `InputError` if it is damaged or has a different format."""
    try:
        meta: dict[str, Any] = json.loads((folder / _META).read_bytes())
        other = meta["format"] if meta["format"] != FORMAT else None
    except (ValueError, OSError, KeyError, TypeError, RecursionError):
        raise InputError(f"{folder}: {_META} cannot be read; convert the corpus again") from None
    if other is not None:
        raise InputError(f"{folder}: made by another version (format {str(other)[:20]}); convert the corpus again")
    for key, kind in _FACTS.items():
        if not isinstance(meta.get(key), kind):
            raise InputError(f"{folder}: {_META} is damaged: '{key}' is missing or wrong; convert the corpus again")
    return meta


def open_converted(folder: Path) -> Dataset:
    """Open a converted corpus.

    Parameters
    ----------
    folder : Path
        The folder that `convert` returned.

    Returns
    -------
    Dataset
        Its features are a read-only memory map.

    Raises
    ------
    InputError
        If a file is missing, damaged or inconsistent with the other files.

    Examples
    --------
    >>> open_converted(Path("no such folder"))
    Traceback (most recent call last):
    ltr_duel.core.errors.InputError: no such folder: corpus.json cannot be read; convert the corpus again
    """
    meta = read_meta(folder)
    if not is_sound(folder):
        raise InputError(f"{folder}: a file is missing or damaged; convert the corpus again")
    try:
        features = np.asarray(np.load(folder / FEATURES, mmap_mode="r", allow_pickle=False))
        documents = _read_arrow(folder / _DOCUMENTS)
        queries = _read_arrow(folder / _QUERIES)
        query_ptr = np.append(queries["first_row"], meta["documents"]).astype(np.int64, casting="safe")
        relevance, query_ids = documents["relevance"], queries["id"]
    except (OSError, ValueError, KeyError, IndexError, TypeError, EOFError, MemoryError) as error:
        raise InputError(f"{folder}: a file is missing or damaged ({error}); convert the corpus again") from None
    if features.shape != (meta["documents"], meta["features"]) or features.dtype != np.float32:
        raise InputError(f"{folder}: {FEATURES} does not have the shape in {_META}; convert the corpus again")
    return Dataset(
        features=features,
        relevance=relevance,
        query_ptr=query_ptr,
        query_ids=query_ids,
        doc_ids=documents.get("id"),
        name=meta["name"],
        grades=meta["grades"],
        sha256=meta["sha256"],
        feature_names=tuple(meta["feature_names"]),
        lower_is_better=meta["lower_is_better"],
        omitted=meta["omitted"],
        comments=documents.get("comment"),
    )


def open_parts(folder: Path, numbers: Sequence[int], name: str) -> Dataset | None:
    """Return the part of a converted corpus that comes from some of its source files, without reading text again.

    Folds are assembled from the five test parts in this way. The features are a view of the memory map if the parts
    are adjacent, else a copy.

    numbers: positions of the files among the source files, from 0.

    The result is the same as from reading the text of only these files, except that a number of grades declared for the
    whole corpus is kept. Returns None if the stored corpus does not determine the result.
    """
    whole = open_converted(folder)
    meta = read_meta(folder)
    parts: list[dict[str, Any]] = meta["parts"]
    columns = max(parts[n]["columns"] for n in numbers)
    own_ids = whole.comments is None or "docid" in str(whole.comments[0])
    if not own_ids:  # whether the first words of comments are ids depends on all comments
        return None
    options = ReadOptions(**meta["options"])
    starts = [part["first_query"] for part in parts] + [whole.n_queries]
    queries = [(starts[n], starts[n + 1]) for n in numbers]
    rows = [(int(whole.query_ptr[a]), int(whole.query_ptr[b])) for a, b in queries]
    sizes = np.concatenate([np.diff(whole.query_ptr[a : b + 1]) for a, b in queries])
    relevance, features = _taken(whole.relevance, rows), _rows(whole.features[:, :columns], rows)
    documents, comments = (_taken_words(column, rows) for column in (whole.doc_ids, whole.comments))
    first, first_of_whole = ("" if ids is None else str(ids[0]) for ids in (documents, whole.doc_ids))
    if options.fill == "min" and is_ohsumed(columns, first) != is_ohsumed(whole.n_features, first_of_whole):
        return None
    return replace(
        whole,
        features=handed_over(features),
        relevance=relevance,
        query_ptr=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        query_ids=_taken(whole.query_ids, queries),
        doc_ids=documents if documents is None else handed_over(documents),
        comments=comments,
        name=name,
        grades=meta["declared_grades"] or usual_grades(int(relevance.max())),
        feature_names=tuple(column_names(features, first, options.first_id)),
        sha256="",
    )


def _write_arrow(path: Path, columns: dict[str, NDArray[Any] | None]) -> None:
    import pyarrow as pa

    table = pa.table({name: pa.array(column) for name, column in columns.items() if column is not None})
    with pa.OSFile(str(path), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table)


def _read_arrow(path: Path) -> dict[str, NDArray[Any]]:
    import pyarrow as pa

    table = pa.ipc.open_file(pa.memory_map(str(path))).read_all().combine_chunks()
    return {name: _as_numpy(table[name].chunk(0)) for name in table.column_names}


def _as_numpy(column: Any) -> NDArray[Any]:
    """Return numbers without a copy, and strings as an array."""
    import pyarrow as pa

    if pa.types.is_string(column.type):
        return np.array(column.to_pylist(), dtype=np.str_)
    return column.to_numpy(zero_copy_only=True)


def _taken(values: NDArray[Kind], ranges: list[tuple[int, int]]) -> NDArray[Kind]:
    return np.concatenate([values[start:end] for start, end in ranges])


def _taken_words(words: NDArray[np.str_] | None, ranges: list[tuple[int, int]]) -> NDArray[np.str_] | None:
    """Return the words of the given rows; None if all words are empty."""
    taken = None if words is None else _taken(words, ranges)
    return taken if taken is not None and np.any(taken != "") else None


def _rows(features: NDArray[np.float32], ranges: list[tuple[int, int]]) -> NDArray[np.float32]:
    """Return rows, column-major, as a view or a copy; the copy is made by columns, as the map may exceed memory."""
    if all(end == start for (_, end), (start, _) in pairwise(ranges)):
        return features[ranges[0][0] : ranges[-1][1]]
    columns = mapped.new_array((features.shape[1], sum(end - start for start, end in ranges)), np.float32)
    for number, column in enumerate(columns):
        column[:] = _taken(features[:, number], ranges)
        mapped.release_pages(column)
        mapped.release_pages(features[:, number])
    return columns.T
