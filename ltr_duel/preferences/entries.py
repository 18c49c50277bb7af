"""Check the arrays of a preference matrix and the names of its rankers."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any

import numpy as np

from ltr_duel.core import FloatMatrix, InputError, errors, handed_over, host

_SUM_TOLERANCE = 1e-9  # largest difference between p + p.T and 1
ROUNDING = 1e-12  # differences up to this size are rounding errors
_MOST_COMPARISONS = 2**53  # of a pair: float64 represents all whole numbers up to this one exactly


def probabilities(values: Any, names: Any) -> tuple[FloatMatrix, tuple[str, ...]]:
    """Check the probabilities and the names of a preference matrix, and return both."""
    p = _square("p", values)
    names, sums = checked_names(names, len(p)), p + p.T
    for i, j in np.argwhere(~((p >= 0) & (p <= 1)))[:1]:
        raise InputError(f"p['{names[i]}', '{names[j]}'] must be between 0 and 1, not {p[i, j]}")
    for i, j in np.argwhere(np.abs(sums - 1) > _SUM_TOLERANCE)[:1]:
        raise InputError(f"p['{names[i]}', '{names[j]}'] + p['{names[j]}', '{names[i]}'] must be 1, not {sums[i, j]}")
    return np.ascontiguousarray(p, np.float64), names


def symmetric(name: str, values: Any, size: int, kind: type = np.float64) -> Any:
    """Check and return a symmetric array of numbers >= 0. If ``values`` is empty, return zeros."""
    if not np.size(values):
        return handed_over(np.zeros((size, size), kind))  # allocated lazily, and never copied
    numbers = _square(name, values)
    if len(numbers) != size:
        raise InputError(f"{name} must have the shape of p, {(size, size)}, not {numbers.shape}")
    if not (numbers >= 0).all() or (numbers != numbers.T).any():
        raise InputError(f"{name} must be symmetric and must not be negative")
    if kind is np.int64 and ((numbers > _MOST_COMPARISONS).any() or (numbers % 1).any()):
        raise InputError(f"{name} must be whole numbers up to {_MOST_COMPARISONS:,}")
    return numbers.astype(kind, copy=False)


def require_room(size: int, squares: int) -> None:
    """Raise an error if the memory has no room for ``squares`` arrays of ``size`` x ``size`` numbers."""
    host.require_memory(f"a preference matrix of {size:,} rankers", 8.0 * squares * size**2)


def _square(name: str, values: Any) -> Any:
    try:
        array = np.asanyarray(values)
    except ValueError:
        raise InputError(f"{name} must be square: its rows are not of equal length") from None
    if array.ndim != 2 or array.shape[0] != array.shape[1] or not array.size:
        raise InputError(f"{name} must be square, not of shape {array.shape}")
    if array.dtype.kind not in "fiu" or np.ma.isMaskedArray(array):
        kind = "masked" if np.ma.isMaskedArray(array) else str(array.dtype)
        raise InputError(f"{name} must be real numbers, not {kind}")
    return array


def checked_names(names: Any, size: int) -> tuple[str, ...]:
    """Check and return the names of ``size`` rankers, which are "0", "1", ... by default."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(f"the names of rankers must be a list of strings, not {errors.shown(names)}")
    names = tuple(names) or tuple(map(str, range(size)))
    for name in names:
        if not isinstance(name, str) or any(unicodedata.category(letter) in ("Cc", "Cs") for letter in name):
            raise InputError(f"the name of a ranker must be one line of text, not {errors.shown(name)}")
    if len(names) != size or len(set(names)) != size:
        raise InputError(f"a preference matrix of {size} rankers needs {size} different names")
    return names
