"""Runs: the documents that a retrieval system returned for each query, with scores, matched to a corpus.

Documents are matched by query id and document id. As in trec_eval, only the score determines the order (highest first);
the rank is ignored. Retrieved documents that are not in the corpus are counted and left out. Documents that a run does
not retrieve are ranked after all retrieved documents, in the order of the tie rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import FloatVector, InputError, arguments
from ltr_duel.data import Dataset
from ltr_duel.rankers.rankings import Rankings
from ltr_duel.rankers.records import Row, Rows
from ltr_duel.rankers.scores import rankings_from_scores
from ltr_duel.rankers.ties import TieRule


class MatchedRun(NamedTuple):
    """A run, matched to a corpus."""

    sha256: str  # digest of the file, or of the rows of a run that is no file
    scores: FloatVector  # (n_docs,); NaN for documents that the run does not retrieve
    lines: int
    retrieved: int  # number of documents of the corpus that the run retrieves
    unknown_queries: int  # number of queries of the run that are not in the corpus
    unknown_documents: int  # number of lines whose query is in the corpus but whose document is not

    @property
    def about(self) -> dict[str, Any]:
        """Facts for the provenance, as JSON."""
        return {name: getattr(self, name) for name in ("sha256", "retrieved", "unknown_queries", "unknown_documents")}


def match_run(sha256: str, run: Iterable[Row], rows: Rows, documents: int) -> MatchedRun:
    """Match the rows of a run, which have finite scores, to the rows of a corpus of this number of documents."""
    scores, unknown_queries = np.full(documents, np.nan), set[str]()
    lines = unknown_documents = 0
    for where, query, document, score in run:
        lines += 1
        row = rows.get(query, {}).get(document, -1)
        if query not in rows:
            unknown_queries.add(query)
        elif row < 0:
            unknown_documents += 1
        elif not np.isnan(scores[row]):
            raise InputError(f"{where}: document {document} is retrieved a second time for query {query}")
        else:
            scores[row] = score
    retrieved = int((~np.isnan(scores)).sum())
    return MatchedRun(sha256, scores, lines, retrieved, len(unknown_queries), unknown_documents)


def run_rankers(
    dataset: Dataset, runs: Mapping[str, MatchedRun], *, ties: TieRule = "fixed_random", seed: int = 0, jobs: int = -1
) -> Rankings:
    """Build one ranker for each run of a pool.

    Parameters
    ----------
    dataset : Dataset
    runs : mapping of str to MatchedRun
        ``Pool.runs``, the result of `pool_runs`; the keys are the names of the rankers. For run files and any other
        corpus, see `rankers_named`.
    ties, seed, jobs
        As for `feature_rankers`.

    Returns
    -------
    Rankings
        The provenance contains the number of unknown queries and documents of each run.

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
    arguments.require_type("runs", runs, Mapping)
    names = tuple(runs)
    for name, run in runs.items():
        arguments.require_type("each run", run, MatchedRun)
        if len(run.scores) != dataset.n_docs:
            other = f"a corpus of {len(run.scores):,}, not {dataset.n_docs:,} documents"
            raise InputError(f"run '{name}' was matched to {other}")
    scores = [run.scores for run in runs.values()]
    rankings = rankings_from_scores(dataset, names, lambda k: scores[k], ties=ties, seed=seed, jobs=jobs)
    about = {name: run.about for name, run in runs.items()}
    return replace(rankings, provenance={**rankings.provenance, "runs": about})
