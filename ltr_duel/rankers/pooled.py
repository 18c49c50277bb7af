"""A corpus without features, made of relevance judgements (qrels) and pooled runs.

The documents of a query are its judged documents and the best documents of each run; the depth is the maximum number of
documents taken from a run. A run can also be a column of a table of scores. Documents without a judgement or with a
negative grade (spam) get grade 0; `Pool` counts them. Queries without a judgement, and queries for which no run
retrieves a document, are left out.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import InputError, digest, errors, several
from ltr_duel.data import Dataset, ReadWarning, usual_grades
from ltr_duel.rankers.kinds import pooled_scores
from ltr_duel.rankers.records import Row, document_rows, judgement_rows, number_or_nan, run_rows
from ltr_duel.rankers.runs import MatchedRun, match_run

_HIGHEST = 30  # the highest possible grade


class Pool(NamedTuple):
    """A pooled corpus, and its runs."""

    dataset: Dataset  # without features
    runs: dict[str, MatchedRun]  # for `run_rankers`
    unjudged: int  # number of documents without a judgement; their grade is 0
    left_out: int  # number of queries without a judgement, or for which no run retrieves a document
    negative: int  # number of documents with a negative grade, which becomes 0
    depth: int  # maximum number of documents taken from a run for a query


def pool_runs(qrels: Any, runs: Mapping[str, Any], *, depth: int = 100, name: str = "") -> Pool:
    """Make a corpus from judgements and runs.

    Parameters
    ----------
    qrels : path, dict, DataFrame, or ir_datasets dataset
        A TREC file ``<query> 0 <document> <grade>``, or a table with a header such as BEIR's ``query-id corpus-id
        score``, plain, compressed or Parquet; a dictionary ``{query: {document: grade}}``; a frame with the columns
        qid, docno and label (PyTerrier), or query_id, doc_id and relevance; or an object with a method ``qrels_iter``.
    runs : mapping of str to path, dict, DataFrame or iterable
        The run of each ranker: a TREC run file, plain or compressed; a dictionary ``{query: {document: score}}``; a
        frame with the columns qid, docno and score, or query_id, doc_id and score; or records with these attributes.
    depth : int
        Maximum number of documents taken from each run for each query.
    name : str
        Name of the corpus in plots and reports.

    Returns
    -------
    Pool

    Raises
    ------
    InputError
        If a file or column is missing or malformed, a document is judged or retrieved twice for a query, or no query is
        left.

    Examples
    --------
    >>> import pandas as pd
    >>> from ltr_duel.rankers import run_rankers
    >>> qrels = pd.DataFrame({"qid": ["1", "1"], "docno": ["a", "b"], "label": [0, 1]})
    >>> frame = pd.DataFrame({"qid": ["1", "1"], "docno": ["b", "c"], "score": [7.5, 3.0]})
    >>> pool = pool_runs(qrels, {"mine": frame})
    >>> pool.dataset.doc_ids[run_rankers(pool.dataset, pool.runs).order[0]].tolist()[:2]
    ['b', 'c']
    """
    errors.require_between("the depth of the pool", depth, 1)
    if not isinstance(runs, Mapping):
        raise InputError(f"runs must be a mapping of names to runs, not {errors.shown(runs)}")
    if not runs:
        raise InputError("there is no run to pool documents from")
    judged = _judgements(qrels)
    retrieved = {label: list(run_rows(label, run)) for label, run in runs.items()}
    pooled: dict[str, set[str]] = defaultdict(set)
    for rows in retrieved.values():
        by_query: dict[str, list[tuple[float, str]]] = defaultdict(list)
        for _, query, document, score in rows:
            by_query[query].append((-score, document))
        for query, best in by_query.items():
            pooled[query].update(document for _, document in sorted(best)[:depth])
    queries = [query for query in judged if query in pooled]
    if not queries:
        raise InputError("no query has both a judgement and a document that a run retrieves")
    documents = {query: sorted({*judged[query], *pooled[query]}) for query in queries}
    pairs = [(query, document) for query in queries for document in documents[query]]
    grades = [max(0, judged[query].get(document, 0)) for query, document in pairs]
    dataset = Dataset(
        features=np.zeros((len(pairs), 0), np.float32),
        relevance=np.array(grades, np.int16),
        query_ptr=np.cumsum([0, *(len(documents[query]) for query in queries)]),
        query_ids=np.array(queries),
        doc_ids=np.array([document for _, document in pairs]),
        name=name or (Path(qrels).name if isinstance(qrels, str | Path) else "pooled runs"),
        grades=usual_grades(max(grades)),
        sha256="",
        feature_names=(),
    )
    negative = sum(grade < 0 for query in queries for grade in judged[query].values())
    if negative:
        note = f"{dataset.name}: {several(negative, 'judgement')} below 0, read as grade 0"
        warnings.warn(note, ReadWarning, stacklevel=2)
    places = document_rows(dataset)
    return Pool(
        dataset,
        {label: match_run(_digest(runs[label], rows), rows, places, len(pairs)) for label, rows in retrieved.items()},
        sum(document not in judged[query] for query, document in pairs),
        len({*judged, *pooled}) - len(queries),
        negative,
        depth,
    )


def pool_named(path: str, words: Iterable[str], *, folder: str | Path = "", reading: bool = False) -> Pool | None:
    """Pool the judgements of a path ``qrels:FILE`` with the runs that ``words`` name; return None for other paths.

    folder: base of relative paths.
    reading: whether the user gave options for reading feature files, which is an error with ``qrels:FILE``.
    """
    kind, _, file = path.partition(":")
    if kind != "qrels":
        return None
    if reading:
        raise InputError(f"{path}: judgements are not feature files; options for reading feature files are not allowed")
    runs: dict[str, Any] = {}
    for word in words:
        named = re.fullmatch(r"([^=:,]+=)?(run|scores):(.+)", word.strip())
        if named:
            source = Path(folder) / named[3]
            runs |= {str(source): source} if named[2] == "run" else pooled_scores(source)
    if not runs:
        raise InputError(
            f"{path}: requires runs; give --rankers run:FILE (in a spec: rankers = ['run:FILE']), or a table of scores"
            " with --rankers scores:FILE"
        )
    return pool_runs(Path(folder) / file, runs)


def _digest(run: Any, rows: list[Row]) -> str:
    """Return the digest of a run: of its file, or of its rows."""
    if isinstance(run, str | Path):
        return digest.sha256_file(Path(run))
    text = "".join(f"{row.query}\x1f{row.document}\x1f{row.value}\n" for row in rows)
    return hashlib.sha256(text.encode()).hexdigest()


def _judgements(qrels: Any) -> dict[str, dict[str, int]]:
    judged: dict[str, dict[str, int]] = defaultdict(dict)
    first: dict[tuple[str, str], str] = {}
    for where, query, document, value in judgement_rows(qrels):
        grade = number_or_nan(value)
        if not grade.is_integer() or grade > _HIGHEST:
            raise InputError(f"{where}: the grade must be a whole number of at most {_HIGHEST}, not '{value}'")
        if (query, document) in first:
            before = f"first in {first[query, document]}"
            raise InputError(f"{where}: document {document} is judged a second time for query {query}, {before}")
        judged[query][document], first[query, document] = int(grade), where
    if not judged:
        raise InputError("there is no judgement")
    return dict(judged)
