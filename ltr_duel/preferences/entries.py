"""What a preference matrix is made of, checked: squares of real numbers, and names."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import FloatMatrix, InputError, shown


def square(name: str, values: Any) -> FloatMatrix:
    """Return a square of real numbers."""
    try:
        given = np.asanyarray(values)
    except ValueError:
        raise InputError("a preference matrix must be square: its rows are not equally long") from None
    if given.ndim != 2 or given.shape[0] != given.shape[1] or given.shape[0] < 1:
        raise InputError(f"a preference matrix must be square, not of shape {given.shape}")
    return _real(name, given)


def symmetric(name: str, values: Any, size: int) -> FloatMatrix:
    """Return one number for each pair, in both orders; zeros where none are given."""
    try:
        given = np.asanyarray(values)
    except ValueError:
        raise InputError(f"{name} must be numbers, one for each pair of {size} rankers") from None
    if not given.size:
        return np.zeros((size, size))
    if given.shape != (size, size):
        raise InputError(f"{name} must have the shape of p, {(size, size)}, not {given.shape}")
    numbers = _real(name, given)
    if not (numbers >= 0).all() or (numbers != numbers.T).any():
        raise InputError(f"{name} must be symmetric and nowhere negative")
    return numbers


def _real(name: str, given: NDArray[Any]) -> FloatMatrix:
    if given.dtype.kind not in "fiu" or np.ma.isMaskedArray(given):
        what = "masked" if np.ma.isMaskedArray(given) else str(given.dtype)
        raise InputError(f"{name} must be real numbers, not {what}")
    return np.ascontiguousarray(given, np.float64)


def checked_names(given: Any, size: int) -> tuple[str, ...]:
    """Return the names of so many rankers; numbers where none are given."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(f"the names of rankers must be a list of texts, not {shown(given)}")
    names = tuple(given) or tuple(str(k) for k in range(size))
    for name in names:
        if not isinstance(name, str) or any(unicodedata.category(letter) in ("Cc", "Cs") for letter in name):
            raise InputError(f"the name of a ranker must be one line of text, not {shown(name)}")
    if len(names) != size or len(set(names)) != size:
        raise InputError(f"a preference matrix of {size} rankers needs {size} different names")
    return names
