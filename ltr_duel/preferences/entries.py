"""Check the parts of a preference matrix: square matrices of real numbers, and names."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import FloatMatrix, InputError, IntMatrix, errors, handed_over, host

_BLOCK = 2**20  # entries that are checked together
SUM_TOLERANCE = 1e-9  # largest difference between p + p.T and 1
ROUNDING = 1e-12  # differences up to this size are rounding errors
_MOST_COMPARISONS = 2**53  # maximum for a pair, because float64 represents all whole numbers up to it exactly


def square(name: str, values: Any) -> FloatMatrix:
    """Return a square matrix of real numbers."""
    try:
        given = np.asanyarray(values)
    except ValueError:
        raise InputError("a preference matrix must be square: its rows are not of equal length") from None
    if given.ndim != 2 or given.shape[0] != given.shape[1] or given.shape[0] < 1:
        raise InputError(f"a preference matrix must be square, not of shape {given.shape}")
    return _real(name, given)


def symmetric(name: str, values: Any, size: int) -> FloatMatrix:
    """Return a symmetric matrix of numbers; zeros (a lazily allocated array) if ``values`` is empty."""
    try:
        given = np.asanyarray(values)
    except ValueError:
        raise InputError(f"{name} must be numbers, one for each pair of {size} rankers") from None
    if not given.size:
        return handed_over(np.zeros((size, size)))
    if given.shape != (size, size):
        raise InputError(f"{name} must have the shape of p, {(size, size)}, not {given.shape}")
    numbers = _real(name, given)
    if not (numbers >= 0).all() or (numbers != numbers.T).any():
        raise InputError(f"{name} must be symmetric and must not be negative")
    return numbers


def counts(name: str, values: Any, size: int) -> IntMatrix:
    """Return a symmetric matrix of whole numbers; zeros if ``values`` is empty."""
    if isinstance(values, np.ndarray) and values.dtype == np.int64 and values.shape == (size, size):
        fit = not np.ma.isMaskedArray(values) and values.min() >= 0 and values.max() <= _MOST_COMPARISONS
        if fit and (values == values.T).all():
            return values  # fast path: the checks below would copy the array
    numbers = symmetric(name, values, size)
    if not np.size(values):
        return handed_over(np.zeros((size, size), np.int64))
    if (numbers > _MOST_COMPARISONS).any() or (numbers % 1).any():
        raise InputError(f"{name} must be whole numbers up to {_MOST_COMPARISONS:,}")
    return handed_over(numbers.astype(np.int64))


def require_probabilities(p: FloatMatrix, names: tuple[str, ...]) -> None:
    """Raise unless all entries are probabilities and ``p + p.T`` is 1."""
    rows = max(1, _BLOCK // len(p))
    for start in range(0, len(p), rows):
        block = p[start : start + rows]
        bad = ~((block >= 0) & (block <= 1))
        if bad.any():
            i, j = (int(k) for k in np.argwhere(bad)[0])
            raise InputError(f"p['{names[start + i]}', '{names[j]}'] must be between 0 and 1, not {block[i, j]}")
    for start in range(0, len(p), rows):
        off = np.abs(p[start : start + rows] + p[:, start : start + rows].T - 1)
        if off.max() > SUM_TOLERANCE:
            i, j = divmod(int(off.argmax()), len(p))
            one, other = names[start + i], names[j]
            both = p[start + i, j] + p[j, start + i]
            raise InputError(f"p['{one}', '{other}'] + p['{other}', '{one}'] must be 1, not {both}")


def require_room(size: int, squares: int) -> None:
    """Raise if there is not enough memory for ``squares`` matrices of ``size`` rankers."""
    host.require_memory(f"a preference matrix of {size:,} rankers", 8.0 * squares * size**2)


def _real(name: str, given: NDArray[Any]) -> FloatMatrix:
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
