"""``scores:FILE``: a table (Parquet or CSV) with the columns query, document, and one column of scores per ranker."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from pyarrow.fs import LocalFileSystem

from ltr_duel.core import InputError, IntVector, digest
from ltr_duel.core import places as core_places
from ltr_duel.data import Dataset
from ltr_duel.rankers.runs import document_rows
from ltr_duel.rankers.scores import Ranker


def open_scores(dataset: Dataset, what: str) -> list[Ranker]:
    """Read a table of scores."""
    path = Path(what)
    table, names = _table(path)
    rows, unknown = _rows(path, table, dataset)
    about = {"kind": "scores", "file": path.name, "sha256": digest.sha256_file(path), "unknown_documents": unknown}
    return [_ranker(path, name, table[name], rows, dataset, about) for name in names]


def pooled_scores(path: Path) -> dict[str, pd.DataFrame]:
    """Return one run for each column of scores: all documents of the table with the scores of the column."""
    table, names = _table(path)
    keys = table[["query", "document"]].set_axis(["qid", "docno"], axis=1)
    return {f"{path}: {name}": keys.assign(score=table[name]) for name in names}


def _table(path: Path) -> tuple[pd.DataFrame, list[str]]:
    """Return a table, and the names of its columns of scores."""
    table = _read(path)
    for name in ("query", "document"):
        if name not in table:
            raise InputError(
                f"{path}: there is no column '{name}'; the columns are {', '.join(map(str, table.columns))}"
            )
    names = [str(name) for name in table.columns if name not in ("query", "document")]
    if not names:
        raise InputError(f"{path}: there is no column of scores in addition to 'query' and 'document'")
    return table, names


def _read(path: Path) -> pd.DataFrame:
    if not core_places.is_file(path):
        raise InputError(f"{path}: there is no such table of scores")
    try:
        if path.suffix == ".parquet":
            return pd.read_parquet(path, filesystem=LocalFileSystem())  # Arrow opens the file, not pandas
        return pd.read_csv(path, dtype={"query": str, "document": str})
    except (ValueError, OSError, pd.errors.ParserError) as error:
        raise InputError(f"{path}: neither Parquet nor CSV ({str(error).splitlines()[0]})") from None


def _rows(path: Path, table: pd.DataFrame, dataset: Dataset) -> tuple[IntVector, int]:
    """Return the corpus row of each line of a table (-1 if unknown), and the number of unknown documents."""
    places = document_rows(dataset)
    pairs = zip(table["query"].astype(str), table["document"].astype(str), strict=True)
    rows = np.array([places.get(query, {}).get(document, -1) for query, document in pairs], np.int64)
    known = rows[rows >= 0]
    if not known.size:
        raise InputError(f"{path}: none of its {len(rows):,} documents is in {dataset.name}")
    twice = np.flatnonzero(np.bincount(known) > 1)
    if twice.size:
        line = np.flatnonzero(rows == twice[0])[1]
        raise InputError(
            f"{path}: row {line + 1}: document {table['document'].iloc[line]} of query {table['query'].iloc[line]} is"
            " repeated"
        )
    return rows, int((rows < 0).sum())


def _ranker(
    path: Path, name: str, column: pd.Series[float], rows: IntVector, dataset: Dataset, about: dict[str, object]
) -> Ranker:
    if column.dtype.kind not in "fiu":
        raise InputError(f"{path}: column '{name}' contains {column.dtype}, not numbers")
    values = column.to_numpy(np.float64)
    if not np.isfinite(values).all():
        line = int(np.flatnonzero(~np.isfinite(values))[0])
        raise InputError(f"{path}: row {line + 1}: the score of '{name}' must be a finite number, not {values[line]}")
    scores = np.full(dataset.n_docs, np.nan)
    scores[rows[rows >= 0]] = values[rows >= 0]
    return Ranker(name, lambda: scores.copy(), {**about, "retrieved": int((rows >= 0).sum())})
