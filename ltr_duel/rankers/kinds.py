"""The kinds of files with rankers: runs, tables of scores, rank lists, trained models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ltr_duel.core import FloatVector, InputError, IntVector, digest
from ltr_duel.data import Dataset, load_dataset
from ltr_duel.rankers.model_files import open_lightgbm, open_onnx, open_xgboost
from ltr_duel.rankers.records import document_rows, run_rows, score_table
from ltr_duel.rankers.runs import match_run
from ltr_duel.rankers.scores import Ranker


def open_run(dataset: Dataset, path: Path) -> list[Ranker]:
    """``run:FILE``: the documents that a retrieval system returned, in TREC's format, plain or compressed."""
    run = match_run("", run_rows("", path), document_rows(dataset), dataset.n_docs)
    if not run.lines:
        raise InputError(f"{path}: the run is empty")
    if not run.retrieved:
        raise InputError(f"{path}: none of its {run.lines:,} lines is about a document of {dataset.name}")
    name = Path(path.name.removesuffix(".gz")).stem
    return [
        Ranker(
            f"run:{name}",
            run.scores.copy,
            {"kind": "run", "file": path.name, **run.about, "sha256": digest.sha256_file(path)},
        )
    ]


def open_scores(dataset: Dataset, path: Path) -> list[Ranker]:
    """``scores:FILE``: a table (Parquet or text) with query, document, and one column of scores for each ranker."""
    ids, columns = score_table(path)
    places = document_rows(dataset)
    rows = np.array([places.get(query, {}).get(document, -1) for query, document in ids], np.int64)
    _require_matches(path, rows, dataset)
    twice = np.flatnonzero(np.bincount(rows[rows >= 0]) > 1)
    if twice.size:
        row = np.flatnonzero(rows == twice[0])[1]
        raise InputError(f"{path}: row {row + 1}: document {ids[row][1]} of query {ids[row][0]} is repeated")
    about = {"sha256": digest.sha256_file(path), "unknown_documents": int((rows < 0).sum())}
    for name, values in columns.items():
        if np.isnan(values[rows >= 0]).all():
            raise InputError(f"{path}: column '{name}' has no score of a document of {dataset.name}")
    return [
        _ranker(name, dataset, rows, values, {"kind": "scores", "file": path.name, **about})
        for name, values in columns.items()
    ]


def pooled_scores(path: Path) -> dict[str, pd.DataFrame]:
    """Return one run for each column of a table of scores: the documents that have one, with their scores."""
    ids, columns = score_table(path)
    frame = pd.DataFrame(ids, columns=["qid", "docno"])
    return {f"{path}: {name}": frame.assign(score=values).dropna() for name, values in columns.items()}


def open_lists(dataset: Dataset, path: Path) -> list[Ranker]:
    """``lists:FILE``: a feature file of ranks, as in LETOR's aggregation corpora (1 is best, NULL: not retrieved)."""
    ranks = load_dataset(path, fill="nan", omitted="missing")
    places, rows = document_rows(dataset), np.full(ranks.n_docs, -1, np.int64)
    for query, documents in document_rows(ranks).items():
        for document, row in documents.items():
            rows[row] = places.get(query, {}).get(document, -1)
    matches = _require_matches(path, rows, dataset)
    about = {"kind": "lists", "file": path.name, "sha256": ranks.sha256, "retrieved": matches}
    about["unknown_documents"] = int(ranks.n_docs - matches)
    return [
        _ranker(f"lists:{name}", dataset, rows, -ranks.features[:, column].astype(np.float64), about)
        for column, name in enumerate(ranks.feature_names)
    ]


def _require_matches(path: Path, rows: IntVector, dataset: Dataset) -> int:
    """Return the number of a file's documents that are in the corpus; raise `InputError` if it is 0."""
    matches = int((rows >= 0).sum())
    if not matches:
        raise InputError(f"{path}: none of its {len(rows):,} documents is in {dataset.name}")
    return matches


def _ranker(name: str, dataset: Dataset, rows: IntVector, values: FloatVector, about: dict[str, Any]) -> Ranker:
    """Return a ranker with ``values`` for the corpus rows ``rows``; rows of -1 are not in the corpus."""

    def scores() -> FloatVector:
        scores = np.full(dataset.n_docs, np.nan)
        scores[rows[rows >= 0]] = values[rows >= 0]
        return scores

    return Ranker(name, scores, about)


KINDS: dict[str, Callable[[Dataset, Path], list[Ranker]]] = {
    "lightgbm": open_lightgbm,
    "lists": open_lists,
    "onnx": open_onnx,
    "run": open_run,
    "scores": open_scores,
    "xgboost": open_xgboost,
}
