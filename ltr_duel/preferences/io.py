"""Preference matrices on disk: Parquet, with one row for each pair and the provenance in the schema's metadata.

CSV with names, ``.npy``, and the plain-text matrices of the public dueling-bandit repositories can also be read and
written.
"""

from __future__ import annotations

import csv
import io
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

from ltr_duel.core import InputError, errors, files
from ltr_duel.preferences.entries import SUM_TOLERANCE, require_room
from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.preferences.tally import Tally, preferences_of
from ltr_duel.preferences.text_tables import read_text

FORMAT = "ltr_duel.preferences/2"
_KEY = b"ltr_duel"
_SEPARATORS = {".csv": ",", ".txt": " "}
_NUMBERS = {"p": True, "standard_error": True, "comparisons": False, "total": False, "square": False, "within": False}


def save_preferences(matrix: PreferenceMatrix, path: str | Path) -> Path:
    """Write a matrix; the extension of the file name determines the format.

    ``.csv``: p as text, with the names. ``.npy`` and ``.txt``: p alone. Any other extension: Parquet, which stores the
    whole matrix with one row for each i < j and the columns first, second, p, standard_error and comparisons. If the
    matrix has exact counts, the columns total, square and within (multiples of 2^-32) follow, and also wins, losses
    and ties if each outcome was a win, a loss or a tie.

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
        If the file cannot be written.

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
    if not isinstance(matrix, PreferenceMatrix) or not isinstance(path, str | os.PathLike):
        raise InputError(
            f"save_preferences requires a PreferenceMatrix and a path, not {errors.shown(matrix)} and"
            f" {errors.shown(path)}"
        )
    path = Path(path)
    if path.suffix in (*_SEPARATORS, ".npy") and matrix.standard_error.any():
        warnings.warn(
            f"{path.name} cannot store standard errors, so readers treat this estimate as exact; .parquet keeps them",
            stacklevel=2,
        )
    with files.replacing(path) as temporary, temporary.open("wb") as file:
        if path.suffix == ".npy":
            np.save(file, matrix.p, allow_pickle=False)
        elif path.suffix in _SEPARATORS:
            file.write(_as_text(matrix, _SEPARATORS[path.suffix], path.suffix == ".csv").encode())
        else:
            pq.write_table(_table(matrix), file)
    return path


def _as_text(matrix: PreferenceMatrix, separator: str, named: bool) -> str:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    if named:
        writer.writerow(["", *matrix.names])
    for name, row in zip(matrix.names, matrix.p.tolist(), strict=True):
        writer.writerow([name, *row] if named else row)
    return text.getvalue()


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
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"load_preferences requires the path of a file, not {errors.shown(path)}")
    path = Path(path)
    try:
        with path.open("rb") as file:
            matrix = _read(path, file)
            return matrix if comparisons is None else _counted(matrix, comparisons)
    except InputError as error:
        message = str(error)
        raise InputError(message if message.startswith(str(path)) else f"{path}: {message}") from None
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{path}: no such file; 'ltr-duel prefs estimate' makes a preference matrix") from None
    except IsADirectoryError:
        raise InputError(f"{path}: a folder, not a file with a preference matrix") from None
    except (pa.ArrowException, OSError, ValueError, KeyError, EOFError, zlib.error, lzma.LZMAError) as error:
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
    p, names = read_text(path, file)
    return PreferenceMatrix(p, names, provenance=about)


def _from_parquet(path: Path, file: BufferedReader) -> PreferenceMatrix:
    # Without Arrow's threads: a thread that drops the last reference to a Python file at shutdown aborts Python.
    source = pq.ParquetFile(file, pre_buffer=False)
    names, provenance = _metadata(path, source.schema_arrow.metadata or {})
    size, columns = len(names), source.schema_arrow.names
    require_room(size, 6)
    if source.metadata.num_rows != size * (size - 1) // 2:
        pairs = size * (size - 1) // 2
        raise InputError(f"{path}: {source.metadata.num_rows:,} rows; {size:,} rankers have {pairs:,} pairs")
    counted = "total" in columns
    wanted = list(_NUMBERS) if counted else list(_NUMBERS)[:3]
    for name in wanted:
        kind = source.schema_arrow.field(name).type
        if not (pa.types.is_integer(kind) or (pa.types.is_floating(kind) and _NUMBERS[name])):
            raise InputError(
                f"{path}: column '{name}' must contain {'numbers' if _NUMBERS[name] else 'whole numbers'}, not {kind}"
            )
    table = source.read([*wanted, "first", "second"], use_threads=False)
    i, j = upper = np.triu_indices(size, 1)
    for name, positions in (("first", i), ("second", j)):
        if table[name].to_pylist() != [names[k] for k in positions]:
            raise InputError(f"{path}: column '{name}' is not in the order of the names")

    def square(column: str, diagonal: float, mirrored: Any) -> Any:
        if table[column].null_count:
            raise InputError(f"{path}: column '{column}' has empty cells")
        values = table[column].to_numpy()
        full = np.full((size, size), diagonal, values.dtype)
        full[upper], full.T[upper] = values, mirrored(values)
        return full

    counts, error = (square(name, 0, lambda value: value) for name in ("comparisons", "standard_error"))
    p = square("p", 0.5, lambda p: 1 - p)
    tally = None
    if counted:
        tally = Tally(np.triu(counts, 1), *(square(name, 0, np.zeros_like) for name in wanted[3:])).kept(size)
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
        from ltr_duel.data import parquet_words

        hint = "" if "matrix" in (words := parquet_words(path)) else f"; it is {words}"
        raise InputError(f"{path}: a Parquet file, but not a preference matrix of this program ({FORMAT}){hint}")
    names, provenance = about["names"], about["provenance"]
    if not isinstance(names, list) or not isinstance(provenance, dict):
        raise InputError(f"{path}: not a preference matrix (its metadata is damaged)")
    return tuple(names), provenance
