"""Make a `Dataset` from arrays, or from a table, which is a file or data frame with one row for each document."""

from __future__ import annotations

import io
import json
import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError, errors, files, handed_over, mapped, texts
from ltr_duel.data.dataset import Dataset
from ltr_duel.data.feature_names import numbered
from ltr_duel.data.text.options import ReadOptions
from ltr_duel.data.text.tokens import LARGEST_FLOAT
from ltr_duel.data.text.values import (
    ReadWarning,
    as_grades,
    fill_missing,
    require_labels,
    usual_grades,
    warn_of_clipped,
)

# The names by which a column is recognised, in lower case and without "-", "_" and spaces.
ROLES = {
    "query": ("query", "qid", "queryid", "groupid", "group"),
    "label": ("label", "grade", "relevance", "rel", "target"),
    "document": ("document", "docno", "docid", "documentid", "did", "doc", "sampleid", "corpusid"),
}


def is_table(path: Path) -> bool:
    """Return whether a file is a table: Parquet, Arrow, or text in columns with a header."""
    try:
        with files.reading(path, "a corpus") as raw:
            if raw.peek(6)[:6].startswith((b"PAR1", b"ARROW1")):
                return True
            first = texts.unpacked(path, raw).peek(2**12).split(b"\n")[0]
    except (InputError, OSError):
        return False  # the reader of text reports it
    is_text = b"qid:" in first or first.lstrip()[:1].isdigit() or first.startswith((b"#", b"<"))
    has_header = b"," in first and first[:1].isalpha() and not set(b":#{") & set(first)
    return not is_text and (bool(re.search(r"\.[ct]sv(\.gz|\.bz2|\.xz)?$", path.name.lower())) or has_header)


def read_table(path: Path, options: ReadOptions, name: str) -> Dataset:
    """Read a file with a table as a corpus. The rows of a query need not be adjacent."""
    if chosen := {"dialect", "features", "first_id", "omitted"} & set(options.chosen):
        raise InputError(f"{path}: this is a table; {chosen.pop()} applies to feature text only")
    try:
        return from_frame(arrow_table(path), options, name, group=True)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def arrow_table(path: Path) -> Any:
    """Read a file as an Arrow table. Columns of ids are read as text."""
    import pyarrow as pa
    from pyarrow import csv, ipc, parquet

    with files.reading(path, "a table") as raw:
        head = raw.peek(6)[:6]
        data = b"" if head.startswith((b"PAR1", b"ARROW1")) else texts.unpacked(path, raw).read()
    try:
        if head.startswith(b"PAR1"):
            return parquet.read_table(path)
        if head.startswith(b"ARROW1"):
            return ipc.open_file(pa.memory_map(str(path))).read_all()
        data = texts.decoded(data).encode()
        first = data.split(b"\n", 1)[0] + b"\n"
        parse = csv.ParseOptions(delimiter=max("\t,;", key=first.decode().count))
        names = csv.read_csv(io.BytesIO(first), parse_options=parse).column_names
        types = {column: pa.string() for role in ("query", "document") if (column := column_of(role, names))}
        convert = csv.ConvertOptions(column_types=types, strings_can_be_null=False)
        return csv.read_csv(io.BytesIO(data), None, parse, convert)
    except pa.ArrowException as error:
        raise InputError(f"the table cannot be read ({str(error).splitlines()[0]})") from None


def from_frame(frame: Any, options: ReadOptions, name: str, *, group: bool = False) -> Dataset:
    """Make a corpus as `Dataset.from_frame` does. With ``group``, the rows of a query need not be adjacent."""
    import narwhals

    frame = _with_text_names(frame)
    try:
        table = narwhals.from_native(frame, eager_only=True)
    except TypeError:
        raise InputError(f"a data frame is needed, not {errors.shown(frame)}") from None
    query, label = (column_of(role, table.columns, needed=True) for role in ("query", "label"))
    document = column_of("document", table.columns)
    others = [column for column in table.columns if column not in (query, label, document)]
    indices = _pandas_indices(frame)
    columns = [column for column in others if column not in indices and not texts.is_index_name(column)]
    if left_out := [f"'{column}'" for column in others if column not in columns]:
        note = f"{name}: left out, as the index of a data frame is no feature: {', '.join(left_out)}"
        warnings.warn(note, ReadWarning, stacklevel=3)
    queries = _ids(table[query], query)
    documents = _ids(table[document], document) if document else None
    order: NDArray[np.int64] | slice = slice(None)
    if group and len(queries):
        _, first, code = np.unique(queries, return_index=True, return_inverse=True)
        order = np.argsort(first[code], kind="stable")
    return _corpus(
        lambda k: _numbers(table[columns[k]], columns[k])[order],
        columns,
        _numbers(table[label], label)[order],
        queries[order],
        None if documents is None else documents[order],
        options,
        name,
    )


def from_arrays(
    X: Any,  # noqa: N803 -- the name that scikit-learn uses
    y: Any,
    qid: Any,
    documents: Any,
    feature_names: Sequence[str] | None,
    options: ReadOptions,
    name: str,
) -> Dataset:
    """Make a corpus from arrays as `Dataset.from_arrays` does."""
    import narwhals
    import sklearn
    from sklearn.utils import check_array, check_consistent_length

    X = _with_text_names(X)  # noqa: N806 -- as above
    table = narwhals.from_native(X, eager_only=True, pass_through=True)
    try:
        with sklearn.config_context(assume_finite=True):  # missing and infinite values have messages of their own
            matrix = check_array(X, accept_sparse="csc")
        check_consistent_length(matrix, y, qid, documents)
        if matrix.dtype.kind not in "biuf" or any(kind.is_temporal() for kind in getattr(table, "schema", {}).values()):
            raise ValueError("X contains values that are no numbers")
    except (TypeError, ValueError) as error:
        raise InputError(f"these arrays are no corpus: {error}") from None

    def column(number: int) -> NDArray[np.float64]:
        values = matrix[:, [number]]
        return np.asarray(values.toarray() if hasattr(values, "toarray") else values, np.float64).ravel()

    names = feature_names or (numbered(matrix.shape[1]) if table is X else table.columns)
    ids = None if documents is None else _ids(documents, "documents")
    sparse = matrix if hasattr(X, "toarray") else None  # libraries read zeros of a sparse data frame as 0
    return _corpus(column, names, _numbers(np.asarray(y), "y"), _ids(qid, "qid"), ids, options, name, sparse)


def column_of(role: str, names: Sequence[str], *, needed: bool = False) -> str:
    """Return the name of the column for a role (query, label or document), or "" if there is no such column."""
    plain = {name: re.sub("[-_ ]", "", name.lower()) for name in names}
    columns = [name for word in ROLES[role] for name in names if plain[name] == word]
    if len(columns) > 1 and role != "document":
        raise InputError(f"the columns {errors.listed(columns)} may both be the {role}; rename one of them")
    if needed and not columns:
        raise InputError(f"no column '{role}' (or {', '.join(ROLES[role][1:])}) among {', '.join(names[:8])}")
    return columns[0] if columns else ""


def _corpus(
    column_of: Callable[[int], NDArray[np.float64]],
    names: Sequence[str],
    labels: NDArray[np.float64],
    queries: NDArray[np.str_],
    documents: NDArray[np.str_] | None,
    options: ReadOptions,
    name: str,
    sparse: Any = None,
) -> Dataset:
    rows = len(queries)
    if not rows or not names:
        raise InputError("there is no document" if not rows else "there is no column of features")
    require_labels(labels, options, lambda row: f"row {row + 1}")
    starts = np.flatnonzero(np.append(True, queries[1:] != queries[:-1]))
    ids = queries[starts]
    _, first = np.unique(ids, return_index=True)
    if len(first) < len(ids):
        again = int(np.setdiff1d(np.arange(len(ids)), first)[0])
        raise InputError(
            f"row {starts[again] + 1}: query '{ids[again]}' appears again; the rows of a query must be adjacent,"
            " as after a stable sort by the query"
        )
    query_ptr = np.append(starts, rows).astype(np.int64)
    matrix = mapped.new_array((len(names), rows), np.float32)
    clipped = 0
    for number, column in enumerate(names):
        values = column_of(number)
        missing = np.isnan(values)
        if np.any(missing) and options.fill is None:
            raise InputError(
                f"column '{column}', row {np.argmax(missing) + 1}: this cell of the table is empty; choose a"
                " replacement with --fill (min, nan or a number), in Python with fill="
            )
        if np.any(infinite := np.isinf(values)):
            raise InputError(f"column '{column}', row {np.argmax(infinite) + 1}: the value is infinite")
        clipped += int(np.count_nonzero(np.abs(values) > LARGEST_FLOAT))
        matrix[number] = np.clip(values, -LARGEST_FLOAT, LARGEST_FLOAT)
        if sparse is not None and options.omitted == "missing":
            missing |= ~np.isin(np.arange(rows), sparse.indices[slice(*sparse.indptr[number : number + 2])])
        matrix[number, missing] = np.nan  # all NaN have the same bits, so that the digest is the same
        mapped.release_pages(matrix[number])
    warn_of_clipped(name, clipped)
    fill_missing(matrix.T, query_ptr, options.fill)
    relevance = as_grades(labels.astype(np.float32), options)
    return Dataset(
        features=handed_over(matrix).T,
        relevance=relevance,
        query_ptr=query_ptr,
        query_ids=ids,
        doc_ids=documents,
        name=name,
        grades=usual_grades(int(relevance.max())),
        sha256="",
        feature_names=tuple(names),
        omits=sparse is not None and options.omitted is None and sparse.nnz < rows * len(names),
    )


def _with_text_names(frame: Any) -> Any:
    """Convert the names of the columns of a data frame to text."""
    labels = list(getattr(frame, "column_names", getattr(frame, "columns", ())))
    names = list(map(str, labels))
    if len(set(names)) < len(names):
        raise InputError(f"two columns are called '{next(name for name in names if names.count(name) > 1)}'")
    return frame.set_axis(names, axis=1) if names != labels and hasattr(frame, "set_axis") else frame


def _pandas_indices(frame: Any) -> list[str]:
    """Return the names of the columns of an Arrow table that were the index of a pandas data frame."""
    metadata = getattr(getattr(frame, "schema", None), "metadata", None) or {}
    indices = json.loads(metadata.get(b"pandas", b"{}")).get("index_columns", ())
    return [index for index in indices if isinstance(index, str)]


def _ids(values: Any, name: str) -> NDArray[np.str_]:
    """Return ids as text. A whole number gets no decimal point, and text is unchanged."""
    words = [texts.decoded(cell) if isinstance(cell, bytes) else cell for cell in _cells(values)]
    for row, value in enumerate(words):
        if value is None or value != value or value == "" or "\0" in str(value):
            raise InputError(f"column '{name}', row {row + 1}: there is no id, or it contains a null character")
    return np.array([str(int(x) if isinstance(x, float) and x.is_integer() else x) for x in words], dtype=np.str_)


def _numbers(values: Any, name: str) -> NDArray[np.float64]:
    """Return a column as numbers, with NaN for missing values."""
    import narwhals

    if isinstance(values, narwhals.Series) and (values.dtype.is_numeric() or values.dtype == narwhals.Boolean):
        return np.asarray(values.cast(narwhals.Float64).to_numpy(), np.float64)
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        return values.astype(np.float64)
    numbers = []
    for row, cell in enumerate(_cells(values)):
        try:
            numbers.append(np.nan if cell is None or cell == "" else texts.number(cell))
        except (TypeError, ValueError):
            raise InputError(
                f"column '{name}', row {row + 1}: '{cell}' is not a number; leave the column out of the table"
            ) from None
    return np.array(numbers, np.float64)


def _cells(values: Any) -> list[Any]:
    """Return the cells of a column, with None for missing cells."""
    import narwhals

    series = narwhals.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, narwhals.Series):
        return [None if empty else cell for cell, empty in zip(series.to_list(), series.is_null(), strict=True)]
    return list(values.tolist() if hasattr(values, "tolist") else values)
