"""Preference matrices on disk: Parquet, one row for each pair, the provenance in the schema's metadata.

CSV with names, ``.npy``, and the plain-text matrices of the public dueling-bandit repositories are read and written
too.
"""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ltr_duel.core import InputError, replacing
from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.preferences.tally import Tally

FORMAT = "ltr_duel.preferences/2"
_READABLE = ("ltr_duel.preferences/1", FORMAT)  # 1 has no exact counts
_KEY = b"ltr_duel"


def save_preferences(matrix: PreferenceMatrix, path: str | Path) -> Path:
    """Write a matrix; the ending of the name says how.

    ``.csv``: p as text, with the names. ``.npy`` and ``.txt``: p alone. Anything else: Parquet, which keeps everything,
    with columns first, second, p, standard_error, comparisons, and the exact counts if there are any (total, square,
    within, as multiples of 2^-32; wins and ties where each outcome was a win, a loss or a tie); one row for each i < j.

    The file appears whole or not at all. The same matrix gives the same bytes.

    Parameters
    ----------
    matrix : PreferenceMatrix
    path : str or Path
        Missing folders are made.

    Returns
    -------
    Path

    Raises
    ------
    InputError
        If the place cannot be written to.

    Examples
    --------
    >>> import tempfile
    >>> from ltr_duel.preferences import arxiv
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load_preferences(save_preferences(arxiv(), Path(folder) / "arxiv.parquet")).names
    ('A', 'B', 'C', 'D', 'E', 'F')
    """
    path = Path(path)
    with replacing(path) as temporary:
        if path.suffix == ".npy":
            np.save(temporary, matrix.p, allow_pickle=False)
        elif path.suffix in (".csv", ".txt"):
            with temporary.open("w", newline="") as file:
                writer = csv.writer(file, delimiter="," if path.suffix == ".csv" else " ", lineterminator="\n")
                if path.suffix == ".csv":
                    writer.writerow(["", *matrix.names])
                for name, row in zip(matrix.names, matrix.p.tolist(), strict=True):
                    writer.writerow([name, *row] if path.suffix == ".csv" else row)
        else:
            with temporary.open("wb") as file:
                write_preferences(matrix, file)
    return path


def write_preferences(matrix: PreferenceMatrix, file: BinaryIO) -> None:
    """Write a matrix as Parquet into an open file."""
    pq.write_table(_table(matrix), file)


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
    metadata = {_KEY: json.dumps(about, sort_keys=True, ensure_ascii=False).encode()}
    return pa.table(columns).replace_schema_metadata(metadata)


def load_preferences(path: str | Path) -> PreferenceMatrix:
    """Read a matrix: Parquet or CSV as written by `save_preferences`, or a plain square of numbers (text, .gz, .npy).

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    PreferenceMatrix

    Raises
    ------
    InputError
        If the file does not exist, is neither, or holds no preference matrix.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "two.txt"
    ...     np.savetxt(path, [[0.5, 0.75], [0.25, 0.5]])
    ...     load_preferences(path).condorcet_winner
    '0'
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such file; a preference matrix is made by 'ltr-duel prefs estimate'")
    with path.open("rb") as file:
        head = file.read(6)
    try:
        if head.startswith(b"PAR1"):
            return _from_parquet(path)
        if head == b"\x93NUMPY":
            return _plain(path, np.load(path, allow_pickle=False))
        with gzip.open(path, "rt") if head[:2] == b"\x1f\x8b" else path.open() as file:
            lines = list(file)
        if lines and lines[0].startswith((",", '"",')):
            return _from_csv(path, lines)
        return _plain(path, _numbers(path, lines))
    except InputError as error:
        message = str(error)
        raise InputError(message if message.startswith(str(path)) else f"{path}: {message}") from None
    except (pa.ArrowException, OSError, ValueError, KeyError, EOFError) as error:
        raise InputError(f"{path}: not a preference matrix ({str(error).splitlines()[0]})") from None


def _from_parquet(path: Path) -> PreferenceMatrix:
    table = pq.read_table(path)
    about = json.loads((table.schema.metadata or {}).get(_KEY, b"{}"))
    if about.get("format") not in _READABLE:
        raise InputError(f"{path}: a Parquet file, but not a preference matrix of this program ({FORMAT})")
    size = len(about["names"])
    upper = np.triu_indices(size, 1)

    def square(column: str, diagonal: float, mirrored: Any) -> Any:
        values = table[column].to_numpy()
        full = np.full((size, size), diagonal, values.dtype)
        full[upper], full.T[upper] = values, mirrored(values)
        return full

    counts = square("comparisons", 0, lambda count: count)
    tally = None
    if "total" in table.column_names:
        parts = (square(name, 0, np.zeros_like) for name in ("total", "square", "within"))
        tally = Tally(np.triu(counts, 1), *parts)
    return PreferenceMatrix(
        square("p", 0.5, lambda p: 1 - p),
        tuple(about["names"]),
        square("standard_error", 0, lambda error: error),
        counts,
        about["provenance"],
        tally,
    )


def _from_csv(path: Path, lines: list[str]) -> PreferenceMatrix:
    """Read a table with the names in its first row and first column."""
    (_, *names), *rows = csv.reader(lines)
    for number, row in enumerate(rows, 2):
        if row[:1] != names[number - 2 : number - 1]:
            raise InputError(f"{path}:{number}: the first column must repeat the names of the first row")
    numbers = _numbers(path, [",".join(row[1:]) for row in rows], skipped=1)
    return PreferenceMatrix(numbers, tuple(names), provenance={"file": path.name})


def _numbers(path: Path, lines: list[str], skipped: int = 0) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Read rows of numbers parted by white space or commas; a single leading number is the size."""
    rows = []
    for number, line in enumerate(lines, 1 + skipped):
        parts = line.replace(",", " ").split()
        try:
            values = [float(part) for part in parts]
        except ValueError:
            raise InputError(f"{path}:{number}: '{line.strip()[:40]}' is not a row of numbers") from None
        if values:
            rows.append(values)
    if len(rows) > 1 and len(rows[0]) == 1 and rows[0][0] == len(rows) - 1:
        rows.pop(0)
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows):
            raise InputError(f"{path}: row {number} has {len(row)} numbers; a matrix of {len(rows)} rows needs as many")
    return np.array(rows)


def _plain(path: Path, p: np.ndarray[Any, Any]) -> PreferenceMatrix:
    return PreferenceMatrix(p, provenance={"file": path.name})
