"""Where converted corpora and computed arrays are kept, under ``cache_home()``.

corpora/<name>-<key>/   see `converted`; the key is a digest of the content, the options and the format
arrays/<kind>-<key>/    an array computed once from a corpus, such as orders of rankers
known_files.json        see `known_files`
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ltr_duel.core import cache_home, handed_over
from ltr_duel.core import digest as core_digest
from ltr_duel.data.store.entries import is_sound, make_room, new_entry

_VALUES = "values.npy"


def cached_array(
    kind: str,
    key: Mapping[str, object],
    shape: tuple[int, ...],
    dtype: DTypeLike,
    compute: Callable[[NDArray[Any]], None],
) -> NDArray[Any]:
    """Return an array that is computed once and memory-mapped ever after.

    Parameters
    ----------
    kind : str
        What it is, for the folder's name, for example ``"orders"``.
    key : mapping
        Everything that determines the values: digest of the corpus, columns, tie rule, seed, format version.
    shape, dtype
        Of the array; no objects.
    compute : callable
        Fills the array it is given, which is a memory map of the shape.

    Returns
    -------
    ndarray
        A read-only memory map, C order; where the cache has no room, an array in memory.
    """
    dtype = np.dtype(dtype)
    folder = cache_home() / "arrays" / f"{kind}-{_short({**key, 'shape': shape, 'dtype': dtype.str})}"
    if not is_sound(folder):
        if not make_room(dtype.itemsize * int(np.prod(shape))):
            values = np.empty(shape, dtype)
            compute(values)
            return handed_over(values)
        with new_entry(folder) as temporary:
            array = np.lib.format.open_memmap(temporary / _VALUES, mode="w+", dtype=dtype, shape=shape)
            compute(array)
            del array
    return np.asarray(np.load(folder / _VALUES, mmap_mode="r", allow_pickle=False))


def corpus_folder(name: str, key: Mapping[str, object]) -> Path:
    """Return the place of a converted corpus; it need not exist."""
    readable = re.sub(r"[^A-Za-z0-9.-]+", "-", name).strip("-.")[:60] or "corpus"
    return cache_home() / "corpora" / f"{readable}-{_short(key)}"


def _short(key: Mapping[str, object]) -> str:
    return core_digest.digest_of(key)[:20]
