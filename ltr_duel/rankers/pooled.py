"""Make a corpus from relevance judgements (qrels) and runs, without features.

A query of this corpus has all its judged documents, and the first documents of each run, for example 100. This choice
of documents is called pooling. Documents without a judgement, or with a negative grade (spam), get grade 0. A query is
left out if it has no judgement, or if no run retrieves a document for it.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ltr_duel.core import InputError, digest, errors, several
from ltr_duel.data import Dataset, ReadWarning, usual_grades
from ltr_duel.rankers.records import Rows, document_index, judgement_rows, run_rows, score_rows
from ltr_duel.rankers.runs import MatchedRun, match_run

_HIGHEST = 30  # the highest possible grade


class Pool(NamedTuple):
    """A corpus that was made from judgements and runs, together with the runs."""

    dataset: Dataset  # without features
    runs: dict[str, MatchedRun]  # for `run_rankers`
    unjudged: int  # number of documents without a judgement; their grade is 0
    left_out: int  # number of queries that have no judgement, or for which no run retrieves a document
    depth: int  # largest number of documents that were taken from a run for a query


def pool_runs(qrels: Any, runs: Mapping[str, Any], *, depth: int = 100, name: str = "") -> Pool:
    """Make a corpus from judgements and runs.

    Parameters
    ----------
    qrels : path, dict, DataFrame, or ir_datasets dataset
        The relevance judgements. A text file has lines ``<query> 0 <document> <grade>`` as in TREC, or begins with a
        header such as BEIR's ``query-id corpus-id score``. Text files may be compressed. Parquet files are read, too. A
        dictionary is ``{query: {document: grade}}``. A data frame has the columns qid, docno and label, or query_id,
        doc_id and relevance.
    runs : mapping of str to path, dict, DataFrame or iterable
        The name and the run of each ranker. A file has the lines of a TREC run and may be compressed. A dictionary is
        ``{query: {document: score}}``. A data frame has the columns qid, docno and score, or query_id, doc_id and
        score. An iterable yields records that have these columns as attributes.
    depth : int
        The number of documents that are taken from the top of each run, for each query.
    name : str
        Name of the corpus in plots and reports.

    Returns
    -------
    Pool

    Raises
    ------
    InputError
        If an input is malformed, a document is judged or retrieved twice for a query, or no query is left.

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
    judged = judgement_rows(qrels)
    for row in np.flatnonzero((judged.value % 1 != 0) | (judged.value > _HIGHEST)):
        grade = f"the grade must be a whole number of at most {_HIGHEST}, not {judged.value[row]:g}"
        raise InputError(f"{judged.position(row)}: {grade}")
    retrieved = {label: run if isinstance(run, Rows) else run_rows(label, run) for label, run in runs.items()}
    pooled = pd.concat([_best(rows, depth) for rows in retrieved.values()])
    queries = [query for query in dict.fromkeys(judged.query.tolist()) if query in set(pooled["query"])]
    if not queries:
        raise InputError("no query has both a judgement and a document that a run retrieves")
    pairs = pd.concat([judged.pairs.to_frame(index=False), pooled]).drop_duplicates()
    pairs = pairs[pairs["query"].isin(queries)]
    order = np.lexsort((pairs["document"].to_numpy(str), pd.Index(queries).get_indexer(pairs["query"])))
    pairs = pairs.iloc[order]
    judgements = pd.Series(judged.value, judged.pairs).reindex(pd.MultiIndex.from_frame(pairs)).to_numpy()
    grades = np.nan_to_num(np.maximum(judgements, 0)).astype(np.int16)
    dataset = Dataset(
        features=np.zeros((len(pairs), 0), np.float32),
        relevance=grades,
        query_ptr=np.append(0, pairs.groupby("query", sort=False).size().cumsum()),
        query_ids=np.array(queries),
        doc_ids=pairs["document"].to_numpy(str),
        name=name or (Path(qrels).name if isinstance(qrels, str | Path) else "pooled runs"),
        grades=usual_grades(int(grades.max())),
        sha256="",
        feature_names=(),
    )
    if negative := int((judgements < 0).sum()):
        note = f"{dataset.name}: {several(negative, 'judgement')} below 0, read as grade 0"
        warnings.warn(note, ReadWarning, stacklevel=2)
    index = document_index(dataset)
    matched = {label: match_run(_digest(runs[label], rows), rows, index) for label, rows in retrieved.items()}
    left_out = len({*judged.query.tolist(), *pooled["query"]}) - len(queries)
    return Pool(dataset, matched, int(np.isnan(judgements).sum()), left_out, depth)


def pool_named(path: str, words: Iterable[str], *, folder: str | Path = "", reading: bool = False) -> Pool | None:
    """Make a pool from judgements and runs. Return None if the path is not ``qrels:FILE``.

    words: names of rankers. Runs and tables of scores are used, and other words are ignored.
    folder: the folder to which relative paths refer.
    reading: whether the user gave options for feature files, which are refused.
    """
    kind, _, file = path.partition(":")
    if kind != "qrels":
        return None
    if reading:
        raise InputError(f"{path}: judgements are not feature files; options for reading feature files are not allowed")
    runs: dict[str, Any] = {}
    for word in words:
        if named := re.fullmatch(r"([^=:,]+=)?(run|scores):(.+)", word.strip()):
            source = Path(folder) / named[3]
            if named[2] == "run":
                runs[str(source)] = source
            else:
                runs |= {f"{source}: {name}": rows for name, rows in score_rows(source).items()}
    if not runs:
        raise InputError(
            f"{path}: requires runs; give --rankers run:FILE (in a spec: rankers = ['run:FILE']), or a table of scores"
            " with --rankers scores:FILE"
        )
    return pool_runs(Path(folder) / file, runs)


def _best(rows: Rows, depth: int) -> pd.DataFrame:
    run = pd.DataFrame({"query": rows.query, "document": rows.document, "score": rows.value})
    best = run.sort_values(["score", "document"], ascending=[False, True]).groupby("query").head(depth)
    return best[["query", "document"]]


def _digest(run: Any, rows: Rows) -> str:
    if isinstance(run, str | Path):
        return digest.sha256_file(Path(run))
    text = "".join(f"{query}\x1f{document}\x1f{score}\n" for query, document, score in zip(*rows[2:], strict=True))
    return hashlib.sha256(text.encode()).hexdigest()
