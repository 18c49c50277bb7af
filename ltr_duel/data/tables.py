"""Make a `Dataset` from a table (Parquet, Arrow, CSV, TSV, a pool of CatBoost), a data frame, or arrays."""

from __future__ import annotations

import io
import json
import re
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
_POOL = {  # the roles of CatBoost's kinds of columns, in lower case
    "label": "label", "target": "label", "groupid": "query", "queryid": "query", "sampleid": "document",
    "docid": "document",
}  # fmt: skip
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
    if _descriptions(path) and not re.match(rb"\s*[-+.\d]+\s+(qid:\S+\s+)?\d+:", first):
        return True  # a pool, not feature text beside a file of another use
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
    frame, roles = _arrow(path)
    roles = roles or {role: _column(str(path), role, frame.column_names) for role in _ROLES}
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

    frame = _named(frame)
    try:
        table = narwhals.from_native(frame, eager_only=True)
    except TypeError:
        raise InputError(f"a data frame is needed, not {errors.shown(frame)}") from None
    names = table.columns
    query = _column("the data frame", "query", names, query) or ""  # never empty: only documents may have no column
    label = _column("the data frame", "label", names, label) or ""
    document = _column("the data frame", "document", names, document)
    if features is not None:
        columns = list(map(str, features))
    else:
        others = [name for name in names if name not in (query, label, document)]
        indices = _indices(frame)
        columns = [name for name in others if name not in indices and not texts.is_index_name(str(name))]
        if left_out := [f"'{name}'" for name in others if name not in columns]:
            what = f"{naming.name}: left out, as the index of a data frame is no feature: {', '.join(left_out)}"
            warnings.warn(what, ReadWarning, stacklevel=3)
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


def _indices(frame: Any) -> list[str]:
    """Return the columns of an Arrow table that were the index of a pandas data frame."""
    described = json.loads((getattr(getattr(frame, "schema", None), "metadata", None) or {}).get(b"pandas", b"{}"))
    return [one for one in described.get("index_columns", ()) if isinstance(one, str)]


def _named(frame: Any) -> Any:
    """Return a data frame with text as names of its columns, or arrays as they are. Refuse two columns of one name."""
    given = list(getattr(frame, "column_names", getattr(frame, "columns", ())))
    names = list(map(str, given))
    if len(set(names)) < len(names):
        raise InputError(f"two columns are called '{next(one for one in names if names.count(one) > 1)}'")
    return frame.set_axis(names, axis=1) if names != given and hasattr(frame, "set_axis") else frame


def from_arrays(
    X: Any,  # noqa: N803 -- the name that scikit-learn uses
    y: Any,
    qid: Any,
    *,
    documents: Any,
    options: ReadOptions,
    naming: Naming,
) -> Dataset:
    """Make a corpus from arrays; see `Dataset.from_arrays`."""
    import narwhals
    import sklearn
    from sklearn.utils import check_array, check_consistent_length

    X = _named(X)  # noqa: N806 -- as above
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
        if matrix.dtype.kind not in "biuf" or any(one.is_temporal() for one in getattr(table, "schema", {}).values()):
            raise ValueError("X contains values that are no numbers")
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"these arrays are no corpus: {error}") from None

    def column_of(number: int) -> NDArray[np.float64]:
        column = matrix[:, [number]]
        return np.asarray(column.toarray() if hasattr(column, "toarray") else column, np.float64).ravel()

    omits = hasattr(matrix, "toarray") and (hasattr(X, "toarray") or options.omitted is not None)
    sparse = matrix if omits else None  # libraries read zeros of a sparse data frame as 0
    return _assembled(column_of, matrix.shape, _numbers(labels, "y"), queries, ids, options, naming, sparse)


def _assembled(
    column_of: Callable[[int], NDArray[np.float64]],
    shape: tuple[int, int],
    labels: NDArray[np.float64],
    queries: NDArray[np.str_],
    documents: NDArray[np.str_] | None,
    options: ReadOptions,
    naming: Naming,
    sparse: Any = None,
) -> Dataset:
    """Make a corpus of columns. ``sparse``: their sparse matrix in CSC form, whose omitted entries may be missing."""
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
        if sparse is not None and options.omitted == "missing":
            omits = np.ones(rows, np.bool_)
            omits[sparse.indices[slice(*sparse.indptr[number : number + 2])]] = False
            matrix[number, omits] = np.nan
        mapped.release_pages(matrix[number])
    omitted = ""
    if sparse is not None and options.omitted is None and sparse.nnz < rows * columns:
        filled = options.fill not in (None, "nan")
        omitted = "some zeros" if filled or np.any(sparse.data == 0) else "all zeros"
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
        omitted=omitted,
    )


def _column(what: str, role: str, names: Sequence[str], chosen: str | None = None) -> str | None:
    """Return the name of the column with a role; None if there is no column of documents."""
    if chosen is not None:
        errors.require_one_of("column", str(chosen), names)
        return str(chosen)
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


def _arrow(path: Path) -> tuple[Any, dict[str, str | None]]:
    """Read a file as an Arrow table; columns of ids stay text. Also return the roles of columns of a pool, or {}."""
    import pyarrow as pa
    from pyarrow import csv, ipc, parquet

    with path.open("rb") as raw:
        head = raw.peek(6)[:6]
    try:
        if head.startswith(b"PAR1"):
            return parquet.read_table(path), {}
        if head.startswith(b"ARROW1"):
            return ipc.open_file(pa.memory_map(str(path))).read_all(), {}
        with files.reading(path, "a table") as raw:
            data: bytes = texts.unpacked(path, raw).read()
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            data = "".join(map(texts.decoded, data.splitlines(keepends=True))).encode()
        first = data.split(b"\n", 1)[0] + b"\n"
        described, roles, left_out = _described(path)
        parse = csv.ParseOptions(delimiter=max("\t,;", key=first.decode().count))
        if described:  # pools have no quoting
            parse = csv.ParseOptions(delimiter="\t", quote_char=False)
        names = described or csv.read_csv(io.BytesIO(first), parse_options=parse).column_names
        found = roles or {role: _column(str(path), role, names) for role in ("query", "document")}
        types = {name: pa.string() for role in ("query", "document") if (name := found[role])}

        def read() -> Any:
            convert = csv.ConvertOptions(column_types=types, strings_can_be_null=False)
            return csv.read_csv(io.BytesIO(data), csv.ReadOptions(column_names=described), parse, convert)

        table = read()
        if re.search(rb"0[xX]", data):  # Arrow reads 0x10 as a whole number, but not as a double
            types |= {field.name: pa.float64() for field in table.schema if pa.types.is_integer(field.type)}
            table = read()
    except pa.ArrowException as error:
        raise InputError(f"{path}: the table cannot be read ({str(error).splitlines()[0]})") from None
    if left_out:
        warnings.warn(f"{path}: left out, as they are no numbers: {', '.join(left_out)}", ReadWarning, stacklevel=4)
    return table.drop_columns(left_out), roles


def _described(path: Path) -> tuple[list[str] | None, dict[str, str | None], list[str]]:
    """Return the columns of a pool of CatBoost, from the description ``pool.tsv.cd`` or ``pool.cd`` beside it.

    Also returned: the columns with a role, and those that are neither ids, labels nor numbers; None, {} and [] if there
    is no description.
    """
    found = _descriptions(path)
    if not found:
        return None, {}, []
    with files.reading(path, "a table") as raw:
        width = len(texts.unpacked(path, raw).readline().split(b"\t"))
    names = [f"feature {number}" for number in range(width)]
    roles: dict[str, str | None] = {}
    left_out = []
    with files.reading(found[0], "a description of columns") as raw:
        for number, line in enumerate(texts.unpacked(found[0], raw), start=1):
            column, kind, *name = (*texts.decoded(line).rstrip("\r\n").split("\t"), "", "")[:3]
            if not line.strip():
                continue
            if not column.isdecimal() or int(column) >= width:
                raise InputError(f"{found[0]}:{number}: '{column}' is not the number of a column (0..{width - 1})")
            name_here = name[0] or names[int(column)]
            if kind != "Num":  # a number may have the name of a role
                name_here = f"({kind}) {name_here}"
            if role := _POOL.get(kind.lower()):
                if role in roles:
                    raise InputError(f"{found[0]}:{number}: a second column is the {role}")
                roles[role] = name_here
            elif kind != "Num":
                left_out.append(name_here)
            names[int(column)] = name_here
    for role in ("query", "label"):
        if role not in roles:
            kinds = " or ".join(kind for kind, known in _POOL.items() if known == role)
            raise InputError(f"{found[0]}: no column is the {role} ({kinds})")
    return names, {"document": None, **roles}, left_out


def _descriptions(path: Path) -> list[Path]:
    """Return the descriptions of columns beside a file."""
    found = []
    for name in (f"{path.name}.cd", f"{path.stem}.cd"):
        with suppress(OSError):  # the name with the suffix may be too long
            if path.with_name(name).is_file():
                found.append(path.with_name(name))
    return found
