"""Convert arguments from Python callers to the intended type, or raise `InputError` with one sentence."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ltr_duel.core.errors import InputError, shown

if TYPE_CHECKING:  # the command line starts without numpy
    import numpy as np
    from numpy.typing import NDArray


def as_path(what: str, path: Any) -> Path:
    """Return a path. Raise `InputError` unless it is a string or path, without null characters and not too long."""
    if not isinstance(path, str | os.PathLike) or "\0" in str(path):
        raise InputError(f"{what} must be the path of a file or folder, not {shown(path)}")
    try:
        os.lstat(path)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise InputError(f"{path}: {error.strerror}") from None
    except UnicodeEncodeError:
        raise InputError(f"{what} must be the path of a file or folder, not {shown(path)}") from None
    return Path(path)


def require_type(what: str, value: Any, *kinds: type) -> None:
    """Raise `InputError` unless an object has one of the types."""
    if not isinstance(value, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise InputError(f"{what} must be {'an' if names[0] in 'AEIOUaeiou' else 'a'} {names}, not {shown(value)}")


def as_names(what: str, names: Any) -> list[str]:
    """Return a list of names; a single name becomes a list of one. Raise `InputError` for anything else."""
    given = [names] if isinstance(names, str) else names
    for name in given if isinstance(given, Iterable) else [given]:
        if not isinstance(name, str):
            raise InputError(f"{what} must be a list of names, not {shown(name)}")
    return list(given)


def as_numbers(what: str, values: Any, axes: int = 1) -> NDArray[np.float64]:
    """Return real numbers as an array with ``axes`` axes. Raise `InputError` for anything else."""
    import numpy as np

    try:
        numbers = np.asarray(values)
    except ValueError:
        raise InputError(f"{what} must be numbers in rows of equal length, not {shown(values)}") from None
    if numbers.dtype.kind not in "fiu" or numbers.ndim != axes or not numbers.size:
        kind = "a list of numbers" if axes == 1 else "rows of numbers"
        raise InputError(f"{what} must be {kind}, not {numbers.dtype} of shape {numbers.shape}")
    return np.asarray(numbers, np.float64)
