"""Judgements, runs and tables of scores as rows, from TREC files, tables, data frames, dictionaries and records.

The usual names of the columns of other tools are understood. Ids keep their text (007, NA, blanks); whole numbers that
pandas made floats lose their ``.0``.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ltr_duel.core import FloatVector, InputError, errors, files, texts
from ltr_duel.data import Dataset

QUERY = "qid", "query_id", "query"  # usual names of columns, with _ for -
DOCUMENT = "docno", "doc_id", "docid", "corpus_id", "document"
GRADE = "label", "relevance", "grade", "score"
SCORE = ("score",)
_TREC_RUN = "'<query> Q0 <document> <rank> <score> <tag>'"

Table = dict[str, Sequence[Any]]
Rows = dict[str, dict[str, int]]  # query id -> document id -> row of the corpus


class Row(NamedTuple):
    """A document of a query with its grade or score, and where it was read, for messages."""

    where: str
    query: str
    document: str
    value: Any


def judgement_rows(qrels: Any) -> Iterator[Row]:
    """Yield the rows of judgements: a TREC file, a table with a header, a frame, a dictionary or records."""
    if not isinstance(qrels, str | Path):
        yield from object_rows("qrels", qrels.qrels_iter() if hasattr(qrels, "qrels_iter") else qrels, GRADE)
        return
    path = Path(qrels)
    with files.reading(path, "a file of judgements") as raw:
        parquet = raw.peek(4)[:4] == b"PAR1"
        head = "" if parquet else texts.decoded(texts.unpacked(path, raw).readline()).strip()
    if parquet or any("" not in _columns(next(csv.reader([head], delimiter=mark), []), GRADE) for mark in "\t,;"):
        table = read_table(path, "a file of judgements")
        columns = _columns(table, GRADE)
        _require_all(str(path), columns, GRADE)
        yield from _rows(f"{path}: row", zip(*(table[name] for name in columns), strict=True))
        return
    for where, words in lines_of_words(path, "a file of judgements"):
        if len(words) != 4:
            raise InputError(
                f"{where}: a judgement has 4 words, '<query> 0 <document> <grade>', not {len(words)}; a table needs a"
                " header, such as query-id, corpus-id, score"
            )
        yield Row(where, words[0], words[2], words[3])


def run_rows(label: str, run: Any) -> Iterator[Row]:
    """Yield the rows of a run, with finite scores: a TREC file, a frame, a dictionary or records."""
    rows = _trec_run(Path(run)) if isinstance(run, str | Path) else object_rows(f"run '{label}'", run, SCORE)
    for row in rows:
        yield row._replace(value=finite(row.where, row.value))


def _trec_run(path: Path) -> Iterator[Row]:
    """Yield the lines of a run file; the lines of a query must be adjacent."""
    blocks: dict[str, tuple[str, str]] = {}  # the first and last line of each query
    current = ""
    for number, (where, words) in enumerate(lines_of_words(path, "a run file")):
        if len(words) != 6:
            other = (
                "; a table (Parquet, CSV) with the columns query, document and one of scores is read by scores:FILE,"
                " and in Python pool_runs takes a dictionary {query: {document: score}}"
            ) * (number == 0)
            raise InputError(f"{where}: a line of a run has 6 words, {_TREC_RUN}, not {len(words)}{other}")
        query, line = words[0], where.rpartition(":")[2]
        first, last = blocks.get(query, (line, line))
        if query != current and query in blocks:
            before = f"in line {first}" if first == last else f"in lines {first} to {last}"
            raise InputError(
                f"{where}: query {query} was listed before, {before}; the lines of a query must be adjacent"
                f" (as after sort -s -k1,1 {path.name})"
            )
        blocks[query], current = (first, line), query
        yield Row(where, query, words[2], words[4])


def lines_of_words(path: Path, kind: str) -> Iterator[tuple[str, list[str]]]:
    """Yield ``path:line`` and the words of each nonempty line of a text file; only ASCII blanks separate words."""
    with files.reading(path, kind) as raw:
        for number, line in enumerate(texts.unpacked(path, raw), 1):
            if b"\0" in line:
                raise InputError(f"{path}:{number}: the line contains a null character")
            if words := line.split():
                yield f"{path}:{number}", [texts.decoded(word) for word in words]


def object_rows(what: str, given: Any, values: tuple[str, ...]) -> Iterator[Row]:
    """Yield the rows of a dictionary ``{query: {document: value}}``, a frame, or records with attributes."""
    triples: Iterable[Any]
    if isinstance(given, Mapping):
        for query, documents in given.items():
            if not isinstance(documents, Mapping):
                raise InputError(f"{what}: a dictionary must be {{query: {{document: value}}}}; that of {query} is not")
        triples = ((query, *pair) for query, documents in given.items() for pair in documents.items())
    elif isinstance(given, pd.DataFrame):
        if not given.columns.is_unique:
            raise InputError(f"{what}: two columns are called '{given.columns[given.columns.duplicated()][0]}'")
        columns = _columns(given, values)
        _require_all(what, columns, values)
        triples = zip(*(given[column] for column in columns), strict=True)
    elif isinstance(given, Iterable):
        triples = _attributes(what, given, values)
    else:
        forms = "a file, a dictionary {query: {document: value}}, a DataFrame or records"
        raise InputError(f"{what}: must be {forms}, not {errors.shown(given)}")
    yield from _rows(f"{what}, row", triples)


def _attributes(what: str, records: Iterable[Any], values: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    for record in records:
        names = [next((name for name in usual if hasattr(record, name)), "") for usual in (QUERY, DOCUMENT, values)]
        _require_all(what, names, values)
        yield tuple(getattr(record, name) for name in names)


def _rows(where: str, triples: Iterable[Any]) -> Iterator[Row]:
    for number, (query, document, value) in enumerate(triples, 1):
        row = f"{where} {number}"
        yield Row(row, id_text(row, query), id_text(row, document), value)


def _columns(names: Iterable[Any], values: tuple[str, ...] = ()) -> list[Any]:
    """Return the names of the columns with the query, the document and the value; "" for one that is missing."""
    usual = {str(name).strip().lower().replace("-", "_"): name for name in names}
    wanted = (QUERY, DOCUMENT, values) if values else (QUERY, DOCUMENT)
    return [next((usual[name] for name in group if name in usual), "") for group in wanted]


def _require_all(what: str, columns: list[Any], values: tuple[str, ...]) -> None:
    if "" in columns:
        raise InputError(f"{what}: the rows have no {' or '.join((QUERY, DOCUMENT, values)[columns.index('')])}")


def score_table(path: Path) -> tuple[list[tuple[str, str]], dict[str, FloatVector]]:
    """Read a table of scores: query and document of each row, and the scores of each other column.

    An empty cell is NaN: the ranker does not retrieve the document. The index of a data frame is no ranker.
    """
    table = read_table(path, "a table of scores")
    query, document = keys = _columns(table)
    _require_all(str(path), keys, ())
    names = [name for name in table if not (texts.is_index_name(name) or name in keys)]
    if not names:
        raise InputError(f"{path}: there is no column of scores in addition to '{query}' and '{document}'")
    ids = [
        (id_text(f"{path}: row {number}", a), id_text(f"{path}: row {number}", b))
        for number, (a, b) in enumerate(zip(table[query], table[document], strict=True), 1)
    ]

    def cell(name: str, number: int, value: Any) -> float:
        empty = not value.strip() if isinstance(value, str) else bool(pd.isna(value))
        return math.nan if empty else finite(f"{path}: row {number}", value, f"score of '{name}'")

    scores = {name: np.array([cell(name, n, value) for n, value in enumerate(table[name], 1)]) for name in names}
    return ids, scores


def read_table(path: Path, kind: str) -> Table:
    """Return the columns of a table: Parquet, or text separated by commas, tabs or semicolons, as strings."""
    with files.reading(path, kind) as raw:
        if raw.peek(4)[:4] == b"PAR1" or path.suffix == ".parquet":
            return _parquet(path)
        text = io.TextIOWrapper(texts.unpacked(path, raw), "utf-8", "surrogateescape", newline="")
        first = text.readline()
        reader = csv.reader(chain([first], text), delimiter=max(",\t;", key=first.count))
        try:
            lines = [(reader.line_num, [_redecoded(cell) for cell in cells]) for cells in reader if cells]
        except csv.Error as error:
            raise InputError(f"{path}:{reader.line_num}: not a line of a table ({error})") from None
    if not lines:
        raise InputError(f"{path}: the table is empty")
    (_, names), *rows = lines
    for number, cells in rows:
        if len(cells) != len(names):
            raise InputError(f"{path}:{number}: {len(cells)} cells, but the table has {len(names)} columns")
    if len(set(names)) < len(names):
        raise InputError(f"{path}: two columns have the same name: {', '.join(names)}")
    columns = zip(*(cells for _, cells in rows), strict=True) if rows else ((),) * len(names)
    return dict(zip(names, columns, strict=True))


def _parquet(path: Path) -> Table:
    from pyarrow import ArrowException
    from pyarrow import parquet as arrow_parquet

    try:
        table = arrow_parquet.read_table(path).to_pandas()
    except (ArrowException, ValueError, OSError) as error:
        raise InputError(f"{path}: not a Parquet table ({str(error).splitlines()[0]})") from None
    return {str(name): table[name].tolist() for name in table}


def _redecoded(cell: str) -> str:
    return cell if cell.isascii() else texts.decoded(cell.encode("utf-8", "surrogateescape"))


def number_or_nan(value: Any) -> float:
    """Return a number, or NaN for a value that is none."""
    try:
        return texts.number(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def finite(where: str, value: Any, what: str = "score") -> float:
    """Return a finite number; raise `InputError` for anything else."""
    number = number_or_nan(value)
    if not math.isfinite(number):
        cell = f"'{value}'" if isinstance(value, str) else errors.shown(value)
        raise InputError(f"{where}: the {what} must be a finite number, not {cell}")
    return number


def id_text(where: str, value: Any) -> str:
    """Return an id as text; raise `InputError` for a missing id."""
    if isinstance(value, bytes):
        value = texts.decoded(value)
    elif not isinstance(value, str):
        value = int(value) if isinstance(value, float | np.floating) and float(value).is_integer() else value
        value = "" if str(value) in ("None", "nan", "<NA>") else str(value)
    if not value:
        raise InputError(f"{where}: the id of the query or document is missing")
    if "\0" in value:
        raise InputError(f"{where}: the id of the query or document contains a null character")
    return str(value)


def document_rows(dataset: Dataset) -> Rows:
    """Return the row of each document, keyed by query id and document id."""
    if dataset.doc_ids is None:
        raise InputError(f"{dataset.name}: its documents have no ids, so run files cannot be matched to them")
    rows: Rows = {}
    for query, start, stop in zip(dataset.query_ids, dataset.query_ptr, dataset.query_ptr[1:], strict=False):
        ids = dataset.doc_ids[start:stop].tolist()
        rows[str(query)] = dict(zip(ids, range(int(start), int(stop)), strict=True))
        if len(rows[str(query)]) < len(ids):
            twice = next(name for name in ids if ids.count(name) > 1)
            raise InputError(f"{dataset.name}: query {query} has document {twice} twice, so runs would be ambiguous")
    return rows
