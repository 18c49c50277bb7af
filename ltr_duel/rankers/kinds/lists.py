"""``lists:FILE``: a feature file of ranks, as in LETOR's aggregation corpora (1 is best, NULL means not retrieved)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError
from ltr_duel.data import Dataset, load_dataset
from ltr_duel.rankers.runs import document_rows
from ltr_duel.rankers.scores import Ranker


def open_lists(dataset: Dataset, what: str) -> list[Ranker]:
    """Read rank lists; each column is a ranker, for which smaller values are better."""
    path = Path(what)
    ranks = load_dataset(path, fill="nan", omitted="missing")
    places, own = document_rows(dataset), document_rows(ranks)
    rows = np.full(ranks.n_docs, -1, np.int64)
    for query, documents in own.items():
        for document, row in documents.items():
            rows[row] = places.get(query, {}).get(document, -1)
    known = np.flatnonzero(rows >= 0)
    if not known.size:
        raise InputError(f"{path}: none of its {ranks.n_docs:,} documents is in {dataset.name}")
    about = {
        "kind": "lists",
        "file": path.name,
        "sha256": ranks.sha256,
        "retrieved": len(known),
        "unknown_documents": int(ranks.n_docs - len(known)),
    }

    def scores_of(column: int) -> NDArray[np.float64]:
        scores = np.full(dataset.n_docs, np.nan)
        scores[rows[known]] = -ranks.features[known, column].astype(np.float64)
        return scores

    return [
        Ranker(f"lists:{name}", lambda column=column: scores_of(column), about)  # type: ignore[misc]
        for column, name in enumerate(ranks.feature_names)
    ]
