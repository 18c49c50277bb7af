"""Write and read preference matrices.

A Parquet file stores the whole matrix: a row for each pair, and the provenance in the metadata. A CSV file stores only
the probabilities. NumPy files and the plain-text matrices of public dueling-bandit repositories can be read, too.
"""

from __future__ import annotations

import csv
import io
import json
import os
import tokenize
import warnings
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ltr_duel.core import InputError, arguments, errors, files, texts
from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.preferences.tally import Tally

FORMAT = "ltr_duel.preferences/2"
_KEY = b"ltr_duel"
_NUMBERS, _COUNTS = ("p", "standard_error", "comparisons"), ("total", "square", "within")


def save_preferences(matrix: PreferenceMatrix, path: str | Path) -> Path:
    """Write a matrix to a Parquet or CSV file.

    A ``.parquet`` file stores the whole matrix. It has one row for each pair, with the columns first, second, p,
    standard_error and comparisons. If the matrix has exact counts, further columns store them. A ``.csv`` file stores
    only p and the names.

    Parameters
    ----------
    matrix : PreferenceMatrix
    path : str or Path
        The file to write. Missing folders are created.

    Returns
    -------
    Path

    Raises
    ------
    InputError
        If the file has another suffix, or cannot be written.

    Warns
    -----
    UserWarning
        If the matrix has standard errors and the file is CSV, which cannot store them.

    Examples
    --------
    >>> import tempfile
    >>> from ltr_duel.preferences import arxiv
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load_preferences(save_preferences(arxiv(), Path(folder) / "arxiv.parquet")).names
    ('A', 'B', 'C', 'D', 'E', 'F')
    """
    arguments.require_type("the matrix", matrix, PreferenceMatrix)
    path = arguments.as_path("a preference matrix", path)
    require_suffix(path)
    if path.suffix == ".csv" and matrix.standard_error.any():
        warnings.warn(
            f"{path.name} cannot store standard errors, so readers treat this estimate as exact; .parquet keeps them",
            stacklevel=2,
        )
    with files.replacing(path) as temporary, temporary.open("wb") as file:
        if path.suffix == ".csv":
            matrix.to_frame().to_csv(file, lineterminator="\n")
        else:
            pq.write_table(_table(matrix), file)
    return path


def require_suffix(path: Path) -> None:
    """Raise an error if the name of a file does not end in .parquet or .csv."""
    if path.suffix not in (".parquet", ".csv"):
        raise InputError(f"{path}: a preference matrix is written to .parquet or .csv")


def _table(matrix: PreferenceMatrix) -> Any:
    i, j = np.triu_indices(len(matrix), 1)
    names = pa.array(matrix.names, pa.string())
    columns: dict[str, Any] = {
        "first": pa.DictionaryArray.from_arrays(pa.array(i, pa.int32()), names),
        "second": pa.DictionaryArray.from_arrays(pa.array(j, pa.int32()), names),
        **{name: getattr(matrix, name)[i, j] for name in _NUMBERS},
    }
    if matrix.tally is not None:
        columns.update({name: getattr(matrix.tally, name)[i, j] for name in _COUNTS})
        if matrix.wins is not None and matrix.ties is not None:
            columns.update(wins=matrix.wins[i, j], losses=matrix.wins[j, i], ties=matrix.ties[i, j])
    header = {"format": FORMAT, "names": list(matrix.names), "provenance": matrix.provenance}
    try:
        metadata = {_KEY: json.dumps(header, sort_keys=True, ensure_ascii=False).encode()}
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"the provenance of a matrix must be valid JSON ({error})") from None
    return pa.table(columns).replace_schema_metadata(metadata)


def load_preferences(path: str | Path, *, comparisons: int | None = None) -> PreferenceMatrix:
    """Read a matrix from a file of `save_preferences`, or from a file with a square table of numbers (text, .gz, .npy).

    Parameters
    ----------
    path : str or Path
    comparisons : int, optional
        The number of comparisons of each pair, for a file that does not store it. The standard errors are then
        sqrt(p (1 - p) / comparisons).

    Returns
    -------
    PreferenceMatrix

    Raises
    ------
    InputError
        If the file does not exist, is damaged, does not contain a preference matrix, or does not fit into memory.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "two.txt"
    ...     np.savetxt(path, [[0.5, 0.75], [0.25, 0.5]])
    ...     load_preferences(path).condorcet_winner
    '0'
    """
    path = arguments.as_path("a preference matrix", path)
    try:
        with files.reading(path, "a file with a preference matrix") as file:
            matrix = _read(path, file)
    except (pa.ArrowException, ValueError, TypeError, KeyError, csv.Error) as error:
        own = isinstance(error, InputError)
        reason = str(error).removeprefix(f"{path}: ") if own else f"not a preference matrix ({error})"
        raise InputError(f"{path}: {reason}") from None
    if comparisons is None:
        return matrix
    errors.require_whole("the number of comparisons of each pair", comparisons, 1)
    if matrix.comparisons.any():
        raise InputError(f"{path}: the file contains the numbers of comparisons, so none can be given")
    pairs = ~np.eye(len(matrix), dtype=bool)
    noise = np.sqrt(matrix.p * matrix.p.T / comparisons) * pairs  # symmetric to the last digit
    return PreferenceMatrix(matrix.p, matrix.names, noise, comparisons * pairs, matrix.provenance)


def _read(path: Path, file: BufferedReader) -> PreferenceMatrix:
    head, provenance = file.peek(6)[:6], {"file": os.fsencode(path.name).decode(errors="replace")}
    if head.startswith(b"PAR1"):
        return _from_parquet(file)
    if head == b"\x93NUMPY":
        try:
            return PreferenceMatrix(np.load(file, allow_pickle=False), provenance=provenance)
        except (SyntaxError, tokenize.TokenError, EOFError) as error:  # numpy parses the header as Python
            raise InputError(f"not a preference matrix ({error})") from None
    p, names = _from_text(texts.unpacked(path, file).read().decode())
    return PreferenceMatrix(p, names, provenance=provenance)


def _from_parquet(file: BufferedReader) -> PreferenceMatrix:
    # Without Arrow's threads: a thread that drops the last reference to a Python file at shutdown aborts Python.
    source = pq.ParquetFile(file, pre_buffer=False)
    header = json.loads((source.schema_arrow.metadata or {}).get(_KEY, b"{}"))
    if header.get("format") != FORMAT:
        raise InputError(f"made by another program, or another version of this one ({header.get('format')})")
    names, size, is_counted = header["names"], len(header["names"]), "total" in source.schema_arrow.names
    table = source.read(["first", "second", *_NUMBERS, *(_COUNTS if is_counted else ())], use_threads=False)
    i, j = upper = np.triu_indices(size, 1)
    for name, ranks in (("first", i), ("second", j)):
        if table[name].to_pylist() != [names[k] for k in ranks]:
            raise InputError(f"column '{name}' must have a row for each pair of the names, in their order")

    def square(column: str, diagonal: float, mirrored: Any) -> Any:
        values = table[column].to_numpy()
        full = np.full((size, size), diagonal, values.dtype)
        full[upper], full.T[upper] = values, mirrored(values)
        return full

    counts, error = (square(name, 0, np.asarray) for name in ("comparisons", "standard_error"))
    tally = Tally(np.triu(counts, 1), *(square(name, 0, np.zeros_like) for name in _COUNTS)) if is_counted else None
    return PreferenceMatrix(square("p", 0.5, lambda p: 1 - p), names, error, counts, header["provenance"], tally)


def _from_text(text: str) -> tuple[Any, tuple[str, ...]]:
    """Read rows of numbers separated by white space or commas, or a table with names."""
    names: list[str] = []
    if text.startswith((",", '"",')):
        header, *lines = csv.reader(io.StringIO(text))
        names, rows = header[1:], [line[1:] for line in lines]
        if [line[:1] for line in lines] != [[name] for name in names]:
            raise InputError("the first column must repeat the names of the first row")
    else:
        rows = [line.replace(",", " ").split() for line in text.split("\n") if line.strip()]
    if len(rows) > 1 and rows[0] == [str(len(rows[1]))]:
        del rows[0]  # the size of the matrix
    return [[float(cell) for cell in row] for row in rows], tuple(names)
