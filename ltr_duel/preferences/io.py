"""Preference matrices on disk: Parquet, with one row for each pair and the provenance in the schema's metadata.

CSV with names, ``.npy``, and the plain-text matrices of the public dueling-bandit repositories can also be read and
written.
"""

from __future__ import annotations

import csv
import json
import lzma
import os
import warnings
import zlib
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ltr_duel.core import FloatMatrix, InputError, arguments, errors, files, texts
from ltr_duel.preferences.entries import SUM_TOLERANCE, require_room
from ltr_duel.preferences.matrix import PreferenceMatrix, require_matrix
from ltr_duel.preferences.tally import Tally, preferences_of

FORMAT = "ltr_duel.preferences/2"
_KEY = b"ltr_duel"
SUFFIXES = (".parquet", ".csv", ".txt", ".npy")
_NUMBERS, _COUNTS = ("p", "standard_error", "comparisons"), ("total", "square", "within")


def save_preferences(matrix: PreferenceMatrix, path: str | Path) -> Path:
    """Write a matrix; the suffix of the file name determines the format.

    ``.parquet`` stores the whole matrix, one row for each i < j, with the columns first, second, p, standard_error and
    comparisons. If the matrix has exact counts, the columns total, square and within (multiples of 2^-32) follow, and
    also wins, losses and ties if each outcome was a win, a loss or a tie. ``.csv`` stores p and the names, ``.npy`` and
    ``.txt`` store p alone.

    The file is written atomically. The same matrix gives the same bytes.

    Parameters
    ----------
    matrix : PreferenceMatrix
    path : str or Path
        The file to write; missing folders are created.

    Returns
    -------
    Path

    Raises
    ------
    InputError
        If the suffix is another one, or if the file cannot be written.

    Warns
    -----
    UserWarning
        If the matrix is an estimate and the file format cannot store its standard errors.

    Examples
    --------
    >>> import tempfile
    >>> from ltr_duel.preferences import arxiv
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load_preferences(save_preferences(arxiv(), Path(folder) / "arxiv.parquet")).names
    ('A', 'B', 'C', 'D', 'E', 'F')
    """
    require_matrix(matrix)
    path = arguments.as_path("a preference matrix", path)
    require_suffix(path)
    if path.suffix != ".parquet" and matrix.standard_error.any():
        warnings.warn(
            f"{path.name} cannot store standard errors, so readers treat this estimate as exact; .parquet keeps them",
            stacklevel=2,
        )
    with files.replacing(path) as temporary, temporary.open("wb") as file:
        match path.suffix:
            case ".parquet":
                pq.write_table(_table(matrix), file)
            case ".csv":
                matrix.to_frame().to_csv(file, lineterminator="\n")
            case ".txt":
                matrix.to_frame().to_csv(file, sep=" ", header=False, index=False, lineterminator="\n")
            case ".npy":
                np.save(file, matrix.p, allow_pickle=False)
    return path


def require_suffix(path: Path) -> None:
    """Raise unless a preference matrix can be written to a file of this name."""
    if path.suffix not in SUFFIXES:
        given = f"not to {path.name}" if path.suffix else "a suffix is missing"
        raise InputError(f"{path}: a preference matrix is written to {errors.listed(SUFFIXES, 'or')}; {given}")


def _table(matrix: PreferenceMatrix) -> Any:
    i, j = np.triu_indices(len(matrix), 1)
    names = pa.array(matrix.names, pa.string())
    columns: dict[str, Any] = {
        "first": pa.DictionaryArray.from_arrays(pa.array(i, pa.int32()), names),
        "second": pa.DictionaryArray.from_arrays(pa.array(j, pa.int32()), names),
        "p": matrix.p[i, j],
        "standard_error": matrix.standard_error[i, j],
        "comparisons": matrix.comparisons[i, j],
    }
    if matrix.tally is not None:
        columns.update({name: part[i, j] for name, part in matrix.tally._asdict().items() if name != "lists"})
        if matrix.wins is not None and matrix.ties is not None:
            columns.update(wins=matrix.wins[i, j], losses=matrix.wins[j, i], ties=matrix.ties[i, j])
    about = {"format": FORMAT, "names": list(matrix.names), "provenance": matrix.provenance}
    try:
        metadata = {_KEY: json.dumps(about, sort_keys=True, ensure_ascii=False).encode()}
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"the provenance of a matrix must be valid JSON ({error})") from None
    return pa.table(columns).replace_schema_metadata(metadata)


def load_preferences(path: str | Path, *, comparisons: int | None = None) -> PreferenceMatrix:
    """Read a matrix: Parquet or CSV as written by `save_preferences`, or a plain square matrix (text, .gz, .npy).

    Parameters
    ----------
    path : str or Path
    comparisons : int, optional
        The number of comparisons of each pair, for a published matrix whose file states none. The standard errors are
        then sqrt(p (1 - p) / comparisons).

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
        with path.open("rb") as file:
            matrix = _read(path, file)
            return matrix if comparisons is None else _counted(matrix, comparisons)
    except InputError as error:
        message = str(error)
        raise InputError(message if message.startswith(str(path)) else f"{path}: {message}") from None
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{path}: no such file; 'ltr-duel prefs estimate' makes a preference matrix") from None
    except (pa.ArrowException, OSError, ValueError, KeyError, EOFError, csv.Error, zlib.error, lzma.LZMAError) as error:
        reason = files.cause(error) if isinstance(error, OSError) else str(error).splitlines()[0]
        raise InputError(f"{path}: not a preference matrix ({reason})") from None


def _counted(matrix: PreferenceMatrix, comparisons: int) -> PreferenceMatrix:
    """Return the matrix with the standard errors of this number of comparisons of each pair."""
    errors.require_whole("the number of comparisons of each pair", comparisons, 1)
    if matrix.comparisons.any():
        raise InputError("the file contains the numbers of comparisons, so none can be given")
    pairs = ~np.eye(len(matrix), dtype=bool)
    error = np.sqrt(matrix.p * matrix.p.T / comparisons) * pairs  # symmetric to the last digit
    return PreferenceMatrix(matrix.p, matrix.names, error, comparisons * pairs, matrix.provenance)


def _read(path: Path, file: BufferedReader) -> PreferenceMatrix:
    head, about = file.peek(6)[:6], {"file": os.fsencode(path.name).decode(errors="replace")}
    if head.startswith(b"PAR1"):
        return _from_parquet(path, file)
    if head == b"\x93NUMPY":
        return PreferenceMatrix(np.load(file, allow_pickle=False), provenance=about)
    p, names = _from_text(path, file)
    return PreferenceMatrix(p, tuple(names), provenance=about)


def _from_parquet(path: Path, file: BufferedReader) -> PreferenceMatrix:
    # Without Arrow's threads: a thread that drops the last reference to a Python file at shutdown aborts Python.
    source = pq.ParquetFile(file, pre_buffer=False)
    names, provenance = _metadata(path, source.schema_arrow.metadata or {})
    size, is_counted = len(names), "total" in source.schema_arrow.names
    require_room(size, 6)
    table = source.read(["first", "second", *_NUMBERS, *(_COUNTS if is_counted else ())], use_threads=False)
    i, j = upper = np.triu_indices(size, 1)
    if len(table) != len(i):
        raise InputError(f"{path}: {len(table):,} rows; {size:,} rankers have {len(i):,} pairs")
    for name, positions in (("first", i), ("second", j)):
        if table[name].to_pylist() != [names[k] for k in positions]:
            raise InputError(f"{path}: column '{name}' is not in the order of the names")

    def square(column: str, diagonal: float, mirrored: Any) -> Any:
        values = table[column].to_numpy()
        if table[column].null_count or values.dtype.kind not in "fiu":
            raise InputError(f"{path}: column '{column}' must contain a number in each row")
        full = np.full((size, size), diagonal, values.dtype)
        full[upper], full.T[upper] = values, mirrored(values)
        return full

    counts, error = (square(name, 0, lambda value: value) for name in ("comparisons", "standard_error"))
    p = square("p", 0.5, lambda p: 1 - p)
    tally = None
    if is_counted:
        tally = Tally(np.triu(counts, 1), *(square(name, 0, np.zeros_like) for name in _COUNTS)).kept(size)
        if np.abs(preferences_of(tally) - p).max() > SUM_TOLERANCE:
            raise InputError(f"{path}: p does not agree with the counts")
    return PreferenceMatrix(p, names, error, counts, provenance, tally)


def _metadata(path: Path, metadata: dict[bytes, bytes]) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Read the names and the provenance from the schema's metadata."""
    about = json.loads(metadata.get(_KEY, b"{}"))
    written = about.get("format") if isinstance(about, dict) else None
    if written != FORMAT:
        if isinstance(written, str) and written.startswith("ltr_duel.preferences/"):
            raise InputError(f"{path}: written by another version of this program ({written[:40]})")
        raise InputError(f"{path}: a Parquet file, but not a preference matrix of this program ({FORMAT})")
    names, provenance = about["names"], about["provenance"]
    if not isinstance(names, list) or not isinstance(provenance, dict):
        raise InputError(f"{path}: not a preference matrix (its metadata is damaged)")
    return tuple(names), provenance


def _from_text(path: Path, file: BufferedReader) -> tuple[FloatMatrix, list[str]]:
    """Read rows of numbers separated by white space or commas, or a table with names; either may be compressed."""
    lines = enumerate(texts.unpacked(path, file).read().decode().split("\n"), 1)
    table = [(number, line) for number, line in lines if line.strip()]
    names: list[str] = []
    if is_named := bool(table) and table[0][1].startswith((",", '"",')):
        names = next(csv.reader([table.pop(0)[1]]))[1:]
    rows = []
    for position, (number, line) in enumerate(table):
        cells = next(csv.reader([line])) if is_named else line.replace(",", " ").split()
        if is_named and cells.pop(0) != "".join(names[position : position + 1]):
            raise InputError(f"{path}:{number}: the first column must repeat the names of the first row")
        try:
            rows.append([float(cell) for cell in cells])
        except ValueError:
            raise InputError(f"{path}:{number}: '{' '.join(cells)[:40]}' is not a row of numbers") from None
    if len(rows) > 1 and len(rows[0]) == 1 and rows[0][0] == len(rows[1]):
        del rows[0]  # the size of the matrix
    if not rows:
        raise InputError(f"{path}: contains no numbers; a preference matrix must be square")
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows):
            raise InputError(
                f"{path}: row {number} has {len(row)} numbers; a matrix of {len(rows)} rows needs {len(rows)} numbers"
            )
    return np.array(rows), names
