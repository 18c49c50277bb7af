"""Read judgements, runs and tables of scores from TREC files, other tables, data frames, dictionaries and records.

Columns may have the names that other tools use, for example ``qid`` or ``query_id``. Ids are kept as text, so that 007
and NA stay as they are. If pandas has converted whole numbers to floats, the ``.0`` at the end of the ids is removed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ltr_duel.core import FloatVector, InputError, errors, files, texts
from ltr_duel.data import Dataset, arrow_table, column_of

_TREC = {"grade": "<query> 0 <document> <grade>", "score": "<query> Q0 <document> <rank> <score> <tag>"}


class Rows(NamedTuple):
    """Different pairs of a query and a document, each with a grade or a score."""

    source: str  # the beginning of a position in messages: "run.trec:" or "qrels, row "
    numbers: Sequence[int]  # (n,) number of the line or row from which each pair was read
    query: NDArray[np.str_]  # (n,)
    document: NDArray[np.str_]  # (n,)
    value: FloatVector  # (n,) finite

    def position(self, row: Any) -> str:
        """Return where a row was read, for messages."""
        return f"{self.source}{self.numbers[row]}"

    @property
    def pairs(self) -> pd.MultiIndex:
        """The query and the document of each row."""
        return pd.MultiIndex.from_arrays([self.query, self.document], names=["query", "document"])


def judgement_rows(qrels: Any) -> Rows:
    """Read judgements from a TREC file, a table with a header, a data frame, a dictionary or records."""
    if not isinstance(qrels, str | Path):
        return _object_rows("qrels", qrels.qrels_iter() if hasattr(qrels, "qrels_iter") else qrels, "grade")
    path = Path(qrels)
    with files.reading(path, "a file of judgements") as raw:
        is_parquet = raw.peek(4)[:4] == b"PAR1"
        header = b"" if is_parquet else texts.unpacked(path, raw).readline()
    names = re.split("[\t,;]", texts.decoded(header).replace('"', "").strip())
    if is_parquet or (column_of("query", names) and column_of("document", names)):
        return _frame_rows(f"{path}: row ", _table(path), "grade")
    return _trec_rows(path, "grade")


def run_rows(label: str, run: Any) -> Rows:
    """Read a run from a TREC file, a data frame, a dictionary or records."""
    if not isinstance(run, str | Path):
        return _object_rows(f"run '{label}'", run, "score")
    path = Path(run)
    rows = _trec_rows(path, "score")
    starts = np.flatnonzero(np.append(True, rows.query[1:] != rows.query[:-1])[: len(rows.query)])
    again = starts[pd.Series(rows.query[starts]).duplicated().to_numpy()]
    if again.size:
        query = rows.query[again[0]]
        first = rows.numbers[int(np.argmax(rows.query == query))]
        raise InputError(
            f"{rows.position(again[0])}: query {query} was listed before, from line {first} on; the lines of a query"
            f" must be adjacent (as after sort -s -k1,1 {path.name})"
        )
    return rows


def score_rows(path: Path) -> dict[str, Rows]:
    """Read a table of scores, and return one run for each column. A document with an empty cell is not retrieved."""
    table = _table(path)
    columns = list(map(str, table))
    keys = [column_of(role, columns) for role in ("query", "document")]
    names = [name for name in columns if name not in keys and not texts.is_index_name(name)]
    if "" in keys or not names:
        raise InputError(f"{path}: a table of scores needs a query, a document and scores, but has {columns}")
    return {name: _frame_rows(f"{path}: row ", table[table[name].notna()], name) for name in names}


def document_index(dataset: Dataset) -> pd.MultiIndex:
    """Return the query id and the document id of each row of a corpus."""
    if dataset.doc_ids is None:
        raise InputError(
            f"{dataset.name}: its documents have no ids, so run files cannot be matched; in feature text, the end of"
            " each line is '# docid = ID'"
        )
    index = pd.MultiIndex.from_arrays([np.repeat(dataset.query_ids, dataset.query_sizes), dataset.doc_ids])
    if not index.is_unique:
        query, document = index[index.duplicated()][0]
        raise InputError(f"{dataset.name}: query {query} has document {document} twice, so runs would be ambiguous")
    return index


def _trec_rows(path: Path, kind: str) -> Rows:
    form, rows = _TREC[kind], []
    with files.reading(path, "a TREC file") as raw:
        for number, line in enumerate(texts.unpacked(path, raw), 1):
            words = [texts.decoded(word) for word in line.split()]
            if words and len(words) != len(form.split()):
                raise InputError(
                    f"{path}:{number}: a line has {len(form.split())} words, '{form}', not {len(words)}; a table needs"
                    " a header with query, document and grade or scores, and tables of scores are read by scores:FILE"
                )
            if words:
                rows.append((number, words[0], words[2], words[form.split().index(f"<{kind}>")]))
    return _rows(f"{path}:", kind, *zip(*rows, strict=True)) if rows else _rows(f"{path}:", kind, (), (), (), ())


def _object_rows(label: str, table: Any, kind: str) -> Rows:
    if isinstance(table, pd.DataFrame):
        return _frame_rows(f"{label}, row ", table.rename(columns=str).reset_index(drop=True), kind)
    if isinstance(table, Mapping) and all(isinstance(documents, Mapping) for documents in table.values()):
        triples = [(query, *pair) for query, documents in table.items() for pair in documents.items()]
        return _frame_rows(f"{label}, row ", pd.DataFrame(triples, None, ["query", "document", kind], object), kind)
    if isinstance(table, Mapping) or not isinstance(table, Iterable):
        forms = "a file, a dictionary {query: {document: value}}, a DataFrame or records"
        raise InputError(f"{label}: must be {forms}, not {errors.shown(table)}")
    records = list(table)
    keys = _keys(f"{label}, row ", dir(records[0]), kind) if records else ["", "", ""]
    values = ([getattr(record, key) for record in records] for key in keys)
    return _rows(f"{label}, row ", kind, range(1, len(records) + 1), *values)


def _frame_rows(source: str, frame: pd.DataFrame, kind: str) -> Rows:
    if not frame.columns.is_unique:
        raise InputError(f"{source}1: two columns are called '{frame.columns[frame.columns.duplicated()][0]}'")
    keys = _keys(source, list(map(str, frame)), kind)
    return _rows(source, kind, (frame.index + 1).tolist(), *(frame[key].tolist() for key in keys))


def _keys(source: str, names: list[str], kind: str) -> list[str]:
    try:
        query = "qid" if "qid" in names else column_of("query", names, needed=True)  # PyTerrier's query is its text
        label = column_of("label", names) if kind == "grade" else ""
        value = label or {"grade": "score"}.get(kind, kind)
        if value not in names:
            raise InputError(f"no column '{value}' among {', '.join(names[:8])}")
        return [query, column_of("document", names, needed=True), value]
    except InputError as error:
        raise InputError(f"{source.removesuffix(' row ').rstrip(':,')}: {error}") from None


def _rows(source: str, kind: str, numbers: Any, queries: Any, documents: Any, values: Any) -> Rows:
    """Return checked rows: each id is present, each value is finite, and no pair appears twice."""
    query, document = (np.array(list(map(_id_text, cells)), np.str_) for cells in (queries, documents))
    rows = Rows(source, numbers, query, document, np.array(list(map(_number, values)), np.float64))
    for row in np.flatnonzero((rows.query == "") | (rows.document == "")):
        raise InputError(f"{rows.position(row)}: an id is missing, or contains a null character")
    for row in np.flatnonzero(~np.isfinite(rows.value)):
        cell = f"'{values[row]}'" if isinstance(values[row], str) else errors.shown(values[row])
        value = kind if kind in _TREC else f"score of '{kind}'"
        raise InputError(f"{rows.position(row)}: the {value} must be a finite number, not {cell}")
    for row in np.flatnonzero(rows.pairs.duplicated()):
        same = (rows.query == rows.query[row]) & (rows.document == rows.document[row])
        pair = f"document {rows.document[row]} of query {rows.query[row]}"
        raise InputError(f"{rows.position(row)}: {pair} appears a second time, first in {rows.position(same.argmax())}")
    return rows


def _table(path: Path) -> pd.DataFrame:
    try:
        table = arrow_table(path)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    names = list(map(str, table.column_names))
    return pd.concat([pd.Series(column.to_pylist(), dtype=object) for column in table.columns], axis=1, keys=names)


def _number(value: Any) -> float:
    try:
        return texts.number(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _id_text(value: Any) -> str:
    if isinstance(value, bytes):
        value = texts.decoded(value)
    elif not isinstance(value, str):
        value = int(value) if isinstance(value, float | np.floating) and float(value).is_integer() else value
        value = "" if value is None or value is pd.NA or value != value else str(value)
    return "" if "\0" in value else str(value)
