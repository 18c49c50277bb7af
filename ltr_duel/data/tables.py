"""Make a `Dataset` from a data frame with one row for each document, or from arrays."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError, errors, handed_over, mapped, texts
from ltr_duel.data.dataset import Dataset
from ltr_duel.data.feature_names import numbered
from ltr_duel.data.text.options import ReadOptions
from ltr_duel.data.text.tokens import LARGEST_FLOAT
from ltr_duel.data.text.values import (
    ReadWarning,
    as_grades,
    fill_missing,
    refuse_labels,
    usual_grades,
    warn_of_clipped,
)  # fmt: skip

# Names of columns, in lower case and without "-", "_" and spaces, where the user does not name the column.
_ROLES = {
    "query": ("query", "qid", "queryid", "groupid", "group"),
    "label": ("label", "grade", "relevance", "rel", "target"),
    "document": ("document", "docno", "docid", "documentid", "did", "doc", "sampleid", "corpusid"),
}
_TABLES = {  # keyed by the columns that identify a table
    ("impression", "query"): "a click log: 'ltr-duel logs check' and 'logs compare' read it",
    ("first", "second", "p"): "a preference matrix: 'ltr-duel prefs show' and 'simulate' read it",
    ("policy", "repetition"): "results of a simulation, a table that pandas.read_parquet reads",
    ("query", "document"): "a table of scores: give it as --rankers scores:FILE, in addition to a corpus",
}


def from_frame(
    frame: Any,
    *,
    query: str | None = None,
    label: str | None = None,
    document: str | None = None,
    features: Sequence[str] | None = None,
    options: ReadOptions,
    name: str,
    grades: int | None = None,
    group: bool = False,
) -> Dataset:
    """Make a corpus from a data frame; see `Dataset.from_frame`. ``group``: queries need not be adjacent."""
    import narwhals

    frame = _with_text_names(frame)
    try:
        table = narwhals.from_native(frame, eager_only=True)
    except TypeError:
        raise InputError(f"a data frame is needed, not {errors.shown(frame)}") from None
    names = table.columns
    query = column_of_role("the data frame", "query", names, query) or ""  # never empty: only documents may be missing
    label = column_of_role("the data frame", "label", names, label) or ""
    document = column_of_role("the data frame", "document", names, document)
    if features is not None:
        columns = list(map(str, features))
    else:
        others = [column for column in names if column not in (query, label, document)]
        indices = _pandas_indices(frame)
        columns = [column for column in others if column not in indices and not texts.is_index_name(str(column))]
        if left_out := [f"'{column}'" for column in others if column not in columns]:
            what = f"{name}: left out, as the index of a data frame is no feature: {', '.join(left_out)}"
            warnings.warn(what, ReadWarning, stacklevel=3)
    for column in columns:
        errors.require_one_of("column", column, names)
    queries = _ids(table[query], query)
    documents = None if document is None else _ids(table[document], document)
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
        grades,
    )


def from_arrays(
    X: Any,  # noqa: N803 -- the name that scikit-learn uses
    y: Any,
    qid: Any,
    *,
    documents: Any,
    feature_names: Sequence[str] | None,
    options: ReadOptions,
    name: str,
    grades: int | None,
) -> Dataset:
    """Make a corpus from arrays; see `Dataset.from_arrays`."""
    import narwhals
    import sklearn
    from sklearn.utils import check_array, check_consistent_length

    X = _with_text_names(X)  # noqa: N806 -- as above
    table = narwhals.from_native(X, eager_only=True, pass_through=True)
    if table is not X:
        feature_names = feature_names or list(map(str, table.columns))
    try:
        with sklearn.config_context(assume_finite=True):  # missing and infinite values have messages of their own
            matrix = check_array(X, accept_sparse="csc")
        labels = np.asarray(y)
        queries = _ids(qid, "qid")
        ids = None if documents is None else _ids(documents, "documents")
        check_consistent_length(matrix, labels, queries, ids)
        if matrix.dtype.kind not in "biuf" or any(kind.is_temporal() for kind in getattr(table, "schema", {}).values()):
            raise ValueError("X contains values that are no numbers")
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"these arrays are no corpus: {error}") from None

    def values(number: int) -> NDArray[np.float64]:
        column = matrix[:, [number]]
        return np.asarray(column.toarray() if hasattr(column, "toarray") else column, np.float64).ravel()

    omits = hasattr(matrix, "toarray") and (hasattr(X, "toarray") or options.omitted is not None)
    sparse = matrix if omits else None  # libraries read zeros of a sparse data frame as 0
    names = feature_names or numbered(matrix.shape[1])
    return _corpus(values, names, _numbers(labels, "y"), queries, ids, options, name, grades, sparse)


def column_of_role(what: str, role: str, names: Sequence[str], chosen: str | None = None) -> str | None:
    """Return the name of the column with a role; None if there is no column of documents."""
    if chosen is not None:
        errors.require_one_of("column", str(chosen), names)
        return str(chosen)
    plain = {name: "".join(c for c in str(name).lower() if c not in "-_ ") for name in names}
    found = [name for word in _ROLES[role] for name in names if plain[name] == word]
    if len(found) > 1 and role != "document":
        raise InputError(f"{what}: the columns {errors.listed(found)} may both be the {role}; rename one of them")
    if not found and role != "document":
        raise InputError(
            f"{what}: no column '{role}' (or {', '.join(_ROLES[role][1:])}); this is {table_words(names)}; in Python,"
            f" Dataset.from_frame(frame, {role}=...) names the column"
        )
    return found[0] if found else None


def table_words(columns: Sequence[str]) -> str:
    """Describe a table by its columns, and name the command that reads it, if there is one."""
    known = (words for needed, words in _TABLES.items() if set(needed) <= set(columns))
    return next(known, f"a table of {', '.join(map(str, columns[:8]))}{', ...' * (len(columns) > 8)}")


def _corpus(
    column_of: Callable[[int], NDArray[np.float64]],
    names: Sequence[str],
    labels: NDArray[np.float64],
    queries: NDArray[np.str_],
    documents: NDArray[np.str_] | None,
    options: ReadOptions,
    name: str,
    grades: int | None,
    sparse: Any = None,
) -> Dataset:
    """Make a corpus of columns. ``sparse``: their sparse matrix in CSC form, whose omitted entries may be missing."""
    rows = len(queries)
    if not rows or not names:
        raise InputError("there is no document" if not rows else "there is no column of features")
    refuse_labels(labels, options, lambda row: f"row {row + 1}")
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
        missing, infinite = np.isnan(values), np.isinf(values)
        if np.any(infinite):
            raise InputError(f"column '{column}', row {np.argmax(infinite) + 1}: the value is infinite")
        if np.any(missing) and options.fill is None:
            raise InputError(
                f"column '{column}', row {np.argmax(missing) + 1}: this cell of the table is empty; choose a"
                " replacement with --fill (min, nan or a number), in Python with fill="
            )
        clipped += int(np.count_nonzero(np.abs(values) > LARGEST_FLOAT))
        matrix[number] = np.clip(values, -LARGEST_FLOAT, LARGEST_FLOAT)
        if sparse is not None and options.omitted == "missing":
            missing |= ~np.isin(np.arange(rows), sparse.indices[slice(*sparse.indptr[number : number + 2])])
        matrix[number, missing] = np.nan  # one pattern of bits, which the digest of the corpus contains
        mapped.release_pages(matrix[number])
    omitted = ""
    if sparse is not None and options.omitted is None and sparse.nnz < rows * len(names):
        omitted = "some zeros" if options.fill not in (None, "nan") or np.any(sparse.data == 0) else "all zeros"
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
        grades=grades or usual_grades(int(relevance.max())),
        sha256="",
        feature_names=tuple(names),
        omitted=omitted,
    )


def _with_text_names(frame: Any) -> Any:
    """Return a data frame with text as names of its columns, or arrays as they are. Refuse two columns of one name."""
    given = list(getattr(frame, "column_names", getattr(frame, "columns", ())))
    names = list(map(str, given))
    if len(set(names)) < len(names):
        raise InputError(f"two columns are called '{next(name for name in names if names.count(name) > 1)}'")
    return frame.set_axis(names, axis=1) if names != given and hasattr(frame, "set_axis") else frame


def _pandas_indices(frame: Any) -> list[str]:
    """Return the columns of an Arrow table that were the index of a pandas data frame."""
    described = json.loads((getattr(getattr(frame, "schema", None), "metadata", None) or {}).get(b"pandas", b"{}"))
    return [index for index in described.get("index_columns", ()) if isinstance(index, str)]


def _ids(values: Any, name: str) -> NDArray[np.str_]:
    """Return ids as text, shape (rows,): whole numbers without a decimal point, text unchanged."""
    words, missing = _cells(values)
    for row, value in enumerate(words):
        if missing[row] or value != value or value == "":
            raise InputError(f"column '{name}', row {row + 1}: there is no id")
        if isinstance(value, bytes):
            words[row] = texts.decoded(value)
        else:
            words[row] = str(int(value) if isinstance(value, float) and value.is_integer() else value)
        if "\0" in words[row]:
            raise InputError(f"column '{name}', row {row + 1}: an id cannot contain a null character")
    return np.array(words, dtype=np.str_)


def _numbers(values: Any, name: str) -> NDArray[np.float64]:
    """Return a column as numbers, shape (rows,); missing values are NaN."""
    import narwhals

    if isinstance(values, narwhals.Series) and (values.dtype.is_numeric() or values.dtype == narwhals.Boolean):
        return np.asarray(values.cast(narwhals.Float64).to_numpy(), np.float64)
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        return values.astype(np.float64)
    cells, missing = _cells(values)
    numbers = np.full(len(cells), np.nan)
    for row in np.flatnonzero(~missing).tolist():
        try:
            numbers[row] = np.nan if cells[row] == "" else texts.number(cells[row])
        except (TypeError, ValueError):
            raise InputError(
                f"column '{name}', row {row + 1}: '{cells[row]}' is not a number; leave the column out of the table,"
                " or in Python name those to read: Dataset.from_frame(frame, features=[...])"
            ) from None
    return numbers


def _cells(values: Any) -> tuple[list[Any], NDArray[np.bool_]]:
    """Return the cells of a column, and which of them are missing."""
    import narwhals

    series = narwhals.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, narwhals.Series):
        return series.to_list(), np.asarray(series.is_null().to_numpy(), np.bool_)
    cells = values if isinstance(values, np.ndarray) else np.array(values, object)  # integers stay exact
    if cells.ndim != 1:
        raise InputError(f"ids and labels must be one-dimensional, not of shape {cells.shape}")
    return cells.tolist(), np.array([cell is None for cell in cells.tolist()], np.bool_)
