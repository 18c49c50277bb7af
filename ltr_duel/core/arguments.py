"""Convert the arguments of public functions to the right type, or raise `InputError`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ltr_duel.core.errors import InputError, shown

if TYPE_CHECKING:  # the command line starts without numpy
    import numpy as np
    from numpy.typing import NDArray


def as_path(what: str, path: Any) -> Path:
    """Return a `Path`. Raise `InputError` if the argument is no path or contains a null character."""
    if not isinstance(path, str | os.PathLike) or "\0" in str(path):
        raise InputError(f"{what} must be the path of a file or folder, not {shown(path)}")
    return Path(path)


def require_type(what: str, value: Any, *kinds: type) -> None:
    """Raise `InputError` if an object has none of the types."""
    if not isinstance(value, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise InputError(f"{what} must be {'an' if names[0] in 'AEIOUaeiou' else 'a'} {names}, not {shown(value)}")


def as_names(what: str, names: Any) -> list[str]:
    """Return a list of names, also for a single name. Raise `InputError` for anything else."""
    given = [names] if isinstance(names, str) or not isinstance(names, Iterable) else list(names)
    for name in given:
        if not isinstance(name, str):
            raise InputError(f"{what} must be a list of names, not {shown(name)}")
    return given


def as_numbers(what: str, values: Any) -> NDArray[np.float64]:
    """Return a list of real numbers as an array. Raise `InputError` for anything else."""
    import numpy as np

    try:
        numbers = np.asarray(values)
    except ValueError:
        numbers = np.empty(0)
    if numbers.dtype.kind not in "fiu" or numbers.ndim != 1 or not numbers.size:
        raise InputError(f"{what} must be a list of numbers, not {numbers.dtype} of shape {numbers.shape}")
    return np.asarray(numbers, np.float64)
