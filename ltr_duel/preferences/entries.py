"""Check the parts of a preference matrix: square matrices of real numbers, and names."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any

import numpy as np

from ltr_duel.core import FloatMatrix, InputError, errors, handed_over, host

SUM_TOLERANCE = 1e-9  # largest difference between p + p.T and 1
ROUNDING = 1e-12  # differences up to this size are rounding errors
_MOST_COMPARISONS = 2**53  # maximum for a pair, because float64 represents all whole numbers up to it exactly


def probabilities(values: Any, names: Any) -> tuple[FloatMatrix, tuple[str, ...]]:
    """Return a square matrix of probabilities with ``p + p.T == 1``, and the names of its rankers."""
    try:
        given = np.asanyarray(values)
    except ValueError:
        raise InputError("a preference matrix must be square: its rows are not of equal length") from None
    if given.ndim != 2 or given.shape[0] != given.shape[1] or given.shape[0] < 1:
        raise InputError(f"a preference matrix must be square, not of shape {given.shape}")
    p, names = _real("p", given), checked_names(names, len(given))
    for row, column, name in zip(p, p.T, names, strict=True):  # by rows, so that no second matrix is allocated
        bad, both = np.flatnonzero(~((row >= 0) & (row <= 1))), row + column
        off = np.flatnonzero(~(np.abs(both - 1) <= SUM_TOLERANCE))
        if bad.size:
            raise InputError(f"p['{name}', '{names[bad[0]]}'] must be between 0 and 1, not {row[bad[0]]}")
        if off.size and column.min() >= 0 and column.max() <= 1:
            rival = names[off[0]]
            raise InputError(f"p['{name}', '{rival}'] + p['{rival}', '{name}'] must be 1, not {both[off[0]]}")
    return p, names


def symmetric(name: str, values: Any, size: int, kind: type = np.float64) -> Any:
    """Return a symmetric matrix of numbers that are not negative, of float64 or int64; zeros if ``values`` is empty."""
    try:
        given = np.asanyarray(values)
    except ValueError:
        raise InputError(f"{name} must be numbers, one for each pair of {size} rankers") from None
    if not given.size:
        return handed_over(np.zeros((size, size), kind))  # allocated lazily, and never copied
    if given.shape != (size, size):
        raise InputError(f"{name} must have the shape of p, {(size, size)}, not {given.shape}")
    numbers = given if given.dtype == kind and not np.ma.isMaskedArray(given) else _real(name, given)
    if not (numbers >= 0).all() or (numbers != numbers.T).any():
        raise InputError(f"{name} must be symmetric and must not be negative")
    if kind is np.int64 and ((numbers > _MOST_COMPARISONS).any() or (numbers % 1).any()):
        raise InputError(f"{name} must be whole numbers up to {_MOST_COMPARISONS:,}")
    return numbers.astype(kind, copy=False)


def require_room(size: int, squares: int) -> None:
    """Raise if there is not enough memory for ``squares`` matrices of ``size`` rankers."""
    host.require_memory(f"a preference matrix of {size:,} rankers", 8.0 * squares * size**2)


def _real(name: str, given: Any) -> FloatMatrix:
    if given.dtype.kind not in "fiu" or np.ma.isMaskedArray(given):
        what = "masked" if np.ma.isMaskedArray(given) else str(given.dtype)
        raise InputError(f"{name} must be real numbers, not {what}")
    return np.ascontiguousarray(given, np.float64)


def checked_names(given: Any, size: int) -> tuple[str, ...]:
    """Return the names of ``size`` rankers; the default names are 0, 1, ..."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(f"the names of rankers must be a list of strings, not {errors.shown(given)}")
    names = tuple(given) or tuple(str(k) for k in range(size))
    for name in names:
        if not isinstance(name, str) or any(unicodedata.category(letter) in ("Cc", "Cs") for letter in name):
            raise InputError(f"the name of a ranker must be one line of text, not {errors.shown(name)}")
    if len(names) != size or len(set(names)) != size:
        raise InputError(f"a preference matrix of {size} rankers needs {size} different names")
    return names
