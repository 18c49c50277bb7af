"""Preference matrices on disk: Parquet, one row for each pair, the provenance in the schema's metadata.

The plain-text matrices of the public dueling-bandit repositories are read too.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ltr_duel.core.errors import InputError
from ltr_duel.core.files import replacing
from ltr_duel.preferences.matrix import PreferenceMatrix

FORMAT = "ltr_duel.preferences/1"
_KEY = b"ltr_duel"


def save_preferences(matrix: PreferenceMatrix, path: str | Path) -> Path:
    """Write a matrix as Parquet: columns first, second, p, standard_error, comparisons; one row for each i < j.

    The file appears whole or not at all. The same matrix gives the same bytes.
    """
    i, j = np.triu_indices(len(matrix), 1)
    names = pa.array(matrix.names, pa.string())
    table = pa.table(
        {
            "first": pa.DictionaryArray.from_arrays(pa.array(i, pa.int32()), names),
            "second": pa.DictionaryArray.from_arrays(pa.array(j, pa.int32()), names),
            "p": matrix.p[i, j],
            "standard_error": matrix.standard_error[i, j],
            "comparisons": matrix.comparisons[i, j],
        }
    )
    about = {"format": FORMAT, "names": list(matrix.names), "provenance": matrix.provenance}
    metadata = {_KEY: json.dumps(about, sort_keys=True, ensure_ascii=False).encode()}
    path = Path(path)
    with replacing(path) as temporary:
        pq.write_table(table.replace_schema_metadata(metadata), temporary)
    return path


def load_preferences(path: str | Path) -> PreferenceMatrix:
    """Read a matrix: Parquet as written by `save_preferences`, or a plain square of numbers (text, .gz, .npy).

    Raises
    ------
    InputError
        If the file does not exist, is neither, or holds no preference matrix.
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
        return _plain(path, _numbers(path, gzip.open(path, "rt") if head[:2] == b"\x1f\x8b" else path.open()))
    except InputError as error:
        message = str(error)
        raise InputError(message if message.startswith(str(path)) else f"{path}: {message}") from None
    except (pa.ArrowException, OSError, ValueError, KeyError, EOFError) as error:
        raise InputError(f"{path}: not a preference matrix ({str(error).splitlines()[0]})") from None


def _from_parquet(path: Path) -> PreferenceMatrix:
    table = pq.read_table(path)
    about = json.loads((table.schema.metadata or {}).get(_KEY, b"{}"))
    if about.get("format") != FORMAT:
        raise InputError(f"{path}: a Parquet file, but not a preference matrix of this program ({FORMAT})")
    size = len(about["names"])
    upper = np.triu_indices(size, 1)

    def square(column: str, diagonal: float, mirrored: Any) -> Any:
        values = table[column].to_numpy()
        full = np.full((size, size), diagonal, values.dtype)
        full[upper], full.T[upper] = values, mirrored(values)
        return full

    return PreferenceMatrix(
        square("p", 0.5, lambda p: 1 - p),
        tuple(about["names"]),
        square("standard_error", 0, lambda error: error),
        square("comparisons", 0, lambda count: count),
        about["provenance"],
    )


def _numbers(path: Path, file: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Read rows of numbers parted by white space or commas; a single leading number is the size."""
    rows = []
    with file:
        for number, line in enumerate(file, 1):
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
