"""Make rankers from runs. A run lists the documents that a retrieval system returned for each query, with scores.

The documents of a run are matched to the documents of a corpus by query id and document id. As in trec_eval, documents
are ordered by score, and the ranks in the file are ignored. Documents that are not in the corpus are left out.
Documents of the corpus that are not in the run are ranked last, in the order of the tie rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ltr_duel.core import FloatVector, InputError, arguments
from ltr_duel.data import Dataset
from ltr_duel.rankers.rankings import Rankings
from ltr_duel.rankers.records import Rows
from ltr_duel.rankers.scores import rankings_from_scores
from ltr_duel.rankers.ties import TieRule


class MatchedRun(NamedTuple):
    """A run, matched to a corpus."""

    scores: FloatVector  # (n_docs,); NaN for documents that the run does not contain
    facts: dict[str, Any]  # sha256 of the run; numbers of retrieved documents, unknown queries and unknown documents


def match_run(sha256: str, rows: Rows, documents: pd.MultiIndex) -> MatchedRun:
    """Match the rows of a run to the documents of a corpus (see `document_index`)."""
    positions = documents.get_indexer(rows.pairs)
    scores, is_known = np.full(len(documents), np.nan), positions >= 0
    scores[positions[is_known]] = rows.value[is_known]
    of_corpus = np.isin(rows.query, documents.levels[0].to_numpy(str))
    facts = {
        "sha256": sha256,
        "retrieved": int(is_known.sum()),
        "unknown_queries": len(np.unique(rows.query[~of_corpus])),
        "unknown_documents": int((of_corpus & ~is_known).sum()),
    }
    return MatchedRun(scores, facts)


def run_rankers(
    dataset: Dataset, runs: Mapping[str, MatchedRun], *, ties: TieRule = "fixed_random", seed: int = 0, jobs: int = -1
) -> Rankings:
    """Build one ranker for each run of a pool.

    Parameters
    ----------
    dataset : Dataset
    runs : mapping of str to MatchedRun
        The attribute ``runs`` of a pool from `pool_runs`. Its keys become the names of the rankers. For run files and a
        corpus that is not a pool, use `rankers_named`.
    ties, seed, jobs
        The same parameters as in `feature_rankers`.

    Returns
    -------
    Rankings
        The provenance says for each run how many of its queries and documents are not in the corpus.

    Raises
    ------
    InputError
        If a run was matched to a different corpus, or there is no run.

    Examples
    --------
    >>> from ltr_duel.rankers import pool_runs
    >>> pool = pool_runs({"q": {"a": 0, "b": 1}}, {"bm25": {"q": {"b": 7.5, "a": 3.0}}})
    >>> run_rankers(pool.dataset, pool.runs).order.tolist()
    [[1, 0]]
    """
    arguments.require_type("the corpus", dataset, Dataset)
    for name, run in runs.items():
        arguments.require_type("each run", run, MatchedRun)
        if len(run.scores) != dataset.n_docs:
            other = f"a corpus of {len(run.scores):,}, not {dataset.n_docs:,} documents"
            raise InputError(f"run '{name}' was matched to {other}")
    scores = {name: run.scores for name, run in runs.items()}
    rankings = rankings_from_scores(dataset, scores, ties=ties, seed=seed, jobs=jobs)
    facts = {name: run.facts for name, run in runs.items()}
    return replace(rankings, provenance={**rankings.provenance, "runs": facts})
