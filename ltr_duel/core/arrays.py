"""Names for the types of arrays that kernels read and write. A vector has one dimension, a matrix two."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

FloatVector: TypeAlias = NDArray[np.float64]
FloatMatrix: TypeAlias = NDArray[np.float64]
IntVector: TypeAlias = NDArray[np.int64]
IntMatrix: TypeAlias = NDArray[np.int64]
SmallIntVector: TypeAlias = NDArray[np.int16]  # grades, positions and ranks within a query
SmallIntMatrix: TypeAlias = NDArray[np.int16]
SignMatrix: TypeAlias = NDArray[np.int8]  # -1, 0, +1
SignVector: TypeAlias = NDArray[np.int8]
MarkVector: TypeAlias = NDArray[np.uint8]  # 0 or 1
MarkMatrix: TypeAlias = NDArray[np.uint8]  # 0 or 1

Scalar = TypeVar("Scalar", bound=np.generic)


def frozen(values: Any, dtype: Any = None) -> NDArray[Any]:
    """Return a read-only array to which no other object can write.

    The values are copied, unless their memory is already read-only: an array that was passed to `handed_over`, or a
    file that is mapped read-only.
    """
    array = np.asarray(values, dtype)
    holder: Any = array
    while isinstance(holder, np.ndarray):
        if holder.flags.writeable:
            array = np.array(array)
            break
        holder = holder.base
    array.setflags(write=False)
    return array


def handed_over(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Make an array and its memory read-only, so that `frozen` need not copy the array."""
    holder: Any = array
    while isinstance(holder, np.ndarray):
        holder.setflags(write=False)
        holder = holder.base
    return array


class _Opened:
    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array  # keeps the memory alive
        about = array.__array_interface__
        self.__array_interface__ = {**about, "data": (about["data"][0], False)}


def as_writable(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Return a view of an array that numba treats as writable, even if the array is read-only. Never write to it.

    A kernel that takes both kinds of arrays is then compiled only once.
    """
    return array if array.flags.writeable else np.asarray(_Opened(array))
