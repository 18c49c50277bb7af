"""A corpus without features, made of relevance judgements (qrels) and pooled runs.

The documents of a query are its judged documents and the best documents of each run; the depth is the maximum number of
documents taken from a run. A run can also be a column of a table of scores. Documents without a judgement or with a
negative grade (spam) get grade 0; `Pool` counts them. Queries without a judgement, and queries for which no run
retrieves a document, are left out.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ltr_duel.core import InputError, errors, files, texts
from ltr_duel.core import digest as core_digest
from ltr_duel.data import Dataset, usual_grades
from ltr_duel.rankers.runs import Line, RunFile, document_rows, id_text, lines_of, matched, words_in
from ltr_duel.rankers.sources import RANKER_KINDS

# Usual names of columns, with _ for -.
_IDS = ("qid", "query_id", "query"), ("docno", "doc_id", "corpus_id", "document")
_GRADES = ("label", "relevance", "grade", "score")


class Pool(NamedTuple):
    """A pooled corpus, and its runs."""

    dataset: Dataset  # without features
    runs: dict[str, RunFile]  # for `run_rankers`
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
        score``, plain or compressed; a dictionary ``{query: {document: grade}}``; a frame with the columns qid, docno
        and label (PyTerrier), or query_id, doc_id and relevance; or an object with a method ``qrels_iter``.
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
    read = {label: list(_lines(label, given)) for label, given in runs.items()}
    pooled: dict[str, dict[str, None]] = defaultdict(dict)
    for lines in read.values():
        by_query: dict[str, list[tuple[float, str]]] = defaultdict(list)
        for _, query, document, score in lines:
            by_query[query].append((-score, document))
        for query, found in by_query.items():
            pooled[query].update((document, None) for _, document in sorted(found)[:depth])
    queries = [query for query in judged if query in pooled]
    if not queries:
        raise InputError("no query has both a judgement and a document that a run retrieves")
    documents = {query: sorted({*judged[query], *pooled[query]}) for query in queries}
    grades = [max(0, judged[query].get(one, 0)) for query in queries for one in documents[query]]
    ids = np.array([one for query in queries for one in documents[query]])
    most = max(grades) + 1
    dataset = Dataset(
        features=np.zeros((len(ids), 0), np.float32),
        relevance=np.array(grades, np.int16),
        query_ptr=np.cumsum([0, *(len(documents[query]) for query in queries)]),
        query_ids=np.array(queries),
        doc_ids=ids,
        name=name or (Path(qrels).name if isinstance(qrels, str | Path) else "pooled runs"),
        grades=usual_grades(most - 1),
        sha256="",
        feature_names=(),
    )
    places = document_rows(dataset)
    return Pool(
        dataset,
        {label: _run(label, runs[label], lines, places, len(ids)) for label, lines in read.items()},
        sum(one not in judged[query] for query in queries for one in documents[query]),
        len({*judged, *pooled}) - len(queries),
        sum(grade < 0 for query in queries for grade in judged[query].values()),
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
        named = re.fullmatch(r"([^=:,]+=)?([^=:,]+):(.+)", word.strip())
        if named and named[2] in RANKER_KINDS and (pooled := RANKER_KINDS[named[2]].pooled):
            runs |= pooled(Path(folder) / named[3])
    if not runs:
        raise InputError(
            f"{path}: requires runs; give --rankers run:FILE (in a spec: rankers = ['run:FILE']), or a table of scores"
            " with --rankers scores:FILE"
        )
    return pool_runs(Path(folder) / file, runs)


def _run(label: str, given: Any, lines: list[Line], places: dict[str, dict[str, int]], documents: int) -> RunFile:
    if isinstance(given, str | Path):
        return matched(Path(given), core_digest.sha256_file(Path(given)), lines, places, documents)
    return matched(Path(label), _digest([line[1:] for line in lines]), lines, places, documents)


def _lines(label: str, given: Any) -> Iterator[Line]:
    if isinstance(given, str | Path):
        yield from lines_of(Path(given))
        return
    seen = set()
    for number, (query, document, score) in enumerate(_records(f"run '{label}'", given, ("score",)), 1):
        where = f"run '{label}', row {number}"
        if (query, document) in seen:
            raise InputError(f"{where}: document {document} is retrieved a second time for query {query}")
        seen.add((query, document))
        if not isinstance(score, int | float | np.number) or not np.isfinite(score):
            raise InputError(f"{where}: the score must be a finite number, not '{score}'")
        yield where, query, document, float(score)


def _judgements(qrels: Any) -> dict[str, dict[str, int]]:
    judged: dict[str, dict[str, int]] = defaultdict(dict)
    places: dict[tuple[str, str], str] = {}
    for where, query, document, grade in _judged_lines(qrels):
        number = _whole(where, grade)
        if number > 30:
            raise InputError(f"{where}: the grade must be at most 30, not {number}")
        if document in judged[query]:
            first = places[query, document]
            raise InputError(
                f"{where}: document {document} is judged a second time for query {query}, first in {first}"
            )
        judged[query][document] = number
        places[query, document] = where
    if not judged:
        raise InputError("there is no judgement")
    return dict(judged)


def _judged_lines(qrels: Any) -> Iterator[tuple[str, str, str, Any]]:
    """Yield the source line or row of each judgement (for messages), and its query, document and grade."""
    if isinstance(qrels, str | Path):
        with files.reading(Path(qrels), "a file of judgements") as raw:
            lines = texts.unpacked(Path(qrels), raw)
            first = lines.readline()
            head = texts.decoded(first).strip()
            separator = next((one for one in "\t," if all(_columns(head.split(one), _GRADES))), None)
            if separator:
                yield from _table_lines(
                    qrels, head.split(separator), csv.reader(map(texts.decoded, lines), delimiter=separator)
                )
                return
            for number, line in enumerate(chain([first], lines), 1):
                where, words = f"{qrels}:{number}", words_in(line)
                if len(words) not in (0, 4):
                    raise InputError(
                        f"{where}: a judgement has 4 words, '<query> 0 <document> <grade>', not {len(words)}; a table"
                        " needs a header, such as query-id, corpus-id, score"
                    )
                if words:
                    yield where, words[0], words[2], words[3]
        return
    given = qrels.qrels_iter() if hasattr(qrels, "qrels_iter") else qrels
    for number, (query, document, grade) in enumerate(_records("qrels", given, _GRADES), 1):
        yield f"qrels, row {number}", query, document, grade


def _whole(where: str, grade: Any) -> int:
    """Return a grade such as 1, ``"1"`` or 1.0."""
    try:
        number = float(grade)
    except (TypeError, ValueError):
        number = 0.5
    if not number.is_integer() or "_" in str(grade):
        raise InputError(f"{where}: the grade must be a whole number, not '{grade}'")
    return int(number)


def _table_lines(path: str | Path, head: list[str], lines: Iterable[list[str]]) -> Iterator[tuple[str, str, str, str]]:
    """Yield the judgements of a table without its header."""
    columns = [head.index(name) for name in _columns(head, _GRADES)]
    for number, cells in enumerate(lines, 2):
        where = f"{path}:{number}"
        if cells and len(cells) != len(head):
            raise InputError(f"{where}: {len(cells)} cells, but the header names {len(head)} columns")
        if cells:
            query, document, grade = (cells[column] for column in columns)
            yield where, id_text(where, query), id_text(where, document), grade


def _columns(names: Iterable[Any], values: tuple[str, ...]) -> list[Any]:
    """Return the names of the columns with the query, the document and the value; "" for one that is missing."""
    usual = {str(name).strip().lower().replace("-", "_"): name for name in names}
    return [next((usual[one] for one in wanted if one in usual), "") for wanted in (*_IDS, values)]


def _records(what: str, given: Any, values: tuple[str, ...]) -> Iterator[tuple[str, str, Any]]:
    """Yield query, document and value of each row; a column or attribute may have any of its usual names."""
    for number, (query, document, value) in enumerate(_rows_of(what, given, values), 1):
        where = f"{what}, row {number}"
        yield id_text(where, query), id_text(where, document), value


def _rows_of(what: str, given: Any, values: tuple[str, ...]) -> Iterator[tuple[Any, Any, Any]]:
    if isinstance(given, Mapping):
        for query, documents in given.items():
            if not isinstance(documents, Mapping):
                raise InputError(f"{what}: a dictionary must be {{query: {{document: value}}}}; that of {query} is not")
            for document, value in documents.items():
                yield query, document, value
    elif isinstance(given, pd.DataFrame):
        columns = _columns(given, values)
        _require_all(what, columns, values)
        yield from zip(*(given[column] for column in columns), strict=True)
    elif isinstance(given, Iterable):
        for row in given:
            found = [next((one for one in names if hasattr(row, one)), "") for names in (*_IDS, values)]
            _require_all(what, found, values)
            query, document, value = (getattr(row, one) for one in found)
            yield query, document, value
    else:
        raise InputError(
            f"{what}: must be a file, a dictionary {{query: {{document: value}}}}, a DataFrame or records, not"
            f" {errors.shown(given)}"
        )


def _require_all(what: str, columns: list[Any], values: tuple[str, ...]) -> None:
    if "" in columns:
        raise InputError(f"{what}: the rows have no {' or '.join((*_IDS, values)[columns.index('')])}")


def _digest(rows: Iterable[tuple[Any, ...]]) -> str:
    digest = hashlib.sha256()
    for row in rows:
        digest.update(("\x1f".join(map(str, row)) + "\n").encode())
    return digest.hexdigest()
