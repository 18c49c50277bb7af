"""``scores:FILE``: a table (Parquet or CSV) with the columns query, document, and one column of scores per ranker.

An empty cell means that the ranker does not retrieve the document.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ltr_duel.core import FloatVector, InputError, IntVector, digest, files, texts
from ltr_duel.core import places as core_places
from ltr_duel.data import Dataset
from ltr_duel.rankers.runs import document_rows, id_text
from ltr_duel.rankers.scores import Ranker

_KEYS = ("query", "document")


class _Table(NamedTuple):
    queries: list[str]  # of each row
    documents: list[str]  # of each row
    scores: dict[str, FloatVector]  # of each ranker, (rows,); NaN: not retrieved


def open_scores(dataset: Dataset, what: str) -> list[Ranker]:
    """Read a table of scores."""
    path = Path(what)
    table = _table(path)
    rows = _rows(path, table, dataset)
    about = {
        "kind": "scores",
        "file": path.name,
        "sha256": digest.sha256_file(path),
        "unknown_documents": int((rows < 0).sum()),
    }

    def ranker(name: str, values: FloatVector) -> Ranker:
        scores = np.full(dataset.n_docs, np.nan)
        scores[rows[rows >= 0]] = values[rows >= 0]
        if np.isnan(scores).all():
            raise InputError(f"{path}: column '{name}' has no score of a document of {dataset.name}")
        return Ranker(name, scores.copy, about)

    return [ranker(name, values) for name, values in table.scores.items()]


def pooled_scores(path: Path) -> dict[str, pd.DataFrame]:
    """Return one run for each column of scores: the documents that have one, with their scores."""
    table = _table(path)
    keys = pd.DataFrame({"qid": table.queries, "docno": table.documents})
    return {f"{path}: {name}": keys.assign(score=values).dropna() for name, values in table.scores.items()}


def _table(path: Path) -> _Table:
    if not core_places.is_file(path):
        raise InputError(f"{path}: there is no such table of scores")
    columns = _parquet(path) if path.suffix == ".parquet" else _text(path)
    for name in _KEYS:
        if name not in columns:
            raise InputError(f"{path}: there is no column '{name}'; the columns are {', '.join(columns)}")
    names = [name for name in columns if name not in _KEYS]
    if not names:
        raise InputError(f"{path}: there is no column of scores in addition to 'query' and 'document'")
    queries, documents = ([id_text(f"{path}: row {n}", one) for n, one in enumerate(columns[key], 1)] for key in _KEYS)
    return _Table(queries, documents, {name: _numbers(path, name, columns[name]) for name in names})


def _parquet(path: Path) -> dict[str, Sequence[Any]]:
    from pyarrow.fs import LocalFileSystem

    try:
        table = pd.read_parquet(path, filesystem=LocalFileSystem())  # Arrow opens the file, not pandas
    except (ValueError, OSError) as error:
        raise InputError(f"{path}: not a Parquet table ({str(error).splitlines()[0]})") from None
    return {str(name): table[name].tolist() for name in table}


def _text(path: Path) -> dict[str, Sequence[Any]]:
    """Return the columns of a table in text, separated by commas, or by tabs in ``.tsv``, as strings."""
    with files.reading(path, "a table of scores") as raw:
        text = io.TextIOWrapper(texts.unpacked(path, raw), "utf-8", "surrogateescape", newline="")
        reader = csv.reader(text, delimiter="\t" if ".tsv" in path.suffixes else ",")
        try:
            lines = [(reader.line_num, cells) for cells in reader if cells]
        except csv.Error as error:
            raise InputError(f"{path}:{reader.line_num}: not a line of a table ({error})") from None
    if not lines:
        raise InputError(f"{path}: the table is empty")
    (_, head), *rows = lines
    for number, cells in rows:
        if len(cells) != len(head):
            raise InputError(f"{path}:{number}: {len(cells)} cells, but the table has {len(head)} columns")
    names = [_redecoded(name) for name in head]
    if len(set(names)) < len(names):
        raise InputError(f"{path}: two columns have the same name: {', '.join(names)}")
    columns = zip(*(cells for _, cells in rows), strict=True) if rows else ((),) * len(names)
    return {name: [_redecoded(cell) for cell in column] for name, column in zip(names, columns, strict=True)}


def _redecoded(cell: str) -> str:
    return cell if cell.isascii() else texts.decoded(cell.encode("utf-8", "surrogateescape"))


def _numbers(path: Path, name: str, cells: Sequence[Any]) -> FloatVector:
    """Return scores; NaN for an empty cell."""
    scores = np.empty(len(cells))
    for row, cell in enumerate(cells):
        empty = not cell.strip() if isinstance(cell, str) else bool(pd.isna(cell))
        try:
            scores[row] = math.nan if empty else float(cell)
        except (TypeError, ValueError):
            scores[row] = math.inf
        if not empty and not math.isfinite(scores[row]):
            raise InputError(f"{path}: row {row + 1}: the score of '{name}' must be a finite number, not '{cell}'")
    return scores


def _rows(path: Path, table: _Table, dataset: Dataset) -> IntVector:
    """Return the corpus row of each row of a table, -1 if the corpus does not have the document."""
    places = document_rows(dataset)
    pairs = zip(table.queries, table.documents, strict=True)
    rows = np.array([places.get(query, {}).get(document, -1) for query, document in pairs], np.int64)
    known = rows[rows >= 0]
    if not known.size:
        raise InputError(f"{path}: none of its {len(rows):,} documents is in {dataset.name}")
    twice = np.flatnonzero(np.bincount(known) > 1)
    if twice.size:
        row = np.flatnonzero(rows == twice[0])[1]
        raise InputError(
            f"{path}: row {row + 1}: document {table.documents[row]} of query {table.queries[row]} is repeated"
        )
    return rows
