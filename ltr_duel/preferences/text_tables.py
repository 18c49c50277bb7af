"""Preference matrices in plain text: rows of numbers, with or without names."""

from __future__ import annotations

import csv
from io import BufferedReader
from pathlib import Path

import numpy as np

from ltr_duel.core import FloatMatrix, InputError, texts

_CSV_HEADS = (",", '"",')


def read_text(path: Path, file: BufferedReader) -> tuple[FloatMatrix, tuple[str, ...]]:
    """Read rows of numbers separated by white space or commas, or a table with names; either may be compressed.

    Returns the matrix and the names, which are empty if the text has none.
    """
    try:
        lines = texts.unpacked(path, file).read().decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a preference matrix ({error})") from None
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not numbered:
        raise InputError(f"{path}: contains no numbers; a preference matrix must be square")
    if numbered[0][1].startswith(_CSV_HEADS):
        return _named(path, numbered)
    rows = [_numbers(path, number, line.replace(",", " ").split()) for number, line in numbered]
    if len(rows) > 1 and len(rows[0]) == 1 and rows[0][0] == len(rows[1]):
        rows = rows[1:]  # the first row is the size
    return _square(path, rows), ()


def _named(path: Path, lines: list[tuple[int, str]]) -> tuple[FloatMatrix, tuple[str, ...]]:
    """Read a table with names in the first row and the first column."""
    try:
        (_, *names), *table = csv.reader(line for _, line in lines)
    except csv.Error as error:
        raise InputError(f"{path}: not a table of names and numbers ({error})") from None
    rows = []
    for position, row in enumerate(table):
        number = lines[position + 1][0] if len(table) == len(lines) - 1 else position + 2
        if row[:1] != names[position : position + 1]:
            raise InputError(f"{path}:{number}: the first column must repeat the names of the first row")
        if len(row) != len(names) + 1:
            raise InputError(f"{path}:{number}: {len(row) - 1} numbers for {len(names)} names")
        rows.append(_numbers(path, number, row[1:]))
    return _square(path, rows), tuple(names)


def _numbers(path: Path, number: int, cells: list[str]) -> list[float]:
    try:
        return [float(cell) for cell in cells]
    except ValueError:
        raise InputError(f"{path}:{number}: '{' '.join(cells)[:40]}' is not a row of numbers") from None


def _square(path: Path, rows: list[list[float]]) -> FloatMatrix:
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows):
            raise InputError(
                f"{path}: row {number} has {len(row)} numbers; a matrix of {len(rows)} rows needs {len(rows)} numbers"
            )
    if not rows:
        raise InputError(f"{path}: contains no numbers; a preference matrix must be square")
    return np.array(rows)
