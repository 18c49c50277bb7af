"""Arrays that may be larger than the memory. Large arrays are in files that are mapped into memory.

When the program uses a part of such a file, the part counts as memory of the process until it is released. Loops over
large arrays therefore release the parts that they have read or written.
"""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ltr_duel.core import host
from ltr_duel.core.errors import InputError
from ltr_duel.core.files import cache_home

LARGE = 2**29  # bytes


def new_array(shape: tuple[int, ...], dtype: DTypeLike, large: int | None = None) -> NDArray[Any]:
    """Return an array of zeros. An array of at least ``large`` bytes is in a temporary file.

    The file is in the cache and is deleted with the array, even if the process is killed. Raises `InputError` if the
    disk has too little free space.
    """
    size = prod(shape) * np.dtype(dtype).itemsize
    if size < (LARGE if large is None else large):
        return np.zeros(shape, dtype)
    near = next(folder for folder in (cache_home(), *cache_home().parents) if folder.is_dir())
    folder = near if os.access(near, os.W_OK) else Path(tempfile.gettempdir())
    free = shutil.disk_usage(folder).free
    full = InputError(f"{folder}: {size / 1e9:,.1f} GB is needed temporarily, but only {free / 1e9:,.1f} GB is free")
    if size > free:
        raise full
    with tempfile.TemporaryFile(dir=folder) as file:
        try:
            host.reserve(file.fileno(), size)  # a write to a mapped file on a full disk would end the process
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise full from None
        return np.asarray(np.memmap(file, dtype, "w+", shape=shape))


def release_pages(array: NDArray[Any]) -> None:
    """Release the memory of an array in a mapped file. The values stay in the file.

    Other threads may use the array at the same time. If the array is not in a file, nothing happens.
    """
    file = _file(array)
    if file is not None and hasattr(mmap, "MADV_DONTNEED") and array.size:
        begin, end = np.lib.array_utils.byte_bounds(array)
        start = begin - np.frombuffer(file, np.uint8).__array_interface__["data"][0]
        first = start - start % mmap.PAGESIZE
        file.madvise(mmap.MADV_DONTNEED, first, start + end - begin - first)


@contextmanager
def small_pages(arrays: Collection[NDArray[Any]]) -> Iterator[None]:
    """Prevent large memory pages in mapped arrays that are written now and later read at random positions.

    With large pages, each position that is read would count as two megabytes of memory.
    """
    _advise(arrays, "MADV_RANDOM")
    try:
        yield
    finally:
        _advise(arrays, "MADV_NORMAL")


def expect_few_reads(arrays: Collection[NDArray[Any]]) -> None:
    """Prepare mapped arrays for reads at random positions, if they are larger than the free memory.

    Without this preparation, the system would read up to several megabytes around each position.
    """
    total = sum(array.nbytes for array in arrays if _file(array) is not None)
    if total >= LARGE and total > host.free_memory():
        _advise(arrays, "MADV_RANDOM")


def is_kept(array: Any) -> bool:
    """Return whether an array is part of a file that was mapped for reading."""
    while isinstance(array, np.ndarray) and not isinstance(array, np.memmap):
        array = array.base
    return array.mode == "r" if isinstance(array, np.memmap) else isinstance(array, mmap.mmap)


def _file(array: Any) -> mmap.mmap | None:
    while isinstance(array, np.ndarray):
        array = array.base
    return array if isinstance(array, mmap.mmap) else None


def _advise(arrays: Collection[NDArray[Any]], advice: str) -> None:
    for file in map(_file, arrays):
        if file is not None and hasattr(mmap, advice):
            file.madvise(getattr(mmap, advice))
