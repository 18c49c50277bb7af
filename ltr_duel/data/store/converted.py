"""A converted corpus on disk: a folder of plain arrays that opens in milliseconds, however large it is.

    corpus.json       what the corpus is called, its shape, how and from what it was made
    features.npy      float32, column-major: a memory map is the matrix, no byte of it is read before it is used
    documents.arrow   relevance, and document ids and comments where there are any (Arrow IPC, memory-mapped)
    queries.arrow     query ids and first rows

Nothing is pickled. A folder is complete or not there: it is written under another name and renamed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError
from ltr_duel.data.dataset import Dataset

FORMAT = 1  # a reader of another format refuses the folder, and converting makes a new one

FEATURES = "features.npy"
_META, _DOCUMENTS, _QUERIES = "corpus.json", "documents.arrow", "queries.arrow"


def is_converted(path: Path) -> bool:
    """Whether this folder holds a converted corpus."""
    return (path / _META).is_file()


def write_tables(folder: Path, dataset: Dataset, provenance: dict[str, Any]) -> None:
    """Write everything but the features beside them.

    Parameters
    ----------
    folder : Path
        Holds ``features.npy`` already.
    dataset : Dataset
        The corpus.
    provenance : dict
        How it was made; kept as JSON.
    """
    documents = {"relevance": dataset.relevance, "id": dataset.doc_ids, "comment": dataset.comments}
    _write_arrow(folder / _DOCUMENTS, documents)
    _write_arrow(folder / _QUERIES, {"id": dataset.query_ids, "first_row": dataset.query_ptr[:-1]})
    meta = {
        "format": FORMAT,
        "name": dataset.name,
        "grades": dataset.grades,
        "sha256": dataset.sha256,
        "lower_is_better": dataset.lower_is_better,
        "feature_names": list(dataset.feature_names),
        "queries": dataset.n_queries,
        "documents": dataset.n_docs,
        "features": dataset.n_features,
        **provenance,
    }
    (folder / _META).write_text(json.dumps(meta, indent=1))


def read_meta(folder: Path) -> dict[str, Any]:
    """Return what ``corpus.json`` says.

    Raises
    ------
    InputError
        If it is damaged or of another format.
    """
    try:
        meta: dict[str, Any] = json.loads((folder / _META).read_bytes())
    except (ValueError, OSError):
        raise InputError(f"{folder}: {_META} cannot be read; convert the corpus again") from None
    if meta.get("format") != FORMAT:
        raise InputError(f"{folder}: made by another version (format {meta.get('format')}); convert the corpus again")
    return meta


def open_converted(folder: Path) -> Dataset:
    """Open a converted corpus.

    Parameters
    ----------
    folder : Path
        As `ltr_duel.data.store.convert.convert` returned it.

    Returns
    -------
    Dataset
        Its features are a read-only memory map.

    Raises
    ------
    InputError
        If a file is missing, damaged or does not fit the others.
    """
    meta = read_meta(folder)
    try:
        features = np.asarray(np.load(folder / FEATURES, mmap_mode="r", allow_pickle=False))
        documents = _read_arrow(folder / _DOCUMENTS)
        queries = _read_arrow(folder / _QUERIES)
    except (OSError, ValueError) as error:
        raise InputError(f"{folder}: a file is missing or damaged ({error}); convert the corpus again") from None
    if features.shape != (meta["documents"], meta["features"]) or features.dtype != np.float32:
        raise InputError(f"{folder}: {FEATURES} has another shape than {_META} says; convert the corpus again")
    return Dataset(
        features=features,
        relevance=documents["relevance"],
        query_ptr=np.append(queries["first_row"], np.int64(meta["documents"])),
        query_ids=queries["id"],
        doc_ids=documents.get("id"),
        name=meta["name"],
        grades=meta["grades"],
        sha256=meta["sha256"],
        feature_names=tuple(meta["feature_names"]),
        lower_is_better=meta["lower_is_better"],
        comments=documents.get("comment"),
    )


def _write_arrow(path: Path, columns: dict[str, NDArray[Any] | None]) -> None:
    import pyarrow as pa

    table = pa.table({name: pa.array(column) for name, column in columns.items() if column is not None})
    with pa.OSFile(str(path), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table)


def _read_arrow(path: Path) -> dict[str, NDArray[Any]]:
    import pyarrow as pa

    try:
        table = pa.ipc.open_file(pa.memory_map(str(path))).read_all().combine_chunks()
    except pa.ArrowInvalid as error:
        raise ValueError(str(error)) from None
    return {name: _as_numpy(table[name].chunk(0)) for name in table.column_names}


def _as_numpy(column: Any) -> NDArray[Any]:
    """Numbers without a copy; words as a numpy array of them."""
    import pyarrow as pa

    if pa.types.is_string(column.type):
        return np.array(column.to_pylist(), dtype=np.str_)
    return column.to_numpy(zero_copy_only=True)
