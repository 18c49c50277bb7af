"""Preference matrices in plain files: text with or without names, and ``.npy``.

The limit on the number of rankers also limits the memory of the readers, because text is read line by line, and the
shape in an ``.npy`` header is compared with the limit before memory is allocated.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError, texts
from ltr_duel.preferences.entries import require_room
from ltr_duel.preferences.matrix import PreferenceMatrix

NPY = b"\x93NUMPY"
_CHARACTERS = 100  # maximum number of characters of a number or a name in text
_CSV_HEADS = (",", '"",')
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def read_npy(path: Path, file: IO[bytes], most_rankers: int) -> PreferenceMatrix:
    """Read a matrix from an ``.npy`` file."""
    version = np.lib.format.read_magic(file)
    if version not in _HEADERS:
        raise InputError(f"{path}: an .npy file of version {version}; only versions 1.0 and 2.0 can be read")
    try:
        shape, columns_first, kind = _HEADERS[version](file)
    except Exception as error:  # numpy evaluates the header, so the error can be of any class
        raise InputError(f"{path}: the header of an .npy file is damaged ({type(error).__name__})") from None
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] < 1:
        raise InputError(f"{path}: a preference matrix must be square, not of shape {shape}")
    if kind.kind not in "fiu":
        raise InputError(f"{path}: p must be real numbers, not {kind}")
    require_few(path, shape[0], most_rankers)
    require_room(shape[0], 3)
    wanted = shape[0] ** 2 * kind.itemsize
    data = file.read(wanted)
    if len(data) < wanted:
        raise InputError(f"{path}: is cut short: {shape[0]} x {shape[1]} numbers need {wanted:,} bytes")
    p = np.frombuffer(data, kind).reshape(shape, order="F" if columns_first else "C")
    return PreferenceMatrix(p, provenance=_about(path))


def read_text(path: Path, file: BufferedReader, most_rankers: int) -> PreferenceMatrix:
    """Read rows of numbers separated by white space or commas, or a table with names; either may be compressed."""
    lines = _lines(path, file, most_rankers)
    number, first = next(lines, (1, ""))
    if first.startswith(_CSV_HEADS):
        return _from_csv(path, first, lines, most_rankers)
    rows = _Rows(path, most_rankers)
    rows.add(number, first)
    for number, line in lines:
        rows.add(number, line)
    return PreferenceMatrix(rows.square(), provenance=_about(path))


def require_few(path: Path, rankers: int, most: int) -> None:
    """Raise if a matrix is larger than the reader allows."""
    if rankers > most:
        raise InputError(
            f"{path}: a matrix of {rankers:,} rankers exceeds the limit of {most:,};"
            " --most-rankers, or most_rankers= in Python, raises this limit"
        )


class _Rows:
    """Collects rows of numbers; if the first row is a single number, it says how many rows follow."""

    def __init__(self, path: Path, most: int) -> None:
        self._path, self._most = path, most
        self._size = 0
        self._rows: list[NDArray[np.float64]] = []

    def add(self, number: int, line: str) -> None:
        parts = line.replace(",", " ").split()
        if not parts:
            return
        try:
            values = np.array([float(part) for part in parts])
        except ValueError:
            raise InputError(f"{self._path}:{number}: '{line.strip()[:40]}' is not a row of numbers") from None
        if len(self._rows) == 1 and len(self._rows[0]) == 1 and not self._size:
            if self._rows.pop()[0] != len(values):
                needed = f"the next row has {len(values)}"
                raise InputError(f"{self._path}: row 1 has 1 number, but {needed}")
            self._size = len(values)
        self._rows.append(values)
        require_few(self._path, max(len(values), len(self._rows)), self._most)

    def square(self) -> NDArray[np.float64]:
        size = self._size or len(self._rows)
        for number, row in enumerate(self._rows, 1):
            if len(row) != size:
                raise InputError(
                    f"{self._path}: row {number} has {len(row)} numbers; a matrix of {size} rows needs {size} numbers"
                )
        if len(self._rows) != size:
            raise InputError(f"{self._path}: {len(self._rows)} rows; a matrix of {size} columns needs {size} rows")
        if not size:
            raise InputError(f"{self._path}: contains no numbers; a preference matrix must be square")
        return np.stack(self._rows)


def _from_csv(path: Path, head: str, lines: Iterator[tuple[int, str]], most: int) -> PreferenceMatrix:
    """Read a table with names in the first row and the first column."""
    try:
        _, *names = next(csv.reader([head]))
        require_few(path, len(names), most)
        rows = _Rows(path, most)
        for place, (number, line) in enumerate((number, line) for number, line in lines if line.strip()):
            row = next(csv.reader([line]))
            if row[:1] != names[place : place + 1]:
                raise InputError(f"{path}:{number}: the first column must repeat the names of the first row")
            if len(row) != len(names) + 1:
                raise InputError(f"{path}:{number}: {len(row) - 1} numbers for {len(names)} names")
            rows.add(number, ",".join(row[1:]))
    except csv.Error as error:
        raise InputError(f"{path}: not a table of names and numbers ({error})") from None
    return PreferenceMatrix(rows.square(), tuple(names), provenance=_about(path))


def _lines(path: Path, file: BufferedReader, most_rankers: int) -> Iterator[tuple[int, str]]:
    """Yield numbered lines; raise if a line is too long or there are too many lines for ``most_rankers`` rankers."""
    longest = (most_rankers + 1) * _CHARACTERS
    source = texts.unpacked(path, file)
    for number in range(1, 2 * most_rankers + 11):
        line = source.readline(longest + 1)
        if not line:
            return
        if len(line) > longest:
            raise InputError(
                f"{path}:{number}: this line is longer than a row of {most_rankers:,} numbers;"
                " --most-rankers, or most_rankers= in Python, raises this limit"
            )
        try:
            yield number, line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: not a preference matrix ({error})") from None
    require_few(path, number, most_rankers)


def _about(path: Path) -> dict[str, str]:
    return {"file": os.fsencode(path.name).decode(errors="replace")}
