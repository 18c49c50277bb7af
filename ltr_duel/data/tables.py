"""Make a `Dataset` from a table (Parquet, Arrow, CSV, TSV, a pool of CatBoost), a data frame, or arrays."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError, errors, files, handed_over, mapped, several, texts
from ltr_duel.data.dataset import Dataset
from ltr_duel.data.feature_names import numbered
from ltr_duel.data.text.options import ReadOptions
from ltr_duel.data.text.other_formats import table_words
from ltr_duel.data.text.reading import Naming, ReadWarning
from ltr_duel.data.text.tokens import LARGEST_FLOAT
from ltr_duel.data.text.values import as_grades, fill_missing, refuse_labels, usual_grades

# Names of columns, in lower case and without "-", "_" and spaces, where the user does not name the column.
_ROLES = {
    "query": ("query", "qid", "queryid", "groupid", "group"),
    "label": ("label", "grade", "relevance", "rel", "target"),
    "document": ("document", "docno", "docid", "documentid", "did", "doc", "sampleid", "corpusid"),
}
_SUFFIXES = (".csv", ".tsv")
_FORBIDDEN = ("dialect", "features", "repeated", "first_id")  # options that only text has


def is_table(path: Path) -> bool:
    """Return whether a file is a table: Parquet, Arrow, or text in columns with a header, but not feature text."""
    try:
        with path.open("rb") as raw:
            if raw.peek(6)[:6].startswith((b"PAR1", b"ARROW1")):
                return True
        with files.reading(path, "a corpus") as raw:
            first = texts.unpacked(path, raw).peek(2**12).split(b"\n")[0]
    except (InputError, OSError):
        return False  # the reader of text reports it
    if _descriptions(path):
        return True
    name = path.name.lower()
    for packed in (".gz", ".bz2", ".xz"):
        name = name.removesuffix(packed)
    is_text = b"qid:" in first or first.lstrip()[:1].isdigit() or first.startswith((b"#", b"<"))
    return not is_text and (name.endswith(_SUFFIXES) or _is_header(first))


def _is_header(line: bytes) -> bool:
    return b"," in line and line[:1].isalpha() and not set(b":#{") & set(line)


def read_table(path: Path, options: ReadOptions, naming: Naming) -> Dataset:
    """Read a table as a corpus; the columns are found by their names (see `_ROLES`), and queries need not be adjacent.

    Raises `InputError` if the file is damaged, a column is missing, or a cell is not what its column needs.
    """
    if given := [name for name in _FORBIDDEN if name in options.chosen]:
        raise InputError(f"{path}: this is a table; {given[0]} applies to feature text only")
    frame = _arrow(path)
    roles = {role: _column(str(path), role, frame.column_names) for role in _ROLES}
    try:
        return from_frame(frame, **roles, options=options, naming=naming, group=True)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def from_frame(
    frame: Any,
    *,
    query: str | None,
    label: str | None,
    document: str | None,
    features: Sequence[str] | None = None,
    options: ReadOptions,
    naming: Naming,
    group: bool = False,
) -> Dataset:
    """Make a corpus from a data frame; see `Dataset.from_frame`. ``group``: queries need not be adjacent."""
    import narwhals

    try:
        table = narwhals.from_native(frame, eager_only=True)
    except TypeError:
        raise InputError(f"a data frame is needed, not {errors.shown(frame)}") from None
    names = table.columns
    query = _column("the data frame", "query", names, query) or ""  # never empty: only documents may have no column
    label = _column("the data frame", "label", names, label) or ""
    document = _column("the data frame", "document", names, document)
    columns = [name for name in names if name not in (query, label, document)] if features is None else list(features)
    for name in columns:
        errors.require_one_of("column", name, names)
    queries = _ids(table[query], query)
    documents = None if document is None else _ids(table[document], document)
    order: NDArray[np.int64] | slice = slice(None)
    if group and len(queries):
        _, first, code = np.unique(queries, return_index=True, return_inverse=True)
        order = np.argsort(first[code], kind="stable")
    return _assembled(
        lambda column: _numbers(table[columns[column]], columns[column])[order],
        (len(queries), len(columns)),
        _numbers(table[label], label)[order],
        queries[order],
        None if documents is None else documents[order],
        options,
        naming._replace(feature_names=naming.feature_names or columns),
    )


def from_arrays(X: Any, y: Any, qid: Any, *, documents: Any, options: ReadOptions, naming: Naming) -> Dataset:  # noqa: N803
    """Make a corpus from arrays; see `Dataset.from_arrays`."""
    import narwhals
    import sklearn
    from sklearn.utils import check_array, check_consistent_length

    table = narwhals.from_native(X, eager_only=True, pass_through=True)
    if names := getattr(table, "columns", None) if table is not X else None:
        naming = naming._replace(feature_names=naming.feature_names or list(map(str, names)))
    try:
        with sklearn.config_context(assume_finite=True):  # missing and infinite values have messages of their own
            matrix = check_array(X, accept_sparse="csc")
        labels = np.asarray(y)
        queries = _ids(qid, "qid")
        ids = None if documents is None else _ids(documents, "documents")
        check_consistent_length(matrix, labels, queries, ids)
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"these arrays are no corpus: {error}") from None

    def column_of(number: int) -> NDArray[np.float64]:
        column = matrix[:, [number]]
        return np.asarray(column.toarray() if hasattr(column, "toarray") else column, np.float64).ravel()

    return _assembled(column_of, matrix.shape, _numbers(labels, "y"), queries, ids, options, naming)


def _assembled(
    column_of: Callable[[int], NDArray[np.float64]],
    shape: tuple[int, int],
    labels: NDArray[np.float64],
    queries: NDArray[np.str_],
    documents: NDArray[np.str_] | None,
    options: ReadOptions,
    naming: Naming,
) -> Dataset:
    rows, columns = shape
    if not rows or not columns:
        raise InputError("there is no document" if not rows else "there is no column of features")
    names = tuple(naming.feature_names or numbered(columns))
    refuse_labels(labels, options, lambda row: f"row {row + 1}")
    starts = np.flatnonzero(np.append(True, queries[1:] != queries[:-1]))
    ids = queries[starts]
    if len(np.unique(ids)) < len(ids):
        _, first = np.unique(ids, return_index=True)
        again = int(np.setdiff1d(np.arange(len(ids)), first)[0])
        raise InputError(
            f"row {starts[again] + 1}: query '{ids[again]}' appears again; the rows of a query must be adjacent,"
            " as after a stable sort by the query"
        )
    query_ptr = np.append(starts, rows).astype(np.int64)
    matrix = mapped.new_array((columns, rows), np.float32)
    clipped = 0
    for number in range(columns):
        values = column_of(number)
        missing = np.isnan(values)
        if np.any(np.isinf(values)):
            raise InputError(f"column '{names[number]}', row {np.argmax(np.isinf(values)) + 1}: the value is infinite")
        if np.any(missing) and options.fill is None:
            raise InputError(
                f"column '{names[number]}', row {np.argmax(missing) + 1}: this cell of the table is empty; choose a"
                " replacement with --fill (min, nan or a number), in Python with fill="
            )
        clipped += int(np.count_nonzero(np.abs(values) > LARGEST_FLOAT))
        matrix[number] = np.clip(values, -LARGEST_FLOAT, LARGEST_FLOAT)
        matrix[number, missing] = np.nan  # one pattern of bits, which the digest of the corpus contains
        mapped.release_pages(matrix[number])
    if clipped:
        what = several(clipped, "value")
        warnings.warn(
            f"{naming.name}: {what} beyond the range of float32, clipped to 3.4028235e38", ReadWarning, stacklevel=4
        )
    fill_missing(matrix.T, query_ptr, options.fill)
    relevance = as_grades(labels.astype(np.float32), options)
    return Dataset(
        features=handed_over(matrix).T,
        relevance=relevance,
        query_ptr=query_ptr,
        query_ids=ids,
        doc_ids=documents,
        name=naming.name,
        grades=naming.grades or usual_grades(int(relevance.max())),
        sha256="",
        feature_names=names,
    )


def _column(what: str, role: str, names: Sequence[str], chosen: str | None = None) -> str | None:
    """Return the name of the column with a role; None if there is no column of documents."""
    if chosen is not None:
        errors.require_one_of("column", chosen, names)
        return chosen
    plain = {name: "".join(c for c in str(name).lower() if c not in "-_ ") for name in names}
    found = [name for known in _ROLES[role] for name in names if plain[name] == known]
    if len(found) > 1 and role != "document":
        raise InputError(f"{what}: the columns {errors.listed(found)} may both be the {role}; rename one of them")
    if not found and role != "document":
        raise InputError(
            f"{what}: no column '{role}' (or {', '.join(_ROLES[role][1:])}); this is {table_words(names)}; in Python,"
            f" Dataset.from_frame(frame, {role}=...) names the column"
        )
    return found[0] if found else None


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
            numbers[row] = np.nan if cells[row] == "" else float(cells[row])
        except (TypeError, ValueError):
            raise InputError(
                f"column '{name}', row {row + 1}: '{cells[row]}' is not a number; Dataset.from_frame(frame,"
                " features=[...]) reads some of the columns"
            ) from None
    return numbers


def _cells(values: Any) -> tuple[list[Any], NDArray[np.bool_]]:
    """Return the cells of a column, and which of them are missing."""
    import narwhals

    series = narwhals.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, narwhals.Series):
        return series.to_list(), np.asarray(series.is_null().to_numpy(), np.bool_)
    cells = np.asarray(values)
    if cells.ndim != 1:
        raise InputError(f"ids and labels must be one-dimensional, not of shape {cells.shape}")
    return cells.tolist(), np.array([cell is None for cell in cells.tolist()], np.bool_)


def _arrow(path: Path) -> Any:
    """Read a file as an Arrow table; columns of ids stay text."""
    import pyarrow as pa
    from pyarrow import csv, ipc, parquet

    with path.open("rb") as raw:
        head = raw.peek(6)[:6]
    try:
        if head.startswith(b"PAR1"):
            return parquet.read_table(path)
        if head.startswith(b"ARROW1"):
            return ipc.open_file(pa.memory_map(str(path))).read_all()
        with files.reading(path, "a table") as raw:
            data: bytes = texts.unpacked(path, raw).read()
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            data = "".join(map(texts.decoded, data.splitlines(keepends=True))).encode()
        first = data.split(b"\n", 1)[0] + b"\n"
        parse = csv.ParseOptions(delimiter=max("\t,;", key=first.decode().count))
        described = _described(path)
        names = described or csv.read_csv(io.BytesIO(first), parse_options=parse).column_names
        ids = [name for role in ("query", "document") if (name := _column(str(path), role, names))]
        table = csv.read_csv(
            io.BytesIO(data),
            csv.ReadOptions(column_names=described),
            parse,
            csv.ConvertOptions(column_types=dict.fromkeys(ids, pa.string()), strings_can_be_null=False),
        )
    except pa.ArrowException as error:
        raise InputError(f"{path}: the table cannot be read ({str(error).splitlines()[0]})") from None
    left_out = [name for name in table.column_names if name.startswith("(")]
    if left_out:
        warnings.warn(f"{path}: left out, as they are no numbers: {', '.join(left_out)}", ReadWarning, stacklevel=4)
    return table.drop_columns(left_out)


def _described(path: Path) -> list[str] | None:
    """Return the columns of a pool of CatBoost, from the description ``pool.tsv.cd`` or ``pool.cd`` beside it.

    The names of columns that are neither ids, labels nor numbers begin with "(", their type.
    """
    found = _descriptions(path)
    if not found:
        return None
    with files.reading(path, "a table") as raw:
        width = len(texts.unpacked(path, raw).readline().split(b"\t"))
    names = [f"feature {number}" for number in range(width)]
    roles = {"label": "label", "target": "label", "groupid": "query", "queryid": "query", "sampleid": "document"}
    with files.reading(found[0], "a description of columns") as raw:
        for number, line in enumerate(texts.unpacked(found[0], raw), start=1):
            column, kind, *name = (*texts.decoded(line).rstrip("\r\n").split("\t"), "", "")[:3]
            if not line.strip():
                continue
            if not column.isdecimal() or int(column) >= width:
                raise InputError(f"{found[0]}:{number}: '{column}' is not the number of a column (0..{width - 1})")
            default = name[0] or names[int(column)]
            kept = roles.get(kind.lower(), default if kind == "Num" else f"({kind}) {default}")
            names[int(column)] = kept
    return names


def _descriptions(path: Path) -> list[Path]:
    """Return the descriptions of columns beside a file."""
    found = []
    for name in (f"{path.name}.cd", f"{path.stem}.cd"):
        with suppress(OSError):  # the name with the suffix may be too long
            if path.with_name(name).is_file():
                found.append(path.with_name(name))
    return found
